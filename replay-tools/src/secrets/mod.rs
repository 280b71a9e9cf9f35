//! What stands beside a log, for moving an installation to another store: the installation's keys, users' keys,
//! password hashes, sessions, tokens and kept answers, as lines of JSON. Whoever has such a file opens every name in
//! the log: it is written for the move and destroyed after it. Must not know where it is written to.

mod rows;

use crate::ToolError;
use charter_events::Head;
use charter_store::{Append, Batch, MOVED_ROWS_MAX, Store};
pub(crate) use rows::Hex;
use rows::{FirstLine, LINE_BYTES_MAX, Row, Written};
use std::io::{BufRead, Read, Write};
use zeroize::Zeroizing;

/// Rows handed to the store at once.
const BATCH_ROWS: usize = 1_000;

/// What an import of secrets did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// So many rows were written.
    Rows(u64),
    /// They were there already: an earlier import had come to its end.
    Before,
}

/// Writes everything that stands beside a log that ends at `head`, and returns how many rows that were.
///
/// No server may run on the store meanwhile: a key destroyed after the log was exported would be missing beside a log
/// that still has its user.
///
/// # Errors
/// [`ToolError::Store`], [`ToolError::File`]; [`ToolError::OtherLog`] when the log does not end at `head` any more.
pub async fn export(store: &dyn Store, head: &Head, out: &mut (dyn Write + Send)) -> Result<u64, ToolError> {
    let first = FirstLine::new(head, &store.installation_secrets().await?);
    let mut lines = Writing { out, rows: 0 };
    lines.line(&first)?;
    lines.user_keys(store).await?;
    lines.passwords(store).await?;
    lines.credentials(store).await?;
    lines.answers(store).await?;
    lines.line(&Row::End { rows: lines.rows })?;
    lines.out.flush()?;
    if store.head().await? != *head {
        return Err(ToolError::OtherLog("the log grew meanwhile: stop every server first".into()));
    }
    Ok(lines.rows)
}

struct Writing<'a> {
    out: &'a mut (dyn Write + Send),
    rows: u64,
}

impl Writing<'_> {
    async fn user_keys(&mut self, store: &dyn Store) -> Result<(), ToolError> {
        let mut after = None;
        loop {
            let page = store.user_keys_after(after, MOVED_ROWS_MAX).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(*last);
            self.rows(page.into_iter().map(Row::user_key))?;
        }
    }

    async fn passwords(&mut self, store: &dyn Store) -> Result<(), ToolError> {
        let mut after = None;
        loop {
            let page = store.passwords_after(after, MOVED_ROWS_MAX).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(*last);
            self.rows(page.into_iter().map(Row::password))?;
        }
    }

    async fn credentials(&mut self, store: &dyn Store) -> Result<(), ToolError> {
        let mut after = None;
        loop {
            let page = store.credentials_after(after.as_ref(), MOVED_ROWS_MAX).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            self.rows(page.into_iter().map(Row::credential))?;
        }
    }

    async fn answers(&mut self, store: &dyn Store) -> Result<(), ToolError> {
        let mut after = None;
        loop {
            let page = store.answers_after(after.as_ref(), MOVED_ROWS_MAX).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.key.clone());
            self.rows(page.into_iter().map(Row::answer))?;
        }
    }

    fn rows(&mut self, rows: impl Iterator<Item = Row>) -> Result<(), ToolError> {
        for row in rows {
            self.line(&row)?;
            self.rows = self.rows.saturating_add(1);
        }
        Ok(())
    }

    fn line(&mut self, line: &impl serde::Serialize) -> Result<(), ToolError> {
        let text = Zeroizing::new(serde_json::to_vec(line).map_err(std::io::Error::from)?);
        self.out.write_all(&text)?;
        Ok(self.out.write_all(b"\n")?)
    }
}

/// A file of secrets that was read to its end: it is whole.
pub struct Checked {
    first: FirstLine,
}

impl Checked {
    /// Whether they are those of a log that ends here.
    ///
    /// # Errors
    /// [`ToolError::OtherLog`].
    pub fn require_of(&self, log: &Head) -> Result<(), ToolError> {
        if (log.log_id, log.offset, log.hash) == (self.first.log_id, self.first.head, self.first.head_hash) {
            return Ok(());
        }
        Err(ToolError::OtherLog(format!(
            "the secrets belong to log {} at offset {}, not to log {} at offset {}",
            self.first.log_id, self.first.head, log.log_id, log.offset
        )))
    }

    /// Whether they may be imported: the store has no user of its own, or has these secrets already.
    ///
    /// # Errors
    /// [`ToolError::OtherLog`], [`ToolError::Store`].
    pub async fn require_room(&self, store: &dyn Store) -> Result<(), ToolError> {
        has_these(store, &self.first).await.map(|_| ())
    }
}

