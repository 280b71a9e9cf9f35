//! What one server remembers of flows until they expire: which came back already, and when a provider may be asked
//! about a device again. Each of several servers remembers its own; a code works once at the provider all the same.

use charter_events::Timestamp;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// How many flows are remembered; those that expired are forgotten first.
const FLOWS_MAX: usize = 20_000;
/// By how much the provider is asked less often when it says so (RFC 8628, 3.5), in seconds.
const SLOWER_SECONDS: u64 = 5;
const MICROS: i64 = 1_000_000;

/// What is remembered.
#[derive(Default)]
pub(crate) struct Memory(Mutex<HashMap<[u8; 32], Flow>>);

struct Flow {
    /// When the provider may be asked about it again; never when there is none.
    next_at: Option<i64>,
    interval: u64,
    until: i64,
}

/// There is no room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// Whether somebody may ask about his device flow now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// He may.
    Now,
    /// Not before so many seconds.
    Later(u64),
    /// It has ended.
    Over,
}

impl Memory {
    /// Whether a flow comes back for the first time.
    pub(crate) fn is_first(&self, id: [u8; 32], until: i64, now: Timestamp) -> Result<bool, Full> {
        let over = Flow { next_at: None, interval: 0, until };
        self.with(id, now, || over, |_, new| new)
    }

    /// Whether the provider may be asked about a flow now; if so, it may not for another interval.
    pub(crate) fn turn(&self, id: [u8; 32], interval: u64, until: i64, now: Timestamp) -> Result<Turn, Full> {
        let begin = || Flow { next_at: Some(now.as_micros()), interval, until };
        self.with(id, now, begin, |flow, _| match flow.next_at {
            None => Turn::Over,
            Some(at) if now.as_micros() < at => Turn::Later(seconds_until(at, now)),
            Some(_) => {
                flow.next_at = Some(after(now, flow.interval));
                Turn::Now
            }
        })
    }

    /// The provider wants to be asked less often: after how many seconds again.
    pub(crate) fn slower(&self, id: [u8; 32], now: Timestamp) -> u64 {
        let mut flows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(flow) = flows.get_mut(&id) else { return SLOWER_SECONDS };
        flow.interval = flow.interval.saturating_add(SLOWER_SECONDS);
        flow.next_at = Some(after(now, flow.interval));
        flow.interval
    }

    /// Nothing more will come of a flow.
    pub(crate) fn over(&self, id: [u8; 32]) {
        let mut flows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flow) = flows.get_mut(&id) {
            flow.next_at = None;
        }
    }

    fn with<T>(
        &self,
        id: [u8; 32],
        now: Timestamp,
        begin: impl FnOnce() -> Flow,
        then: impl FnOnce(&mut Flow, bool) -> T,
    ) -> Result<T, Full> {
        let mut flows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !flows.contains_key(&id);
        if is_new && flows.len() >= FLOWS_MAX {
            flows.retain(|_, flow| now.as_micros() < flow.until);
            if flows.len() >= FLOWS_MAX {
                return Err(Full);
            }
        }
        Ok(then(flows.entry(id).or_insert_with(begin), is_new))
    }
}

const fn after(now: Timestamp, seconds: u64) -> i64 {
    now.as_micros().saturating_add((seconds as i64).saturating_mul(MICROS))
}

fn seconds_until(at: i64, now: Timestamp) -> u64 {
    u64::try_from(at.saturating_sub(now.as_micros())).unwrap_or(0).div_ceil(MICROS.unsigned_abs()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * MICROS).unwrap()
    }

    #[test]
    fn a_flow_comes_back_once() {
        let memory = Memory::default();
        assert_eq!(memory.is_first([1; 32], 600 * MICROS, at(0)), Ok(true));
        assert_eq!(memory.is_first([1; 32], 600 * MICROS, at(1)), Ok(false));
        assert_eq!(memory.is_first([2; 32], 600 * MICROS, at(1)), Ok(true));
    }

    #[test]
    fn a_provider_is_asked_once_in_its_interval_however_often_somebody_asks_here() {
        let memory = Memory::default();
        let turn = |second| memory.turn([1; 32], 5, 600 * MICROS, at(second)).unwrap();
        assert_eq!(turn(0), Turn::Now);
        assert_eq!((turn(0), turn(1), turn(4)), (Turn::Later(5), Turn::Later(4), Turn::Later(1)));
        assert_eq!(turn(5), Turn::Now);
        assert_eq!(memory.slower([1; 32], at(6)), 10);
        assert_eq!(
            (turn(15), turn(16), turn(25), turn(26)),
            (Turn::Later(1), Turn::Now, Turn::Later(1), Turn::Now)
        );
        memory.over([1; 32]);
        assert_eq!(turn(60), Turn::Over);
        assert_eq!(memory.turn([2; 32], 5, 600 * MICROS, at(0)), Ok(Turn::Now), "another's");
    }

    #[test]
    fn what_expired_makes_room_and_what_has_not_is_never_forgotten() {
        let memory = Memory::default();
        for number in 0..FLOWS_MAX as u64 {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&number.to_be_bytes());
            assert_eq!(memory.is_first(id, 600 * MICROS, at(0)), Ok(true));
        }
        assert_eq!(memory.is_first([9; 32], 600 * MICROS, at(599)), Err(Full));
        assert_eq!(memory.is_first([0; 32], 600 * MICROS, at(599)), Ok(false));
        assert_eq!(memory.is_first([9; 32], 1_200 * MICROS, at(600)), Ok(true));
    }
}
