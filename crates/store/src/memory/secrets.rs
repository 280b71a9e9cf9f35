//! The secrets of a store in memory: plain maps.

use crate::{
    error::StoreError,
    limits::{FORGET_ROWS_MAX, SESSIONS_LISTED_MAX},
    secrets::{
        CredentialKind, CredentialRef, CredentialRow, InstallationSecrets, Key32, PasswordHash, SecretHash,
        SecretWrite, UserKey,
    },
};
use charter_events::{Timestamp, UserId};
use std::{cmp::Reverse, collections::BTreeMap};

#[derive(Clone)]
pub(super) struct Secrets {
    tag_key: Key32,
    cursor_key: Key32,
    signing_key: Key32,
    setup_code: Option<SecretHash>,
    pub(super) user_keys: BTreeMap<UserId, UserKey>,
    pub(super) passwords: BTreeMap<UserId, PasswordHash>,
    pub(super) credentials: Vec<(SecretHash, CredentialRow)>,
}

impl Secrets {
    pub(super) fn new([tag_key, cursor_key, signing_key]: [Key32; 3]) -> Self {
        Self {
            tag_key,
            cursor_key,
            signing_key,
            setup_code: None,
            user_keys: BTreeMap::new(),
            passwords: BTreeMap::new(),
            credentials: Vec::new(),
        }
    }

    pub(super) fn installation(&self) -> InstallationSecrets {
        InstallationSecrets {
            tag_key: self.tag_key.clone(),
            cursor_key: self.cursor_key.clone(),
            signing_key: Some(self.signing_key.clone()),
            setup_code_hash: self.setup_code.clone(),
        }
    }

    pub(super) fn user_key(&self, user: UserId) -> Option<UserKey> {
        self.user_keys.get(&user).cloned()
    }

    pub(super) fn password(&self, user: UserId) -> Option<PasswordHash> {
        self.passwords.get(&user).cloned()
    }

    pub(super) fn credential(&self, hash: &SecretHash) -> Option<CredentialRow> {
        self.credentials.iter().find(|(known, _)| known == hash).map(|(_, row)| row.clone())
    }

    pub(super) fn credentials_of(&self, user: UserId, kind: CredentialKind) -> Vec<CredentialRow> {
        let of = |row: &&CredentialRow| row.user == user && row.kind == kind;
        let mut rows: Vec<_> = self.credentials.iter().map(|(_, row)| row).filter(of).cloned().collect();
        rows.sort_by_key(|row| Reverse((row.created_at, row.id)));
        rows.truncate(SESSIONS_LISTED_MAX);
        rows
    }

    pub(super) fn forget_ended_before(&mut self, moment: Timestamp) -> usize {
        let mut gone = 0;
        self.credentials.retain(|(_, row)| {
            let forget = gone < FORGET_ROWS_MAX && row.expires_at.is_some_and(|end| end < moment);
            gone += usize::from(forget);
            !forget
        });
        gone
    }

    pub(super) fn apply(&mut self, write: &SecretWrite) -> Result<(), StoreError> {
        match write {
            SecretWrite::PutUserKey { user, key } => {
                if self.user_keys.contains_key(user) {
                    return Err(StoreError::Refused("a user's key is never replaced".into()));
                }
                self.user_keys.insert(*user, key.clone());
            }
            SecretWrite::DestroyUserKey { user } => drop(self.user_keys.remove(user)),
            SecretWrite::PutPassword { user, hash } => drop(self.passwords.insert(*user, hash.clone())),
            SecretWrite::RemovePassword { user } => drop(self.passwords.remove(user)),
            SecretWrite::PutCredential { hash, row } => {
                if self.credentials.iter().any(|(known, old)| known == hash || old.id == row.id) {
                    return Err(StoreError::Refused("a session or token that is there already".into()));
                }
                self.credentials.push((hash.clone(), row.clone()));
            }
            SecretWrite::RemoveCredential(CredentialRef::Hash(hash)) => {
                self.credentials.retain(|(known, _)| known != hash);
            }
            SecretWrite::RemoveCredential(CredentialRef::Id(id)) => {
                self.credentials.retain(|(_, row)| row.id != *id)
            }
            SecretWrite::RemoveCredentialsOf { user, kind } => {
                self.credentials
                    .retain(|(_, row)| row.user != *user || kind.is_some_and(|kind| kind != row.kind));
            }
            SecretWrite::TouchCredential { id, at } => {
                for (_, row) in self.credentials.iter_mut().filter(|(_, row)| row.id == *id) {
                    row.last_used = row.last_used.max(Some(*at));
                }
            }
            SecretWrite::PutSetupCode { hash } => self.setup_code = Some(hash.clone()),
            SecretWrite::ClearSetupCode => self.setup_code = None,
            SecretWrite::PutInstallationKeys { tag_key, cursor_key } => {
                if !self.user_keys.is_empty() {
                    return Err(StoreError::Refused("names are tagged with the installation's keys".into()));
                }
                (self.tag_key, self.cursor_key) = (tag_key.clone(), cursor_key.clone());
            }
            SecretWrite::PutSigningKey { key } => {
                if !self.user_keys.is_empty() {
                    return Err(StoreError::Refused(
                        "checkpoints are signed with the installation's key".into(),
                    ));
                }
                self.signing_key = key.clone();
            }
        }
        Ok(())
    }
}
