//! Kept answers as rows.

use crate::{
    error,
    statement::{Statement, integer},
};
use charter_events::{CommandId, Hash, Offset, Timestamp};
use charter_store::{Answer, IdempotencyKey, StoreError};
use sqlx::{Row, postgres::PgRow};
use uuid::Uuid;

/// What is being done, for errors.
pub(crate) const READING: &str = "reading an answer";
/// Rows a statement inserts at once.
const ROWS_MAX: usize = 1_000;

/// Finds the answer to a key.
pub(crate) fn find(key: &IdempotencyKey) -> Result<Statement, StoreError> {
    const SQL: &str = "SELECT caller, key, request_hash, command_id, first, last, created, secret, at \
                       FROM log.answers WHERE caller = $1 AND key = $2";
    Statement::new(SQL).with(key.caller.as_bytes())?.with(key.key.as_bytes())
}

/// Answers after a key, in the order of keys.
pub(crate) fn after(key: Option<&IdempotencyKey>, limit: i64) -> Result<Statement, StoreError> {
    const FIRST: &str = "SELECT caller, key, request_hash, command_id, first, last, created, secret, at \
                         FROM log.answers ORDER BY caller, key LIMIT $1";
    const NEXT: &str = "SELECT caller, key, request_hash, command_id, first, last, created, secret, at \
                        FROM log.answers WHERE (caller, key) > ($2, $3) ORDER BY caller, key LIMIT $1";
    match key {
        None => Statement::new(FIRST).with(limit),
        Some(key) => Statement::new(NEXT).with(limit)?.with(key.caller.as_bytes())?.with(key.key.as_bytes()),
    }
}

/// Inserts answers.
pub(crate) fn insert(answers: &[Answer]) -> impl Iterator<Item = Result<Statement, StoreError>> + Send + '_ {
    answers.chunks(ROWS_MAX).map(chunk)
}

fn chunk(answers: &[Answer]) -> Result<Statement, StoreError> {
    const SQL: &str = "INSERT INTO log.answers \
        (caller, key, request_hash, command_id, first, last, created, secret, at) \
        SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::uuid[], $5::bigint[], $6::bigint[], \
        $7::uuid[], $8::boolean[], $9::bigint[])";
    fn column<'a, T>(answers: &'a [Answer], of: impl Fn(&'a Answer) -> T) -> Vec<T> {
        answers.iter().map(of).collect()
    }
    let offsets = |of: fn(&Answer) -> Offset| {
        answers.iter().map(|a| integer(of(a).get())).collect::<Result<Vec<_>, _>>()
    };
    Statement::new(SQL)
        .with(column(answers, |a| a.key.caller.as_bytes()))?
        .with(column(answers, |a| a.key.key.as_bytes()))?
        .with(column(answers, |a| a.request_hash.as_bytes().as_slice()))?
        .with(column(answers, |a| a.command_id.as_uuid()))?
        .with(offsets(|a| a.first)?)?
        .with(offsets(|a| a.last)?)?
        .with(column(answers, |a| a.created))?
        .with(column(answers, |a| a.secret))?
        .with(column(answers, |a| a.at.as_micros()))
}

/// Reads one row.
pub(crate) fn answer(row: &PgRow) -> Result<Answer, StoreError> {
    let offset = |index: usize| u64::try_from(row.try_get::<i64, _>(index).ok()?).ok().and_then(Offset::new);
    let text = |index: usize| String::from_utf8(row.try_get(index).ok()?).ok();
    let read = || {
        Some(Answer {
            key: IdempotencyKey { caller: text(0)?, key: text(1)? },
            request_hash: Hash::new(row.try_get::<&[u8], _>(2).ok()?.try_into().ok()?),
            command_id: CommandId::new(row.try_get(3).ok()?),
            first: offset(4)?,
            last: offset(5)?,
            created: row.try_get::<Option<Uuid>, _>(6).ok()?,
            secret: row.try_get(7).ok()?,
            at: Timestamp::from_micros(row.try_get(8).ok()?)?,
        })
    };
    read().ok_or_else(|| error::damaged("an answer can't be read"))
}
