//! Who gained and lost what, against every user, key and place of the naive model one by one.

use crate::sides::folded;
use charter_events::{Event, EventMeta, Offset, PermissionKey, Scope, Timestamp, UserId};
use charter_policy::{Diff, DiffBound, DiffBounds, DiffChange, DiffFilter, DiffPlace, DiffRow, Policy};
use charter_testkit::{
    History as Story, Rng, at,
    clock::later,
    ids,
    model::{Difference, World},
    random::History,
    to_group, to_user,
};
use std::collections::{BTreeMap, BTreeSet};

const UNBOUNDED: DiffBounds = DiffBounds { rows_max: usize::MAX, steps_max: u64::MAX };
const HOUR: i64 = 3_600_000_000;

/// A history cut in two, and the moments the two sides are judged at.
struct Cut {
    history: History,
    events: Vec<(EventMeta, Event)>,
    cut: usize,
    at: [Timestamp; 2],
}

impl Cut {
    fn of(seed: u64, crowded: bool) -> Self {
        let history = if crowded { History::crowded(seed) } else { History::of(seed) };
        let mut rng = Rng::part(seed, 31, 0);
        let events = history.events();
        // Now and then neither side has anything, or both have the same.
        let cut = if rng.percent(50) { rng.below(events.len() + 1) } else { events.len() - rng.below(9) };
        // Never before the last record: an end that was recorded has passed.
        let moments = [0, 0, 1, HOUR, 2 * HOUR, 5 * HOUR];
        let at = [later(history.now, *rng.pick(&moments)), later(history.now, *rng.pick(&moments))];
        Self { history, events, cut, at }
    }

    /// Both sides of one lineage: the later is the earlier and what followed.
    fn policies(&self) -> [Policy; 2] {
        let (events, later) = self.events.split_at(self.cut);
        let before = folded(events).unwrap();
        let mut after = before.clone();
        for (meta, event) in later {
            after.apply(meta, event).unwrap();
        }
        [before, after]
    }

    fn worlds(&self) -> [World; 2] {
        let world = |events: &[(EventMeta, Event)]| World::of(events.iter().map(|(_, event)| event));
        [world(self.events.split_at(self.cut).0), world(&self.events)]
    }
}

fn told_rows(diff: &Diff) -> BTreeSet<Difference> {
    let rows = diff.rows.iter().map(|row| Difference {
        user: row.user,
        scope: match row.place {
            DiffPlace::Everywhere => None,
            DiffPlace::At(scope) => Some(scope),
        },
        key: row.key.clone(),
        gained: row.change == DiffChange::Gained,
    });
    let found: BTreeSet<Difference> = rows.collect();
    assert_eq!(found.len(), diff.rows.len(), "a row is told twice");
    assert_eq!(diff.ended_by, None);
    found
}

fn assert_agrees(cut: &Cut) {
    let ([before, after], [world, later]) = (cut.policies(), cut.worlds());
    let [at_before, at_after] = cut.at;
    for every_place in [false, true] {
        let filter = DiffFilter { every_place, ..DiffFilter::default() };
        let diff = before.diff(at_before, &after, at_after, &filter, UNBOUNDED);
        let expected = world.diff(at_before, &later, at_after, every_place);
        let told = told_rows(&diff);
        assert!(
            told == expected,
            "seed {}, cut at {} of {}, every place: {every_place}\n missed {:?}\n made up {:?}\n{}",
            cut.history.seed,
            cut.cut,
            cut.events.len(),
            expected.difference(&told).next(),
            told.difference(&expected).next(),
            cut.history.shown()
        );
        for row in &diff.rows {
            let scope = match row.place {
                DiffPlace::Everywhere => Scope::Global,
                DiffPlace::At(scope) => scope,
            };
            assert_eq!(row.before, before.check(row.user, &row.key, scope, at_before), "{row:?}");
            assert_eq!(row.after, after.check(row.user, &row.key, scope, at_after), "{row:?}");
        }
        // The other way round the same rows tell the opposite.
        let back = told_rows(&after.diff(at_after, &before, at_before, &filter, UNBOUNDED));
        let turned: BTreeSet<_> =
            expected.into_iter().map(|row| Difference { gained: !row.gained, ..row }).collect();
        assert_eq!(back, turned, "seed {}", cut.history.seed);
    }
}

