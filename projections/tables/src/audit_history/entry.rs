//! An entry while it is made: what an event is about, before and after.

use crate::{
    rows::{Row, Value},
    words::{self, folded},
};
use charter_events::{Actor, GrantId, GroupId, Namespace, ObjectId, RoleId, Scope, StoredEvent, UserId};
use charter_policy::Policy;
use serde_json::{Map, Value as Json};

/// The most items of a list that an entry repeats; how many there are stands beside them.
pub(super) const LIST_ITEMS_MAX: usize = 100;
/// The longest text an entry is searched by, in bytes; the rest is cut off.
pub(super) const SEARCH_BYTES_MAX: usize = 8 * 1024;

pub(super) struct Entry<'a> {
    pub(super) before: &'a Policy,
    asked_by: Option<UserId>,
    user: Option<UserId>,
    group: Option<GroupId>,
    role: Option<RoleId>,
    grant: Option<GrantId>,
    object: Option<ObjectId>,
    scope: Option<Scope>,
    names: Map<String, Json>,
    old: Map<String, Json>,
    new: Map<String, Json>,
    words: Vec<String>,
}

impl<'a> Entry<'a> {
    pub(super) fn new(before: &'a Policy) -> Self {
        Self {
            before,
            asked_by: None,
            user: None,
            group: None,
            role: None,
            grant: None,
            object: None,
            scope: None,
            names: Map::new(),
            old: Map::new(),
            new: Map::new(),
            words: Vec::new(),
        }
    }

    /// The system did it because this user had asked for it.
    pub(super) fn asked_by(self, user: Option<UserId>) -> Self {
        Self { asked_by: user, ..self.maybe_is("asked_by", user.map(|user| user.to_string())) }
    }

    /// It is about this user.
    pub(super) const fn user(mut self, id: UserId) -> Self {
        self.user = Some(id);
        self
    }

    /// It is about this group, which is called as the state before says.
    pub(super) fn group(self, id: GroupId) -> Self {
        match self.before.group(id) {
            Some(view) => self.group_called(id, view.slug.as_str(), view.name.as_str()),
            None => Self { group: Some(id), ..self },
        }
    }

    pub(super) fn group_called(self, id: GroupId, slug: &str, name: &str) -> Self {
        Self { group: Some(id), ..self.called("group", name).word(slug) }
    }

    /// It is about this role, which is called as the state before says.
    pub(super) fn role(self, id: RoleId) -> Self {
        match self.before.role(id) {
            Some(view) => self.role_called(id, view.slug.as_str(), view.name.as_str()),
            None => Self { role: Some(id), ..self },
        }
    }

    pub(super) fn role_called(self, id: RoleId, slug: &str, name: &str) -> Self {
        Self { role: Some(id), ..self.called("role", name).word(slug) }
    }

    /// It is about this object, which is called as the state before says.
    pub(super) fn object(self, id: ObjectId) -> Self {
        let Some(view) = self.before.object(id) else { return Self { object: Some(id), ..self } };
        let entry = self.object_called(id, view.object_type.as_str(), view.name.as_str());
        match view.external_id {
            Some(external) => entry.word(external.as_str()),
            None => entry,
        }
    }

    pub(super) fn object_called(self, id: ObjectId, object_type: &str, name: &str) -> Self {
        let mut entry = self.called("object", name).word(object_type);
        entry.names.insert("object_type".into(), object_type.into());
        Self { object: Some(id), ..entry }
    }

    pub(super) const fn grant(mut self, id: GrantId) -> Self {
        self.grant = Some(id);
        self
    }

    /// It is about a grant there.
    pub(super) fn at(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        match scope {
            Scope::Global => self,
            Scope::Object(object) => self.object(object),
        }
    }

    /// It is about what a namespace registered.
    pub(super) fn namespace(self, namespace: &Namespace) -> Self {
        self.is("namespace", namespace.as_str()).word(namespace.as_str())
    }

    /// Something of it is called so. The name is searched for.
    pub(super) fn called(mut self, what: &str, name: &str) -> Self {
        self.names.insert(what.to_owned(), name.into());
        self.word(name)
    }

    /// It is found by this too.
    pub(super) fn word(mut self, word: &str) -> Self {
        self.words.push(folded(word));
        self
    }

