//! Questions of RBAC-W: half follow a grant down to somebody it lets in, half are thrown at random.

use super::rbac_w::{Given, RbacW};
use crate::Rng;
use charter_events::{PermissionKey, Scope, UserId};

/// May this user do this there? With the numbers behind the ids, for evaluators on plain arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Who.
    pub user: UserId,
    /// What.
    pub key: PermissionKey,
    /// Where.
    pub scope: Scope,
    /// The number of the user.
    pub user_number: usize,
    /// The number of the key.
    pub key_number: usize,
    /// The number of the object.
    pub object_number: usize,
}

/// Questions without end.
#[derive(Debug)]
pub struct Questions<'a> {
    workload: &'a RbacW,
    members: Vec<Vec<u32>>,
    /// The numbers of the keys each role gives.
    role_keys: Vec<Vec<usize>>,
    rng: Rng,
}

impl<'a> Questions<'a> {
    pub(super) fn new(workload: &'a RbacW, seed: u64) -> Self {
        let role_keys = (0..super::rbac_w::ROLES).map(|role| {
            let content = workload.role_content(role);
            let given = |key: &PermissionKey| content.iter().any(|pattern| pattern.matches(key));
            (0..).zip(workload.keys()).filter(|(_, key)| given(key)).map(|(number, _)| number).collect()
        });
        let rng = Rng::part(workload.seed(), 4, seed);
        Self { members: workload.members(), role_keys: role_keys.collect(), rng, workload }
    }

    /// User and key that a grant on the object, or on a folder above it, lets in.
    fn let_in(&mut self, object: usize) -> Option<(usize, usize)> {
        let mut at = object;
        while self.rng.percent(50) {
            let Some(folder) = self.workload.parent(at) else { break };
            at = folder;
        }
        let grant = *self.rng.pick(&self.workload.grants_on(at));
        let Given::Role(role) = grant.given else { return None };
        let key = self.rng.any(&self.role_keys[role])?;
        let user =
            if grant.to_group { self.rng.any(&self.members[grant.subject])? as usize } else { grant.subject };
        Some((user, key))
    }
}

impl Iterator for Questions<'_> {
    type Item = Question;

    fn next(&mut self) -> Option<Question> {
        let object = self.rng.below(self.workload.object_count());
        let found = if self.rng.percent(50) { self.let_in(object) } else { None };
        let (user, key) = match found {
            Some(found) => found,
            None => (self.rng.below(self.workload.user_count()), self.rng.below(self.workload.keys().len())),
        };
        Some(Question {
            user: RbacW::user_id(user),
            key: self.workload.keys()[key].clone(),
            scope: Scope::Object(RbacW::object_id(object)),
            user_number: user,
            key_number: key,
            object_number: object,
        })
    }
}
