//! Reading lines of JSON into a store; see [`lines`](crate::lines). What is imported keeps its offsets, times and
//! hashes: it is the same log, not a copy of its meaning. A file is read to its end before anything of it is written:
//! on a part of a log, a server would go on with a history of its own.

use crate::{
    Progress, ToolError,
    lines::{FORMAT, FirstLine, LINE_BYTES_MAX},
};
use charter_events::{EventJson, Hash, Head, LogId, Offset, StoredEvent};
use charter_store::{
    Batch, LogStore, MemoryStore,
    chain::{self, Verifier},
};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

/// Events handed to the store at once.
const BATCH_EVENTS: usize = 5_000;
/// A commit is made at the end of the command that reaches this many events.
const COMMIT_EVENTS: usize = 20_000;

/// A file that was read to its end: every line's hash and link is right, and it ends where its first line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    head: Head,
}

impl Checked {
    /// Where the log in it ends.
    pub const fn head(&self) -> Head {
        self.head
    }
}

/// Reads a file to its end and checks all of it. Nothing is written.
///
/// # Errors
/// [`ToolError::Line`], [`ToolError::Chain`] with the first bad line; [`ToolError::File`].
pub fn check(
    input: &mut (dyn BufRead + Send),
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Checked, ToolError> {
    let mut file = Reading::begin(input)?;
    while file.next()?.is_some() {
        file.tell(&mut progress);
    }
    Ok(Checked { head: file.verifier.head() })
}

/// Imports a file that was [checked](check) into a store that is empty, or that holds the beginning of the same log
/// already; then it goes on where the store ends, so an import that was interrupted is simply made again. An empty
/// store takes the log's id. The file is read once more, from its beginning.
///
/// A file or a store that does not fit changes nothing. What was committed before the store failed, or the file changed
/// under our hands, stays.
///
/// # Errors
/// [`ToolError::OtherLog`] when the store holds something else; [`ToolError::Line`], [`ToolError::Chain`] when the file
/// is not the one that was checked; [`ToolError::Store`], [`ToolError::File`].
pub async fn import<F: Read + Seek + Send + ?Sized>(
    log: &dyn LogStore,
    (file, checked): (&mut F, Checked),
    progress: impl FnMut(Progress) + Send,
) -> Result<Head, ToolError> {
    file.seek(SeekFrom::Start(0))?;
    let mut input = BufReader::new(&mut *file);
    let mut reading = Reading::begin(&mut input)?;
    if reading.end != (checked.head.offset, checked.head.hash) {
        return Err(reading.lines.wrong("the file is another one than was checked"));
    }
    take(log, &mut reading, progress).await
}

/// Reads a file into memory, checking all of it on the way.
///
/// # Errors
/// [`ToolError::Line`], [`ToolError::Chain`] with the first bad line; [`ToolError::Store`], [`ToolError::File`].
pub async fn load(
    input: &mut (dyn BufRead + Send),
    progress: impl FnMut(Progress) + Send,
) -> Result<MemoryStore, ToolError> {
    let store = MemoryStore::default();
    take(&store, &mut Reading::begin(input)?, progress).await?;
    Ok(store)
}

async fn take(
    log: &dyn LogStore,
    file: &mut Reading<'_>,
    progress: impl FnMut(Progress) + Send,
) -> Result<Head, ToolError> {
    let own = log.head().await?;
    let begun = take_id(log, own, file.empty()).await?;
    let done = write_all(log, begun, file, progress).await;
    // A store that kept nothing of the log must not keep its id either: a server would begin another history under it.
    if done.is_err() && log.head().await.is_ok_and(|head| head.offset == Offset::ZERO) {
        drop(log.adopt(own.log_id).await);
    }
    done
}

async fn write_all(
    log: &dyn LogStore,
    begun: Head,
    file: &mut Reading<'_>,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Head, ToolError> {
    let mut done = begun.offset == Offset::ZERO;
    while let Some(event) = file.next()? {
        if done {
            write_from(log, event, file).await?;
            file.tell(&mut progress);
            continue;
        }
        done = event.offset == begun.offset;
        if done && event.hash != begun.hash {
            return Err(ToolError::OtherLog(format!(
                "the store holds another event at offset {}",
                event.offset
            )));
        }
    }
    let head = file.verifier.head();
    if done {
        return Ok(head);
    }
    Err(ToolError::OtherLog(format!(
        "the store ends at offset {}, beyond this file, which ends at {}",
        begun.offset, head.offset
    )))
}

/// Writes this event and those after it, to the end of the file or enough for a commit; never half a command.
async fn write_from(log: &dyn LogStore, event: StoredEvent, file: &mut Reading<'_>) -> Result<(), ToolError> {
    let mut append = log.append().await?;
    let mut written = 0;
    let mut events = vec![event];
    loop {
        let between = !file.verifier.within_command();
        if events.len() >= BATCH_EVENTS || between && written + events.len() >= COMMIT_EVENTS {
            written += events.len();
            append.write(&Batch { events: std::mem::take(&mut events), ..Batch::default() }).await?;
        }
        if between && written >= COMMIT_EVENTS {
            break;
        }
        let Some(event) = file.next()? else { break };
        events.push(event);
    }
    append.write(&Batch { events, ..Batch::default() }).await?;
    append.commit().await?;
    Ok(())
}

async fn take_id(log: &dyn LogStore, own: Head, empty: Head) -> Result<Head, ToolError> {
    if own.log_id == empty.log_id {
        return Ok(own);
    }
    if own.offset != Offset::ZERO {
        return Err(ToolError::OtherLog(format!(
            "the file is of log {}, the store holds {}",
            empty.log_id, own.log_id
        )));
    }
    log.adopt(empty.log_id).await?;
    Ok(log.head().await?)
}

/// A file that is read: no event leaves it whose hash and link were not checked, and its end is an end only where its
/// first line says.
struct Reading<'a> {
    lines: Lines<'a>,
    log_id: LogId,
    end: (Offset, Hash),
    verifier: Verifier,
}

