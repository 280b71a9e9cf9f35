//! Events as rows: the columns, and reading one back. A value that no event could have makes the row unreadable at its
//! offset; whether the values are the right ones is the chain's to say.

use charter_events::{
    Actor, CommandId, CommandMeta, EventId, Hash, Offset, StoredEvent, Timestamp, UserId, Via,
};
use charter_store::{Fault, What};
use sqlx::{Decode, Row, Type, postgres::PgRow, postgres::Postgres};
use uuid::Uuid;

/// Reads the events after `$1` and up to `$2`, at most `$3`, until their payloads have taken more than `$4` bytes: the
/// rows in the order of the columns below.
pub(crate) const SELECT_EVENTS: &str = "SELECT \"offset\", event_id, command_id, command_index, command_size, \
     type, schema, recorded_at, actor_kind, actor_id, via, request_id, reason, payload, prev_hash, hash \
     FROM (SELECT *, sum(size) OVER (ORDER BY \"offset\" ROWS UNBOUNDED PRECEDING) AS bytes \
           FROM (SELECT *, coalesce(octet_length(payload), 0) AS size \
                 FROM log.events WHERE \"offset\" > $1 AND \"offset\" <= $2 ORDER BY \"offset\" LIMIT $3) \
                AS page) AS measured \
     WHERE bytes - size <= $4 ORDER BY \"offset\"";

pub(crate) const fn via_text(via: Via) -> &'static str {
    match via {
        Via::Api => "api",
        Via::Cli => "cli",
        Via::Module => "module",
        Via::Import => "import",
        Via::System => "system",
    }
}

/// The actor's kind and id as they are kept.
pub(crate) fn actor_columns(actor: &Actor) -> (&'static str, Option<Vec<u8>>) {
    match actor {
        Actor::User(user) => ("user", Some(user.as_uuid().as_bytes().to_vec())),
        Actor::Service(user) => ("service", Some(user.as_uuid().as_bytes().to_vec())),
        Actor::Module(namespace) => ("module", Some(namespace.as_str().as_bytes().to_vec())),
        Actor::System => ("system", None),
    }
}

/// Reads one row.
///
/// # Errors
/// The fault, at the row's offset.
pub(crate) fn event(row: &PgRow) -> Result<StoredEvent, Fault> {
    let offset = u64::try_from(get::<i64>(row, 0).unwrap_or(-1)).ok().and_then(Offset::new);
    let Some(offset) = offset else {
        return Err(Fault::new(Offset::ZERO, What::Unreadable("its offset is out of range".into())));
    };
    read(row, offset).map_err(|why| Fault::new(offset, What::Unreadable(why)))
}

fn read(row: &PgRow, offset: Offset) -> Result<StoredEvent, String> {
    Ok(StoredEvent {
        offset,
        event_id: EventId::new(get(row, 1)?),
        command: CommandMeta {
            command_id: CommandId::new(get(row, 2)?),
            actor: actor(get(row, 8)?, get(row, 9)?)?,
            via: via(get(row, 10)?)?,
            request_id: text(get(row, 11)?, "request id")?,
            reason: text(get(row, 12)?, "reason")?,
        },
        command_index: small(get(row, 3)?, "command index")?,
        command_size: small(get(row, 4)?, "command size")?,
        type_name: get::<&str>(row, 5)?.to_owned(),
        schema: small(get(row, 6)?, "schema")?,
        recorded_at: Timestamp::from_micros(get(row, 7)?).ok_or("its time is out of range")?,
        payload: get::<&[u8]>(row, 13)?.to_vec(),
        prev_hash: hash(get(row, 14)?)?,
        hash: hash(get(row, 15)?)?,
    })
}

/// A column by its place, type-checked: a damaged table may declare another type.
fn get<'r, T: Decode<'r, Postgres> + Type<Postgres>>(row: &'r PgRow, index: usize) -> Result<T, String> {
    row.try_get(index).map_err(|e| e.to_string())
}

fn small<T: TryFrom<i32>>(value: i32, what: &str) -> Result<T, String> {
    T::try_from(value).map_err(|_| format!("its {what} is out of range"))
}

fn text(bytes: Option<&[u8]>, what: &str) -> Result<Option<String>, String> {
    let text = bytes.map(|bytes| String::from_utf8(bytes.to_vec())).transpose();
    text.map_err(|_| format!("its {what} is no text"))
}

fn hash(bytes: &[u8]) -> Result<Hash, String> {
    bytes.try_into().map(Hash::new).map_err(|_| "a hash of it is not 32 bytes".to_owned())
}

fn actor(kind: &str, id: Option<&[u8]>) -> Result<Actor, String> {
    let unknown = || "its actor is none that is known".to_owned();
    let user =
        |id| Uuid::from_slice(id).map(UserId::new).map_err(|_| "its actor id is not 16 bytes".to_owned());
    match (kind, id) {
        ("user", Some(id)) => user(id).map(Actor::User),
        ("service", Some(id)) => user(id).map(Actor::Service),
        ("module", Some(id)) => std::str::from_utf8(id)
            .ok()
            .and_then(|name| name.parse().ok())
            .map(Actor::Module)
            .ok_or_else(unknown),
        ("system", None) => Ok(Actor::System),
        _ => Err(unknown()),
    }
}

fn via(text: &str) -> Result<Via, String> {
    let known = [Via::Api, Via::Cli, Via::Module, Via::Import, Via::System];
    known
        .into_iter()
        .find(|via| via_text(*via) == text)
        .ok_or_else(|| "the way it came in is unknown".to_owned())
}
