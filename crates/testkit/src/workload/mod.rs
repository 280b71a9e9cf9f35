//! The workloads measurements are made on, each a log that follows from its seed, with the questions asked of it.
//!
//! `RBAC-W` is large and calm: most scopes say nothing, few entries contradict each other. `X` is small and full of
//! conflict: whoever evaluates it wrongly is found out. Both stream; nothing here knows how they are folded.

mod conflict;
mod questions;
mod rbac_w;

pub use conflict::Conflict;
pub use questions::{Question, Questions};
pub use rbac_w::{
    ADMINISTRATORS, Given, Issued, KEYS, OBJECT_GRANTS, ROLE_KEYS, ROLES, RbacW, Size, USER_GROUPS,
    WILDCARD_ROLES,
};

use crate::{
    clock::{START, at, later},
    history::parsed,
    ids,
};
use charter_events::{
    Actor, Event, EventMeta, InstallationCreated, NameTag, ObjectTypeDefinition, ObjectTypesRegistered,
    Offset, Pattern, PermissionDefinition, PermissionKey, PermissionsRegistered, RoleCreated, RoleScope,
    Sealed, SealedProfile, SeededRole,
};

/// The type of all objects that are no folders.
pub const OBJECT_TYPE: &str = "server";

/// Numbers events from 1, a microsecond apart.
fn numbered(events: impl Iterator<Item = Event>) -> impl Iterator<Item = (EventMeta, Event)> {
    let start = at(START);
    (1_u64..).zip(events).map(move |(number, event)| {
        let offset = Offset::new(number).expect("a workload has fewer events than there are offsets");
        let recorded_at = later(start, i64::try_from(number).unwrap_or(0));
        (EventMeta { offset, recorded_at, actor: Actor::System }, event)
    })
}

/// The first events of a log: the installation, the object types, the catalog, the protected roles.
fn beginning(keys: &[PermissionKey]) -> Vec<Event> {
    let mut events = vec![InstallationCreated { name: ids::shown("Workload") }.into()];
    for (namespace, name) in [("core", "folder"), (keys[0].namespace(), OBJECT_TYPE)] {
        let key = |action: &str| parsed(&format!("{namespace}.{name}.{action}"));
        let (read, create, manage) = (key("read"), key("create"), key("manage"));
        let types =
            vec![ObjectTypeDefinition { name: parsed(name), read, create, manage, aliases: Vec::new() }];
        events.push(ObjectTypesRegistered { namespace: parsed(namespace), types }.into());
    }
    for namespace_keys in keys.chunk_by(|a, b| a.namespace() == b.namespace()) {
        let permissions = namespace_keys.iter().map(|key| PermissionDefinition {
            key: key.clone(),
            description: ids::shown(key.as_str()),
            object_types: vec![parsed(OBJECT_TYPE)],
        });
        let namespace = parsed(namespace_keys[0].namespace());
        events.push(
            PermissionsRegistered { namespace, revision: None, permissions: permissions.collect() }.into(),
        );
    }
    for (slug, scope, seeded) in [
        ("administrator", RoleScope::Global, SeededRole::Administrator),
        ("owner", RoleScope::Object, SeededRole::Owner),
    ] {
        events.push(role(ids::role(slug), slug, scope, vec![Pattern::all()], Some(seeded)));
    }
    events
}

fn role(
    role: charter_events::RoleId,
    slug: &str,
    scope: RoleScope,
    permissions: Vec<Pattern>,
    seeded: Option<SeededRole>,
) -> Event {
    RoleCreated { role, slug: parsed(slug), name: ids::shown(slug), scope, permissions, seeded }.into()
}

/// A profile nobody can read, with a tag of its own.
fn profile(number: u64) -> SealedProfile {
    let mut tag = [0x5a; 32];
    tag[..8].copy_from_slice(&number.to_be_bytes());
    // As long as a sealed username, name and address are.
    SealedProfile {
        sealed: Sealed::new(&[0xa5; 120]),
        username: NameTag::new(tag),
        login_name: None,
        external_id: None,
        identity: None,
    }
}

/// A number that fits 32 bits.
fn small(number: usize) -> u32 {
    u32::try_from(number).expect("workloads count in 32 bits")
}
