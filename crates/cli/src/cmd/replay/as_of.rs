//! `charter replay as-of`: what was so at a past version, from the log alone.

use super::{
    counted, failed,
    source::{Log, Source},
};
use crate::{
    app::App,
    cmd::{
        common::{now, version},
        shapes::{EFFECTIVE, column},
        store::opening,
    },
    exit::{Exit, Failure, Outcome},
    output::{Format, Shape, as_sent},
};
use charter_control::name_tag;
use charter_events::{PermissionKey, Scope, UserId};
use charter_http::dto::{ObjectRef, ScopeRef};
use charter_policy::{Because, Decision, EffectiveState, Page, Policy, SubjectKind, Verdict};
use charter_replay_tools::{
    Progress,
    as_of::{Past, as_of, folded},
};
use charter_store::AsOf;
use serde_json::{Value, json};

const HOLDER: Shape = Shape {
    columns: &[column("USER", "/user"), column("BECAUSE", "/because"), column("GRANTS", "/grants")],
    name: "/user",
    view: as_sent,
};

/// Which log, when, and what of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An offset of the log, a time such as 2026-03-01T12:00:00Z, or back from now such as `90m`, `12h`, `30d`
    #[arg(value_parser = version, value_name = "VERSION")]
    at: AsOf,
    /// Where it is
    #[command(flatten)]
    source: Source,
    /// What this user may do: username, external id or id; with a file, the id. With `--permission`: may he do it? Exit
    /// code 0 yes, 3 no
    #[arg(long)]
    user: Option<String>,
    /// Who may do this, such as minecraft.server.restart
    #[arg(long, value_name = "KEY")]
    permission: Option<PermissionKey>,
    /// Where, as `type:id` such as server:s1; platform-wide when left out
    #[arg(long, value_name = "OBJECT")]
    object: Option<String>,
}

pub(super) async fn run(app: &App, args: Args) -> Outcome {
    if args.object.is_some() && args.user.is_none() && args.permission.is_none() {
        return Err(Failure::usage("`--object` alone asks nothing").hint("add `--user` or `--permission`"));
    }
    let log = args.source.open(app).await?;
    let done = answer(app, &args, &log).await;
    log.close().await;
    done
}

async fn answer(app: &App, args: &Args, log: &Log) -> Outcome {
    let bar = app.out.progress("replaying", None);
    let past = as_of(log.store(), args.at, now(), |Progress { at, .. }| bar.at(at.get())).await;
    bar.finish();
    let past = past.map_err(|error| failed(&error))?;
    let head = past.version.head;
    if args.user.is_none() && args.permission.is_none() {
        tell(app, &past)?;
        return Ok(Exit::Done);
    }
    app.out.note(&format!("As of version {}, {}.", head.offset, past.version.now));
    let policy = &past.policy;
    let scope = args.object.as_deref().map_or(Ok(Scope::Global), |text| object(policy, text))?;
    if let Some(key) = &args.permission
        && policy.permission(key.as_str()).is_none()
    {
        return Err(Failure::error(format!("the catalog had no permission `{key}` then")));
    }
    match (&args.user, &args.permission) {
        (Some(text), Some(key)) => {
            let user = user(log, policy, text).await?;
            decide(app, &policy.check(user, key, scope, past.version.now))
        }
        (Some(text), None) => effective(app, &past, user(log, policy, text).await?, scope),
        (None, Some(key)) => holders(app, &past, key, scope),
        (None, None) => Ok(Exit::Done),
    }
}

/// The version itself, and how much there was.
fn tell(app: &App, past: &Past) -> Outcome<()> {
    let (head, policy) = (past.version.head, &past.policy);
    let digest = hex::encode(policy.digest());
    let value = json!({
        "log_id": head.log_id,
        "version": head.offset,
        "at": past.version.now,
        "recorded_at": head.recorded_at,
        "hash": head.hash,
        "state_digest": digest,
        "users": policy.user_count(),
        "groups": policy.group_count(),
        "roles": policy.role_count(),
        "objects": policy.object_count(),
        "grants": policy.grant_count(),
        "permissions": policy.permissions().count(),
    });
    app.out.answer(&value, || {
        format!(
            "version {}  recorded {}  hash {}\nstate {digest}\n{}, {}, {}, {}, {}, {}",
            head.offset,
            head.recorded_at,
            head.hash,
            counted(policy.user_count(), "user"),
            counted(policy.group_count(), "group"),
            counted(policy.role_count(), "role"),
            counted(policy.object_count(), "object"),
            counted(policy.grant_count(), "grant"),
            counted(policy.permissions().count(), "permission"),
        )
    })
}

