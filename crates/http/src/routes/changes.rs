//! Who gained and lost what between two versions, and what a change would do before it is made.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Needs, core_key},
    body::Body,
    dto,
    edge::{
        Commands,
        cookies::{BY_PAGE, FROM_SITE},
    },
    live,
    problem::Problem,
    read::{BothSides, Names, SeenEvents, in_catalog},
};
use axum::{
    Extension,
    body::Body as HttpBody,
    extract::Request,
    http::{HeaderName, Method, Uri, header},
    response::{IntoResponse, Response},
};
use charter_control::{Past, PreviewSlot, Previewed};
use charter_events::{PermissionKey, Scope};
use charter_policy::{AccessControl, DiffBound, DiffFilter, DiffRow};
use charter_store::past::{AsOf, InvalidAsOf};
use std::sync::Arc;

/// The most rows of a comparison.
pub(crate) const DIFF_ROWS_MAX: usize = 10_000;
/// The rows of a comparison when the request names no number.
const DIFF_ROWS_DEFAULT: usize = 1_000;
/// The most changes a preview tells.
const PREVIEW_ROWS_MAX: usize = 1_000;
/// The most events a preview tells.
const PREVIEW_EVENTS_MAX: usize = 1_000;

/// Who gained and lost what between two versions, judged by the decisions at both: `from` and `to` are offsets or
/// RFC 3339 times, and `to` is now when it is absent. The answer is always all of it: what is too large to answer is
/// refused (422 `diff_too_large`), and `user`, `object` and `permission` narrow it. `object` is `<type>:<id or external
/// id>`, or `global` for what is allowed platform-wide.
///
/// Whoever became or ceased to be an administrator for a key is told once, as `everywhere`; with `every_place=true`
/// once for each place instead.
#[utoipa::path(get, path = "/api/v1/history/diff", operation_id = "diff", tag = "history",
    responses((status = 200, description = "What changed", body = dto::DiffAnswer)))]
pub(crate) async fn diff(ask: Ask) -> Answered<dto::DiffAnswer> {
    ask.require(live::KEY, Scope::Global)?;
    let rows_max = ask.params.number::<usize>("rows")?.unwrap_or(DIFF_ROWS_DEFAULT);
    if !(1..=DIFF_ROWS_MAX).contains(&rows_max) {
        return Err(Problem::invalid_parameter("rows", format!("it is 1 to {DIFF_ROWS_MAX}")));
    }
    let (from, to) = (past(&ask, "from").await?, past(&ask, "to").await?);
    let from = from.ok_or_else(|| Problem::invalid_parameter("from", "it takes an offset or a time"))?;
    // State and end of the log of one version: others write while the earlier state is folded.
    let to = to.unwrap_or_else(|| ask.app.control.present());
    let ends = [&from, &to].map(|past| dto::DiffEnd {
        policy_version: past.policy.version(),
        at: past.now,
        hash: past.head.hash,
    });
    let sides = BothSides { before: ask.back_then(from.clone()), after: ask.back_then(to.clone()) };
    let filter = filter(&sides, &ask)?;
    let found = ask.app.control.diff((from.policy, from.now), (to.policy, to.now), filter, rows_max).await?;
    if let Some(bound) = found.ended_by {
        return Err(too_large(&ask, bound, rows_max));
    }
    still_may(&ask).await?;
    let changes = shown(&ask, &sides, &found.rows).await;
    let [from, to] = ends;
    Ok(Answer::ok(ask.policy.version(), dto::DiffAnswer { from, to, changes }))
}

/// A comparison may take long: who began it is judged again before he is answered.
async fn still_may(ask: &Ask) -> Result<(), Problem> {
    let control = &ask.app.control;
    let policy = control.policy();
    policy.at(control.now()).require(&ask.caller, &core_key(live::KEY)?, Scope::Global)?;
    if control.is_still_good(&ask.who).await { Ok(()) } else { Err(Problem::invalid_token()) }
}

/// The state at an end that a parameter names.
async fn past(ask: &Ask, name: &str) -> Result<Option<Past>, Problem> {
    let Some(text) = ask.params.text(name) else { return Ok(None) };
    let asked: AsOf =
        text.parse().map_err(|error: InvalidAsOf| Problem::invalid_parameter(name, error.to_string()))?;
    Ok(Some(ask.app.control.as_of(asked).await.map_err(|error| Problem::from(error).of(name))?))
}

/// What the request narrows by. Names are those of the later version, else of the earlier.
fn filter(sides: &BothSides, ask: &Ask) -> Result<DiffFilter, Problem> {
    let either = [&sides.after, &sides.before];
    let user = ask.params.text("user").map(|text| {
        either.iter().find_map(|side| side.user_named(text)).ok_or_else(|| Problem::not_found().of("user"))
    });
    let scope = ask.params.text("object").map(|text| {
        let found = either.map(|side| side.scope_ref(text, "object", &Needs::Nothing));
        let [after, before] = found;
        after.or(before)
    });
    let key = ask.params.get::<PermissionKey>("permission")?;
    if let Some(key) = &key {
        in_catalog(&sides.after, key, "permission")
            .or_else(|_| in_catalog(&sides.before, key, "permission"))?;
    }
    Ok(DiffFilter {
        user: user.transpose()?,
        scope: scope.transpose()?,
        key,
        every_place: ask.params.word("every_place", &["true", "false"])? == Some("true"),
    })
}

