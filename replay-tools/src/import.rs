//! Reading lines of JSON into a store; see [`lines`](crate::lines). What is imported keeps its offsets, times and
//! hashes: it is the same log, not a copy of its meaning.

use crate::{
    Progress, ToolError,
    lines::{FORMAT, FirstLine, LINE_BYTES_MAX},
};
use charter_events::{EventJson, Head, Offset, StoredEvent};
use charter_store::{Batch, LogStore, chain::Verifier};
use std::io::{BufRead, Read};

/// Events handed to the store at once.
const BATCH_EVENTS: usize = 5_000;
/// A commit is made at the end of the command that reaches this many events.
const COMMIT_EVENTS: usize = 20_000;

/// Imports a file into a store that is empty, or that holds the beginning of the same log already; then it goes on
/// where the store ends, so an import that was interrupted is simply made again. An empty store takes the log's id.
///
/// Every line's hash and link is checked before it is written. What was committed before an error stays.
///
/// # Errors
/// [`ToolError::Line`], [`ToolError::Chain`] with the first bad line; [`ToolError::OtherLog`] when the store holds
/// something else; [`ToolError::Store`], [`ToolError::File`].
pub async fn import(
    log: &dyn LogStore,
    input: &mut (dyn BufRead + Send),
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Head, ToolError> {
    let mut lines = Lines { input, text: String::new(), line: 0 };
    let first = lines.first()?;
    let begun = take_id(log, &first).await?;
    let mut verifier = Verifier::from_start(first.log_id);
    let mut done = begun.offset == Offset::ZERO;
    while let Some(event) = lines.event()? {
        let head = verifier.next(&event).map_err(|fault| ToolError::Chain { line: lines.line, fault })?;
        if !done {
            done = head.offset == begun.offset;
            if done && head.hash != begun.hash {
                return Err(ToolError::OtherLog(format!(
                    "the store holds another event at offset {}",
                    head.offset
                )));
            }
            continue;
        }
        write_from(log, event, &mut verifier, &mut lines).await?;
        progress(Progress { at: verifier.head().offset, end: first.head });
    }
    let head = verifier.head();
    let is_whole = (head.offset, head.hash) == (first.head, first.head_hash);
    if !done && is_whole {
        return Err(ToolError::OtherLog(format!(
            "the store ends at offset {}, beyond this file, which ends at {}",
            begun.offset, head.offset
        )));
    }
    if !is_whole {
        return Err(
            lines.wrong(format!("the file ends at offset {}, not at {} as it says", head.offset, first.head))
        );
    }
    Ok(head)
}

/// Writes this event and those after it, to the end of a command and of the file or enough for a commit.
async fn write_from(
    log: &dyn LogStore,
    event: StoredEvent,
    verifier: &mut Verifier,
    lines: &mut Lines<'_>,
) -> Result<(), ToolError> {
    let mut append = log.append().await?;
    let mut written = 0;
    let mut events = vec![event];
    loop {
        let between = !verifier.within_command();
        if events.len() >= BATCH_EVENTS || between && written + events.len() >= COMMIT_EVENTS {
            written += events.len();
            append.write(&Batch { events: std::mem::take(&mut events), ..Batch::default() }).await?;
        }
        if between && written >= COMMIT_EVENTS {
            break;
        }
        let Some(event) = lines.event()? else { break };
        verifier.next(&event).map_err(|fault| ToolError::Chain { line: lines.line, fault })?;
        events.push(event);
    }
    append.write(&Batch { events, ..Batch::default() }).await?;
    append.commit().await?;
    Ok(())
}

async fn take_id(log: &dyn LogStore, first: &FirstLine) -> Result<Head, ToolError> {
    let head = log.head().await?;
    if head.log_id == first.log_id {
        return Ok(head);
    }
    if head.offset != Offset::ZERO {
        return Err(ToolError::OtherLog(format!(
            "the file is of log {}, the store holds {}",
            first.log_id, head.log_id
        )));
    }
    log.adopt(first.log_id).await?;
    Ok(log.head().await?)
}

struct Lines<'a> {
    input: &'a mut (dyn BufRead + Send),
    text: String,
    line: u64,
}

impl Lines<'_> {
    fn first(&mut self) -> Result<FirstLine, ToolError> {
        self.read()?;
        let first: FirstLine = serde_json::from_str(&self.text)
            .map_err(|_| self.wrong("it is not the first line of an exported log"))?;
        if first.format == FORMAT {
            Ok(first)
        } else {
            Err(self.wrong("its format is not known to this build"))
        }
    }

    fn event(&mut self) -> Result<Option<StoredEvent>, ToolError> {
        if !self.read()? {
            return Ok(None);
        }
        let line: EventJson<'_> =
            serde_json::from_str(&self.text).map_err(|e| self.wrong(format!("it is no event: {e}")))?;
        Ok(Some(line.into_event()))
    }

    /// Reads the next line; false at the end.
    fn read(&mut self) -> Result<bool, ToolError> {
        self.text.clear();
        let longest = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let bytes = (&mut *self.input).take(longest).read_line(&mut self.text)?;
        if bytes > 0 {
            self.line = self.line.saturating_add(1);
        }
        if bytes >= LINE_BYTES_MAX {
            return Err(self.wrong(format!("it is longer than {LINE_BYTES_MAX} bytes")));
        }
        Ok(bytes > 0)
    }

    fn wrong(&self, why: impl Into<String>) -> ToolError {
        ToolError::Line { line: self.line.max(1), why: why.into() }
    }
}