#[test]
fn a_diff_is_every_answer_that_changed_and_no_other() {
    let mut told_something = 0;
    for seed in 0..6_000 {
        let cut = Cut::of(seed, false);
        assert_agrees(&cut);
        let [before, after] = cut.policies();
        let diff = before.diff(cut.at[0], &after, cut.at[1], &DiffFilter::default(), UNBOUNDED);
        told_something += usize::from(!diff.is_empty());
    }
    assert!(told_something > 3_000, "only {told_something} of 6,000 worlds told anything");
}

#[test]
fn a_diff_of_crowded_worlds_is_every_answer_that_changed() {
    for seed in 0..6 {
        assert_agrees(&Cut::of(seed, true));
    }
}

#[test]
fn a_broken_rule_makes_diffs_differ() {
    use charter_testkit::model::Mutation;
    let differs = |seed: u64, mutation| {
        let cut = Cut::of(seed, false);
        let [before, after] = cut.policies();
        let world = |events: &[(EventMeta, Event)]| {
            World::broken(Some(mutation), events.iter().map(|(_, event)| event))
        };
        let (one, two) = (world(cut.events.split_at(cut.cut).0), world(&cut.events));
        let filter = DiffFilter { every_place: true, ..DiffFilter::default() };
        let diff = before.diff(cut.at[0], &after, cut.at[1], &filter, UNBOUNDED);
        told_rows(&diff) != one.diff(cut.at[0], &two, cut.at[1], true)
    };
    for mutation in [Mutation::IgnoreExpiry, Mutation::IgnoreInherits, Mutation::IgnoreReach] {
        assert!((0..2_000).any(|seed| differs(seed, mutation)), "{mutation:?} goes unnoticed");
    }
}

#[test]
fn states_that_share_no_page_differ_by_the_same_rows() {
    for seed in 0..400 {
        let cut = Cut::of(seed, false);
        let [before, after] = cut.policies();
        let apart = Policy::from_snapshot(&after.to_snapshot().unwrap()).unwrap();
        let filter = DiffFilter::default();
        let near = before.diff(cut.at[0], &after, cut.at[1], &filter, UNBOUNDED);
        let far = before.diff(cut.at[0], &apart, cut.at[1], &filter, UNBOUNDED);
        assert_eq!(near.rows, far.rows, "seed {seed}");
    }
}

#[test]
fn a_filter_leaves_the_rows_of_what_it_names() {
    for seed in 0..1_500 {
        let cut = Cut::of(seed, false);
        let [before, after] = cut.policies();
        let diff = |filter: &DiffFilter| before.diff(cut.at[0], &after, cut.at[1], filter, UNBOUNDED);
        let every_place = DiffFilter { every_place: true, ..DiffFilter::default() };
        let (folded, all) = (diff(&DiffFilter::default()).rows, diff(&every_place).rows);
        let Some(some) = all.get(seed as usize % all.len().max(1)) else { continue };
        let DiffPlace::At(scope) = some.place else { panic!("{some:?}") };
        let of_user = diff(&DiffFilter { user: Some(some.user), ..DiffFilter::default() }).rows;
        assert!(of_user.iter().eq(folded.iter().filter(|row| row.user == some.user)), "seed {seed}");
        let of_key = diff(&DiffFilter { key: Some(some.key.clone()), ..DiffFilter::default() }).rows;
        assert!(of_key.iter().eq(folded.iter().filter(|row| row.key == some.key)), "seed {seed}");
        // At one place nothing is folded.
        let at_scope = diff(&DiffFilter { scope: Some(scope), ..DiffFilter::default() }).rows;
        assert!(at_scope.iter().eq(all.iter().filter(|row| row.place == some.place)), "seed {seed}");
        let one = DiffFilter {
            user: Some(some.user),
            scope: Some(scope),
            key: Some(some.key.clone()),
            every_place: false,
        };
        assert_eq!(diff(&one).rows, std::slice::from_ref(some), "seed {seed}");
    }
}