fn too_large(ask: &Ask, bound: DiffBound, rows_max: usize) -> Problem {
    let unused = ["user", "object", "permission"].map(|name| (name, ask.params.text(name).is_none()));
    let narrower: Vec<String> =
        unused.iter().filter(|(_, unused)| *unused).map(|(name, _)| format!("`{name}`")).collect();
    let narrow = match narrower.as_slice() {
        [] => "compare versions that lie closer together".to_owned(),
        names => format!("narrow it by {}, or compare versions that lie closer together", names.join(", ")),
    };
    let what = match bound {
        DiffBound::Rows => format!("more than {rows_max} changes"),
        DiffBound::Steps => "more to compare than one request may".to_owned(),
    };
    Problem::invalid_member("diff_too_large", "", format!("{what}: {narrow}"))
}

async fn shown(ask: &Ask, sides: &BothSides, rows: &[DiffRow]) -> Vec<dto::AccessChange> {
    let names = Names::of(ask, rows.iter().map(|row| row.user)).await;
    rows.iter().filter_map(|row| sides.row(row, &names)).collect()
}

/// What a change would do: the events it would append, and who would gain and lose what. Nothing is written, and what
/// the change would answer with a secret is not made. The request names the change as it would be sent; `X-Reason` is
/// taken as with the change itself. A refusal is the change's own. What is no change is 422 `not_a_command`.
///
/// What the caller may not read is left out, and not counted: grants, members and tokens that end with the change where
/// he may not read them, and what others gain and lose. A user's names are in no preview: `profile` is `[sealed]`.
/// Beyond 1,000 events or 1,000 changes it is not `complete`.
#[utoipa::path(post, path = "/api/v1/commands/preview", operation_id = "preview", tag = "what-if",
    request_body = dto::PreviewRequest,
    responses((status = 200, description = "What it would do", body = dto::PreviewAnswer)))]
pub(crate) async fn preview(
    ask: Ask,
    commands: Option<Extension<Commands>>,
    body: Body<dto::PreviewRequest>,
) -> Result<Response, Problem> {
    // Only the whole router has it: a preview of a preview is refused before this.
    let Some(Extension(commands)) = commands else { return Err(Problem::internal()) };
    let slot = PreviewSlot::default();
    let response = commands.call(request(&ask, body.value, &slot)?).await;
    match slot.get() {
        Some(previewed) => Ok(told(&ask, previewed).await?.into_response()),
        None if response.status().is_success() => {
            let nothing = dto::PreviewAnswer {
                policy_version: ask.policy.version(),
                at: ask.now,
                created: None,
                events: Vec::new(),
                event_count: 0,
                changes: Vec::new(),
                complete: true,
            };
            Ok(Answer::ok(ask.policy.version(), nothing).into_response())
        }
        None => Ok(response),
    }
}

/// The change as it would be sent by the same caller, marked.
fn request(ask: &Ask, asked: dto::PreviewRequest, slot: &PreviewSlot) -> Result<Request, Problem> {
    let invalid = |field, detail: &str| Problem::invalid_member("invalid_value", field, detail);
    let method = match Method::from_bytes(asked.method.as_bytes()) {
        Ok(method) if [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&method) => method,
        Ok(_) | Err(_) => return Err(Problem::not_a_command().of("method")),
    };
    let path = Uri::builder().path_and_query(asked.path.as_str()).build();
    let path = path.ok().filter(|_| asked.path.starts_with("/api/"));
    let path = path.ok_or_else(|| invalid("path", "it takes the path of a change, from `/api/v1` on"))?;
    let mut request = Request::builder().method(method).uri(path).extension(slot.clone());
    const SAME: [HeaderName; 8] = [
        header::AUTHORIZATION,
        header::COOKIE,
        header::HOST,
        header::ORIGIN,
        FROM_SITE,
        BY_PAGE,
        HeaderName::from_static("x-request-id"),
        HeaderName::from_static("x-reason"),
    ];
    for name in SAME {
        if let Some(value) = ask.headers.get(&name) {
            request = request.header(name, value);
        }
    }
    request = request.header(header::IF_MATCH, asked.if_match.as_deref().unwrap_or("*"));
    let body = match &asked.body {
        None => HttpBody::empty(),
        Some(body) => {
            request = request.header(header::CONTENT_TYPE, "application/json");
            HttpBody::from(body.to_string())
        }
    };
    request.body(body).map_err(|_| invalid("if_match", "it takes one `ETag` of this API, in quotes, or `*`"))
}

/// A preview, as far as the caller may read it.
async fn told(ask: &Ask, made: &Previewed) -> Answered<dto::PreviewAnswer> {
    let states = [&made.before, &made.after].map(|policy| (Arc::clone(policy), made.now));
    let [before, after] = states.clone();
    let sides = states.map(|(policy, now)| ask.on(policy, now));
    let [one, other] = sides;
    let sides = Arc::new(BothSides { before: one, after: other });
    let reader = Arc::clone(&sides);
    let readable = move |row: &DiffRow| reader.may_read(row);
    let filter = DiffFilter::default();
    let found = ask.app.control.diff_where(before, after, filter, PREVIEW_ROWS_MAX, readable).await?;
    let events = seen(&sides, made).await?;
    let version = made.before.version();
    let answer = dto::PreviewAnswer {
        policy_version: version,
        at: made.now,
        created: made.created,
        complete: found.ended_by.is_none() && events.shown.len() == events.count,
        events: events.shown,
        event_count: events.count as u64,
        changes: shown(ask, &sides, &found.rows).await,
    };
    Ok(Answer::ok(version, answer))
}

/// The events the caller may see. There may be very many, and each is asked about: off the async threads.
async fn seen(sides: &Arc<BothSides>, made: &Previewed) -> Result<SeenEvents, Problem> {
    let (sides, made) = (Arc::clone(sides), made.clone());
    let seen = tokio::task::spawn_blocking(move || sides.events(&made.events, PREVIEW_EVENTS_MAX)).await;
    seen.map_err(|error| {
        tracing::error!(%error, "the events of a preview could not be read");
        Problem::internal()
    })?
}
