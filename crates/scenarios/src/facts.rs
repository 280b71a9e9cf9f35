//! A scenario's facts as events, in the order an importer would write them; each is checked against the rules of the
//! model first.

use crate::{
    build::Names,
    file::{GrantEntry, ObjectEntry, Scenario, UserEntry},
    refused::Problem,
    words::{GrantName, ObjectRef, Status, SubjectRef},
};
use charter_events::{
    Content, DisplayName, Effect, Event, GrantId, GrantIssued, GroupCreated, GroupMemberAdded,
    InstallationCreated, ObjectCreated, ObjectType, Pattern, PermissionDefinition, PermissionKey,
    PermissionsRegistered, Reach, RoleCreated, RoleId, RoleScope, Scope, SeededRole, Slug, Subject,
    names::{ANY_TYPE, FOLDER},
};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// The built-in role of owners.
const OWNER: &str = "owner";

/// Everything the facts of a scenario are, as events and names.
pub(crate) fn write(scenario: &Scenario) -> Result<(Vec<Event>, Names), Problem> {
    let mut writer = Writer::new(scenario);
    writer.push(InstallationCreated { name: scenario.name.clone() });
    writer.catalog(scenario)?;
    writer.roles(scenario)?;
    writer.users(scenario)?;
    writer.groups(scenario)?;
    writer.objects(scenario)?;
    writer.grants(scenario)?;
    writer.statuses(scenario);
    Ok((writer.events, writer.names))
}

pub(crate) struct Writer {
    pub(crate) events: Vec<Event>,
    pub(crate) names: Names,
    /// What a thing is shown as whose name can't be shown; no name is like that.
    title: DisplayName,
    ids: u128,
    pub(crate) keys: BTreeMap<PermissionKey, BTreeSet<ObjectType>>,
    role_scopes: BTreeMap<Slug, RoleScope>,
    owner_role: Option<RoleId>,
}

impl Writer {
    fn new(scenario: &Scenario) -> Self {
        Self {
            events: Vec::new(),
            names: Names::default(),
            title: scenario.name.clone(),
            ids: 0,
            keys: BTreeMap::new(),
            role_scopes: BTreeMap::new(),
            owner_role: None,
        }
    }

    /// A name as text that is shown.
    pub(crate) fn display(&self, name: &Slug) -> DisplayName {
        name.as_str().parse().unwrap_or_else(|_| self.title.clone())
    }

    pub(crate) fn push(&mut self, event: impl Into<Event>) {
        self.events.push(event.into());
    }

    /// The next id: counted, in the form of a UUIDv7.
    pub(crate) fn id(&mut self, shown: String) -> Uuid {
        self.ids += 1;
        let id = Uuid::from_u128((7 << 76) | (2 << 62) | self.ids);
        self.names.note(id, shown);
        id
    }

    fn catalog(&mut self, scenario: &Scenario) -> Result<(), Problem> {
        let mut definitions: BTreeMap<&str, Vec<PermissionDefinition>> = BTreeMap::new();
        for (index, entry) in scenario.catalog.iter().enumerate() {
            let refused = |reason: String| Problem::item("catalog", index, reason);
            let mut object_types = BTreeSet::new();
            for object_type in &*entry.object_types {
                if !object_types.insert(object_type.clone()) {
                    return Err(refused(format!("object type `{object_type}` is listed twice")));
                }
            }
            if self.keys.insert(entry.key.clone(), object_types.clone()).is_some() {
                return Err(refused(format!("key `{}` is given twice", entry.key)));
            }
            definitions.entry(entry.key.namespace()).or_default().push(PermissionDefinition {
                key: entry.key.clone(),
                description: scenario.name.clone(),
                object_types: object_types.into_iter().collect(),
            });
        }
        self.object_types(scenario)?;
        for (namespace, mut permissions) in definitions {
            permissions.sort_by(|a, b| a.key.cmp(&b.key));
            let namespace = namespace.parse().map_err(|_| Problem::item("catalog", 0, "no namespace"))?;
            self.push(PermissionsRegistered { namespace, revision: None, permissions });
        }
        Ok(())
    }