#[test]
fn the_sum_of_the_diffs_between_neighbours_is_the_diff_of_the_ends() {
    for seed in 0..150 {
        let history = History::of(seed);
        let events = history.events();
        let filter = DiffFilter { every_place: true, ..DiffFilter::default() };
        // The clock goes on by a quarter of an hour with each event, so that grants begin and end on the way.
        let moment = |number: usize| later(history.now, HOUR / 4 * number as i64);
        let mut at_last = Policy::new();
        let mut sum = BTreeMap::<(UserId, Scope, PermissionKey), i32>::new();
        for (number, (meta, event)) in events.iter().enumerate() {
            let mut next = at_last.clone();
            next.apply(meta, event).unwrap();
            let diff = at_last.diff(moment(number), &next, moment(number + 1), &filter, UNBOUNDED);
            for row in told_rows(&diff) {
                let one = if row.gained { 1 } else { -1 };
                *sum.entry((row.user, row.scope.unwrap(), row.key)).or_default() += one;
            }
            at_last = next;
        }
        sum.retain(|_, sum| *sum != 0);
        let ends = Policy::new().diff(moment(0), &at_last, moment(events.len()), &filter, UNBOUNDED);
        let ends: BTreeMap<_, _> = told_rows(&ends)
            .into_iter()
            .map(|row| ((row.user, row.scope.unwrap(), row.key), if row.gained { 1 } else { -1 }))
            .collect();
        assert_eq!(sum, ends, "seed {seed}\n{}", history.shown());
    }
}

/// Each command of a long history, judged at its own moment: what it changed, added up.
#[test]
fn over_five_thousand_commands_the_diffs_add_up_to_the_diff_of_the_ends() {
    for seed in 0..3 {
        let history = History::long(seed, 5_000);
        let filter = DiffFilter { every_place: true, ..DiffFilter::default() };
        let mut events = history.events().into_iter();
        let (mut policy, mut now) = (Policy::new(), Timestamp::MIN);
        let mut sum = BTreeMap::<(UserId, Scope, PermissionKey), i32>::new();
        let (mut told, mut quiet) = (0, 0);
        for step in &history.steps {
            let mut next = policy.clone();
            for (meta, event) in events.by_ref().take(step.events.len()) {
                next.apply(&meta, &event).unwrap();
            }
            let diff = policy.diff(now, &next, step.at, &filter, UNBOUNDED);
            (told, quiet) = (told + diff.rows.len(), quiet + usize::from(diff.is_empty()));
            for row in told_rows(&diff) {
                let one = if row.gained { 1 } else { -1 };
                *sum.entry((row.user, row.scope.unwrap(), row.key)).or_default() += one;
            }
            (policy, now) = (next, step.at);
        }
        sum.retain(|_, sum| *sum != 0);
        let ends = Policy::new().diff(Timestamp::MIN, &policy, now, &filter, UNBOUNDED);
        let ends: BTreeMap<_, _> = told_rows(&ends)
            .into_iter()
            .map(|row| ((row.user, row.scope.unwrap(), row.key), if row.gained { 1 } else { -1 }))
            .collect();
        assert!(told > 5_000 && quiet > 500, "seed {seed}: {told} told, {quiet} commands changed nothing");
        assert_eq!(sum, ends, "seed {seed}");
    }
}

fn small() -> Story {
    Story::new()
        .object_type("core", "folder")
        .object_type("m", "server")
        .keys(&["m.s.x", "m.s.y"], &["server"])
        .role("r", "both", ["m.s.*"])
        .user("admin")
        .user("ann")
        .user("bob")
        .group("team", ["ann"])
        .folder("f", None)
        .object("server", "s", Some("f"), None)
        .object("server", "t", None, None)
}

#[test]
fn an_administrator_is_told_once_a_key_and_a_bound_says_which_it_is() {
    let events = small().role("star", "global", ["*"]).events().to_vec();
    let before = folded(&events).unwrap();
    let whole = small()
        .role("star", "global", ["*"])
        .grant("a", to_user("admin").role("star"))
        .grant("g", to_group("team").role("r").on("folder", "f"));
    let after = folded(whole.events()).unwrap();
    let now = at("2026-06-01T00:00:00Z");
    let diff = |bounds| before.diff(now, &after, now, &DiffFilter::default(), bounds);
    let all = diff(UNBOUNDED);
    let everywhere = all.rows.iter().filter(|row| row.place == DiffPlace::Everywhere);
    assert_eq!(everywhere.map(|row| row.user).collect::<BTreeSet<_>>(), [ids::user("admin")].into());
    let anns: Vec<_> = all.rows.iter().filter(|row| row.user == ids::user("ann")).collect();
    let places: BTreeSet<_> = anns.iter().map(|row| row.place).collect();
    let (folder, server) = (ids::folder("f"), ids::object("server", "s"));
    assert_eq!(places, [folder, server].map(|id| DiffPlace::At(Scope::Object(id))).into());
    assert_eq!(anns.len(), 4, "two keys at two places: {anns:?}");
    let few = diff(DiffBounds { rows_max: 3, ..UNBOUNDED });
    assert_eq!((few.ended_by, few.rows.as_slice()), (Some(DiffBound::Rows), &all.rows[..3]));
    let short = diff(DiffBounds { steps_max: all.steps - 1, ..UNBOUNDED });
    assert_eq!(short.ended_by, Some(DiffBound::Steps));
    assert!(short.rows.len() < all.rows.len());
    assert_eq!(diff(DiffBounds { rows_max: all.rows.len(), steps_max: all.steps }), all);
}

