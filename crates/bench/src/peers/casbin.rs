//! Casbin: the first row that matches decides, so the rows of a question's slice stand in the order of the walk.
//!
//! Exact: nearest scope, own entries before groups', deny before allow, administrators. Resolved before Casbin sees
//! them: the chain, time, reach, inactive users, which key a role holds.

use super::{Index, Slice, name};
use crate::{
    facts::{Grant, To},
    questions::Question,
};
use anyhow::{anyhow, ensure};
use casbin::{CoreApi, DefaultModel, Enforcer, MemoryAdapter, MgmtApi};
use std::collections::HashSet;
use tokio::runtime::Runtime;

const MODEL: &str = "
[request_definition]
r = sub, act

[policy_definition]
p = sub, act, eft

[role_definition]
g = _, _

[policy_effect]
e = priority(p.eft) || deny

[matchers]
m = r.act == p.act && (r.sub == p.sub || g(r.sub, p.sub))
";

/// Casbin, one enforcer a question.
pub(crate) struct Casbin<'a> {
    index: &'a Index<'a>,
    runtime: Runtime,
    model: DefaultModel,
}

/// A question as Casbin takes it.
pub(crate) struct Prepared {
    enforcer: Enforcer,
    user: String,
    key: String,
}

impl<'a> Casbin<'a> {
    /// Parses the model.
    pub(crate) fn new(index: &'a Index<'a>) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let model = runtime.block_on(DefaultModel::from_str(MODEL)).map_err(fault)?;
        Ok(Self { index, runtime, model })
    }

    /// Builds an enforcer with the question's rows.
    pub(crate) fn prepare(&self, question: &Question) -> anyhow::Result<Prepared> {
        let facts = self.index.facts;
        let (user, key) = (name(To::User(question.user)), facts.keys[question.key as usize].to_string());
        let is_active = facts.is_active[question.user as usize];
        let rows = if is_active { rows(&self.index.slice(question), &key) } else { Vec::new() };
        let groups = facts.groups_of[question.user as usize].iter();
        let groups: Vec<_> = groups.map(|g| vec![user.clone(), name(To::Group(*g))]).collect();
        let enforcer = self.runtime.block_on(async {
            let mut enforcer =
                Enforcer::new(self.model.clone(), MemoryAdapter::default()).await.map_err(fault)?;
            let taken = rows.is_empty() || enforcer.add_policies(rows).await.map_err(fault)?;
            ensure!(taken, "casbin refused the rows");
            let taken = groups.is_empty() || enforcer.add_grouping_policies(groups).await.map_err(fault)?;
            ensure!(taken, "casbin refused the memberships");
            anyhow::Ok(enforcer)
        })?;
        Ok(Prepared { enforcer, user, key })
    }

    /// Asks.
    pub(crate) fn ask(prepared: &Prepared) -> anyhow::Result<bool> {
        prepared.enforcer.enforce((prepared.user.as_str(), prepared.key.as_str())).map_err(fault)
    }
}

fn fault(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("casbin: {error}")
}

/// The rows in the order of the walk, each once.
fn rows(slice: &Slice<'_>, key: &str) -> Vec<Vec<String>> {
    let row = |grant: &Grant| {
        let effect = if grant.denies { "deny" } else { "allow" };
        vec![name(grant.to), key.to_owned(), effect.to_owned()]
    };
    let mut rows: Vec<_> = slice.wild.iter().map(|grant| row(grant)).collect();
    for level in &slice.levels {
        let mut grants = level.grants.clone();
        grants.sort_by_key(|g| (matches!(g.to, To::Group(_)), !g.denies));
        rows.extend(grants.into_iter().map(row));
    }
    let mut seen = HashSet::new();
    rows.retain(|row| seen.insert(row.clone()));
    rows
}