    fn roles(&mut self, scenario: &Scenario) -> Result<(), Problem> {
        let owner = RoleId::new(self.id(OWNER.to_owned()));
        self.owner_role = Some(owner);
        let slug: Slug = OWNER.parse().map_err(|_| Problem::member("roles", OWNER, "no name"))?;
        self.names.roles.insert(slug.clone(), owner);
        let name = self.display(&slug);
        self.push(RoleCreated {
            role: owner,
            name,
            slug,
            scope: RoleScope::Object,
            permissions: vec![Pattern::all()],
            seeded: Some(SeededRole::Owner),
        });
        for (slug, entry) in &scenario.roles.0 {
            let refused = |reason: String| Problem::member("roles", slug.as_str(), reason);
            if slug.as_str() == OWNER {
                return Err(refused("role `owner` is built in".to_owned()));
            }
            let mut permissions = BTreeSet::new();
            for pattern in &*entry.permissions {
                if pattern.as_key().is_some_and(|key| !self.keys.contains_key(&key)) {
                    return Err(refused(format!("key `{pattern}` is not in the catalog")));
                }
                if !permissions.insert(pattern.clone()) {
                    return Err(refused(format!("`{pattern}` is listed twice")));
                }
            }
            let role = RoleId::new(self.id(slug.to_string()));
            self.names.roles.insert(slug.clone(), role);
            self.role_scopes.insert(slug.clone(), entry.scope);
            let permissions = permissions.into_iter().collect();
            let (slug, name, scope) = (slug.clone(), self.display(slug), entry.scope);
            self.push(RoleCreated { role, slug, name, scope, permissions, seeded: None });
        }
        Ok(())
    }

    fn groups(&mut self, scenario: &Scenario) -> Result<(), Problem> {
        for (slug, members) in &scenario.groups.0 {
            let refused = |reason: String| Problem::member("groups", slug.as_str(), reason);
            let group = self.id(slug.to_string()).into();
            self.names.groups.insert(slug.clone(), group);
            let name = self.display(slug);
            self.push(GroupCreated { group, slug: slug.clone(), name });
            let mut seen = BTreeSet::new();
            for member in &**members {
                let user = self
                    .names
                    .user(member.as_str())
                    .ok_or_else(|| refused(format!("there is no user `{member}`")))?;
                if !seen.insert(user) {
                    return Err(refused(format!("user `{member}` is listed twice")));
                }
                self.push(GroupMemberAdded { group, user });
            }
        }
        Ok(())
    }

    fn objects(&mut self, scenario: &Scenario) -> Result<(), Problem> {
        for (index, entry) in scenario.objects.iter().enumerate() {
            let refused = |reason: String| Problem::item("objects", index, reason);
            if entry.object_type.as_str() == ANY_TYPE {
                return Err(refused("`any` stands for every type and names none".to_owned()));
            }
            let name = reference(entry);
            let id = self.id(name.to_string()).into();
            if self.names.objects.insert(name.clone(), id).is_some() {
                return Err(refused(format!("object `{name}` is given twice")));
            }
        }
        for index in parents_first(scenario)? {
            if let Some(entry) = scenario.objects.get(index) {
                self.object(scenario, entry, index)?;
            }
        }
        Ok(())
    }