impl<'a> Reading<'a> {
    fn begin(input: &'a mut (dyn BufRead + Send)) -> Result<Self, ToolError> {
        let mut lines = Lines { input, text: String::new(), line: 0 };
        let FirstLine { log_id, head, head_hash, .. } = lines.first()?;
        Ok(Self { lines, log_id, end: (head, head_hash), verifier: Verifier::from_start(log_id) })
    }

    /// The log before its first event.
    const fn empty(&self) -> Head {
        chain::empty(self.log_id)
    }

    fn next(&mut self) -> Result<Option<StoredEvent>, ToolError> {
        let Some(event) = self.lines.event()? else {
            self.check_end()?;
            return Ok(None);
        };
        let checked = self.verifier.next(&event);
        checked.map_err(|fault| ToolError::Chain { line: self.lines.line, fault })?;
        Ok(Some(event))
    }

    fn check_end(&self) -> Result<(), ToolError> {
        let (head, (end, hash)) = (self.verifier.head(), self.end);
        let why = if head.offset < end {
            format!("the file was cut here: it ends at offset {}, not at {end} as it says", head.offset)
        } else if head.offset > end {
            format!("the file ends at offset {}, not at {end} as it says", head.offset)
        } else if head.hash != hash {
            "the last event is not the one that the first line names".to_owned()
        } else if self.verifier.within_command() {
            format!("the file ends at offset {end}, within a command")
        } else {
            return Ok(());
        };
        Err(self.lines.wrong(why))
    }

    fn tell(&self, progress: &mut impl FnMut(Progress)) {
        progress(Progress { at: self.verifier.head().offset, end: self.end.0 });
    }
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
        let line: EventJson<'_> = serde_json::from_str(&self.text).map_err(|error| {
            if error.is_eof() && !self.text.ends_with('\n') {
                return self.wrong("the file was cut within this line");
            }
            self.wrong(format!("it is no event: {error}"))
        })?;
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
