//! Accounts and groups kept in step with a directory elsewhere. What such a directory changes at once is one command:
//! all or none of it happens.

use super::users::{EDIT_ATTEMPTS_MAX, NewUser, PreparedUser, ProfilePatch, identity_at};
use crate::{
    control::Control,
    error::{CommandError, IdentityError},
    request::{Receipt, Request, RequestMeta, Unchanged},
};
use charter_commands::{
    AddMember, Code, Command, CreateGroup, MADE_GROUP, ReactivateUser, RegisterUser, RemoveMember,
    RenameGroup, SetGroupExternalId, Several, SuspendUser,
};
use charter_events::{DisplayName, ExternalId, GroupId, Issuer, Offset, Profile, Slug, UserId, UserKind};
use charter_policy::{Caller, Policy, UserStatus, UserView};
use std::collections::BTreeSet;
use uuid::Uuid;

/// A slug made from another name is tried with so many endings before it gets one nobody else has.
const SLUG_ENDINGS_MAX: usize = 20;
/// So long is what is taken over of another name: there must be room for an ending.
const SLUG_BYTES_TAKEN_MAX: usize = 80;

/// A person's account, as a directory makes it.
#[derive(Clone)]
pub struct NewAccount {
    /// By which he signs in.
    pub login_name: String,
    /// How he is shown.
    pub display_name: Option<DisplayName>,
    /// Where mail reaches him.
    pub email: Option<String>,
    /// His id in the directory.
    pub external_id: Option<ExternalId>,
    /// Whether the account works.
    pub active: bool,
}

/// What a directory changes of an account.
#[derive(Clone, Default)]
pub struct AccountChange {
    /// Names and address.
    pub names: ProfilePatch,
    /// Whether the account works; as it is when absent.
    pub active: Option<bool>,
    /// It was made up from the account as this event left it: one that was changed since is refused (`stale`).
    pub seen: Option<Offset>,
}

/// A group, as a directory makes it.
#[derive(Debug, Clone)]
pub struct NewGroup {
    /// How it is shown; its slug is made from this.
    pub name: DisplayName,
    /// Its id in the directory.
    pub external_id: Option<ExternalId>,
    /// Who is in it.
    pub members: Vec<UserId>,
}

/// What a directory changes of a group.
#[derive(Debug, Clone, Default)]
pub struct GroupChange {
    /// How it is shown; as it is when absent.
    pub name: Option<DisplayName>,
    /// Its id in the directory, or none; as it is when absent.
    pub external_id: Option<Option<ExternalId>>,
    /// Who is in it.
    pub members: MemberChange,
    /// It was made up from the group as this event left it: one that was changed since is refused (`stale`).
    pub seen: Option<Offset>,
}

/// How a group's members change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberChange {
    /// These come and these go; nobody is in both.
    Edit {
        /// Who is in it from now on.
        add: BTreeSet<UserId>,
        /// Who is not.
        remove: BTreeSet<UserId>,
    },
    /// These and nobody else whom a directory knows of.
    Replace(BTreeSet<UserId>),
}

impl Default for MemberChange {
    fn default() -> Self {
        Self::Edit { add: BTreeSet::new(), remove: BTreeSet::new() }
    }
}

impl MemberChange {
    /// Has these come, after what was said before.
    pub fn add(&mut self, users: BTreeSet<UserId>) {
        match self {
            Self::Replace(all) => all.extend(users),
            Self::Edit { add, remove } => {
                remove.retain(|user| !users.contains(user));
                add.extend(users);
            }
        }
    }

    /// Has these go, after what was said before.
    pub fn remove(&mut self, users: BTreeSet<UserId>) {
        match self {
            Self::Replace(all) => all.retain(|user| !users.contains(user)),
            Self::Edit { add, remove } => {
                add.retain(|user| !users.contains(user));
                remove.extend(users);
            }
        }
    }