    fn object(&mut self, scenario: &Scenario, entry: &ObjectEntry, index: usize) -> Result<(), Problem> {
        let refused = |reason: String| Problem::item("objects", index, reason);
        let name = reference(entry);
        let object = self.names.object(&name).ok_or_else(|| refused("it has no id".to_owned()))?;
        let parent = entry.parent.as_ref().and_then(|parent| self.names.object(&folder(parent)));
        let owner = match &entry.owner {
            None => None,
            Some(owner) => {
                let user = self.names.user(owner.as_str());
                Some(user.ok_or_else(|| refused(format!("there is no user `{owner}`")))?)
            }
        };
        let erased =
            |user: &&UserEntry| Some(&user.name) == entry.owner.as_ref() && user.status == Status::Erased;
        if let Some(user) = scenario.users.iter().find(erased) {
            return Err(refused(format!("user `{}` is erased and owns nothing", user.name)));
        }
        let external_id = entry.name.as_str().parse().map_err(|error| refused(format!("{error}")))?;
        let shown = self.display(&entry.name);
        self.push(ObjectCreated {
            object,
            object_type: entry.object_type.clone(),
            external_id: Some(external_id),
            name: shown,
            parent,
            owner,
            inherits: entry.inherits,
        });
        if let (Some(owner), Some(role)) = (owner, self.owner_role) {
            let grant = self.grant_id(GrantName::of_owner(&name), refused)?;
            self.push(GrantIssued {
                grant,
                subject: Subject::User(owner),
                content: Content::Role(role),
                scope: Scope::Object(object),
                effect: Effect::Allow,
                not_before: None,
                expires_at: None,
                affects: Reach::ALL.affects,
                child_types: Reach::ALL.child_types,
            });
        }
        Ok(())
    }

    fn grant_id(&mut self, name: GrantName, refused: impl Fn(String) -> Problem) -> Result<GrantId, Problem> {
        let grant = self.id(name.to_string()).into();
        let reason = format!("grant `{name}` is given twice");
        if self.names.grants.insert(name, grant).is_some() {
            return Err(refused(reason));
        }
        Ok(grant)
    }

    fn grants(&mut self, scenario: &Scenario) -> Result<(), Problem> {
        for (index, entry) in scenario.grants.iter().enumerate() {
            let issued = self.grant(entry).map_err(|reason| {
                Problem::item("grants", index, format!("grant `{}`: {reason}", entry.name))
            })?;
            let grant = self.grant_id(entry.name.clone(), |reason| Problem::item("grants", index, reason))?;
            self.push(GrantIssued { grant, ..issued });
        }
        Ok(())
    }

    fn grant(&self, entry: &GrantEntry) -> Result<GrantIssued, String> {
        let subject = match &entry.to {
            SubjectRef::User(name) => self.names.users.get(name).copied().map(Subject::User),
            SubjectRef::Group(name) => self.names.groups.get(name).copied().map(Subject::Group),
        };
        let subject = subject.ok_or_else(|| format!("there is no {}", kind_and_name(&entry.to)))?;
        let scope = self.names.scope(entry.on.as_ref());
        let scope = scope.ok_or_else(|| format!("there is no object `{}`", on_text(entry)))?;
        let content = self.content(entry, scope)?;
        check_reach(entry.on.as_ref(), Reach { affects: entry.affects, child_types: entry.child_types })?;
        if let (Some(begin), Some(end)) = (entry.not_before, entry.expires_at)
            && begin >= end
        {
            return Err("it would end before it begins".to_owned());
        }
        Ok(GrantIssued {
            grant: GrantId::from_u128(0),
            subject,
            content,
            scope,
            effect: entry.effect,
            not_before: entry.not_before,
            expires_at: entry.expires_at,
            affects: entry.affects,
            child_types: entry.child_types,
        })
    }

    fn content(&self, entry: &GrantEntry, scope: Scope) -> Result<Content, String> {
        match (&entry.role, &entry.keys) {
            (Some(_), Some(_)) => Err("it carries a role or keys, never both".to_owned()),
            (None, None) => Err("it carries a role or keys, never neither".to_owned()),
            (Some(_), None) if entry.effect == Effect::Deny => {
                Err("a deny carries literal keys, never a role".to_owned())
            }
            (Some(role), None) => self.role_content(role, scope),
            (None, Some(keys)) => self.keys_content(keys, entry.on.as_ref()),
        }
    }

