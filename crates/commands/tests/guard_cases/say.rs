//! Commands in a few words.

use crate::world::{key, patterns, server, user};
use charter_commands::*;
use charter_events::{
    Affects, ChildTypes, Content, Effect, ObjectId, RoleScope, Scope, SealedProfile, Subject, Timestamp,
    UserKind,
};
use charter_testkit::{at, history::parsed, ids};

/// A grant of keys to a user, without end.
pub(crate) fn issue(to: &str, keys: &[&str], scope: Scope) -> IssueGrant {
    IssueGrant {
        subject: Subject::User(user(to)),
        content: Content::Keys(keys.iter().map(|text| key(text)).collect()),
        scope,
        effect: Effect::Allow,
        not_before: None,
        expires_at: None,
        affects: Affects::All,
        child_types: ChildTypes::All,
    }
}

/// A grant of a role to a user, without end.
pub(crate) fn issue_role(to: &str, role: &str, scope: Scope) -> IssueGrant {
    IssueGrant { content: Content::Role(ids::role(role)), ..issue(to, &[], scope) }
}

/// A deny of keys to a user, without end.
pub(crate) fn deny(to: &str, keys: &[&str], scope: Scope) -> IssueGrant {
    IssueGrant { effect: Effect::Deny, ..issue(to, keys, scope) }
}

pub(crate) fn until(grant: IssueGrant, moment: &str) -> IssueGrant {
    IssueGrant { expires_at: Some(at(moment)), ..grant }
}

pub(crate) fn from(grant: IssueGrant, moment: &str) -> IssueGrant {
    IssueGrant { not_before: Some(at(moment)), ..grant }
}

pub(crate) fn reaching(grant: IssueGrant, affects: Affects, child_types: ChildTypes) -> IssueGrant {
    IssueGrant { affects, child_types, ..grant }
}

pub(crate) fn revoke(name: &str) -> RevokeGrant {
    RevokeGrant { grant: ids::grant(name) }
}

pub(crate) fn move_to(object: ObjectId, parent: Option<&str>) -> MoveObject {
    MoveObject { object, parent: parent.map(ids::folder) }
}

pub(crate) fn transfer(name: &str, owner: &str) -> TransferObject {
    TransferObject { object: server(name), owner: user(owner) }
}

pub(crate) fn inherits(object: ObjectId, inherits: bool) -> SetInheritance {
    SetInheritance { object, inherits }
}

pub(crate) fn create(object_type: &str, parent: Option<&str>) -> CreateObject {
    CreateObject {
        object_type: parsed(object_type),
        external_id: None,
        name: ids::shown("New"),
        parent: parent.map(ids::folder),
    }
}

pub(crate) fn rename(object: ObjectId, name: &str) -> RenameObject {
    RenameObject { object, name: Some(ids::shown(name)), external_id: None }
}

pub(crate) fn join(group: &str, who: &str) -> AddMember {
    AddMember { group: ids::group(group), user: user(who) }
}

pub(crate) fn leave(group: &str, who: &str) -> RemoveMember {
    RemoveMember { group: ids::group(group), user: user(who) }
}

pub(crate) fn add_to_role(role: &str, items: &[&str]) -> ChangeRole {
    ChangeRole { role: ids::role(role), name: None, add: patterns(items), remove: Vec::new() }
}

pub(crate) fn take_from_role(role: &str, items: &[&str]) -> ChangeRole {
    ChangeRole { role: ids::role(role), name: None, add: Vec::new(), remove: patterns(items) }
}

pub(crate) fn new_role(slug: &str, scope: RoleScope, items: &[&str]) -> CreateRole {
    CreateRole { slug: parsed(slug), name: ids::shown(slug), scope, permissions: patterns(items) }
}

pub(crate) fn reset(who: &str) -> ChangePassword {
    ChangePassword { user: user(who), has_password: true }
}

pub(crate) fn token(who: &str, expires_at: Option<Timestamp>, mask: Option<&[&str]>) -> IssueToken {
    IssueToken {
        token: ids::token(&format!("token of {who}")),
        user: user(who),
        name: ids::shown("Token"),
        expires_at,
        mask: mask.map(patterns),
    }
}

pub(crate) fn edit(who: &str, profile: SealedProfile) -> EditUser {
    EditUser { user: user(who), kind: None, profile: Some(profile), changed: Vec::new() }
}

/// The names of a user, linked to an identity or to none.
pub(crate) fn known_as(who: &str, identity: Option<&str>) -> SealedProfile {
    let tag = |text: &str| ids::tag(&format!("identity {text}"));
    SealedProfile { identity: identity.map(tag), ..ids::profile(who) }
}

/// A user linked to an identity, or to none.
pub(crate) fn link(who: &str, identity: Option<&str>) -> EditUser {
    edit(who, known_as(who, identity))
}

pub(crate) fn turn_into(who: &str, kind: UserKind) -> EditUser {
    EditUser { user: user(who), kind: Some(kind), profile: None, changed: Vec::new() }
}

pub(crate) fn suspend(who: &str) -> SuspendUser {
    SuspendUser { user: user(who) }
}

pub(crate) fn schedule(who: &str, moment: &str) -> ScheduleDeletion {
    ScheduleDeletion { user: user(who), erase_at: at(moment) }
}
