//! Checking a log that was exported to a file, line by line, as strictly as a store: a line that is not byte for byte
//! what was exported is bad, also where it would mean the same.

use crate::{
    EvidenceError, Progress, ToolError,
    against::Against,
    lines::{FORMAT, FirstLine, LINE_BYTES_MAX},
    verify::Sound,
};
use charter_events::{EventJson, Head, Offset, StoredEvent};
use charter_policy::Policy;
use charter_store::{Fault, What, chain::Verifier, merkle::Checkpoint, verify::Scanned};
use std::io::{BufRead, Read};

/// How many events are read between two reports of progress.
const PROGRESS_EVERY: u64 = 1_000;

/// The state between two lines: a line can be tried from a copy of it.
#[derive(Debug, Clone)]
pub struct Between {
    first: FirstLine,
    verifier: Verifier,
}

impl Between {
    /// After the first line, which says which log it is and where it ends. Each line is given with its line break.
    ///
    /// # Errors
    /// The fault, at offset 0.
    pub fn first(line: &[u8]) -> Result<Self, Fault> {
        let bad = |why: &str| Fault::new(Offset::ZERO, What::Unreadable(why.to_owned()));
        let first: FirstLine = text_of(line)
            .and_then(|text| serde_json::from_str(text).ok())
            .ok_or_else(|| bad("the first line is not that of an exported log"))?;
        if first.format != FORMAT {
            return Err(bad("the first line names a format that this build does not know"));
        }
        if !is_written_so(&first, line) {
            return Err(bad("the first line is not as it was exported"));
        }
        let verifier = Verifier::from_start(first.log_id);
        Ok(Self { first, verifier })
    }

    /// The log as far as it was read.
    pub const fn head(&self) -> Head {
        self.verifier.head()
    }

    /// Checks the next line.
    ///
    /// # Errors
    /// The fault, at the offset that should stand there; the state stays where it was.
    pub fn line(&mut self, line: &[u8]) -> Result<StoredEvent, Fault> {
        let next = after(self.head().offset);
        let bad = |what| Err(Fault::new(next, what));
        let unreadable = |why: String| bad(What::Unreadable(why));
        if next > self.first.head {
            return bad(What::BeyondHead);
        }
        let Some(text) = text_of(line) else {
            return unreadable("its line is not whole text".to_owned());
        };
        let event = match serde_json::from_str::<EventJson<'_>>(text) {
            Ok(event) => event.into_event(),
            Err(error) => return unreadable(error.to_string()),
        };
        // What the hash covers first: that says more than that the line is written otherwise.
        let mut verifier = self.verifier.clone();
        verifier.next(&event)?;
        let as_written = EventJson::new(&event).is_ok_and(|json| is_written_so(&json, line));
        if !as_written {
            return unreadable("its line is not as it was exported".to_owned());
        }
        self.verifier = verifier;
        Ok(event)
    }

    /// Checks that the file ends here, as its first line says.
    ///
    /// # Errors
    /// The fault.
    pub fn end(&self) -> Result<Head, Fault> {
        let head = self.head();
        if head.offset < self.first.head || self.verifier.within_command() {
            return Err(Fault::new(after(head.offset), What::Missing));
        }
        if head.hash != self.first.head_hash {
            return Err(Fault::new(head.offset, What::HeadMismatch));
        }
        Ok(head)
    }
}

fn after(offset: Offset) -> Offset {
    offset.plus(1).unwrap_or(Offset::MAX)
}

/// The text of a line that ends with a line break.
fn text_of(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(line.strip_suffix(b"\n")?).ok()
}

fn is_written_so(value: &impl serde::Serialize, line: &[u8]) -> bool {
    serde_json::to_vec(value).is_ok_and(|written| line.strip_suffix(b"\n") == Some(written.as_slice()))
}

/// Checks every line of an exported log, that the log is what these checkpoints say it was, and that each event can be
/// replayed. Whether the checkpoints are signed is the caller's to judge.
///
/// # Errors
/// [`ToolError::Chain`] with the first bad offset and its line; [`ToolError::Fold`], [`ToolError::OtherLog`],
/// [`ToolError::File`]; [`EvidenceError::Cut`], [`EvidenceError::Rewritten`].
pub fn verify_file(
    input: &mut dyn BufRead,
    checkpoints: &[Checkpoint],
    mut progress: impl FnMut(Progress),
) -> Result<Sound, EvidenceError> {
    let mut lines = Lines { input, line: Vec::new(), number: 0 };
    lines.read()?;
    let mut between = Between::first(&lines.line).map_err(|fault| lines.bad(fault))?;
    let mut against = Against::new(between.first.log_id, checkpoints)?;
    let mut policy = Some(Policy::new());
    let (mut events, mut fold_error) = (0_u64, None);
    while lines.read()? {
        let event = between.line(&lines.line).map_err(|fault| lines.bad(fault))?;
        against.event(&event);
        // A bad line further on counts more than an event this build can't replay.
        if let Some(Err(error)) = policy.as_mut().map(|policy| apply(policy, &event)) {
            (policy, fold_error) = (None, Some(error));
        }
        events = events.saturating_add(1);
        if events.is_multiple_of(PROGRESS_EVERY) {
            progress(Progress { at: event.offset, end: between.first.head });
        }
    }
    let head = between.end().map_err(|fault| lines.bad(fault))?;
    progress(Progress { at: head.offset, end: head.offset });
    let root = against.end()?;
    match (policy, fold_error) {
        (_, Some(error)) => Err(error.into()),
        (policy, None) => {
            let policy = policy.unwrap_or_default();
            let scanned = Scanned { events, head };
            Ok(Sound { scanned, root, digest: policy.digest(), recorded_at: policy.recorded_at() })
        }
    }
}

fn apply(policy: &mut Policy, stored: &StoredEvent) -> Result<(), ToolError> {
    let failed = |why: String| ToolError::Fold { offset: stored.offset, why };
    let event = stored.decode().map_err(|e| failed(e.to_string()))?;
    policy.apply(&stored.meta(), &event).map_err(|e| failed(e.to_string()))
}

struct Lines<'a> {
    input: &'a mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
}

impl Lines<'_> {
    /// Reads the next line; false at the end. One that is too long is cut, and so is not as it was exported.
    fn read(&mut self) -> Result<bool, ToolError> {
        self.line.clear();
        let longest = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let bytes = (&mut *self.input).take(longest).read_until(b'\n', &mut self.line)?;
        self.number = self.number.saturating_add(1);
        Ok(bytes > 0)
    }

    fn bad(&self, fault: Fault) -> ToolError {
        ToolError::Chain { line: self.number, fault }
    }
}
