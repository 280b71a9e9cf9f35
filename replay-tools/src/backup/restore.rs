//! A backup into an empty store: all of it, and the record that it was restored, in one transaction or not at all.
//!
//! The log keeps its id, offsets, times and hashes. Sessions, tokens, setup codes and kept answers are not in a backup,
//! so none of them works afterwards; the key of cursors is the new store's own.

use super::{
    BackupError, Contents, GoOn, UserKeys,
    read::{Entry, Verified, Walk},
};
use crate::secrets::Hex;
use charter_commands::{Command, Context, Limits, RecordRestore, decide};
use charter_events::{
    BackupRestored, CommandId, CommandMeta, Head, Offset, StoredEvent, Timestamp, UserId, Via,
};
use charter_policy::{Caller, Policy, UserView};
use charter_store::{Append, Batch, Chain, Key32, SecretWrite, Store};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use uuid::Uuid;

/// Events handed to the store at once.
const BATCH_EVENTS: usize = 5_000;
/// Keys and password hashes handed to the store at once.
const BATCH_ROWS: usize = 1_000;
/// How many users without a key are told by their ids.
const TOLD_USERS_MAX: usize = 100;

/// What comes back besides the log.
#[derive(Debug, Default)]
pub struct Options {
    /// Users' keys; without them every name stays sealed.
    pub keys: Option<UserKeys>,
    /// Passwords as they were, of users whose key is there.
    pub keep_passwords: bool,
    /// Why, for the record.
    pub reason: Option<String>,
}

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What the backup held.
    pub contents: Contents,
    /// Where the log ends now: with the record of the restore.
    pub head: Head,
    /// How many users' names can be opened again.
    pub keys: u64,
    /// How many passwords work again.
    pub passwords: u64,
    /// How many users are in the log whose key is not there.
    pub sealed: u64,
    /// The first of them.
    pub sealed_users: Vec<UserId>,
}

/// Restores a backup that was [verified](super::verify) into an empty store. The file is read once more, from its
/// beginning.
///
/// # Errors
/// [`BackupError::NotEmpty`]; [`BackupError::OtherKeys`]; [`BackupError::Line`], [`BackupError::Chain`],
/// [`BackupError::Changed`] when the file is not the one that was verified; [`BackupError::Store`]. Nothing is kept
/// then.
pub async fn restore<F: Read + Seek + Send>(
    store: &dyn Store,
    (file, verified): (&mut F, Verified),
    options: &Options,
    now: Timestamp,
    go_on: GoOn<'_>,
) -> Result<Restored, BackupError> {
    let Verified { contents, policy } = verified;
    if let Some(keys) = options.keys.as_ref().filter(|keys| keys.log_id != contents.head.log_id) {
        return Err(BackupError::OtherKeys { keys: keys.log_id, backup: contents.head.log_id });
    }
    require_empty(store).await?;
    file.seek(SeekFrom::Start(0))?;
    let mut input = BufReader::new(&mut *file);
    write(store, &mut input, Plan { contents, policy, options, now }, go_on).await
}

/// Whether nothing is in a store yet.
///
/// # Errors
/// [`BackupError::NotEmpty`], [`BackupError::Store`].
pub async fn require_empty(store: &dyn Store) -> Result<(), BackupError> {
    let head = store.head().await?;
    if head.offset == Offset::ZERO && store.user_keys_after(None, 1).await?.is_empty() {
        return Ok(());
    }
    Err(BackupError::NotEmpty { log_id: head.log_id, head: head.offset })
}

/// What is to be written.
struct Plan<'a> {
    contents: Contents,
    policy: Policy,
    options: &'a Options,
    now: Timestamp,
}

async fn write(
    store: &dyn Store,
    input: &mut (dyn BufRead + Send),
    plan: Plan<'_>,
    go_on: GoOn<'_>,
) -> Result<Restored, BackupError> {
    let mut file = Walk::begin(input)?;
    let own = store.head().await?.log_id;
    if own == file.empty().log_id {
        return written(store, &mut file, &plan, go_on).await;
    }
    store.adopt(file.empty().log_id).await?;
    let done = written(store, &mut file, &plan, go_on).await;
    if done.is_err() {
        // The id is taken before the transaction. Where this fails, too, an empty log is left under the backup's id,
        // which can be restored into again.
        drop(store.adopt(own).await);
    }
    done
}

/// All of it in one transaction, into an empty log of the backup's id.
async fn written(
    store: &dyn Store,
    file: &mut Walk<'_>,
    plan: &Plan<'_>,
    go_on: GoOn<'_>,
) -> Result<Restored, BackupError> {
    let cursor_key = store.installation_secrets().await?.cursor_key;
    let mut append = store.append().await?;
    let written = async {
        if append.head() != file.empty() {
            let Head { log_id, offset, .. } = append.head();
            return Err(BackupError::NotEmpty { log_id, head: offset });
        }
        let mut writing = Writing { append: append.as_mut(), plan, cursor_key, passwords: Vec::new() };
        writing.all(file, go_on).await
    };
    match written.await {
        Ok(mut restored) => {
            restored.head = append.commit().await?;
            Ok(restored)
        }
        Err(error) => {
            // Undone all the same when this fails.
            drop(append.rollback().await);
            Err(error)
        }
    }
}