    /// Who is named to be in it.
    pub fn added(&self) -> impl Iterator<Item = UserId> + '_ {
        match self {
            Self::Replace(users) | Self::Edit { add: users, .. } => users.iter().copied(),
        }
    }

    /// Who comes and who goes, from what is.
    fn from(&self, policy: &Policy, group: GroupId) -> (Vec<UserId>, Vec<UserId>) {
        let comes = self.added().filter(|user| !policy.is_member(group, *user)).collect();
        let goes = match self {
            Self::Edit { remove, .. } => {
                remove.iter().copied().filter(|user| policy.is_member(group, *user)).collect()
            }
            Self::Replace(all) => {
                let known = |user: &UserId| policy.user(*user).is_some_and(|user| is_in_directory(&user));
                policy.members(group).filter(|user| !all.contains(user)).filter(known).collect()
            }
        };
        (comes, goes)
    }
}

/// Whether a directory knows of an account: it is a person's, and is not about to be erased.
pub fn is_in_directory(user: &UserView<'_>) -> bool {
    user.kind == UserKind::Person && !matches!(user.status, UserStatus::AwaitingDeletion | UserStatus::Erased)
}

impl Control {
    /// Makes a person's account; one that is not active is made and suspended in one. The username is made from the
    /// login name.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn provision_user(
        &self,
        caller: Caller,
        new: NewAccount,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let username = match self.free_username(&self.policy(), &new.login_name) {
            Some(username) => username,
            None => unlike_any(&new.login_name, "user")?,
        };
        match self.register(caller.clone(), &new, username, meta.clone()).await {
            // Another took the name meanwhile. Nothing was written for this request, so this is no second account.
            Err(error) if is_taken(&error, "username") => {
                self.register(caller, &new, unlike_any(&new.login_name, "user")?, meta).await
            }
            result => result,
        }
    }

    async fn register(
        &self,
        caller: Caller,
        new: &NewAccount,
        username: Slug,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let NewAccount { login_name, display_name, email, external_id, active } = new.clone();
        let known = self.directory_issuer().zip(external_id.as_ref());
        let identity = known.map(|(issuer, id)| identity_at(issuer, id)).transpose()?;
        let login_name = Some(login_name);
        let names = Profile { username, display_name, email, login_name, external_id, identity };
        if active {
            let new = NewUser { kind: UserKind::Person, profile: names, password: None };
            return self.register_user(caller, new, meta).await;
        }
        let PreparedUser { user, profile, key } = self.prepare_user(&names)?;
        let register = RegisterUser { user, kind: UserKind::Person, profile, has_password: false };
        let commands = vec![register.into(), SuspendUser { user }.into()];
        let request =
            Request { secrets: vec![key], ..Request::new(caller, Several { commands }.into(), meta) };
        Ok(self.submit(request).await?)
    }

    /// Changes names and address of an account and whether it works, in one.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn change_account(
        &self,
        caller: Caller,
        user: UserId,
        change: AccountChange,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let control = self.clone();
        let work = async move {
            for _ in 1..EDIT_ATTEMPTS_MAX {
                let (caller, change, meta) = (caller.clone(), change.clone(), meta.clone());
                let held = change.seen.is_some();
                match control.change_account_once(caller, user, change, meta).await {
                    Err(error) if error.code() == Code::Stale.as_str() && !held => {}
                    result => return result,
                }
            }
            control.change_account_once(caller, user, change, meta).await
        };
        self.one_at_a_time(user, work).await
    }

    async fn change_account_once(
        &self,
        caller: Caller,
        user: UserId,
        change: AccountChange,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let AccountChange { names, active, seen } = change;
        let edits = names.names_any() || names.kind.is_some();
        let (edit, names_seen) = self.edit(user, names, self.directory_issuer()).await?;
        let status = self.policy().user(user).map(|user| user.status);
        let stands = match active {
            Some(true) if status != Some(UserStatus::Invited) => Some(ReactivateUser { user }.into()),
            Some(false) => Some(SuspendUser { user }.into()),
            // Who is invited is not stopped; only he himself makes the account work.
            Some(true) | None => None,
        };
        let edit = (edits || stands.is_none()).then(|| Command::from(edit));
        let commands: Vec<Command> = edit.into_iter().chain(stands).collect();
        let command = as_one(commands);
        let unchanged = seen.map(|changed_at| Unchanged::Account { user, changed_at }).or(names_seen);
        let request = Request { unchanged, ..Request::new(caller, command, meta) };
        Ok(self.submit(request).await?)
    }

    /// Makes a group with its members, in one. Its slug is made from its name.
    ///
    /// # Errors
    /// [`CommandError`].
    pub async fn provision_group(
        &self,
        caller: Caller,
        new: NewGroup,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let policy = self.policy();
        let is_free = |slug: &Slug| policy.group_by_slug(slug.as_str()).is_none();
        let slug = match slugs_like(new.name.as_str(), "group").find(is_free) {
            Some(slug) => slug,
            None => unlike_any(new.name.as_str(), "group")?,
        };
        match self.make_group(caller.clone(), &new, slug, meta.clone()).await {
            Err(error) if is_taken(&error, "slug") => {
                let slug = unlike_any(new.name.as_str(), "group")?;
                self.make_group(caller, &new, slug, meta).await
            }
            result => result,
        }
    }

    async fn make_group(
        &self,
        caller: Caller,
        new: &NewGroup,
        slug: Slug,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let create = CreateGroup { slug, name: new.name.clone() };
        let group = MADE_GROUP;
        let external_id =
            new.external_id.clone().map(|id| SetGroupExternalId { group, external_id: Some(id) });
        let join = new.members.iter().map(|user| AddMember { group, user: *user }.into());
        let commands = [Command::from(create)].into_iter();
        let commands = commands.chain(external_id.map(Command::from)).chain(join).collect();
        Ok(self.submit(Request::new(caller, as_one(commands), meta)).await?)
    }

    /// Changes a group's name, its id in a directory and its members, in one: whoever comes, comes before anybody goes.
    /// None: nothing had to change.
    ///
    /// # Errors
    /// [`CommandError`].
    pub async fn change_group(
        &self,
        caller: Caller,
        group: GroupId,
        change: GroupChange,
        meta: RequestMeta,
    ) -> Result<Option<Receipt>, IdentityError> {
        for _ in 1..EDIT_ATTEMPTS_MAX {
            match self.change_group_once(caller.clone(), group, &change, meta.clone()).await {
                Err(error) if error.code() == Code::Stale.as_str() && change.seen.is_none() => {
                    // Another server may have changed it: what it did is seen before it is tried again.
                    let _ = self.follow_others().await;
                }
                result => return result,
            }
        }
        self.change_group_once(caller, group, &change, meta).await
    }

    async fn change_group_once(
        &self,
        caller: Caller,
        group: GroupId,
        change: &GroupChange,
        meta: RequestMeta,
    ) -> Result<Option<Receipt>, IdentityError> {
        let policy = self.policy();
        let view = policy.group(group);
        let GroupChange { name, external_id, members, seen } = change;
        let name = name.clone().filter(|name| view.is_none_or(|view| view.name != name));
        let rename = name.map(|name| RenameGroup { group, name }.into());
        let external_id =
            external_id.clone().filter(|id| view.is_none_or(|view| view.external_id != id.as_ref()));
        let external_id = external_id.map(|external_id| SetGroupExternalId { group, external_id }.into());
        let (comes, goes) = members.from(&policy, group);
        let join = comes.into_iter().map(|user| AddMember { group, user }.into());
        let leave = goes.into_iter().map(|user| RemoveMember { group, user }.into());
        let commands: Vec<Command> = rename.into_iter().chain(external_id).chain(join).chain(leave).collect();
        if commands.is_empty() {
            return Ok(None);
        }
        // Who else is in it was read before: it must still be so.
        let read =
            matches!(members, MemberChange::Replace(_)).then(|| view.map(|view| view.changed_at)).flatten();
        let unchanged = seen.or(read).map(|changed_at| Unchanged::Group { group, changed_at });
        let request = Request { unchanged, ..Request::new(caller, as_one(commands), meta) };
        Ok(Some(self.submit(request).await?))
    }

    /// The issuer whose subjects a directory's ids of its people are, where they are an issuer's.
    fn directory_issuer(&self) -> Option<&Issuer> {
        let config = &self.inner.config;
        config.oidc_issuer.as_ref().filter(|_| config.oidc_scim_external_id)
    }

    /// A username like a login name that nobody goes by.
    fn free_username(&self, policy: &Policy, login_name: &str) -> Option<Slug> {
        let is_free = |name: &Slug| policy.user_by_tag(&self.inner.sealing.tag(name.as_str())).is_none();
        slugs_like(login_name, "user").find(is_free)
    }
}