/// An object by `type:id` or `type:external_id`, as it was called then.
pub(super) fn object(policy: &Policy, text: &str) -> Outcome<Scope> {
    let found = text.split_once(':').and_then(|(object_type, name)| {
        let by_id = name
            .parse()
            .ok()
            .filter(|id| policy.object(*id).is_some_and(|object| object.object_type.as_str() == object_type));
        by_id.or_else(|| policy.object_by_external_id(object_type, name))
    });
    found.map(Scope::Object).ok_or_else(|| Failure::error(format!("there was no object `{text}` then")))
}

/// A place by its names, as the first of these states that has it calls it.
pub(super) fn scope_ref(states: &[&Policy], scope: Scope) -> ScopeRef {
    let Scope::Object(id) = scope else { return ScopeRef::Global };
    let Some(view) = states.iter().find_map(|state| state.object(id)) else { return ScopeRef::Hidden };
    let object = ObjectRef {
        id: view.id,
        object_type: view.object_type.clone(),
        external_id: view.external_id.map_or_else(|| view.id.to_string(), ToString::to_string),
        name: view.name.to_string(),
    };
    ScopeRef::Object { object }
}

/// A user by id, by the name he has at the end of the log, or else by the one he had then. Who was erased since has no
/// name here either.
pub(super) async fn user(log: &Log, then: &Policy, text: &str) -> Outcome<UserId> {
    let none = || Failure::error(format!("there was no user `{text}` then"));
    if let Ok(id) = text.parse::<UserId>() {
        return then.user(id).map(|_| id).ok_or_else(none);
    }
    let Some(secrets) = log.secrets() else {
        return Err(Failure::usage("in a file, names are sealed").hint("name the user by his id"));
    };
    let key = secrets.installation_secrets().await.map_err(|error| opening(&error))?.tag_key;
    let tag = name_tag(&key, text);
    let end = log.store().head().await.map_err(|error| opening(&error))?;
    let now = folded(log.store(), &end, |_| ()).await.map_err(|error| failed(&error))?;
    let called = |policy: &Policy| {
        let id = policy.user_by_tag(&tag)?;
        let profile = policy.user(id)?.profile?;
        (profile.username == tag || profile.external_id == Some(tag)).then_some(id)
    };
    let by_present_name = called(&now).filter(|id| then.user(*id).is_some());
    let has_a_name = |id: &UserId| now.user(*id).is_some_and(|view| view.profile.is_some());
    by_present_name.or_else(|| called(then).filter(has_a_name)).ok_or_else(none)
}

fn decide(app: &App, decision: &Decision) -> Outcome {
    let allowed = decision.allowed();
    let value = json!({
        "allowed": allowed,
        "verdict": if decision.verdict == Verdict::Allow { "allow" } else { "deny" },
        "because": because(decision.because),
        "grants": decision.grants,
        "policy_version": decision.version,
        "at": decision.at,
    });
    app.out.answer(&value, || {
        let mark = app.out.mark(if allowed { "yes" } else { "no" }, allowed);
        format!("{mark}: {}, {}", because(decision.because), counted(decision.grants.len(), "grant"))
    })?;
    Ok(if allowed { Exit::Done } else { Exit::Denied })
}

const fn because(why: Because) -> &'static str {
    match why {
        Because::Administrator => "administrator",
        Because::Grant => "grant",
        Because::NotSet => "not_set",
        Because::InactiveSubject => "inactive_subject",
        Because::UnknownPermission => "unknown_permission",
        Because::TokenTooNarrow => "token_too_narrow",
    }
}

fn effective(app: &App, past: &Past, user: UserId, scope: Scope) -> Outcome {
    let entries = past.policy.effective(user, scope, past.version.now);
    let rows: Vec<Value> = entries
        .iter()
        .filter(|entry| app.out.format() != Format::Table || entry.state != EffectiveState::NotSet)
        .map(|entry| {
            let state = match entry.state {
                EffectiveState::Allowed => "allowed",
                EffectiveState::Denied => "denied",
                EffectiveState::NotSet => "not_set",
            };
            let decision = &entry.decision;
            let subject = decision.subject.map(|subject| match subject {
                SubjectKind::User => "user",
                SubjectKind::Group => "group",
            });
            json!({
                "permission": entry.key,
                "state": state,
                "because": because(decision.because),
                "scope": decision.scope.map(|scope| scope_ref(&[&past.policy], scope)),
                "subject": subject,
                "grants": decision.grants,
            })
        })
        .collect();
    app.out.rows(&EFFECTIVE, &rows)?;
    Ok(Exit::Done)
}

fn holders(app: &App, past: &Past, key: &PermissionKey, scope: Scope) -> Outcome {
    let found = past.policy.who_can(key, scope, past.version.now, Page::ALL);
    let row = |holder: &charter_policy::Holder| {
        let (why, grants) = (because(holder.how.because), &holder.how.grants);
        json!({"user": holder.user, "because": why, "grants": grants})
    };
    app.out.rows(&HOLDER, &found.users.iter().map(row).collect::<Vec<_>>())?;
    Ok(Exit::Done)
}
