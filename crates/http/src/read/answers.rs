//! Decisions as the API shows them.

use super::{Names, group_ref, scope};
use crate::{ask::Ask, dto};
use charter_events::PermissionKey;
use charter_policy::{Because, Decision, EffectiveEntry, EffectiveState, Holder, SubjectKind, Verdict};

const fn because(reason: Because) -> dto::Because {
    match reason {
        Because::Administrator => dto::Because::Administrator,
        Because::Grant => dto::Because::Grant,
        Because::NotSet => dto::Because::NotSet,
        Because::InactiveSubject => dto::Because::InactiveSubject,
        Because::UnknownPermission => dto::Because::UnknownPermission,
        Because::TokenTooNarrow => dto::Because::TokenTooNarrow,
    }
}

const fn kind(subject: SubjectKind) -> dto::SubjectKind {
    match subject {
        SubjectKind::User => dto::SubjectKind::User,
        SubjectKind::Group => dto::SubjectKind::Group,
    }
}

pub(crate) const fn state(state: EffectiveState) -> dto::PermissionState {
    match state {
        EffectiveState::Allowed => dto::PermissionState::Allowed,
        EffectiveState::Denied => dto::PermissionState::Denied,
        EffectiveState::NotSet => dto::PermissionState::NotSet,
    }
}

pub(crate) fn decision(ask: &Ask, made: &Decision) -> dto::Decision {
    dto::Decision {
        allowed: made.allowed(),
        verdict: match made.verdict {
            Verdict::Allow => dto::Verdict::Allow,
            Verdict::Deny => dto::Verdict::Deny,
        },
        because: because(made.because),
        scope: made.scope.map(|place| scope(ask, place)),
        subject: made.subject.map(kind),
        grants: made.grants.to_vec(),
        policy_version: made.version,
        at: made.at,
    }
}

pub(crate) fn effective_row(ask: &Ask, entry: &EffectiveEntry) -> dto::EffectivePermission {
    dto::EffectivePermission {
        permission: entry.key.clone(),
        state: state(entry.state),
        because: because(entry.decision.because),
        scope: entry.decision.scope.map(|place| scope(ask, place)),
        subject: entry.decision.subject.map(kind),
        grants: entry.decision.grants.to_vec(),
    }
}

pub(crate) fn holder(ask: &Ask, key: &PermissionKey, holder: &Holder, names: &Names) -> dto::Holder {
    let too_narrow = holder.user == ask.user && !ask.caller.reaches(key);
    dto::Holder {
        token_reaches: too_narrow.then_some(false),
        user: names.user(holder.user),
        because: because(holder.how.because),
        subject: holder.how.subject.map(kind),
        through: holder
            .through
            .iter()
            .filter_map(|id| ask.policy.group(*id))
            .map(|g| group_ref(&g))
            .collect(),
        grants: holder.how.grants.to_vec(),
    }
}

/// An answer as a sentence.
pub(crate) fn summary(shown: &dto::Decision) -> String {
    let verb = if shown.allowed { "allowed" } else { "denied" };
    let at = match &shown.scope {
        None => String::new(),
        Some(dto::ScopeRef::Global) => " at the global scope".to_owned(),
        Some(dto::ScopeRef::Hidden) => " at an object you may not know".to_owned(),
        Some(dto::ScopeRef::Object { object }) => {
            format!(
                " at `{}:{}`, the nearest scope that says anything",
                object.object_type, object.external_id
            )
        }
    };
    let to = match shown.subject {
        Some(dto::SubjectKind::User) => " to the user",
        Some(dto::SubjectKind::Group) => " to a group of the user's",
        None => "",
    };
    let grants = match shown.grants.len() {
        1 => "1 grant".to_owned(),
        many => format!("{many} grants"),
    };
    match shown.because {
        dto::Because::Administrator => format!("{verb}: a wildcard of a global role matches ({grants})"),
        dto::Because::Grant => format!("{verb} by {grants}{to}{at}"),
        dto::Because::NotSet => format!("{verb}: nothing says otherwise"),
        dto::Because::InactiveSubject => format!("{verb}: the user is not active"),
        dto::Because::UnknownPermission => format!("{verb}: the catalog has no such permission"),
        dto::Because::TokenTooNarrow => format!("{verb}: the token this is asked with does not reach it"),
    }
}
