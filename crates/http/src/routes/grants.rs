//! Grants.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Needs},
    body::{Body, NoBody},
    dto,
    problem::Problem,
    read::{self, GrantFilter},
};
use charter_commands::{IssueGrant, RevokeGrant};
use charter_events::{Content, GrantId, RoleId, Subject, UserId};
use charter_policy::GrantView;

/// The grants the caller may see: of a subject, at a scope, of a role, or all.
#[utoipa::path(get, path = "/api/v1/grants", operation_id = "list_grants", tag = "grants",
    responses((status = 200, description = "One page", body = dto::List<dto::Grant>)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::List<dto::Grant>> {
    let page = ask.page()?;
    let (views, next) = match filter(&ask)? {
        Some(filter) => read::list_grants(&ask, &filter, &page),
        None => (Vec::new(), None),
    };
    let items = read::grants(&ask, &views).await;
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next }))
}

// What names nothing is handed on as an id that nobody has: whether a name is there is told by the command, which
// first asks whether the caller may grant at all.
const NO_SUBJECT: Subject = Subject::User(UserId::from_u128(0));
const NO_ROLE: RoleId = RoleId::from_u128(0);

/// Issues a grant: an allow or a deny, of a role or of literal keys, globally or on an object.
#[utoipa::path(post, path = "/api/v1/grants", operation_id = "issue_grant", tag = "grants",
    request_body = dto::GrantCreate,
    responses((status = 201, description = "Issued", body = dto::Grant)))]
pub(crate) async fn issue(ask: Ask, body: Body<dto::GrantCreate>) -> Answered<dto::Grant> {
    let Body { value: new, hash } = body;
    let command = IssueGrant {
        scope: ask.scope_ref(&new.scope, "scope", &Needs::Core("core.grant.manage"))?,
        subject: subject(&ask, &new.subject)?.unwrap_or(NO_SUBJECT),
        content: content(&ask, &new)?,
        effect: new.effect.unwrap_or_default(),
        not_before: new.not_before,
        expires_at: new.expires_at,
        affects: new.affects.unwrap_or_default(),
        child_types: new.child_types.unwrap_or_default(),
    };
    let receipt = ask.submit(command, hash).await?;
    let id = GrantId::new(receipt.created.ok_or_else(Problem::internal)?);
    let after = ask.after(receipt.last).await?;
    // A repeated request shows no more than the caller may still see.
    let seen = |view: &GrantView<'_>| !receipt.repeated || read::sees_grant(&after, view);
    let view = after.policy.grant(id).filter(seen).ok_or_else(Problem::not_found)?;
    let grant = shown(&after, view).await?;
    let changed_at = grant.changed_at;
    Ok(Answer::created(receipt.last, format!("/api/v1/grants/{id}"), grant).etag(changed_at))
}

/// One grant that stands.
#[utoipa::path(get, path = "/api/v1/grants/{id}", operation_id = "get_grant", tag = "grants",
    params(("id" = String, Path, description = "The grant's id")),
    responses((status = 200, description = "The grant", body = dto::Grant)))]
pub(crate) async fn get(ask: Ask) -> Answered<dto::Grant> {
    let view = named(&ask, read::sees_grant)?;
    let grant = shown(&ask, view).await?;
    let changed_at = grant.changed_at;
    Ok(Answer::ok(ask.policy.version(), grant).etag(changed_at))
}

/// Takes a grant back; anyone may give up an allow of his own.
#[utoipa::path(delete, path = "/api/v1/grants/{id}", operation_id = "revoke_grant", tag = "grants",
    params(("id" = String, Path, description = "The grant's id")),
    responses((status = 204, description = "Gone")))]
pub(crate) async fn revoke(ask: Ask, body: NoBody) -> Answered<()> {
    // Who may take it back may know it; it is shown to him only where he may see grants.
    let may = |ask: &Ask, view: &GrantView<'_>| {
        read::sees_grant(ask, view) || ask.may_core("core.grant.manage", view.scope)
    };
    let grant = named(&ask, may)?.id;
    let receipt = ask.submit(RevokeGrant { grant }, body.hash).await?;
    Ok(Answer::done(receipt.last))
}

/// The grant of the path: 404, the same for one that is not there and one the caller may not know.
fn named<'a>(
    ask: &'a Ask,
    may_know: impl FnOnce(&Ask, &GrantView<'_>) -> bool,
) -> Result<GrantView<'a>, Problem> {
    read::grant_id(ask.named("id"))
        .and_then(|id| ask.policy.grant(id))
        .filter(|view| may_know(ask, view))
        .ok_or_else(Problem::not_found)
}

async fn shown(ask: &Ask, view: GrantView<'_>) -> Result<dto::Grant, Problem> {
    read::grants(ask, &[view]).await.pop().ok_or_else(Problem::internal)
}

/// `user:…` or `group:…`; none when there is no such subject.
fn subject(ask: &Ask, text: &str) -> Result<Option<Subject>, Problem> {
    let control = &ask.app.control;
    match text.split_once(':') {
        Some(("user", name)) => Ok(ask.user_named(name).map(Subject::User)),
        Some(("group", name)) => Ok(control.resolve_group(&ask.policy, name).map(Subject::Group)),
        _ => {
            let detail = "it takes `user:<id, username or external id>` or `group:<id or slug>`";
            Err(Problem::invalid_member("invalid_reference", "subject", detail))
        }
    }
}

fn content(ask: &Ask, new: &dto::GrantCreate) -> Result<Content, Problem> {
    match (&new.role, &new.permissions) {
        (Some(role), None) => {
            Ok(Content::Role(ask.app.control.resolve_role(&ask.policy, role).unwrap_or(NO_ROLE)))
        }
        (None, Some(keys)) => Ok(Content::Keys(keys.clone())),
        (None, None) => {
            Err(Problem::invalid_member("missing_member", "role", "a grant takes a `role` or `permissions`"))
        }
        (Some(_), Some(_)) => {
            let detail = "a grant takes a `role` or `permissions`, never both";
            Err(Problem::invalid_member("role_and_permissions", "permissions", detail))
        }
    }
}

/// What the list is narrowed to; none when it names a subject or role that is not there, which has no grants.
fn filter(ask: &Ask) -> Result<Option<GrantFilter>, Problem> {
    let mut filter = GrantFilter::default();
    if let Some(text) = ask.params.text("scope") {
        filter.scope = Some(ask.scope_ref(text, "scope", &Needs::Core("core.grant.read"))?);
    }
    if let Some(text) = ask.params.text("subject") {
        let Some(subject) = subject(ask, text)? else { return Ok(None) };
        filter.subject = Some(subject);
    }
    if let Some(text) = ask.params.text("role") {
        let Some(role) = ask.app.control.resolve_role(&ask.policy, text) else { return Ok(None) };
        filter.role = Some(role);
    }
    Ok(Some(filter))
}
