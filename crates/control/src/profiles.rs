//! Names in the clear, for showing: opened when asked for and kept in memory for a while.
//!
//! An entry counts only while the sealed bytes it came from are what the policy holds, so a change or an erasure, on
//! whatever server, ends it.

use crate::{cache::Cache, control::Control, name_index::NameIndex};
use charter_events::{Profile, Sealed, UserId};
use charter_policy::Policy;
use charter_store::causes;
use std::{collections::HashMap, sync::Arc};

/// How many opened profiles are kept.
const PROFILES_MAX: usize = 50_000;

pub(crate) struct Profiles {
    opened: Cache<UserId, (Sealed, Arc<Profile>)>,
    /// By which people are found.
    pub(crate) names: NameIndex,
}

impl Profiles {
    pub(crate) fn new() -> Self {
        Self { opened: Cache::new(PROFILES_MAX), names: NameIndex::default() }
    }

    fn known(&self, user: UserId, sealed: &Sealed) -> Option<Arc<Profile>> {
        self.opened.get(&user).filter(|(from, _)| from == sealed).map(|(_, profile)| profile)
    }

    #[cfg(test)]
    pub(crate) fn remembers(&self, user: UserId) -> bool {
        self.opened.get(&user).is_some()
    }

    pub(crate) fn forget(&self, user: UserId) {
        self.opened.remove(&user);
        self.names.forget(user);
    }
}

impl Control {
    /// A user's names and address. None when the user is unknown or erased, or the store can't be reached.
    pub async fn profile(&self, user: UserId) -> Option<Profile> {
        self.profiles(&[user]).await.remove(&user)
    }

    /// Several users' names and addresses; who is unknown or erased is left out.
    pub async fn profiles(&self, users: &[UserId]) -> HashMap<UserId, Profile> {
        let policy = self.policy();
        let mut found = HashMap::with_capacity(users.len());
        let mut missing = Vec::new();
        for user in users {
            let Some(sealed) = sealed_of(&policy, *user) else { continue };
            match self.inner.profiles.known(*user, sealed) {
                Some(profile) => drop(found.insert(*user, (*profile).clone())),
                None => missing.push(*user),
            }
        }
        for users in missing.chunks(charter_store::SECRET_WRITES_MAX) {
            self.open(&policy, users, &mut found).await;
        }
        found
    }

    async fn open(&self, policy: &Policy, users: &[UserId], found: &mut HashMap<UserId, Profile>) {
        let keys = match self.inner.store.user_keys(users).await {
            Ok(keys) => keys,
            Err(error) => return tracing::error!(error = %causes(&error), "names can't be opened"),
        };
        for (user, key) in keys {
            let Some(sealed) = sealed_of(policy, user) else { continue };
            match self.inner.sealing.open(user, &key, sealed) {
                Some(profile) => {
                    self.inner.profiles.opened.insert(user, (sealed.clone(), Arc::new(profile.clone())));
                    // Erased while it was opened: the next who looks would not find it, and it would stay in memory.
                    if sealed_of(&self.policy(), user).is_none() {
                        self.inner.profiles.forget(user);
                    }
                    found.insert(user, profile);
                }
                None => tracing::error!(%user, "a profile does not open under its user's key"),
            }
        }
    }
}

pub(crate) fn sealed_of(policy: &Policy, user: UserId) -> Option<&Sealed> {
    policy.user(user)?.profile.map(|profile| &profile.sealed)
}
