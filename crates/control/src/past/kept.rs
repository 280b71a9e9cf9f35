//! The past states at hand: a few, those that were asked for last, and of large ones fewer.

use crate::published::State;
use charter_events::{Head, Offset};
use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

/// A state nobody asked for during this time goes: it may be as large as the present one.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// All kept states together hold at most so many grants, objects and users, but for the one asked for last: a million
/// of them take hundreds of megabytes, and a state folded by itself shares no memory with the present one.
pub(super) const THINGS_MAX: usize = 400_000;

/// Past states, the one asked for last in front.
pub(super) struct Kept {
    states: VecDeque<(Arc<State>, Instant)>,
    states_max: usize,
    things_max: usize,
}

fn things(state: &State) -> usize {
    let policy = &state.policy;
    policy.grant_count().saturating_add(policy.object_count()).saturating_add(policy.user_count())
}

impl Kept {
    pub(super) const fn new(states_max: usize, things_max: usize) -> Self {
        Self { states: VecDeque::new(), states_max, things_max }
    }

    /// The state at a head, if it is here.
    pub(super) fn get(&mut self, head: &Head, now: Instant) -> Option<Arc<State>> {
        let place = self.states.iter().position(|(state, _)| state.head == *head)?;
        let (state, _) = self.states.remove(place)?;
        self.states.push_front((Arc::clone(&state), now));
        Some(state)
    }

    /// The latest state before an offset, to go on from.
    pub(super) fn before(&self, offset: Offset) -> Option<Arc<State>> {
        let earlier = self.states.iter().map(|(state, _)| state).filter(|state| state.head.offset < offset);
        earlier.max_by_key(|state| state.head.offset).cloned()
    }

    /// Keeps a state; those that were not asked for the longest go until there is room.
    pub(super) fn put(&mut self, state: Arc<State>, now: Instant) {
        self.states.retain(|(known, _)| known.head.offset != state.head.offset);
        self.states.push_front((state, now));
        self.states.truncate(self.states_max);
        let mut kept = 0_usize;
        let has_room = |(state, _): &&(Arc<State>, Instant)| {
            kept = kept.saturating_add(things(state));
            kept <= self.things_max
        };
        let room_for = self.states.iter().take_while(has_room).count();
        self.states.truncate(room_for.max(1));
    }

    /// Lets go what nobody asked for lately.
    pub(super) fn forget_idle(&mut self, now: Instant) {
        self.states.retain(|(_, used)| now.saturating_duration_since(*used) < IDLE);
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use charter_events::{Hash, LogId, Timestamp};
    use charter_policy::Policy;
    use charter_testkit::History;

    fn head(offset: u64) -> Head {
        let offset = Offset::new(offset).unwrap();
        Head { log_id: LogId::from_u128(1), offset, hash: Hash::ZERO, recorded_at: Timestamp::MIN }
    }

    /// A state of so many users.
    fn of_users(offset: u64, users: usize) -> Arc<State> {
        let history = (0..users).fold(History::empty(), |history, n| history.user(&format!("u{n}")));
        let mut policy = Policy::new();
        for (meta, event) in history.into_events() {
            policy.apply(&meta, &event).unwrap();
        }
        Arc::new(State { policy: Arc::new(policy), head: head(offset) })
    }

    fn state(offset: u64) -> Arc<State> {
        Arc::new(State { policy: Arc::new(Policy::new()), head: head(offset) })
    }

    fn kept_at(kept: &Kept) -> Vec<u64> {
        kept.states.iter().map(|(state, _)| state.head.offset.get()).collect()
    }

    #[test]
    fn those_asked_for_last_stay_and_the_nearest_before_is_gone_on_from() {
        let (mut kept, now) = (Kept::new(3, THINGS_MAX), Instant::now());
        for offset in [10, 20, 30] {
            kept.put(state(offset), now);
        }
        assert!(kept.get(&head(10), now).is_some() && kept.get(&head(11), now).is_none());
        kept.put(state(40), now);
        assert_eq!(kept_at(&kept), [40, 10, 30]);
        let before =
            |offset: u64| kept.before(Offset::new(offset).unwrap()).map(|state| state.head.offset.get());
        assert_eq!((before(10), before(11), before(35), before(99)), (None, Some(10), Some(30), Some(40)));
    }

    #[test]
    fn of_large_states_fewer_are_kept_and_the_one_asked_for_last_always() {
        let (mut kept, now) = (Kept::new(4, 10), Instant::now());
        for offset in [10, 20, 30] {
            kept.put(of_users(offset, 5), now);
        }
        assert_eq!(kept_at(&kept), [30, 20], "ten users in two states");
        kept.put(of_users(40, 1), now);
        assert_eq!(kept_at(&kept), [40, 30]);
        kept.put(of_users(50, 11), now);
        assert_eq!(kept_at(&kept), [50], "larger than all together may be");
        kept.put(of_users(60, 2), now);
        assert_eq!(kept_at(&kept), [60]);
    }

    #[test]
    fn a_state_of_another_history_is_not_found() {
        let (mut kept, now) = (Kept::new(3, THINGS_MAX), Instant::now());
        kept.put(state(10), now);
        assert!(kept.get(&Head { hash: Hash::new([1; 32]), ..head(10) }, now).is_none());
    }

    #[test]
    fn what_nobody_asks_for_goes() {
        let (mut kept, began) = (Kept::new(3, THINGS_MAX), Instant::now());
        kept.put(state(10), began);
        kept.put(state(20), began);
        assert!(kept.get(&head(10), began + IDLE / 2).is_some());
        kept.forget_idle(began + IDLE);
        assert_eq!(kept_at(&kept), [10]);
        kept.forget_idle(began + IDLE * 2);
        assert_eq!(kept.len(), 0);
    }
}
