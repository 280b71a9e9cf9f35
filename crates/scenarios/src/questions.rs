//! The names questions and expectations use, checked before anything is asked: a mistyped name must not pass as an
//! answer that happens to agree.

use crate::{
    build::Names,
    facts::check_reach,
    file::{Check, Scenario},
    refused::Problem,
    words::{ObjectRef, ScopeRef},
};
use charter_events::{ObjectType, Pattern, PermissionKey, Reach, Slug};

/// Refuses the first question that names something the scenario does not have.
pub(crate) fn check(scenario: &Scenario, names: &Names) -> Result<(), Problem> {
    let known = Known { scenario, names };
    let each = |list: &str, index: usize, checked: Result<(), String>| {
        checked.map_err(|reason| Problem::item(list, index, reason))
    };
    for (index, question) in scenario.checks.iter().enumerate() {
        each("checks", index, known.check(question))?;
    }
    for (index, question) in scenario.who_can.iter().enumerate() {
        let checked = known
            .key(&question.permission)
            .and_then(|()| known.object(question.on.as_ref()))
            .and_then(|()| question.expect.iter().try_for_each(|user| known.user(user)));
        each("who_can", index, checked)?;
    }
    for (index, question) in scenario.allowed_objects.iter().enumerate() {
        let checked = known
            .key(&question.permission)
            .and_then(|()| known.user(&question.user))
            .and_then(|()| known.objects(&question.object_type, &question.expect));
        each("allowed_objects", index, checked)?;
    }
    for (index, question) in scenario.effective.iter().enumerate() {
        let states = &question.expect;
        let mut keys =
            [&states.allowed, &states.denied, &states.not_set].into_iter().flatten().flat_map(|list| &**list);
        let checked = known
            .user(&question.user)
            .and_then(|()| known.object(question.on.as_ref()))
            .and_then(|()| keys.try_for_each(|key| known.key(key)));
        each("effective", index, checked)?;
    }
    for (index, question) in scenario.holds.iter().enumerate() {
        let reach = Reach { affects: question.affects, child_types: question.child_types };
        let mut items = question.content.iter().chain(&*question.expect.missing);
        let checked = known
            .user(&question.user)
            .and_then(|()| known.object(question.on.as_ref()))
            .and_then(|()| check_reach(question.on.as_ref(), reach))
            .and_then(|()| items.try_for_each(|item| known.item(item)))
            .and_then(|()| asked(&question.content, &question.expect.missing));
        each("holds", index, checked)?;
    }
    Ok(())
}

/// What is missing can only be something that was asked for.
fn asked(content: &[Pattern], missing: &[Pattern]) -> Result<(), String> {
    match missing.iter().find(|item| !content.contains(item)) {
        Some(item) => Err(format!("`{item}` is expected to be missing but not in the content")),
        None => Ok(()),
    }
}

struct Known<'a> {
    scenario: &'a Scenario,
    names: &'a Names,
}

impl Known<'_> {
    /// The key of a check may be unknown: `unknown_permission` is an answer.
    fn check(&self, question: &Check) -> Result<(), String> {
        self.user(&question.user)?;
        self.object(question.on.as_ref())?;
        if let Some(ScopeRef::Object(object)) = &question.expect.scope {
            self.object(Some(object))?;
        }
        for grant in question.expect.grants.iter().flatten() {
            self.names.grant(grant).ok_or_else(|| format!("there is no grant `{grant}`"))?;
        }
        Ok(())
    }

    fn user(&self, name: &Slug) -> Result<(), String> {
        self.names.user(name.as_str()).map(|_| ()).ok_or_else(|| format!("there is no user `{name}`"))
    }

    fn object(&self, object: Option<&ObjectRef>) -> Result<(), String> {
        match object {
            Some(object) if self.names.object(object).is_none() => {
                Err(format!("there is no object `{object}`"))
            }
            _ => Ok(()),
        }
    }

    fn objects(&self, object_type: &ObjectType, names: &[Slug]) -> Result<(), String> {
        names.iter().try_for_each(|name| {
            self.object(Some(&ObjectRef { object_type: object_type.clone(), name: name.clone() }))
        })
    }

    fn key(&self, key: &PermissionKey) -> Result<(), String> {
        let known = self.scenario.catalog.iter().any(|entry| entry.key == *key);
        if known { Ok(()) } else { Err(format!("key `{key}` is not in the catalog")) }
    }

    fn item(&self, item: &Pattern) -> Result<(), String> {
        item.as_key().map_or(Ok(()), |key| self.key(&key))
    }
}
