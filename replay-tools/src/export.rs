//! Writing a log as lines of JSON: in the product's own form (see [`lines`](crate::lines)), which can be imported
//! again, or in a form that others read, which can't.

use crate::{
    Progress, ToolError, export_cloudevents, export_ocsf,
    lines::{FORMAT, FirstLine},
};
use charter_events::{EventJson, Head, Offset, StoredEvent};
use charter_store::{Fault, LogStore, Pages, What, chain::Verifier};
use std::io::Write;

/// The form of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// The product's own: what can be imported, byte for byte as it was hashed.
    #[default]
    Charter,
    /// CloudEvents 1.0, JSON format: what the stream carries, in one object.
    CloudEvents,
    /// Open Cybersecurity Schema Framework, version [`OCSF_VERSION`](export_ocsf::OCSF_VERSION).
    Ocsf,
}

/// Makes one line of an event.
pub(crate) trait Line: Send {
    /// Writes the event as JSON, without the end of the line.
    fn write(&mut self, event: &StoredEvent, out: &mut (dyn Write + Send)) -> Result<(), ToolError>;
}

/// Writes the log up to where it ends now, checking its chain on the way: a damaged log is not exported as a sound one.
///
/// # Errors
/// [`ToolError::Store`] with the first bad offset, [`ToolError::File`].
pub async fn export(
    log: &dyn LogStore,
    out: &mut (dyn Write + Send),
    progress: impl FnMut(Progress) + Send,
) -> Result<Head, ToolError> {
    export_as(Format::Charter, log, out, progress).await
}

/// The same in a form of one's choice.
///
/// # Errors
/// As [`export`]; [`ToolError::Fold`] for an event that this build can't read, where the form says what it means.
pub async fn export_as(
    format: Format,
    log: &dyn LogStore,
    out: &mut (dyn Write + Send),
    progress: impl FnMut(Progress) + Send,
) -> Result<Head, ToolError> {
    let head = log.head().await?;
    match format {
        Format::Charter => {
            let (format, log_id) = (FORMAT.to_owned(), head.log_id);
            let first = FirstLine { format, log_id, head: head.offset, head_hash: head.hash };
            write_json(out, &first)?;
            out.write_all(b"\n")?;
            lines(log, head, &mut Own, out, progress).await?;
        }
        Format::CloudEvents => {
            lines(log, head, &mut export_cloudevents::Lines::new(head.log_id), out, progress).await?;
        }
        Format::Ocsf => lines(log, head, &mut export_ocsf::Lines::new(head.log_id), out, progress).await?,
    }
    out.flush()?;
    Ok(head)
}

async fn lines(
    log: &dyn LogStore,
    head: Head,
    line: &mut dyn Line,
    out: &mut (dyn Write + Send),
    mut progress: impl FnMut(Progress) + Send,
) -> Result<(), ToolError> {
    let mut verifier = Verifier::from_start(head.log_id);
    let mut pages = Pages::new(log, Offset::ZERO, head.offset);
    while verifier.head().offset < head.offset {
        let Some(page) = pages.next().await? else {
            let missing = verifier.head().offset.plus(1).unwrap_or(Offset::MAX);
            return Err(damaged(missing, What::Missing));
        };
        for event in &page {
            verifier.next(event).map_err(charter_store::StoreError::from)?;
            line.write(event, out)?;
            out.write_all(b"\n")?;
        }
        progress(Progress { at: verifier.head().offset, end: head.offset });
    }
    if verifier.head().hash != head.hash {
        return Err(damaged(head.offset, What::HeadMismatch));
    }
    Ok(())
}

/// The product's own lines.
struct Own;

impl Line for Own {
    fn write(&mut self, event: &StoredEvent, out: &mut (dyn Write + Send)) -> Result<(), ToolError> {
        write_json(out, &event_json(event)?)
    }
}

/// The event as one JSON object; one that is none is damaged.
pub(crate) fn event_json(event: &StoredEvent) -> Result<EventJson<'_>, ToolError> {
    EventJson::new(event).map_err(|error| damaged(event.offset, What::Unreadable(error.to_string())))
}

fn damaged(offset: Offset, what: What) -> ToolError {
    ToolError::Store(Fault::new(offset, what).into())
}

pub(crate) fn write_json(
    out: &mut (dyn Write + Send),
    line: &impl serde::Serialize,
) -> Result<(), ToolError> {
    Ok(serde_json::to_writer(&mut *out, line).map_err(std::io::Error::from)?)
}
