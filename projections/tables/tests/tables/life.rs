//! A history in which everything happens once, and what every projection makes of it.

use crate::support::{changes_of, fold};
use charter_events::*;
use charter_policy::Policy;
use charter_tables::{PROJECTIONS, Value};
use charter_testkit::{
    History, at,
    history::{parsed, sorted},
    ids, to_group, to_user,
};
use std::collections::BTreeSet;

/// Everything that can happen, in an order in which it could.
pub(crate) fn whole_life() -> Vec<(EventMeta, Event)> {
    let begun = History::new()
        .keys(&["mc.server.read", "mc.server.create", "mc.server.manage", "mc.server.start"], &["any"])
        .object_type("mc", "server")
        .event(UserRegistered { user: ids::user("anna"), kind: UserKind::Person, profile: profile("anna") })
        .administrator("anna")
        .at("2026-02-01T08:00:00Z")
        .by("anna");
    ends(things(people(begun))).into_events()
}

fn people(begun: History) -> History {
    let (tom, job) = (ids::user("tom"), ids::user("job"));
    begun
        .event(UserInvited { user: tom, kind: UserKind::Person, profile: profile("tom") })
        .event(UserRegistered { user: tom, kind: UserKind::Person, profile: profile("tom") })
        .event(UserProfileChanged {
            user: tom,
            kind: UserKind::Person,
            profile: profile("thomas"),
            changed: vec![ProfileField::Username, ProfileField::Email],
        })
        .event(UserProfileChanged {
            user: tom,
            kind: UserKind::Person,
            profile: SealedProfile { identity: Some(ids::tag("tom at home")), ..profile("thomas") },
            changed: vec![ProfileField::Identity],
        })
        .event(UserRegistered { user: job, kind: UserKind::Service, profile: profile("job") })
        .event(CredentialPasswordChanged { user: tom, has_password: true })
        .event(CredentialTokenIssued {
            token: ids::token("ci"),
            user: job,
            name: ids::shown("Build Machine"),
            expires_at: Some(at("2026-06-01T00:00:00Z")),
            mask: Some(sorted(["mc.*"])),
        })
        .event(CredentialSessionEnded {
            session: SessionId::from_u128(9),
            user: tom,
            expires_at: at("2026-03-01T00:00:00Z"),
        })
        .event(CredentialSessionsEnded { user: tom })
}

fn things(begun: History) -> History {
    begun
        .group("crew", ["tom"])
        .event(GroupRenamed { group: ids::group("crew"), name: ids::shown("The Crew") })
        .event(GroupExternalIdChanged { group: ids::group("crew"), external_id: "crew-7".parse().ok() })
        .role("runner", "both", ["mc.server.start"])
        .event(RoleRenamed { role: ids::role("runner"), name: ids::shown("Runs Servers") })
        .role_changed("runner", &["mc.server.read"], &["mc.server.start"])
        .folder("Games", None)
        .folder("Old", None)
        .object("server", "survival", Some("Games"), Some("tom"))
        .event(ObjectRenamed {
            object: ids::object("server", "survival"),
            name: ids::shown("Survival World"),
            external_id: Some(parsed("mc-17")),
        })
        .moved("server", "survival", Some("Old"))
        .inherits("server", "survival", false)
        .grant(
            "crew runs",
            to_group("crew").role("runner").on("folder", "Games").affects(Affects::ChildrenOnly),
        )
        .grant(
            "two keys",
            to_user("tom").keys(["mc.server.read", "mc.server.start"]).until("2026-02-10T00:00:00Z"),
        )
        .event(GrantKeysRemoved { grant: ids::grant("two keys"), keys: vec![parsed("mc.server.start")] })
        .event(PermissionsDeprecated { namespace: parsed("mc"), keys: vec![parsed("mc.server.start")] })
        .event(PermissionsRemoved { namespace: parsed("mc"), keys: vec![parsed("mc.server.start")] })
}

fn ends(begun: History) -> History {
    let (anna, tom) = (ids::user("anna"), ids::user("tom"));
    begun
        .at("2026-02-11T00:00:00Z")
        .event(GrantExpired { grant: ids::grant("two keys") })
        .event(UserSuspended { user: tom })
        .event(UserReactivated { user: tom })
        .transferred("server", "survival", "owner:server:survival", "anna")
        .deleted("server", "survival", &["owner:server:survival:anna"])
        .event(ObjectTypesRemoved { namespace: parsed("mc"), types: vec![parsed("server")] })
        .revoked("crew runs")
        .left("crew", "tom")
        .event(GroupDeleted { group: ids::group("crew") })
        .event(RoleDeleted { role: ids::role("runner") })
        .event(CredentialTokenRevoked { token: ids::token("ci") })
        .event(UserDeletionScheduled { user: tom, erase_at: at("2026-03-11T00:00:00Z") })
        .event(UserDeletionCancelled { user: tom })
        .event(UserErased { user: tom })
        .event(ProjectionSkipped { projection: parsed("directory"), skipped: offset(3) })
        .event(ProjectionRebuilt {
            projection: parsed("directory"),
            version: 1,
            generation: 2,
            up_to: offset(40),
            digest: Hash::new([7; 32]),
            differed: false,
            asked_by: Some(anna),
        })
        .event(BackupTaken {
            head: offset(41),
            hash: Hash::new([1; 32]),
            digest: Hash::new([2; 32]),
            asked_by: None,
        })
        .event(BackupRestored { head: offset(41), hash: Hash::new([1; 32]), digest: Hash::new([2; 32]) })
}

