//! Several commands as one are no way around a guard, and all happen or none.

use crate::{undo::done, world::*};
use charter_commands::*;
use charter_events::Event;
use charter_testkit::{history::parsed, ids, to_group, to_user};

fn join(group: &str, user: &str) -> Command {
    AddMember { group: ids::group(group), user: ids::user(user) }.into()
}

fn leave(group: &str, user: &str) -> Command {
    RemoveMember { group: ids::group(group), user: ids::user(user) }.into()
}

fn several(commands: impl IntoIterator<Item = Command>) -> Several {
    Several { commands: commands.into_iter().collect() }
}

/// `a` may manage members; `strong` gives what he lacks, `weak` nothing.
fn managed() -> World {
    World::with(|h| {
        let h = h.group("strong", []).group("weak", []);
        let h = h.grant("strong:", to_group("strong").role("administrator"));
        h.grant("manage:a", to_user("a").keys(["core.group.manage", "core.group.edit"]))
    })
}

#[test]
fn one_that_is_refused_undoes_those_before_it() {
    let mut w = managed();
    let commands = [join("weak", "c"), join("strong", "c"), join("weak", "d")];
    w.refused("a", several(commands.clone()), Code::NotHeld);
    w.ok("root", several(commands));
    assert!(w.policy.is_member(ids::group("strong"), ids::user("c")));
}

#[test]
fn what_one_gives_the_next_may_use_and_what_one_takes_the_next_may_not() {
    let mut w = managed();
    w.given(|h| h.grant("weak:", to_group("weak").keys(["core.group.read"])));
    // `a` does not hold what `weak` gives, and so lets nobody in, himself neither.
    w.refused("a", several([join("weak", "a"), join("weak", "c")]), Code::NotHeld);
    // The administrator who leaves is none any more when the next is decided.
    w.given(|h| h.user("e").event(password("e")));
    w.ok("root", join("strong", "e"));
    let leaves_first = several([leave("strong", "e"), join("strong", "c")]);
    w.refused("e", leaves_first, Code::Forbidden);
}

#[test]
fn the_last_administrator_stays_whatever_comes_together() {
    let mut w = World::new();
    let suspend = |name: &str| Command::from(SuspendUser { user: ids::user(name) });
    w.refused("root", several([suspend("c"), suspend("root")]), Code::LastAdministrator);
    w.ok("root", several([suspend("c"), suspend("d")]));
}

#[test]
fn members_join_the_group_that_was_made_before_them() {
    let mut w = World::new();
    let make = CreateGroup { slug: parsed("new"), name: ids::shown("New") };
    let join = AddMember { group: MADE_GROUP, user: ids::user("c") };
    let id = SetGroupExternalId { group: MADE_GROUP, external_id: Some("g-1".parse().unwrap()) };
    let made = w.ok("root", several([make.into(), id.into(), join.clone().into()]));
    let group = w.policy.group_by_slug("new").unwrap();
    assert_eq!(made.created, Some(group.as_uuid()));
    assert!(w.policy.is_member(group, ids::user("c")));
    assert_eq!(w.policy.group(group).unwrap().external_id.unwrap().as_str(), "g-1");
    // Without one there is nothing it stands for.
    w.refused("root", several([join.clone().into()]), Code::NotFound);
    w.refused("root", join, Code::NotFound);
}

#[test]
fn what_is_no_one_of_several_is_refused() {
    let mut w = World::new();
    w.refused("root", several([]), Code::Empty);
    w.refused("root", several([several([join("x", "c")]).into()]), Code::InvalidState);
    let many = vec![Command::from(SuspendUser { user: ids::user("c") }); SEVERAL_COMMANDS_MAX + 1];
    w.refused("root", several(many), Code::LimitExceeded);
    let h = done(&mut w, "root", SuspendUser { user: ids::user("c") });
    w.refused("root", several([h.undo().into()]), Code::InvalidState);
}

#[test]
fn a_group_with_very_many_grants_changes_few_members_at_once() {
    let mut w = World::with(|h| {
        let h = h.group("crowd", []);
        (0..200).fold(h, |h, number| {
            let name = format!("o{number}");
            h.folder(&name, None).grant(
                &format!("g{number}"),
                to_group("crowd").keys(["core.folder.read"]).on("folder", &name),
            )
        })
    });
    let join = |_: usize| join("crowd", "c");
    w.refused("root", several((0..501).map(join)), Code::LimitExceeded);
    w.ok("root", several((0..500).map(join)));
}

#[test]
fn several_are_undone_as_one() {
    let mut w = managed();
    let rename = RenameGroup { group: ids::group("weak"), name: ids::shown("Other") };
    let id = SetGroupExternalId { group: ids::group("weak"), external_id: Some("g-1".parse().unwrap()) };
    let h = done(&mut w, "root", several([rename.into(), id.into(), join("weak", "c")]));
    assert_eq!(h.events.len(), 3);
    w.ok("root", h.undo());
    let group = w.policy.group(ids::group("weak")).unwrap();
    assert_eq!((group.external_id, group.member_count), (None, 0));
    assert_ne!(group.name.as_str(), "Other");
}

#[test]
fn an_external_id_of_a_group_takes_the_key_to_edit_it_and_is_given_once() {
    let mut w = managed();
    let set = |text: Option<&str>| SetGroupExternalId {
        group: ids::group("weak"),
        external_id: text.map(|text| text.parse().unwrap()),
    };
    w.refused("b", set(Some("g")), Code::Forbidden);
    assert!(matches!(w.ok("a", set(Some("g"))).events[0], Event::GroupExternalIdChanged(_)));
    assert!(w.ok("a", set(Some("g"))).events.is_empty());
    w.ok("a", set(None));
    assert_eq!(w.policy.group(ids::group("weak")).unwrap().external_id, None);
}
