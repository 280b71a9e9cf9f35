//! Entries of the audit history: rows of its table, with the names people and things have now. An erased user has none.

use super::{Names, external_id};
use crate::{ask::Ask, dto};
use charter_events::{CommandId, GrantId, GroupId, ObjectId, Offset, RoleId, Timestamp, UserId};
use charter_tables::{AUDIT_HISTORY, Row, Value};
use serde_json::{Map, Value as Json};
use uuid::Uuid;

/// Members of what was before and after that hold a user's id.
const USERS: [&str; 2] = ["owner", "asked_by"];

/// Rows as they are shown. Who may read one object only is not told of folders that he may not know.
pub(crate) async fn entries(ask: &Ask, rows: &[Row], may_all: bool) -> Vec<dto::AuditEntry> {
    let cells: Vec<Cells<'_>> = rows.iter().map(Cells).collect();
    let names = Names::of(ask, cells.iter().flat_map(Cells::users)).await;
    cells.iter().filter_map(|cells| entry(ask, cells, &names, may_all)).collect()
}

/// A row by the names of its columns.
struct Cells<'a>(&'a Row);

impl<'a> Cells<'a> {
    fn cell(&self, column: &str) -> Option<&'a Value> {
        let (_, table) = AUDIT_HISTORY.table("audit_entries")?;
        self.0.get(table.column(column)?)
    }

    fn text(&self, column: &str) -> Option<&'a str> {
        match self.cell(column)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn id(&self, column: &str) -> Option<Uuid> {
        match self.cell(column)? {
            Value::Uuid(id) => Some(*id),
            _ => None,
        }
    }

    fn int(&self, column: &str) -> Option<i64> {
        match self.cell(column)? {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    fn json(&self, column: &str) -> Option<Map<String, Json>> {
        serde_json::from_str(self.text(column)?).ok()
    }

    /// Everybody it names.
    fn users(&self) -> Vec<UserId> {
        let sides = ["old_value", "new_value"].into_iter().filter_map(|side| self.json(side));
        let told = sides.flat_map(|side| USERS.map(|member| user_of(side.get(member))));
        let columns = ["actor_id", "user_id"].into_iter().filter_map(|column| self.id(column));
        columns.map(UserId::new).chain(told.flatten()).collect()
    }
}

fn user_of(member: Option<&Json>) -> Option<UserId> {
    member?.as_str()?.parse().ok()
}

fn entry(ask: &Ask, cells: &Cells<'_>, names: &Names, may_all: bool) -> Option<dto::AuditEntry> {
    let then = cells.json("names").unwrap_or_default();
    let then = |kind: &str| then.get(kind).and_then(Json::as_str).map(str::to_owned);
    let side = |column: &str| cells.json(column).map(|side| shown(ask, side, names, may_all));
    Some(dto::AuditEntry {
        offset: Offset::new(u64::try_from(cells.int("event_offset")?).ok()?)?,
        command_id: CommandId::new(cells.id("command_id")?),
        command_index: u32::try_from(cells.int("command_index")?).ok()?,
        recorded_at: Timestamp::from_micros(cells.int("recorded_at")?)?,
        type_name: cells.text("event_type")?.to_owned(),
        actor: dto::AuditActor {
            kind: cells.text("actor_kind")?.to_owned(),
            user: cells.id("actor_id").map(|id| names.user(UserId::new(id))),
            module: cells.text("actor_module").map(str::to_owned),
        },
        via: cells.text("via")?.to_owned(),
        request_id: cells.text("request_id").map(str::to_owned),
        reason: cells.text("reason").map(str::to_owned),
        user: cells.id("user_id").map(|id| names.user(UserId::new(id))),
        group: cells.id("group_id").map(|id| {
            let now = ask.policy.group(GroupId::new(id));
            thing(id, now.map(|view| (view.name.to_string(), view.slug.to_string())), then("group"))
        }),
        role: cells.id("role_id").map(|id| {
            let now = ask.policy.role(RoleId::new(id));
            thing(id, now.map(|view| (view.name.to_string(), view.slug.to_string())), then("role"))
        }),
        object: cells.id("object_id").map(|id| {
            let now = ask
                .policy
                .object(ObjectId::new(id))
                .map(|view| (view.name.to_string(), format!("{}:{}", view.object_type, external_id(&view))));
            thing(id, now, then("object"))
        }),
        grant: cells.id("grant_id").map(GrantId::new),
        scope: cells.text("scope").map(str::to_owned),
        old: side("old_value"),
        new: side("new_value"),
    })
}

fn thing(id: Uuid, now: Option<(String, String)>, then: Option<String>) -> dto::AuditThing {
    match now {
        Some((name, reference)) => {
            let name_then = then.filter(|then| *then != name);
            dto::AuditThing { id, name: Some(name), reference: Some(reference), name_then }
        }
        None => dto::AuditThing { id, name: then, reference: None, name_then: None },
    }
}

/// What was before or after, its users by name.
fn shown(ask: &Ask, mut side: Map<String, Json>, names: &Names, may_all: bool) -> Json {
    for member in USERS {
        if let Some(user) = user_of(side.get(member)) {
            side.insert(member.to_owned(), serde_json::json!(names.user(user)));
        }
    }
    let folder = side.get("parent").and_then(Json::as_str).and_then(|id| id.parse::<ObjectId>().ok());
    let known = |folder: ObjectId| ask.policy.object(folder).is_some_and(|view| ask.knows(&view));
    if folder.is_some_and(|folder| !may_all && !known(folder)) {
        side.remove("parent");
        side.remove("parent_name");
    }
    Json::Object(side)
}
