//! Finding people by name. Names are sealed in the log and in every table, so they are searched and sorted in memory
//! alone: opened once, kept folded while the sealed bytes are what the policy holds, forgotten with the person.
//!
//! Nothing of this is ever written anywhere.

use crate::{control::Control, profiles::sealed_of};
use charter_events::{Profile, Sealed, UserId, UserKind};
use charter_policy::{Policy, UserStatus, UserView};
use charter_store::{SECRET_WRITES_MAX, StoreError, UserKey};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The most users whose names are searched or sorted.
pub const NAMED_USERS_MAX: usize = 200_000;
/// Users looked at in one go: whoever forgets a person meanwhile waits for no more.
const AT_ONCE_MAX: usize = 1_000;

/// By what users are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserOrder {
    /// The order they came in.
    Created,
    /// When anything of theirs last changed.
    Changed,
    /// The name they are shown by, else the username, in lower case; who has none (an erased person) comes after all
    /// others.
    Name,
}

/// Which users are asked for, and in which order.
#[derive(Debug, Clone, Copy)]
pub struct UserQuery<'a> {
    /// A text that stands, in any case, somewhere in one of their names, their address or their external id.
    pub search: Option<&'a str>,
    /// Of this kind.
    pub kind: Option<UserKind>,
    /// Of this status.
    pub status: Option<UserStatus>,
    /// The order.
    pub order: UserOrder,
    /// Whether it is turned round.
    pub descending: bool,
}

/// Why users could not be found by name.
#[derive(Debug, thiserror::Error)]
pub enum NamesError {
    /// More users than are kept in memory by name.
    #[error("{users} users are more than can be searched or sorted by name; at most {NAMED_USERS_MAX}")]
    TooMany {
        /// How many there are.
        users: usize,
    },
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A person's names, and what of them is searched and sorted, in lower case.
struct Folded {
    /// Everything he is found by, a line each.
    text: String,
    /// What he is sorted by.
    name: String,
    /// All of them, as they are.
    profile: Arc<Profile>,
}

impl Folded {
    fn new(profile: &Profile) -> Self {
        let username = profile.username.to_string();
        let display_name = profile.display_name.as_ref().map(ToString::to_string);
        let external_id = profile.external_id.as_ref().map(ToString::to_string);
        let rest = [&display_name, &profile.email, &profile.login_name, &external_id];
        let lines: Vec<&str> = std::iter::once(username.as_str())
            .chain(rest.into_iter().flatten().map(String::as_str))
            .collect();
        let name = display_name.as_deref().unwrap_or(&username).to_lowercase();
        Self { text: lines.join("\n").to_lowercase(), name, profile: Arc::new(profile.clone()) }
    }
}

type Kept = HashMap<UserId, (Sealed, Arc<Folded>)>;

/// Everybody's names, once anybody asked.
#[derive(Default)]
pub(crate) struct NameIndex {
    kept: Mutex<Kept>,
    /// Only one opens them: the others would do the same again.
    opening: tokio::sync::Mutex<()>,
}

impl NameIndex {
    /// Forgets a person at once.
    pub(crate) fn forget(&self, user: UserId) {
        self.lock().remove(&user);
    }

    /// Whoever needs it waits while this is held.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> impl Sized {
        self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who is not known by his present names, those who are gone being forgotten.
    fn missing(&self, policy: &Policy) -> Vec<UserId> {
        let known: Vec<UserId> = self.lock().keys().copied().collect();
        for users in known.chunks(AT_ONCE_MAX) {
            let mut kept = self.lock();
            for user in users {
                let stays = kept.get(user).is_some_and(|(from, _)| sealed_of(policy, *user) == Some(from));
                if !stays {
                    kept.remove(user);
                }
            }
        }
        let mut missing = Vec::new();
        for users in profiled(policy).chunks(AT_ONCE_MAX) {
            let kept = self.lock();
            missing.extend(users.iter().map(|(user, _)| *user).filter(|user| !kept.contains_key(user)));
        }
        missing
    }

    fn keep(&self, user: UserId, sealed: &Sealed, profile: &Profile) {
        self.lock().insert(user, (sealed.clone(), Arc::new(Folded::new(profile))));
    }