/// Reads such a file to its end and checks that it is whole. Nothing is written.
///
/// # Errors
/// [`ToolError::Line`] with the first bad line; [`ToolError::File`].
pub fn check(input: &mut (dyn BufRead + Send)) -> Result<Checked, ToolError> {
    let mut lines = Reading { input, text: Zeroizing::default(), line: 0 };
    let first = lines.first()?;
    let mut rows: u64 = 0;
    loop {
        let row = lines.row()?.written();
        if lines.is_end(&row, rows)? {
            return Ok(Checked { first });
        }
        rows = rows.saturating_add(1);
    }
}

/// Imports such a file into a store that holds the log it belongs to, and no user of its own: all rows or none. Made
/// again after it came to its end, it changes nothing.
///
/// # Errors
/// [`ToolError::Line`] with the first bad line; [`ToolError::OtherLog`] when the store holds another log, or users
/// whose names are tagged with another key; [`ToolError::Store`], [`ToolError::File`].
pub async fn import(store: &dyn Store, input: &mut (dyn BufRead + Send)) -> Result<Imported, ToolError> {
    let mut lines = Reading { input, text: Zeroizing::default(), line: 0 };
    let checked = Checked { first: lines.first()? };
    checked.require_of(&store.head().await?)?;
    let first = checked.first;
    if has_these(store, &first).await? {
        return Ok(Imported::Before);
    }
    let mut append = store.append().await?;
    append.write(&Batch { secrets: first.writes(), ..Batch::default() }).await?;
    match write_rows(append.as_mut(), &mut lines).await {
        Ok(rows) => append.commit().await.map(|_| Imported::Rows(rows)).map_err(ToolError::Store),
        Err(error) => {
            // Undone all the same when this fails.
            drop(append.rollback().await);
            Err(error)
        }
    }
}

/// Whether a store has these secrets already; users of its own, under other keys, are an error.
async fn has_these(store: &dyn Store, first: &FirstLine) -> Result<bool, ToolError> {
    if store.user_keys_after(None, 1).await?.is_empty() {
        return Ok(false);
    }
    if first.has_keys(&store.installation_secrets().await?) {
        return Ok(true);
    }
    Err(ToolError::OtherLog("the store has users of its own already".into()))
}

/// Writes the rows to the last line, which says how many there are.
async fn write_rows(append: &mut dyn Append, lines: &mut Reading<'_>) -> Result<u64, ToolError> {
    let mut batch = Batch::default();
    let mut rows: u64 = 0;
    loop {
        let row = lines.row()?.written();
        if lines.is_end(&row, rows)? {
            break;
        }
        match row {
            Written::Secret(write) => batch.secrets.push(write),
            Written::Answer(answer) => batch.answers.push(answer),
            Written::End { .. } => {}
        }
        rows = rows.saturating_add(1);
        if batch.secrets.len() + batch.answers.len() >= BATCH_ROWS {
            append.write(&std::mem::take(&mut batch)).await?;
        }
    }
    append.write(&batch).await?;
    Ok(rows)
}

struct Reading<'a> {
    input: &'a mut (dyn BufRead + Send),
    text: Zeroizing<String>,
    line: u64,
}

impl Reading<'_> {
    fn first(&mut self) -> Result<FirstLine, ToolError> {
        self.read()?;
        let first: Result<FirstLine, _> = serde_json::from_str(&self.text);
        first.ok().filter(FirstLine::is_known).ok_or_else(|| {
            self.wrong("it is not the first line of exported secrets, as this build knows them")
        })
    }

    fn row(&mut self) -> Result<Row, ToolError> {
        if !self.read()? {
            return Err(self.wrong("the file was cut: its last line is missing"));
        }
        // What serde says may quote a secret.
        serde_json::from_str(&self.text).map_err(|_| self.wrong("it is no row of exported secrets"))
    }

    /// Whether this row is the last, which says how many stand before it.
    fn is_end(&self, row: &Written, rows: u64) -> Result<bool, ToolError> {
        match row {
            Written::End { rows: expected } if *expected == rows => Ok(true),
            Written::End { rows: expected } => {
                Err(self.wrong(format!("{rows} rows stand before it, not {expected}")))
            }
            Written::Secret(_) | Written::Answer(_) => Ok(false),
        }
    }

    fn read(&mut self) -> Result<bool, ToolError> {
        self.text.clear();
        let longest = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let bytes = (&mut *self.input).take(longest).read_line(&mut self.text)?;
        self.line = self.line.saturating_add(1);
        if bytes >= LINE_BYTES_MAX {
            return Err(self.wrong(format!("it is longer than {LINE_BYTES_MAX} bytes")));
        }
        Ok(bytes > 0)
    }

    fn wrong(&self, why: impl Into<String>) -> ToolError {
        ToolError::Line { line: self.line.max(1), why: why.into() }
    }
}
