//! From events to a policy: each event verified against its predecessor, read, applied; a policy to show only where a
//! command ends. Owns that nothing is skipped; must not know where events come from.

use crate::{error::Stopped, freshness::Known};
use charter_events::{Event, EventMeta, Hash, Head, Offset, StoredEvent};
use charter_policy::Policy;
use charter_store::{Fault, What, chain::Verifier};

/// A policy on its way along a log.
pub(crate) struct Fold {
    /// With every event applied so far, those of an unfinished command too.
    policy: Policy,
    verifier: Verifier,
    known: Known,
}

/// What became of some events.
#[derive(Default)]
pub(crate) struct Fed {
    /// The newest state in which every command is whole, when there is a newer one.
    pub(crate) publish: Option<(Policy, Head)>,
    /// Which of them were applied, as indexes.
    pub(crate) applied: Vec<usize>,
    /// The events do not begin where the fold stands: those after this offset are missing.
    pub(crate) missing_after: Option<Offset>,
    /// Nothing more can be applied.
    pub(crate) stopped: Option<Stopped>,
    /// How many of them hold nothing but whole commands.
    whole: usize,
}

/// An event that may be applied.
struct Ready {
    index: usize,
    meta: EventMeta,
    event: Event,
    head: Head,
    ends_command: bool,
}

impl Fold {
    /// From a policy and the head it was folded up to, where a command ends.
    pub(crate) fn new(policy: Policy, head: Head) -> Self {
        Self { policy, verifier: Verifier::between_commands(head), known: Known::new(head) }
    }

    /// The last event applied.
    pub(crate) const fn head(&self) -> Head {
        self.verifier.head()
    }

    /// The hash of the event at an offset, if it was applied lately.
    pub(crate) fn known_hash(&self, offset: Offset) -> Option<Hash> {
        self.known.hash(offset)
    }

    /// Takes events in order. Those it has seen already are left out. One that can't be applied is said to stop it;
    /// commands that are whole before it still count, for one of them may be a revocation, and nothing after them is
    /// left behind: whether it is to stop for good is the caller's to say.
    pub(crate) fn feed(&mut self, events: &[StoredEvent]) -> Fed {
        let before = (self.policy.clone(), self.verifier.clone());
        let fed = self.try_feed(events);
        if fed.stopped.is_none() {
            return fed;
        }
        (self.policy, self.verifier) = before;
        self.known.back_to(self.verifier.head().offset);
        let whole = self.try_feed(events.get(..fed.whole).unwrap_or_default());
        Fed { stopped: fed.stopped, ..whole }
    }

    fn try_feed(&mut self, events: &[StoredEvent]) -> Fed {
        let mut fed = Fed::default();
        let ready = self.examine(events, &mut fed);
        let whole = ready.iter().rposition(|ready| ready.ends_command);
        for (number, Ready { index, meta, event, head, ends_command }) in ready.iter().enumerate() {
            if let Err(error) = self.policy.apply(meta, event) {
                fed.stopped = Some(Stopped::Inconsistent { offset: meta.offset, what: chain(&error) });
                break;
            }
            fed.applied.push(*index);
            if *ends_command {
                fed.whole = index.saturating_add(1);
            }
            if Some(number) == whole {
                fed.publish = Some((self.policy.clone(), *head));
            }
        }
        fed
    }

    /// Verifies and reads events, up to the first that can't be.
    fn examine(&mut self, events: &[StoredEvent], fed: &mut Fed) -> Vec<Ready> {
        let mut ready = Vec::with_capacity(events.len());
        for (index, stored) in events.iter().enumerate() {
            let at = self.verifier.head();
            if stored.offset <= at.offset {
                if self.known.hash(stored.offset).is_some_and(|known| known != stored.hash) {
                    fed.stopped = Some(Stopped::Fork { offset: stored.offset });
                    break;
                }
                continue;
            }
            if at.offset.plus(1) != Some(stored.offset) {
                fed.missing_after = Some(at.offset);
                break;
            }
            let examined = self.verifier.next(stored).map_err(stopped_by).and_then(|head| {
                let event = stored
                    .decode()
                    .map_err(|error| Stopped::UnknownEvent { offset: stored.offset, what: chain(&error) })?;
                Ok(Ready { index, meta: stored.meta(), event, head, ends_command: stored.ends_command() })
            });
            match examined {
                Ok(next) => {
                    self.known.push(next.head);
                    ready.push(next);
                }
                Err(stopped) => {
                    fed.stopped = Some(stopped);
                    break;
                }
            }
        }
        ready
    }
}

fn stopped_by(fault: Fault) -> Stopped {
    match fault {
        // It names another predecessor than the event we have there: two histories.
        Fault { offset, what: What::BrokenLink } => Stopped::Fork { offset },
        Fault { offset, what } => Stopped::Damaged { offset, what: what.to_string() },
    }
}

/// An error and its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