    /// The names of everybody in a policy, as far as they are known.
    fn of(&self, policy: &Policy) -> HashMap<UserId, Arc<Folded>> {
        let mut found = HashMap::new();
        for users in profiled(policy).chunks(AT_ONCE_MAX) {
            let kept = self.lock();
            let known = |(user, sealed): &(UserId, &Sealed)| {
                let (from, folded) = kept.get(user)?;
                (from == *sealed).then(|| (*user, Arc::clone(folded)))
            };
            found.extend(users.iter().filter_map(known));
        }
        found
    }
}

/// Who has a profile, and it.
fn profiled(policy: &Policy) -> Vec<(UserId, &Sealed)> {
    policy.users().filter_map(|user| Some((user.id, &user.profile?.sealed))).collect()
}

/// Does what takes long among very many users, and not on the threads that answer.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, NamesError> {
    let ended = |error| NamesError::Store(StoreError::unavailable("finding users", error));
    tokio::task::spawn_blocking(work).await.map_err(ended)
}

impl Control {
    /// All users of a policy that are asked for, in the order asked for. Names are those of now: an erased person has
    /// none.
    ///
    /// # Errors
    /// [`NamesError::TooMany`] when names are needed and there are too many; [`NamesError::Store`].
    pub async fn find_users(
        &self,
        policy: &Arc<Policy>,
        query: UserQuery<'_>,
    ) -> Result<Vec<UserId>, NamesError> {
        let named = query.search.is_some() || query.order == UserOrder::Name;
        let names = if named { self.names(policy).await? } else { HashMap::new() };
        let search = query.search.map(str::to_lowercase);
        let UserQuery { kind, status, order, descending, .. } = query;
        let policy = Arc::clone(policy);
        let found = move || {
            let fits = |user: &UserView<'_>| {
                kind.is_none_or(|kind| user.kind == kind)
                    && status.is_none_or(|status| user.status == status)
                    && search.as_ref().is_none_or(|text| {
                        names.get(&user.id).is_some_and(|folded| folded.text.contains(text))
                    })
            };
            let mut found: Vec<UserView<'_>> = policy.users().filter(fits).collect();
            match order {
                UserOrder::Created => {}
                UserOrder::Changed => found.sort_by_key(|user| (user.changed_at, user.position)),
                UserOrder::Name => {
                    let name = |user: &UserView<'_>| names.get(&user.id).map(|folded| folded.name.as_str());
                    found.sort_by(|one, other| {
                        let (first, second) = (name(one), name(other));
                        let named = second.is_some().cmp(&first.is_some());
                        named.then(first.cmp(&second)).then(one.position.cmp(&other.position))
                    });
                }
            }
            if descending {
                found.reverse();
            }
            found.iter().map(|user| user.id).collect()
        };
        aside(found).await
    }

    /// The names and addresses of everybody in a policy, as they are now. An erased person has none.
    ///
    /// # Errors
    /// [`NamesError`].
    pub async fn all_profiles(
        &self,
        policy: &Arc<Policy>,
    ) -> Result<HashMap<UserId, Arc<Profile>>, NamesError> {
        let names = self.names(policy).await?;
        let profiles = move || names.into_iter().map(|(user, of)| (user, Arc::clone(&of.profile))).collect();
        aside(profiles).await
    }

    async fn names(&self, policy: &Arc<Policy>) -> Result<HashMap<UserId, Arc<Folded>>, NamesError> {
        let _one = self.inner.profiles.names.opening.lock().await;
        let (control, of) = (self.clone(), Arc::clone(policy));
        let missing = aside(move || {
            let users = of.users().filter(|user| user.profile.is_some()).count();
            let fits = users <= NAMED_USERS_MAX;
            if fits {
                Ok(control.inner.profiles.names.missing(&of))
            } else {
                Err(NamesError::TooMany { users })
            }
        });
        for users in missing.await??.chunks(SECRET_WRITES_MAX) {
            let keys = self.inner.store.user_keys(users).await?;
            let (control, of) = (self.clone(), Arc::clone(policy));
            aside(move || keys.into_iter().for_each(|(user, key)| control.open_name(&of, user, &key)))
                .await?;
        }
        let (control, of) = (self.clone(), Arc::clone(policy));
        aside(move || control.inner.profiles.names.of(&of)).await
    }

    fn open_name(&self, policy: &Policy, user: UserId, key: &UserKey) {
        let index = &self.inner.profiles.names;
        let Some(sealed) = sealed_of(policy, user) else { return };
        match self.inner.sealing.open(user, key, sealed) {
            Some(profile) => index.keep(user, sealed, &profile),
            None => tracing::error!(%user, "a profile does not open under its user's key"),
        }
        // Erased while it was opened: nobody else would tell the index.
        if sealed_of(&self.policy(), user).is_none() {
            index.forget(user);
        }
    }
}
