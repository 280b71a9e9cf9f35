//! Writing a log as lines of JSON; see [`lines`](crate::lines).

use crate::{
    Progress, ToolError,
    lines::{FORMAT, FirstLine},
};
use charter_events::{EventJson, Head, Offset};
use charter_store::{Fault, LogStore, READ_EVENTS_MAX, What, chain::Verifier};
use std::io::Write;

/// Writes the log up to where it ends now, checking its chain on the way: a damaged log is not exported as a sound one.
///
/// # Errors
/// [`ToolError::Store`] with the first bad offset, [`ToolError::File`].
pub async fn export(
    log: &dyn LogStore,
    out: &mut (dyn Write + Send),
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Head, ToolError> {
    let head = log.head().await?;
    let (format, log_id) = (FORMAT.to_owned(), head.log_id);
    write_line(out, &FirstLine { format, log_id, head: head.offset, head_hash: head.hash })?;
    let mut verifier = Verifier::from_start(head.log_id);
    while verifier.head().offset < head.offset {
        let page = log.read(verifier.head().offset, READ_EVENTS_MAX).await?;
        if page.is_empty() {
            let missing = verifier.head().offset.plus(1).unwrap_or(Offset::MAX);
            return Err(damaged(missing, What::Missing));
        }
        for event in page.iter().take_while(|event| event.offset <= head.offset) {
            verifier.next(event).map_err(charter_store::StoreError::from)?;
            let unreadable = |e: serde_json::Error| damaged(event.offset, What::Unreadable(e.to_string()));
            write_line(out, &EventJson::new(event).map_err(unreadable)?)?;
        }
        progress(Progress { at: verifier.head().offset, end: head.offset });
    }
    if verifier.head().hash != head.hash {
        return Err(damaged(head.offset, What::HeadMismatch));
    }
    out.flush()?;
    Ok(head)
}

fn damaged(offset: Offset, what: What) -> ToolError {
    ToolError::Store(Fault::new(offset, what).into())
}

fn write_line(out: &mut (dyn Write + Send), line: &impl serde::Serialize) -> Result<(), ToolError> {
    serde_json::to_writer(&mut *out, line).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}
