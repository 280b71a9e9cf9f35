//! Events as rows: the columns, and reading one back. A value that no event could have makes the row unreadable at its
//! offset; whether the values are the right ones is the chain's to say.

use charter_events::{
    Actor, CommandId, CommandMeta, EventId, Hash, Offset, StoredEvent, Timestamp, UserId, Via,
};
use charter_store::{Fault, What};
use sqlx::{Decode, Row, Sqlite, sqlite::SqliteRow, types::Type};
use uuid::Uuid;

/// Reads rows in the order of the columns below.
pub(crate) const SELECT_EVENTS: &str = "SELECT \"offset\", event_id, command_id, command_index, command_size, \
     type, schema, recorded_at, actor_kind, actor_id, via, request_id, reason, payload, prev_hash, hash \
     FROM events WHERE \"offset\" > ? ORDER BY \"offset\" LIMIT ?";

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
pub(crate) fn event(row: &SqliteRow) -> Result<StoredEvent, Fault> {
    let offset = u64::try_from(get::<i64>(row, 0).unwrap_or(-1)).ok().and_then(Offset::new);
    let Some(offset) = offset else {
        return Err(Fault::new(Offset::ZERO, What::Unreadable("its offset is out of range".into())));
    };
    read(row, offset).map_err(|why| Fault::new(offset, What::Unreadable(why)))
}

fn read(row: &SqliteRow, offset: Offset) -> Result<StoredEvent, String> {
    Ok(StoredEvent {
        offset,
        event_id: EventId::new(uuid(get(row, 1)?, "event id")?),
        command: CommandMeta {
            command_id: CommandId::new(uuid(get(row, 2)?, "command id")?),
            actor: actor(get(row, 8)?, get(row, 9)?)?,
            via: via(get(row, 10)?)?,
            request_id: get::<Option<&str>>(row, 11)?.map(str::to_owned),
            reason: get::<Option<&str>>(row, 12)?.map(str::to_owned),
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

/// A column by its place, type-checked: a damaged row may hold another type than its table declares.
fn get<'r, T: Decode<'r, Sqlite> + Type<Sqlite>>(row: &'r SqliteRow, index: usize) -> Result<T, String> {
    row.try_get(index).map_err(|e| e.to_string())
}

fn small<T: TryFrom<i64>>(value: i64, what: &str) -> Result<T, String> {
    T::try_from(value).map_err(|_| format!("its {what} is out of range"))
}

fn uuid(bytes: &[u8], what: &str) -> Result<Uuid, String> {
    Uuid::from_slice(bytes).map_err(|_| format!("its {what} is not 16 bytes"))
}

fn hash(bytes: &[u8]) -> Result<Hash, String> {
    bytes.try_into().map(Hash::new).map_err(|_| "a hash of it is not 32 bytes".to_owned())
}

fn actor(kind: &str, id: Option<&[u8]>) -> Result<Actor, String> {
    let unknown = || "its actor is none that is known".to_owned();
    let user = |id| uuid(id, "actor id").map(UserId::new);
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