    pub(super) fn was(mut self, what: &str, value: impl Into<Json>) -> Self {
        self.old.insert(what.to_owned(), value.into());
        self
    }

    pub(super) fn maybe_was(self, what: &str, value: Option<impl Into<Json>>) -> Self {
        match value {
            Some(value) => self.was(what, value),
            None => self,
        }
    }

    pub(super) fn is(mut self, what: &str, value: impl Into<Json>) -> Self {
        self.new.insert(what.to_owned(), value.into());
        self
    }

    pub(super) fn maybe_is(self, what: &str, value: Option<impl Into<Json>>) -> Self {
        match value {
            Some(value) => self.is(what, value),
            None => self,
        }
    }

    /// A list that was there before; its items are searched for.
    pub(super) fn listed_before<'b>(mut self, what: &str, items: impl IntoIterator<Item = &'b str>) -> Self {
        let items: Vec<_> = items.into_iter().collect();
        list(&mut self.old, what, &items);
        items.into_iter().fold(self, Self::word)
    }

    /// A list that is there now; its items are searched for.
    pub(super) fn listed_now<'b>(mut self, what: &str, items: impl IntoIterator<Item = &'b str>) -> Self {
        let items: Vec<_> = items.into_iter().collect();
        list(&mut self.new, what, &items);
        items.into_iter().fold(self, Self::word)
    }

    /// The row of `audit_entries`.
    pub(super) fn row(self, stored: &StoredEvent) -> Row {
        let command = &stored.command;
        let id = |id: Option<uuid::Uuid>| Value::maybe(id, Value::Uuid);
        let scope = |scope: Scope| Value::text(if scope == Scope::Global { "global" } else { "object" });
        let search = self.search(stored);
        let mut row = vec![
            words::offset(stored.offset),
            Value::Uuid(command.command_id.as_uuid()),
            words::count(stored.command_index),
            words::moment(stored.recorded_at),
            Value::text(&stored.type_name),
        ];
        row.extend(words::actor(&command.actor));
        row.extend([
            id(self.asked_by.or_else(|| user_of(&command.actor)).map(UserId::as_uuid)),
            Value::text(words::via(command.via)),
            Value::maybe(command.request_id.as_ref(), Value::text),
            Value::maybe(command.reason.as_ref(), Value::text),
            id(self.user.map(UserId::as_uuid)),
            id(self.group.map(GroupId::as_uuid)),
            id(self.role.map(RoleId::as_uuid)),
            id(self.grant.map(GrantId::as_uuid)),
            id(self.object.map(ObjectId::as_uuid)),
            Value::maybe(self.scope, scope),
            json(self.names),
            json(self.old),
            json(self.new),
            search,
        ]);
        row
    }

    fn search(&self, stored: &StoredEvent) -> Value {
        let mut text = stored.type_name.clone();
        let module = match &stored.command.actor {
            Actor::Module(module) => Some(module.as_str()),
            Actor::User(_) | Actor::Service(_) | Actor::System => None,
        };
        let reason = stored.command.reason.as_deref().map(folded);
        let first = reason.as_deref().into_iter().chain(module);
        for word in first.chain(self.words.iter().map(String::as_str)) {
            text.push('\n');
            text.push_str(word);
        }
        let end = text.floor_char_boundary(SEARCH_BYTES_MAX);
        text.truncate(end);
        Value::text(text)
    }
}

/// Who did something, when it is a user.
const fn user_of(actor: &Actor) -> Option<UserId> {
    match actor {
        Actor::User(user) | Actor::Service(user) => Some(*user),
        Actor::Module(_) | Actor::System => None,
    }
}

fn json(members: Map<String, Json>) -> Value {
    if members.is_empty() { Value::Null } else { Value::text(Json::Object(members).to_string()) }
}

fn list(members: &mut Map<String, Json>, what: &str, items: &[&str]) {
    let told: Vec<_> = items.iter().take(LIST_ITEMS_MAX).copied().collect();
    members.insert(what.to_owned(), told.into());
    if items.len() > LIST_ITEMS_MAX {
        members.insert(format!("{what}_count"), items.len().into());
    }
}