/// One command of several; one alone is itself.
fn as_one(commands: Vec<Command>) -> Command {
    match <[Command; 1]>::try_from(commands) {
        Ok([command]) => command,
        Err(commands) => Several { commands }.into(),
    }
}

/// Slugs like a name, each with another ending. None has the form of an id.
fn slugs_like(name: &str, otherwise: &str) -> impl Iterator<Item = Slug> {
    let like = slug_like(name, otherwise);
    let endings = (2..SLUG_ENDINGS_MAX).map({
        let like = like.clone();
        move |number| format!("{like}-{number}")
    });
    let all = std::iter::once(like).chain(endings).filter(|text| Uuid::try_parse(text).is_err());
    all.filter_map(|text| text.parse().ok())
}

/// What of a name a slug may have, in lower case; anything else is a hyphen.
fn slug_like(name: &str, otherwise: &str) -> String {
    let kept = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '.' | '-') => c,
        _ => '-',
    };
    let like: String = name.chars().map(kept).take(SLUG_BYTES_TAKEN_MAX).collect();
    let like = like.trim_start_matches(['_', '.', '-']).trim_end_matches('-');
    if like.is_empty() { otherwise.to_owned() } else { like.to_owned() }
}

/// A slug like a name with an ending that was never given before.
fn unlike_any(name: &str, otherwise: &str) -> Result<Slug, IdentityError> {
    let slug = format!("{}-{}", slug_like(name, otherwise), Uuid::now_v7().simple());
    let invalid = |_| IdentityError::Invalid {
        field: "name",
        code: "invalid_name",
        detail: "no name for look-ups can be made from it",
    };
    slug.parse().map_err(invalid)
}

