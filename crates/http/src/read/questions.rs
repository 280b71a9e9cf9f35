//! Questions: whom and what they are about, as far as the caller may know, and the decision as far as he may.
//!
//! A question about oneself is answered for oneself as one calls: a yes that the token would not let through is a no.

use crate::{ask::Ask, problem::Problem};
use charter_events::{ObjectId, PermissionKey, Scope, UserId};
use charter_policy::{AccessError, Because, Decision, EffectiveEntry, EffectiveState, Verdict};
use smallvec::SmallVec;

/// Whom a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct About {
    /// The user; none when there is no such user and the caller may not know that.
    pub(crate) user: Option<UserId>,
    /// Whether it is the caller himself.
    pub(crate) himself: bool,
    /// Whether the caller may know who is a user and how the account stands.
    pub(crate) known: bool,
}

/// Whom a question is about. Of somebody else, asking needs `core.decision.read` where the question is about.
///
/// # Errors
/// 403 without that key; 404 for an unknown user, for those who may know who is one.
pub(crate) fn about(ask: &Ask, user: Option<&str>, scope: Scope) -> Result<About, Problem> {
    let found = match user {
        None => Some(ask.user),
        Some(text) => ask.user_named(text),
    };
    if found == Some(ask.user) {
        return Ok(About { user: found, himself: true, known: true });
    }
    ask.require("core.decision.read", scope)?;
    let known = ask.may_core("core.user.read", Scope::Global);
    match found {
        None if known => Err(Problem::not_found().of("user")),
        user => Ok(About { user, himself: false, known }),
    }
}

/// A key of the catalog.
///
/// # Errors
/// 422 for any other.
pub(crate) fn in_catalog(ask: &Ask, key: &PermissionKey, field: &str) -> Result<(), Problem> {
    match ask.policy.permission(key.as_str()) {
        Some(_) => Ok(()),
        None => Err(Problem::from(AccessError::UnknownPermission(key.clone())).of(field)),
    }
}

/// The object a question names, whether or not the caller may know it.
///
/// # Errors
/// 404 when there is none; 422 when the text is no reference.
pub(crate) fn object(ask: &Ask, text: &str, field: &str) -> Result<ObjectId, Problem> {
    if !text.contains(':') {
        let detail = "it takes `<type>:<id or external id>`";
        return Err(Problem::invalid_member("invalid_reference", field, detail));
    }
    let found = ask.app.control.resolve_object(&ask.policy, text);
    found.ok_or_else(|| Problem::not_found().of(field))
}

/// Asks one question: may this user do this at this object, or platform-wide?
///
/// # Errors
/// 422 for an unknown key, 404 for an object that is not there or that the caller may not know, 403 when he may not
/// ask about this user. A caller who asks about himself may know an object where the answer is allow.
pub(crate) fn ask_one(
    ask: &Ask,
    user: Option<&str>,
    permission: &PermissionKey,
    on: Option<&str>,
    fields: (&str, &str),
) -> Result<(About, Scope, Decision), Problem> {
    in_catalog(ask, permission, fields.0)?;
    let Some(text) = on else {
        let who = about(ask, user, Scope::Global)?;
        return Ok((who, Scope::Global, decide(ask, who, permission, Scope::Global)));
    };
    let id = object(ask, text, fields.1)?;
    let (who, decision) = ask_at(ask, user, permission, id, fields.1)?;
    Ok((who, Scope::Object(id), decision))
}

/// The same of a key of the catalog, at an object that is there, whether or not the caller may know it.
///
/// # Errors
/// As [`ask_one`].
pub(crate) fn ask_at(
    ask: &Ask,
    user: Option<&str>,
    permission: &PermissionKey,
    object: ObjectId,
    field: &str,
) -> Result<(About, Decision), Problem> {
    let scope = Scope::Object(object);
    let knows = ask.policy.object(object).is_some_and(|view| ask.knows(&view));
    let hidden = || Problem::not_found().of(field);
    match about(ask, user, scope) {
        Ok(who) => {
            let decision = decide(ask, who, permission, scope);
            let may_know = knows || (who.himself && decision.allowed());
            if may_know { Ok((who, decision)) } else { Err(hidden()) }
        }
        Err(problem) => Err(if knows { problem } else { hidden() }),
    }
}

/// The walk. For those who may not know who is a user, an unknown or inactive one answers as one without grants.
fn decide(ask: &Ask, who: About, permission: &PermissionKey, scope: Scope) -> Decision {
    let made = who.user.map(|user| ask.policy.check(user, permission, scope, ask.now));
    match made {
        Some(made) if who.himself => made.as_called(&ask.caller, permission),
        Some(made) if who.known || made.because != Because::InactiveSubject => made,
        _ => nothing_set(ask),
    }
}

/// What the caller himself may, whatever token he comes with: where that alone is what keeps him out.
pub(crate) fn without_token(
    ask: &Ask,
    made: &Decision,
    permission: &PermissionKey,
    scope: Scope,
) -> Option<Decision> {
    (made.because == Because::TokenTooNarrow).then(|| ask.policy.check(ask.user, permission, scope, ask.now))
}

/// What a user without grants gets.
fn nothing_set(ask: &Ask) -> Decision {
    Decision {
        verdict: Verdict::Deny,
        because: Because::NotSet,
        scope: None,
        subject: None,
        grants: SmallVec::new(),
        version: ask.policy.version(),
        at: ask.now,
    }
}

/// What a user may do at a place, one entry a key.
///
/// # Errors
/// As [`ask_one`]; a caller who asks about himself may know an object where anything is allowed to him.
pub(crate) fn effective(
    ask: &Ask,
    user: Option<&str>,
    scope: Scope,
) -> Result<(About, Vec<EffectiveEntry>), Problem> {
    let knows = match scope {
        Scope::Global => true,
        Scope::Object(id) => ask.policy.object(id).is_some_and(|view| ask.knows(&view)),
    };
    let hidden = || Problem::not_found().of("object");
    let who = about(ask, user, scope).map_err(|problem| if knows { problem } else { hidden() })?;
    let mut entries = ask.policy.effective(who.user.unwrap_or(NOBODY), scope, ask.now);
    if who.himself {
        entries = entries.into_iter().map(|entry| entry.as_called(&ask.caller)).collect();
    }
    let allowed = entries.iter().any(|entry| entry.state == EffectiveState::Allowed);
    let may_know = knows || (who.himself && allowed);
    if !may_know {
        return Err(hidden());
    }
    for entry in &mut entries {
        if !who.known && entry.decision.because == Because::InactiveSubject {
            entry.decision = nothing_set(ask);
        }
    }
    Ok((who, entries))
}

/// A user that does not exist.
const NOBODY: UserId = UserId::from_u128(0);
