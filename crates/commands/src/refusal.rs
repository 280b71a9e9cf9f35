//! Why a command is refused: one table of stable codes, and the shape every refusal has.

use charter_events::ObjectId;

/// What kind of refusal a code is; the HTTP status follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// 422: the command can't be carried out as it is written.
    Invalid,
    /// 403: the caller may not.
    Forbidden,
    /// 404: no such thing, or none the caller may know of; the answers are alike.
    NotFound,
    /// 409: the state doesn't allow it.
    Conflict,
    /// 412: the target changed since the caller saw it.
    PreconditionFailed,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident $text:literal $class:ident;)+) => {
        /// A stable code, part of the interface: never renamed, never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $code),+ }

        /// Every code there is, in the order of the table.
        pub const REFUSALS: &[Code] = &[$(Code::$code),+];

        impl Code {
            /// As clients see it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => $text),+ }
            }

            /// What kind of refusal it is.
            pub const fn class(self) -> Class {
                match self { $(Self::$code => Class::$class),+ }
            }
        }
    };
}

codes! {
    /// The key the command needs is not allowed to the caller there; `missing` names it.
    Forbidden "forbidden" Forbidden;
    /// The caller's token does not cover the key the command needs; `missing` names it.
    TokenTooNarrow "token_too_narrow" Forbidden;
    /// The caller does not hold what he would hand out, take over or take away; `missing` lists it.
    NotHeld "not_held" Forbidden;
    /// The caller holds it now, but not as long as what he would hand out lasts; `missing` lists it.
    OutlivesHolder "outlives_holder" Forbidden;
    /// The caller's account is not active.
    InactiveCaller "inactive_caller" Forbidden;
    /// Only the control plane itself does this.
    SystemOnly "system_only" Forbidden;
    /// Only the thing's own module, or an administrator, does this; core's namespace is nobody's.
    ForeignNamespace "foreign_namespace" Forbidden;

    /// No such thing, or none the caller may know of.
    NotFound "not_found" NotFound;

    /// The same grant stands already.
    AlreadyGranted "already_granted" Conflict;
    /// A deny on an object addressed to its owner needs an administrator.
    OwnerDenied "owner_denied" Conflict;
    /// The owner's grant moves with a transfer and ends with the object; the role is given no other way.
    OwnerGrant "owner_grant" Conflict;
    /// Nobody would be left who can administer the installation.
    LastAdministrator "last_administrator" Conflict;
    /// The folder still contains something.
    NotEmpty "not_empty" Conflict;
    /// The user still owns objects; `objects` lists those the caller may read.
    OwnsObjects "owns_objects" Conflict;
    /// The object type belongs to another namespace, or would change what it means.
    AlreadyRegistered "already_registered" Conflict;
    /// The name, slug, external id or id is in use.
    NameTaken "name_taken" Conflict;
    /// The object would lie in itself.
    Cycle "cycle" Conflict;
    /// The command would become more events than one command may; the detail names the number.
    TooManyConsequences "too_many_consequences" Conflict;
    /// There has been an administrator already.
    SetupClosed "setup_closed" Conflict;
    /// The installation exists already.
    AlreadyInstalled "already_installed" Conflict;
    /// The role is protected: neither edited nor deleted.
    ProtectedRole "protected_role" Conflict;
    /// The target is not in a state that allows it.
    InvalidState "invalid_state" Conflict;
    /// Something still stands on it.
    InUse "in_use" Conflict;
    /// A command that is in the log can't be undone; the detail says which event of it, and why.
    NotUndoable "not_undoable" Conflict;

    /// The target changed since the caller saw it.
    Stale "stale" PreconditionFailed;

    /// A maximum would be exceeded; the detail names it.
    LimitExceeded "limit_exceeded" Invalid;
    /// The key is not in the catalog.
    UnknownPermission "unknown_permission" Invalid;
    /// The object type is not in the catalog.
    UnknownObjectType "unknown_object_type" Invalid;
    /// A wildcard stands where only literal keys may.
    WildcardNotAllowed "wildcard_not_allowed" Invalid;
    /// A deny names literal keys, never a role.
    DenyNeedsKeys "deny_needs_keys" Invalid;
    /// The role's scope does not allow assigning it there.
    RoleScope "role_scope" Invalid;
    /// The permission does not apply to objects of this type.
    TypeMismatch "type_mismatch" Invalid;
    /// The permission is deprecated and no longer newly granted.
    DeprecatedPermission "deprecated_permission" Invalid;
    /// The reach makes no sense there.
    InvalidReach "invalid_reach" Invalid;
    /// The moments contradict each other or lie in the past.
    InvalidTime "invalid_time" Invalid;
    /// The name has a meaning of its own, such as an id's form, and can't be given.
    ReservedName "reserved_name" Invalid;
    /// The key or alias lies outside the namespace it is registered under.
    OutsideNamespace "outside_namespace" Invalid;
    /// Nothing is named where something must be.
    Empty "empty" Invalid;
    /// The same thing is named twice, or both to add and to remove.
    Duplicate "duplicate" Invalid;
    /// Only a folder contains objects.
    NotAFolder "not_a_folder" Invalid;
    /// A service has no password; an administrator's account needs one.
    InvalidCredential "invalid_credential" Invalid;
}

/// Why a command was refused. Nothing was appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", code.as_str())]
pub struct Refusal {
    /// The stable code.
    pub code: Code,
    /// The command's field at fault, if it is one field.
    pub field: Option<String>,
    /// For people; never names what the caller may not know.
    pub detail: String,
    /// The permission items that were missing, in byte order, at most the first 20.
    pub missing: Vec<String>,
    /// Whether there are more items, or objects, than are listed.
    pub more: bool,
    /// For `owns_objects`: the objects, as far as the caller may read them, at most the first 20.
    pub objects: Vec<ObjectId>,
}

impl Refusal {
    /// A refusal without field or items.
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            field: None,
            detail: detail.into(),
            missing: Vec::new(),
            more: false,
            objects: Vec::new(),
        }
    }

    /// A refusal of one field.
    pub(crate) fn of(code: Code, field: &str, detail: impl Into<String>) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(code, detail) }
    }

    /// What is not there and what may not be known: word for word the same.
    pub(crate) fn not_found(field: &str) -> Self {
        Self::of(Code::NotFound, field, format!("no such {field}, or none you may know of"))
    }

    /// A maximum exceeded.
    pub(crate) fn limit(field: &str, what: &str, maximum: usize) -> Self {
        Self::of(Code::LimitExceeded, field, format!("at most {maximum} {what}"))
    }

    /// The key that was missing.
    pub(crate) fn missing(mut self, item: &str) -> Self {
        self.missing.push(item.to_owned());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_a_stable_distinct_word() {
        let mut seen = std::collections::BTreeSet::new();
        for code in REFUSALS {
            let text = code.as_str();
            assert!(text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{text}");
            assert!(seen.insert(text), "{text} stands twice");
        }
    }
}
