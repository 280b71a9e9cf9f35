//! The sharing screen: which grants bear on an object, from where, and what each subject they name may do there.

use super::{Names, applies, as_user, denies, grant, object_ref, state, subject};
use crate::{
    ask::{Ask, PageAsk},
    dto,
};
use charter_events::{GroupId, PermissionKey, Scope, Subject};
use charter_policy::{ContentView, GrantView, ObjectView};

/// One page of the screen: entries nearest scope first, in the order they were issued.
pub(crate) async fn sharing(ask: &Ask, object: &ObjectView<'_>, page: &PageAsk) -> dto::ObjectAccess {
    let (entries, next) = entries(ask, object, page);
    let names = Names::of(ask, entries.iter().filter_map(|(_, view)| as_user(view.subject))).await;
    let mut access = dto::ObjectAccess {
        object: object_ref(object),
        inherits: object.inherits,
        own: Vec::new(),
        inherited: Vec::new(),
        subjects: subjects(ask, object, &entries, &names),
        next,
    };
    for (level, view) in &entries {
        let list = if *level == 0 { &mut access.own } else { &mut access.inherited };
        list.push(grant(ask, view, &names));
    }
    access
}

type Entry<'a> = (u32, GrantView<'a>);

fn entries<'a>(ask: &'a Ask, object: &ObjectView<'_>, page: &PageAsk) -> (Vec<Entry<'a>>, Option<String>) {
    let mut found: Vec<Entry<'a>> = Vec::new();
    for (level, place) in chain(ask, object) {
        if level < page.begin.part || !ask.may_core("core.grant.read", place) {
            continue;
        }
        let after = if level == page.begin.part { page.after() } else { None };
        let mut here: Vec<_> = ask
            .policy
            .grants_at(place)
            .filter(|view| bears(view, level, object) && after.is_none_or(|after| view.position > after))
            .collect();
        here.sort_by_key(|view| view.position);
        for view in here {
            if found.len() == page.limit {
                let next = found.last().map(|(level, view)| page.next_in(*level, Some(view.position)));
                return (found, next);
            }
            found.push((level, view));
        }
    }
    (found, None)
}

/// The scopes of the walk, numbered from the object itself.
fn chain(ask: &Ask, object: &ObjectView<'_>) -> Vec<(u32, Scope)> {
    let mut scopes = vec![Scope::Object(object.id)];
    let mut open = object.inherits;
    for id in ask.policy.ancestors(object.id) {
        if !open {
            break;
        }
        scopes.push(Scope::Object(id));
        open = ask.policy.object(id).is_some_and(|folder| folder.inherits);
    }
    if open {
        scopes.push(Scope::Global);
    }
    (0..).zip(scopes).collect()
}

/// Whether a grant at a level of the chain reaches the object; a global one always does.
fn bears(view: &GrantView<'_>, level: u32, object: &ObjectView<'_>) -> bool {
    view.scope == Scope::Global || view.reach.reaches(level as usize, object.is_folder)
}

fn subjects(
    ask: &Ask,
    object: &ObjectView<'_>,
    entries: &[Entry<'_>],
    names: &Names,
) -> Vec<dto::SubjectAccess> {
    let mut seen: Vec<Subject> = Vec::new();
    for (_, view) in entries {
        if !seen.contains(&view.subject) {
            seen.push(view.subject);
        }
    }
    let keys: Vec<&PermissionKey> =
        ask.policy.permissions().filter(|p| applies(p, object.object_type)).map(|p| p.key).collect();
    seen.into_iter()
        .map(|who| dto::SubjectAccess {
            subject: subject(ask, who, names),
            permissions: match who {
                Subject::User(user) => ask
                    .policy
                    .effective(user, Scope::Object(object.id), ask.now)
                    .iter()
                    .filter(|entry| keys.binary_search(&&entry.key).is_ok())
                    .map(|entry| dto::KeyState { permission: entry.key.clone(), state: state(entry.state) })
                    .collect(),
                Subject::Group(group) => of_group(ask, object, group, &keys),
            },
        })
        .collect()
}

/// What a group's own entries say: the nearest scope at which any matches, a deny before an allow. This is what the
/// walk comes to for a member who has nothing else; a member's real access is asked of the member.
fn of_group(
    ask: &Ask,
    object: &ObjectView<'_>,
    group: GroupId,
    keys: &[&PermissionKey],
) -> Vec<dto::KeyState> {
    let levels: Vec<Vec<GrantView<'_>>> = chain(ask, object)
        .into_iter()
        .map(|(level, place)| {
            let here = ask.policy.grants_at_for(place, Subject::Group(group));
            here.filter(|view| view.is_live(ask.now) && bears(view, level, object)).collect()
        })
        .collect();
    let global: Vec<GrantView<'_>> = ask
        .policy
        .grants_at_for(Scope::Global, Subject::Group(group))
        .filter(|view| view.is_live(ask.now))
        .collect();
    keys.iter()
        .map(|key| {
            let state = if global.iter().any(|view| says(ask, view, key, true)) {
                dto::PermissionState::Allowed
            } else {
                nearest(ask, &levels, key)
            };
            dto::KeyState { permission: (*key).clone(), state }
        })
        .collect()
}

fn nearest(ask: &Ask, levels: &[Vec<GrantView<'_>>], key: &PermissionKey) -> dto::PermissionState {
    for level in levels {
        let mut matching = level.iter().filter(|view| says(ask, view, key, false)).peekable();
        if matching.peek().is_some() {
            let denied = matching.any(|view| denies(view.effect));
            return if denied { dto::PermissionState::Denied } else { dto::PermissionState::Allowed };
        }
    }
    dto::PermissionState::NotSet
}

/// Whether a grant's content matches a key, by a wildcard if only those are asked for.
fn says(ask: &Ask, view: &GrantView<'_>, key: &PermissionKey, by_wildcard: bool) -> bool {
    match &view.content {
        ContentView::Keys(keys) => !by_wildcard && keys.contains(&key),
        ContentView::Role(id) => ask.policy.role(*id).is_some_and(|role| {
            role.permissions.iter().any(|p| p.matches(key) && (!by_wildcard || p.is_wildcard()))
        }),
    }
}