fn offset(number: u64) -> Offset {
    Offset::new(number).unwrap()
}

/// What a person's names are made of here: sealed bytes that would be found again in any row.
fn profile(name: &str) -> SealedProfile {
    SealedProfile { sealed: Sealed::new(format!("person-{name}").as_bytes()), ..ids::profile(name) }
}

#[test]
fn every_kind_of_event_happens_in_the_history_and_is_told() {
    let events = whole_life();
    let happened: BTreeSet<_> = events.iter().map(|(_, event)| event.type_name()).collect();
    let known: BTreeSet<_> = EVENT_TYPES.iter().map(|kind| kind.name).collect();
    assert_eq!(happened, known);
    let folded = fold(&events, 1);
    let entries = folded.rows("audit_history", "audit_entries");
    let told: Vec<_> = entries.iter().map(|row| row[4].clone()).collect();
    assert_eq!(told, events.iter().map(|(_, event)| Value::text(event.type_name())).collect::<Vec<_>>());
}

#[test]
fn an_erased_user_keeps_a_row_and_everything_deleted_loses_its_own() {
    let folded = fold(&whole_life(), 1);
    let users = folded.rows("directory", "users");
    let tom = users.iter().find(|row| row[0] == Value::Uuid(ids::user("tom").as_uuid())).unwrap();
    assert_eq!(tom[1..4], [Value::text("person"), Value::text("erased"), Value::Bool(false)]);
    assert_eq!(users.len(), 3);
    for (projection, table, left) in [
        ("directory", "groups", 0),
        ("directory", "group_members", 0),
        ("directory", "objects", 2),
        ("grant_sets", "grants", 1),
        ("access_index", "access_entries", 1),
    ] {
        assert_eq!(folded.rows(projection, table).len(), left, "{table}");
    }
}

#[test]
fn no_row_holds_anything_of_a_persons_profile() {
    let folded = fold(&whole_life(), 1);
    let tags: Vec<String> = ["anna", "tom", "thomas"].map(|name| ids::tag(name).to_string()).into();
    for (projection, tables) in &folded.tables {
        for row in tables.values().flatten() {
            let shown = match row {
                Value::Text(text) => text.clone(),
                Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Value::Null | Value::Uuid(_) | Value::Int(_) | Value::Bool(_) => continue,
            };
            assert!(!shown.contains("person-"), "{projection}: {shown}");
            assert!(!shown.contains("thomas"), "{projection}: {shown}");
            assert!(!tags.iter().any(|tag| shown.contains(tag)), "{projection}: {shown}");
        }
    }
}

#[test]
fn an_event_about_something_that_is_not_there_is_poison_not_a_row() {
    let policy = Policy::new();
    let meta = EventMeta { offset: offset(1), recorded_at: at("2026-02-01T08:00:00Z"), actor: Actor::System };
    let (user, group) = (ids::user("nobody"), ids::group("none"));
    let cases: Vec<(&str, Event)> = vec![
        ("directory", UserSuspended { user }.into()),
        ("directory", GroupMemberAdded { group, user }.into()),
        ("directory", RoleDeleted { role: ids::role("none") }.into()),
        ("directory", ObjectMoved { object: ids::folder("none"), parent: None }.into()),
        ("grant_sets", GrantRevoked { grant: ids::grant("none") }.into()),
        ("grant_sets", GrantKeysRemoved { grant: ids::grant("none"), keys: Vec::new() }.into()),
        ("access_index", GrantExpired { grant: ids::grant("none") }.into()),
        ("audit_history", GrantEnded { grant: ids::grant("none"), by: EndedBy::User(user) }.into()),
        ("audit_history", CredentialTokenRevoked { token: ids::token("none") }.into()),
        ("audit_history", GroupRenamed { group, name: ids::shown("None") }.into()),
        ("audit_history", GroupExternalIdChanged { group, external_id: None }.into()),
    ];
    for (name, event) in cases {
        let projection = PROJECTIONS.iter().find(|projection| projection.spec().name == name).unwrap();
        let poison = changes_of(*projection, &policy, &meta, &event).unwrap_err();
        assert!(poison.why.ends_with("is not there"), "{name}: {poison}");
    }
}