/// Whether something was refused for a name that nobody chose.
fn is_taken(error: &IdentityError, field: &str) -> bool {
    let IdentityError::Command(CommandError::Refused(refusal)) = error else { return false };
    refusal.code == Code::NameTaken && refusal.field.as_deref() == Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_like_the_name_and_always_one() {
        for (name, like) in [
            ("Alice.Smith@Example.com", "alice.smith-example.com"),
            ("bob", "bob"),
            ("..bob--", "bob"),
            ("\u{430}dmin", "dmin"),
            ("\u{65e5}\u{672c}", "user"),
            ("___", "user"),
            (&"x".repeat(128), &"x".repeat(SLUG_BYTES_TAKEN_MAX)),
        ] {
            assert_eq!(slug_like(name, "user"), like, "{name}");
            let unlike = unlike_any(name, "user").unwrap();
            assert!(unlike.as_str().starts_with(like) && unlike.as_str() != like, "{unlike}");
            assert!(slugs_like(name, "user").count() >= SLUG_ENDINGS_MAX - 2, "{name}");
        }
        let id = "0190e9a0-0000-7000-8000-000000000001";
        assert_eq!(slugs_like(id, "user").next().unwrap().as_str(), format!("{id}-2"));
    }

    #[test]
    fn what_is_said_later_of_a_member_counts() {
        let [one, two] = [1, 2].map(UserId::from_u128);
        let mut change = MemberChange::default();
        change.add([one, two].into());
        change.remove([one].into());
        assert_eq!(change, MemberChange::Edit { add: [two].into(), remove: [one].into() });
        change.add([one].into());
        assert_eq!(change, MemberChange::Edit { add: [one, two].into(), remove: [].into() });
        let mut change = MemberChange::Replace([one].into());
        change.add([two].into());
        change.remove([one].into());
        assert_eq!(change, MemberChange::Replace([two].into()));
    }
}
