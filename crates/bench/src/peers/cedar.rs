//! Cedar: one policy an action, which walks the chain by attributes; the entities of a question are its slice.
//!
//! Exact: nearest scope, own entries before groups', deny before allow, the end of a chain, administrators, inactive
//! users. Resolved before Cedar sees them: time and reach (its sets can't be filtered), which key a role holds.

use super::{Index, Level, Slice, name};
use crate::{facts::To, questions::Question};
use anyhow::Context as _;
use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityUid, PolicySet, Request, RestrictedExpression,
};
use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

/// Cedar with a set of policies for each key.
pub(crate) struct Cedar<'a> {
    index: &'a Index<'a>,
    authorizer: Authorizer,
    /// For each key the set with its own policy alone.
    own: Vec<PolicySet>,
    /// All policies in one set.
    pub(crate) all: PolicySet,
}

/// A question as Cedar takes it.
pub(crate) struct Prepared {
    key: usize,
    request: Request,
    entities: Entities,
}

impl<'a> Cedar<'a> {
    /// Writes and parses the policies.
    pub(crate) fn new(index: &'a Index<'a>) -> anyhow::Result<Self> {
        let depth = index.chain_max();
        let (mut own, mut all) = (Vec::new(), String::new());
        for key in &index.facts.keys {
            let text = policy(key.as_str(), depth);
            own.push(text.parse().context("parse a policy")?);
            all.push_str(&text);
        }
        let all = all.parse().context("parse all policies")?;
        Ok(Self { index, authorizer: Authorizer::new(), own, all })
    }

    /// Builds the request and its entities.
    pub(crate) fn prepare(&self, question: &Question) -> anyhow::Result<Prepared> {
        let Slice { wild, levels } = self.index.slice(question);
        let facts = self.index.facts;
        let principal = uid("User", &name(To::User(question.user)))?;
        let parents: anyhow::Result<HashSet<EntityUid>> = facts.groups_of[question.user as usize]
            .iter()
            .map(|g| uid("Group", &name(To::Group(*g))))
            .collect();
        let active = RestrictedExpression::new_bool(facts.is_active[question.user as usize]);
        let mut entities =
            vec![Entity::new(principal.clone(), HashMap::from([("active".to_owned(), active)]), parents?)?];
        for (nth, level) in levels.iter().enumerate() {
            entities.push(scope(level, levels.get(nth + 1))?);
        }
        let wild_level = Level { scope: None, grants: wild };
        let root = uid("Scope", "administrators")?;
        entities.push(Entity::new(root.clone(), attributes(&wild_level)?, HashSet::new())?);

        let action = uid("Action", facts.keys[question.key as usize].as_str())?;
        let resource = uid("Scope", &scope_name(question.object))?;
        let context = [("administrators".to_owned(), RestrictedExpression::new_entity_uid(root))];
        let request = Request::new(principal, action, resource, Context::from_pairs(context)?, None)?;
        Ok(Prepared {
            key: question.key as usize,
            request,
            entities: Entities::from_entities(entities, None)?,
        })
    }

    /// Asks the action's own policy.
    pub(crate) fn ask(&self, prepared: &Prepared) -> bool {
        self.ask_of(prepared, &self.own[prepared.key])
    }

    /// Asks any set of policies.
    pub(crate) fn ask_of(&self, prepared: &Prepared, policies: &PolicySet) -> bool {
        let answer = self.authorizer.is_authorized(&prepared.request, policies, &prepared.entities);
        answer.decision() == Decision::Allow
    }

    /// What went wrong while evaluating, if anything: then an answer proves nothing.
    pub(crate) fn fault(&self, prepared: &Prepared) -> Option<String> {
        let set = &self.own[prepared.key];
        let answer = self.authorizer.is_authorized(&prepared.request, set, &prepared.entities);
        answer.diagnostics().errors().next().map(ToString::to_string)
    }
}

fn uid(kind: &str, id: &str) -> anyhow::Result<EntityUid> {
    Ok(EntityUid::from_type_name_and_id(kind.parse()?, id.parse()?))
}

fn scope_name(scope: Option<u32>) -> String {
    scope.map_or_else(|| "global".to_owned(), |object| format!("o{object}"))
}

fn scope(level: &Level<'_>, next: Option<&Level<'_>>) -> anyhow::Result<Entity> {
    let mut attributes = attributes(level)?;
    if let Some(next) = next {
        let up = uid("Scope", &scope_name(next.scope))?;
        attributes.insert("up".to_owned(), RestrictedExpression::new_entity_uid(up));
    }
    Ok(Entity::new(uid("Scope", &scope_name(level.scope))?, attributes, HashSet::new())?)
}

fn attributes(level: &Level<'_>) -> anyhow::Result<HashMap<String, RestrictedExpression>> {
    let set = |of_group: bool, denies: bool| -> anyhow::Result<RestrictedExpression> {
        let grants =
            level.grants.iter().filter(|g| g.denies == denies && matches!(g.to, To::Group(_)) == of_group);
        let kind = if of_group { "Group" } else { "User" };
        let uids: anyhow::Result<Vec<_>> =
            grants.map(|g| Ok(RestrictedExpression::new_entity_uid(uid(kind, &name(g.to))?))).collect();
        Ok(RestrictedExpression::new_set(uids?))
    };
    Ok(HashMap::from([
        ("denied_users".to_owned(), set(false, true)?),
        ("allowed_users".to_owned(), set(false, false)?),
        ("denied_groups".to_owned(), set(true, true)?),
        ("allowed_groups".to_owned(), set(true, false)?),
    ]))
}

/// The policy of one action: the walk, unrolled.
fn policy(key: &str, depth: usize) -> String {
    let mut text = format!(
        "permit(principal, action == Action::\"{key}\", resource) when {{ principal.active && (\n\
         if context.administrators.allowed_users.contains(principal)\n\
         || principal in context.administrators.allowed_groups then true\n"
    );
    let mut at = "resource".to_owned();
    for level in 0..depth {
        let _ = write!(
            text,
            "else if {at}.denied_users.contains(principal) then false\n\
             else if {at}.allowed_users.contains(principal) then true\n\
             else if principal in {at}.denied_groups then false\n\
             else if principal in {at}.allowed_groups then true\n"
        );
        if level + 1 < depth {
            let _ = writeln!(text, "else if !({at} has up) then false");
        }
        at.push_str(".up");
    }
    text.push_str("else false) };\n");
    text
}
