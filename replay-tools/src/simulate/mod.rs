//! What commands would do at a version of a log, decided one after the other on a copy of the state; nothing is written
//! anywhere.
//!
//! Commands come as lines of JSON ([`SimulatedLine`]), with the members that the API's bodies have. Those that need
//! secrets or seal names, as making a user does, are not among them.

mod command;

pub use command::{SimulatedCommand, SimulatedLine};

use crate::{ToolError, as_of::Past};
use charter_commands::{Context, Limits, Refusal, decide};
use charter_events::{Actor, Event, EventMeta, Timestamp};
use charter_policy::{Caller, Diff, DiffBounds, DiffFilter, Policy};
use std::io::{BufRead, Read};
use uuid::Uuid;

/// The longest line, in bytes.
const LINE_BYTES_MAX: u64 = 1024 * 1024;
/// The most commands in a file.
pub const COMMANDS_MAX: usize = 10_000;

/// What one line would do.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// Its number, from 1.
    pub line: u64,
    /// The command's name, such as `grant.issue`.
    pub command: &'static str,
    /// What it would append, or why it would be refused; what follows is decided without it then.
    pub outcome: Result<Vec<Event>, Refusal>,
}

/// What all lines would do.
#[derive(Clone)]
pub struct Simulation {
    /// Line by line.
    pub lines: Vec<Simulated>,
    /// The state they lead to.
    pub after: Policy,
    /// Who would gain and lose what by all of them together.
    pub diff: Diff,
}

/// Reads commands: one JSON object a line; empty lines count as none.
///
/// # Errors
/// [`ToolError::Line`] for a line that is no command, is too long, or is one too many.
pub fn read(input: &mut dyn BufRead) -> Result<Vec<(u64, SimulatedLine)>, ToolError> {
    let mut commands = Vec::new();
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let wrong = |why: String| ToolError::Line { line, why };
        let read = input.take(LINE_BYTES_MAX.saturating_add(1)).read_until(b'\n', &mut text)?;
        if read == 0 {
            break;
        }
        if text.len() as u64 > LINE_BYTES_MAX {
            return Err(wrong(format!("it is longer than {LINE_BYTES_MAX} bytes")));
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        if commands.len() == COMMANDS_MAX {
            return Err(wrong(format!("at most {COMMANDS_MAX} commands are simulated at once")));
        }
        commands.push((line, serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?));
    }
    Ok(commands)
}

/// Decides commands one after the other at a version, at its moment, within the model's usual limits.
///
/// # Errors
/// [`ToolError::Line`] when a line names what is not there; [`ToolError::Fold`] when a decided event does not fold.
pub fn simulate(
    past: &Past,
    commands: &[(u64, SimulatedLine)],
    bounds: DiffBounds,
) -> Result<Simulation, ToolError> {
    let (now, limits) = (past.version.now, Limits::default());
    let mut after = past.policy.clone();
    let mut ids = Counted(0);
    let mut lines = Vec::with_capacity(commands.len());
    for (line, asked) in commands {
        let line = *line;
        let (caller, command) = asked.resolved(&after).map_err(|why| ToolError::Line { line, why })?;
        let mut next = || ids.next();
        let decided = decide(&after, &command, &mut Context::new(&caller, now, &mut next, &limits));
        let outcome = match decided {
            Err(refusal) => Err(refusal),
            Ok(decided) => {
                apply(&mut after, &caller, &decided.events, now)?;
                Ok(decided.events)
            }
        };
        lines.push(Simulated { line, command: command.name(), outcome });
    }
    let diff = past.policy.diff(now, &after, now, &DiffFilter::default(), bounds);
    Ok(Simulation { lines, after, diff })
}

fn apply(policy: &mut Policy, caller: &Caller, events: &[Event], now: Timestamp) -> Result<(), ToolError> {
    let actor: Actor = caller.attribution(policy);
    for event in events {
        let failed = |offset, why: String| ToolError::Fold { offset, why };
        let offset = policy.version();
        let Some(offset) = offset.plus(1) else { return Err(failed(offset, "no offsets are left".into())) };
        let meta = EventMeta { offset, recorded_at: now, actor: actor.clone() };
        policy.apply(&meta, event).map_err(|error| failed(offset, error.to_string()))?;
    }
    Ok(())
}

/// Ids of what is made: counted, so that the same file says the same. A log has none of them: theirs tell a time.
struct Counted(u128);

impl Counted {
    fn next(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(self.0)
    }
}