#[test]
fn a_clone_is_compared_with_what_it_came_from_at_the_cost_of_what_changed() {
    let mut crowd = small();
    for number in 0..1_500 {
        let (user, object) = (format!("user-{number}"), format!("object-{number}"));
        crowd = crowd
            .user(&user)
            .object("server", &object, None, Some(&user))
            .grant(&format!("to-{number}"), to_user(&user).role("r").on("server", &object));
    }
    let steps = |story: Story| {
        let before = folded(story.events()).unwrap();
        let head = before.version();
        let mut after = before.clone();
        for (meta, event) in story.grant("one-more", to_user("bob").role("r").on("server", "t")).events() {
            if meta.offset > head {
                after.apply(meta, event).unwrap();
            }
        }
        assert!(after.version() > Offset::ZERO && after.version() > head);
        let now = at("2026-06-01T00:00:00Z");
        let diff = before.diff(now, &after, now, &DiffFilter::default(), UNBOUNDED);
        assert_eq!(diff.rows.len(), 2, "{:?}", diff.rows);
        diff.steps
    };
    assert_eq!(steps(small()), steps(crowd));
}

/// The rows of one user are as many as places and keys: what is told bounds what is asked, not only what is kept.
#[test]
fn a_comparison_ends_with_the_rows_it_may_tell_though_all_are_of_one_user() {
    let mut story = small();
    for number in 0..400 {
        story = story.object("server", &format!("server-{number}"), Some("f"), None);
    }
    let before = folded(story.events()).unwrap();
    let head = before.version();
    let mut after = before.clone();
    for (meta, event) in story.grant("g", to_user("bob").role("r").on("folder", "f")).events() {
        if meta.offset > head {
            after.apply(meta, event).unwrap();
        }
    }
    let now = at("2026-06-01T00:00:00Z");
    let diff = |bounds| before.diff(now, &after, now, &DiffFilter::default(), bounds);
    let all = diff(UNBOUNDED);
    assert_eq!(all.rows.len(), 2 * 402, "two keys at the folder and what lies in it");
    // Each answer is asked of two states, and each of the two looks at something.
    assert!(all.steps >= 3 * 2 * 402, "{} steps", all.steps);
    let few = diff(DiffBounds { rows_max: 5, ..UNBOUNDED });
    assert_eq!((few.ended_by, few.rows.as_slice()), (Some(DiffBound::Rows), &all.rows[..5]));
    assert!(all.steps - few.steps > 2 * 2 * 390, "{} of {} steps for five rows", few.steps, all.steps);
    // A bound that ends it among the answers keeps what was found till then.
    let short = diff(DiffBounds { steps_max: all.steps - 100, ..UNBOUNDED });
    assert_eq!(short.ended_by, Some(DiffBound::Steps));
    assert!((300..804).contains(&short.rows.len()), "{}", short.rows.len());
}

#[test]
fn rows_that_are_not_kept_do_not_count_as_rows() {
    let before = folded(small().events()).unwrap();
    let whole = small()
        .grant("g", to_group("team").role("r").on("folder", "f"))
        .grant("b", to_user("bob").role("r").on("server", "t"));
    let after = folded(whole.events()).unwrap();
    let now = at("2026-06-01T00:00:00Z");
    let bobs = |row: &DiffRow| row.user == ids::user("bob");
    let told = |rows_max, keep: &dyn Fn(&DiffRow) -> bool| {
        let bounds = DiffBounds { rows_max, ..UNBOUNDED };
        before.diff_where(now, &after, now, &DiffFilter::default(), bounds, keep)
    };
    let (all, of_bob) = (told(usize::MAX, &|_| true), told(2, &bobs));
    assert!(all.rows.len() > 2);
    assert!(of_bob.rows.iter().eq(all.rows.iter().filter(|row| bobs(row))));
    assert_eq!((of_bob.rows.len(), of_bob.ended_by), (2, None));
    assert_eq!(told(1, &bobs).ended_by, Some(DiffBound::Rows));
    assert_eq!(told(0, &|_| false).ended_by, None);
}
