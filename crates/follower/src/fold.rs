//! From events to a policy: each event verified against its predecessor, read, applied; a policy to show only where a
//! command ends. Owns that nothing is skipped; must not know where events come from.

use crate::error::Stopped;
use charter_events::{Event, EventMeta, Head, Offset, StoredEvent};
use charter_policy::Policy;
use charter_store::{Fault, What, chain::Verifier};

/// A policy on its way along a log.
pub(crate) struct Fold {
    /// With every event applied so far, those of an unfinished command too.
    policy: Policy,
    verifier: Verifier,
}

/// What became of some events.
#[derive(Default)]
pub(crate) struct Fed {
    /// The newest state in which every command is whole, when there is a newer one.
    pub(crate) publish: Option<(Policy, Head)>,
    /// How many events at their beginning were known before.
    pub(crate) known: usize,
    /// How many of those that follow were applied.
    pub(crate) applied: usize,
    /// The events do not begin where the fold stands: those after this offset are missing.
    pub(crate) missing_after: Option<Offset>,
    /// Nothing more can be applied.
    pub(crate) stopped: Option<Stopped>,
}

/// An event that may be applied.
struct Ready {
    meta: EventMeta,
    event: Event,
    head: Head,
    ends_command: bool,
}

impl Fold {
    /// From a policy and the head it was folded up to, where a command ends.
    pub(crate) const fn new(policy: Policy, head: Head) -> Self {
        Self { policy, verifier: Verifier::between_commands(head) }
    }

    /// The last event applied.
    pub(crate) const fn head(&self) -> Head {
        self.verifier.head()
    }

    /// Takes events in order. Those it has seen already are left out; what can't be applied ends everything, and
    /// commands that are whole before it still count: one of them may be a revocation.
    pub(crate) fn feed(&mut self, events: &[StoredEvent]) -> Fed {
        let mut fed = Fed::default();
        let ready = self.examine(events, &mut fed);
        let whole = ready.iter().rposition(|ready| ready.ends_command);
        for (index, Ready { meta, event, head, .. }) in ready.iter().enumerate() {
            if let Err(error) = self.policy.apply(meta, event) {
                // What is half applied can't be shown: the state stays where it was before these events.
                let stopped = Stopped::Inconsistent { offset: meta.offset, what: chain(&error) };
                return Fed { stopped: Some(stopped), ..Fed::default() };
            }
            fed.applied = fed.applied.saturating_add(1);
            if Some(index) == whole {
                fed.publish = Some((self.policy.clone(), *head));
            }
        }
        fed
    }

    /// Verifies and reads events, up to the first that can't be.
    fn examine(&mut self, events: &[StoredEvent], fed: &mut Fed) -> Vec<Ready> {
        let mut ready = Vec::with_capacity(events.len());
        for stored in events {
            let at = self.verifier.head();
            if stored.offset <= at.offset {
                if stored.offset == at.offset && stored.hash != at.hash {
                    fed.stopped = Some(Stopped::Fork { offset: stored.offset });
                    break;
                }
                fed.known = fed.known.saturating_add(1);
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
                Ok(Ready { meta: stored.meta(), event, head, ends_command: stored.ends_command() })
            });
            match examined {
                Ok(next) => ready.push(next),
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