    fn role_content(&self, role: &Slug, scope: Scope) -> Result<Content, String> {
        if role.as_str() == OWNER {
            return Err("role `owner` is given by owning an object only".to_owned());
        }
        let (Some(id), Some(allowed)) = (self.names.roles.get(role), self.role_scopes.get(role)) else {
            return Err(format!("there is no role `{role}`"));
        };
        match scope {
            _ if allowed.allows(scope) => Ok(Content::Role(*id)),
            Scope::Global => Err(format!("role `{role}` can be given on objects only")),
            Scope::Object(_) => Err(format!("role `{role}` can be given globally only")),
        }
    }

    fn keys_content(&self, keys: &[PermissionKey], on: Option<&ObjectRef>) -> Result<Content, String> {
        if keys.is_empty() {
            return Err("it takes at least one key".to_owned());
        }
        let mut sorted = BTreeSet::new();
        for key in keys {
            let types = self.keys.get(key).ok_or_else(|| format!("key `{key}` is not in the catalog"))?;
            if !sorted.insert(key.clone()) {
                return Err(format!("key `{key}` is listed twice"));
            }
            let Some(object) = on else { continue };
            if types.is_empty() {
                return Err(format!("key `{key}` is platform-wide and can't be granted on an object"));
            }
            let lists = |name: &str| types.iter().any(|object_type| object_type.as_str() == name);
            if !object.object_type.is_folder() && !lists(object.object_type.as_str()) && !lists(ANY_TYPE) {
                return Err(format!("key `{key}` does not list object type `{}`", object.object_type));
            }
        }
        Ok(Content::Keys(sorted.into_iter().collect()))
    }
}

/// The reach of a grant, or of the question whether one is held.
pub(crate) fn check_reach(on: Option<&ObjectRef>, reach: Reach) -> Result<(), String> {
    let on_folder = on.is_some_and(|object| object.object_type.is_folder());
    if !on_folder && reach != Reach::ALL {
        return Err("`affects` and `child_types` are for folders only".to_owned());
    }
    if !reach.is_valid() {
        return Err("with `affects: self_only` no `child_types` can be named".to_owned());
    }
    Ok(())
}

fn reference(entry: &ObjectEntry) -> ObjectRef {
    ObjectRef { object_type: entry.object_type.clone(), name: entry.name.clone() }
}

fn folder(name: &Slug) -> ObjectRef {
    ObjectRef { object_type: ObjectType::folder(), name: name.clone() }
}

fn kind_and_name(subject: &SubjectRef) -> String {
    match subject {
        SubjectRef::User(name) => format!("user `{name}`"),
        SubjectRef::Group(name) => format!("group `{name}`"),
    }
}

fn on_text(entry: &GrantEntry) -> String {
    entry.on.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// The objects' places in the list, every folder before what lies in it.
fn parents_first(scenario: &Scenario) -> Result<Vec<usize>, Problem> {
    let objects = &*scenario.objects;
    let folders: BTreeMap<&Slug, usize> = objects
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.object_type.as_str() == FOLDER)
        .map(|(index, entry)| (&entry.name, index))
        .collect();
    let mut done = vec![false; objects.len()];
    let mut order = Vec::with_capacity(objects.len());
    for start in 0..objects.len() {
        let mut above = Vec::new();
        let mut at = Some(start);
        while let Some(index) = at.filter(|index| !done.get(*index).copied().unwrap_or(true)) {
            if above.len() > objects.len() {
                return Err(Problem::item("objects", start, "it lies in itself"));
            }
            above.push(index);
            at = match objects.get(index).and_then(|entry| entry.parent.as_ref()) {
                None => None,
                Some(parent) => Some(*folders.get(parent).ok_or_else(|| {
                    Problem::item("objects", index, format!("there is no folder `{parent}`"))
                })?),
            };
        }
        for index in above.into_iter().rev() {
            if let Some(done) = done.get_mut(index) {
                *done = true;
            }
            order.push(index);
        }
    }
    Ok(order)
}