struct Writing<'a> {
    append: &'a mut dyn Append,
    plan: &'a Plan<'a>,
    cursor_key: Key32,
    passwords: Vec<SecretWrite>,
}

impl Writing<'_> {
    async fn all(&mut self, file: &mut Walk<'_>, go_on: GoOn<'_>) -> Result<Restored, BackupError> {
        let mut events = Vec::new();
        while let Some(entry) = file.next()? {
            file.tell(&entry, go_on)?;
            match entry {
                Entry::Event(event) => events.push(event),
                Entry::Installation { tag_key, signing_key } => {
                    self.events(&mut events).await?;
                    self.installation(&tag_key, signing_key.as_ref()).await?;
                }
                Entry::Password { user, hash } if self.keeps_password(user) => {
                    self.passwords.push(SecretWrite::PutPassword { user, hash });
                }
                Entry::Password { .. } => {}
            }
            if events.len() >= BATCH_EVENTS && file.between_commands() {
                self.events(&mut events).await?;
            }
        }
        if file.contents()? != self.plan.contents {
            return Err(BackupError::Changed);
        }
        let keys = self.user_keys().await?;
        let passwords = count(self.passwords.len());
        let kept = std::mem::take(&mut self.passwords);
        self.secrets(kept).await?;
        let record = record(self.plan)?;
        self.events(&mut vec![record]).await?;
        let sealed = self.sealed();
        let sealed_users = sealed.iter().copied().take(TOLD_USERS_MAX).collect();
        let (head, contents) = (self.append.head(), self.plan.contents);
        Ok(Restored { contents, head, keys, passwords, sealed: count(sealed.len()), sealed_users })
    }

    async fn events(&mut self, events: &mut Vec<StoredEvent>) -> Result<(), BackupError> {
        let events = std::mem::take(events);
        Ok(self.append.write(&Batch { events, ..Batch::default() }).await?)
    }

    async fn installation(&mut self, tag_key: &Hex, signing_key: Option<&Hex>) -> Result<(), BackupError> {
        let mut secrets = vec![SecretWrite::PutInstallationKeys {
            tag_key: Key32::new(tag_key.bytes()),
            cursor_key: self.cursor_key.clone(),
        }];
        secrets.extend(signing_key.map(|key| SecretWrite::PutSigningKey { key: Key32::new(key.bytes()) }));
        self.secrets(secrets).await
    }

    /// The keys of those users only whom the restored log knows, and knows by name.
    async fn user_keys(&mut self) -> Result<u64, BackupError> {
        let Some(keys) = &self.plan.options.keys else { return Ok(0) };
        let named = keys.keys.iter().filter(|(user, _)| self.named(**user).is_some());
        let writes: Vec<_> =
            named.map(|(user, key)| SecretWrite::PutUserKey { user: *user, key: key.clone() }).collect();
        let written = count(writes.len());
        self.secrets(writes).await?;
        Ok(written)
    }

    async fn secrets(&mut self, mut secrets: Vec<SecretWrite>) -> Result<(), BackupError> {
        while !secrets.is_empty() {
            let rest = secrets.split_off(secrets.len().min(BATCH_ROWS));
            self.append.write(&Batch { secrets, ..Batch::default() }).await?;
            secrets = rest;
        }
        Ok(())
    }

    fn named(&self, user: UserId) -> Option<UserView<'_>> {
        self.plan.policy.user(user).filter(|user| user.profile.is_some())
    }

    /// Without his key an account may be that of somebody who was erased since: nobody signs in to it.
    fn keeps_password(&self, user: UserId) -> bool {
        let has_key = self.plan.options.keys.as_ref().is_some_and(|keys| keys.keys.contains_key(&user));
        let options = self.plan.options;
        options.keep_passwords && has_key && self.named(user).is_some_and(|user| user.has_password)
    }

    fn sealed(&self) -> Vec<UserId> {
        let has_key = |user: &UserView<'_>| {
            self.plan.options.keys.as_ref().is_some_and(|keys| keys.keys.contains_key(&user.id))
        };
        let users = self.plan.policy.users().filter(|user| user.profile.is_some() && !has_key(user));
        users.map(|user| user.id).collect()
    }
}

/// The event that says so, behind those that were restored.
fn record(plan: &Plan<'_>) -> Result<StoredEvent, BackupError> {
    let Contents { head, digest, .. } = plan.contents;
    let refused = |why: String| BackupError::Record(why);
    let restored = BackupRestored { head: head.offset, hash: head.hash, digest };
    let (caller, limits) = (Caller::System, Limits::default());
    let mut ids = Uuid::now_v7;
    let now = plan.now.max(head.recorded_at);
    let mut context = Context::new(&caller, now, &mut ids, &limits);
    let command: Command = RecordRestore { restored }.into();
    let decided = decide(&plan.policy, &command, &mut context).map_err(|refusal| refused(refusal.detail))?;
    let meta = CommandMeta {
        command_id: CommandId::new(Uuid::now_v7()),
        actor: caller.attribution(&plan.policy),
        via: Via::Cli,
        request_id: None,
        reason: plan.options.reason.clone(),
    };
    let events = Chain::new(head).extend(&meta, &decided.events, now, &mut Uuid::now_v7);
    let events = events.map_err(|error| refused(error.to_string()))?;
    events.into_iter().next().ok_or_else(|| refused("it became no event".to_owned()))
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
