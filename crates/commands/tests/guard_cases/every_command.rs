//! Any command at all, at random. What is asked for often is in `random_world`; here is everything else there is, so
//! that no command is left out of the play: `number` does not compile without it, and the play counts.

use crate::{
    random_world::{EXTRA_KEY, MODULE, PEOPLE, Play},
    undo::Happened,
    world::{SERVER_KEYS, SOON, TOMORROW, key, patterns},
};
use charter_commands::*;
use charter_events::{
    BackupRestored, BackupTaken, GroupId, Hash, Namespace, ObjectTypeDefinition, Offset, Pattern,
    PermissionDefinition, ProfileField, ProjectionRebuilt, SessionId, TokenId, UserId, UserKind,
};
use charter_policy::{Caller, UserStatus};
use charter_testkit::{at, history::parsed, ids};

/// How many kinds of commands there are.
pub(crate) const KINDS: usize = 47;

/// The place of a command in the play. A new command takes the next number, and [`Play::command`] makes one of it.
pub(crate) const fn number(command: &Command) -> usize {
    match command {
        Command::CreateInstallation(_) => 0,
        Command::UpsertCoreCatalog(_) => 1,
        Command::Setup(_) => 2,
        Command::RecoverAdministrator(_) => 3,
        Command::ApplyCatalog(_) => 4,
        Command::RemovePermissions(_) => 5,
        Command::CreateRole(_) => 6,
        Command::ChangeRole(_) => 7,
        Command::DeleteRole(_) => 8,
        Command::CreateGroup(_) => 9,
        Command::RenameGroup(_) => 10,
        Command::DeleteGroup(_) => 11,
        Command::AddMember(_) => 12,
        Command::RemoveMember(_) => 13,
        Command::CreateObject(_) => 14,
        Command::RenameObject(_) => 15,
        Command::MoveObject(_) => 16,
        Command::TransferObject(_) => 17,
        Command::SetInheritance(_) => 18,
        Command::DeleteObject(_) => 19,
        Command::IssueGrant(_) => 20,
        Command::RevokeGrant(_) => 21,
        Command::ExpireGrants(_) => 22,
        Command::RegisterUser(_) => 23,
        Command::InviteUser(_) => 24,
        Command::AcceptInvitation(_) => 25,
        Command::EditUser(_) => 26,
        Command::SuspendUser(_) => 27,
        Command::ReactivateUser(_) => 28,
        Command::ScheduleDeletion(_) => 29,
        Command::CancelDeletion(_) => 30,
        Command::EraseUser(_) => 31,
        Command::ChangePassword(_) => 32,
        Command::IssueToken(_) => 33,
        Command::RevokeToken(_) => 34,
        Command::EndSession(_) => 35,
        Command::EndSessions(_) => 36,
        Command::RecordRebuild(_) => 37,
        Command::RecordBackup(_) => 38,
        Command::RecordRestore(_) => 39,
        Command::SkipEvent(_) => 40,
        Command::Undo(_) => 41,
        Command::SetGroupExternalId(_) => 42,
        Command::RenewInvitation(_) => 43,
        Command::WithdrawInvitation(_) => 44,
        Command::Several(_) => 45,
        Command::SendResetLink(_) => 46,
    }
}

impl Play {
    /// Who acts next, and what he asks for; `log` is what happened so far, and may be undone.
    pub(crate) fn anything(&mut self, log: &[Happened]) -> (Caller, Command) {
        let (actor, usual) = self.next();
        let command = match self.rng.below(100) {
            0..50 => usual,
            50..62 => self.undo(log).unwrap_or(usual),
            _ => {
                let kind = self.rng.below(KINDS);
                self.command(kind, log).unwrap_or(usual)
            }
        };
        (self.caller(actor, &command), command)
    }

    /// Now and then a token with a mask speaks for him; and a module for its own catalog.
    fn caller(&mut self, actor: UserId, command: &Command) -> Caller {
        let catalog = matches!(command, Command::ApplyCatalog(_) | Command::RemovePermissions(_));
        if catalog && self.rng.percent(60) {
            return Caller::Module(parsed(MODULE));
        }
        if !self.rng.percent(12) {
            return Caller::of(actor);
        }
        let mut mask: Vec<Pattern> = patterns(&["core.audit.read"]);
        for _ in 0..self.rng.between(1, 3) {
            mask.extend(self.items());
        }
        Caller::User { id: actor, ceiling: Some(mask.into()) }
    }

    /// A command of this kind; none when there is nothing to undo.
    fn command(&mut self, kind: usize, log: &[Happened]) -> Option<Command> {
        let command = match kind {
            0..=5 => self.about_the_installation(kind),
            6..=13 => self.about_roles_and_groups(kind),
            14..=22 => self.about_objects_and_grants(kind),
            23..=31 => self.about_users(kind),
            32..=36 => self.about_credentials(kind),
            37..=40 => self.about_operations(kind),
            41 => self.undo(log)?,
            42 => self.about_roles_and_groups(kind),
            43 | 44 => self.about_users(kind),
            46 => SendResetLink { user: self.anybody(), shown: self.rng.percent(50) }.into(),
            _ => self.several(),
        };
        assert_eq!(number(&command), kind, "{command:?} is not number {kind}");
        Some(command)
    }

    /// A few as one, of kinds that a request of an identity provider is made of.
    fn several(&mut self) -> Command {
        let count = self.rng.between(1, 4);
        let commands = (0..count).map(|_| match self.rng.between(9, 13) {
            kind @ (9 | 12 | 13) => self.about_roles_and_groups(kind),
            _ => self.about_users(27),
        });
        Several { commands: commands.collect() }.into()
    }

    fn undo(&mut self, log: &[Happened]) -> Option<Command> {
        let happened = log.get(self.rng.below(log.len()))?;
        Some(self.world.told(happened.try_undo().ok()?))
    }

    fn about_the_installation(&mut self, kind: usize) -> Command {
        let user = self.new_or_known_user();
        let name = self.name();
        match kind {
            0 => CreateInstallation { name: ids::shown("Mine") }.into(),
            1 => UpsertCoreCatalog {}.into(),
            2 => Setup { user, profile: ids::profile(&name), has_password: true }.into(),
            3 => RecoverAdministrator { user: self.person(), profile: None, has_password: true }.into(),
            4 => self.catalog().into(),
            _ => {
                let keys =
                    SERVER_KEYS.iter().filter(|_| self.rng.percent(20)).map(|text| key(text)).collect();
                RemovePermissions { namespace: self.namespace(), keys }.into()
            }
        }
    }

    fn namespace(&mut self) -> Namespace {
        if self.rng.percent(80) { parsed(MODULE) } else { Namespace::core() }
    }

    /// The module's document, perhaps without a key, perhaps with a new one.
    fn catalog(&mut self) -> ApplyCatalog {
        let keep = |text: &&&str| ["read", "create", "manage"].iter().any(|action| text.ends_with(action));
        let mut keys: Vec<_> =
            SERVER_KEYS.iter().filter(|text| keep(text) || self.rng.percent(85)).copied().collect();
        if self.rng.percent(40) {
            keys.push(EXTRA_KEY);
        }
        let permission = |text: &&str| PermissionDefinition {
            key: key(text),
            description: ids::shown(text),
            object_types: vec![parsed("server")],
        };
        let action = |action: &str| key(&format!("{MODULE}.server.{action}"));
        let server = ObjectTypeDefinition {
            name: parsed("server"),
            read: action("read"),
            create: action("create"),
            manage: action("manage"),
            aliases: Vec::new(),
        };
        let permissions = keys.iter().map(permission).collect();
        ApplyCatalog { namespace: self.namespace(), permissions, object_types: vec![server] }
    }

    fn about_roles_and_groups(&mut self, kind: usize) -> Command {
        let (group, user, name) = (self.any_group(), self.anybody(), self.name());
        match kind {
            6 => self.new_role().into(),
            7 => {
                let (add, remove) = (self.items(), self.items());
                ChangeRole { role: self.role(), name: Some(ids::shown(&name)), add, remove }.into()
            }
            8 => DeleteRole { role: self.role() }.into(),
            9 => CreateGroup { slug: parsed(&name), name: ids::shown(&name) }.into(),
            10 => RenameGroup { group, name: ids::shown(&name) }.into(),
            11 => DeleteGroup { group }.into(),
            12 => AddMember { group, user }.into(),
            13 => RemoveMember { group, user }.into(),
            _ => {
                let external_id = self.rng.percent(70).then(|| parsed(&name));
                SetGroupExternalId { group, external_id }.into()
            }
        }
    }

    fn any_group(&mut self) -> GroupId {
        let groups: Vec<_> = self.world.policy.groups().map(|group| group.id).collect();
        self.rng.any(&groups).unwrap_or(ids::group("none"))
    }

    fn about_objects_and_grants(&mut self, kind: usize) -> Command {
        let (object, name) = (self.object(), self.name());
        match kind {
            14 => {
                let external_id = self.rng.percent(30).then(|| parsed(&name));
                CreateObject { external_id, ..self.new_object() }.into()
            }
            15 => {
                let external_id = self.rng.percent(40).then(|| Some(parsed(&name)));
                RenameObject { object, name: Some(ids::shown(&name)), external_id }.into()
            }
            16 => MoveObject { object, parent: self.folder() }.into(),
            17 => TransferObject { object, owner: self.anybody() }.into(),
            18 => SetInheritance { object, inherits: self.rng.percent(60) }.into(),
            19 => DeleteObject { object }.into(),
            20 => self.grant().into(),
            21 => self.standing_grant().into(),
            _ => ExpireGrants {}.into(),
        }
    }

    fn about_users(&mut self, kind: usize) -> Command {
        let (user, name) = (self.anybody(), self.name());
        let (new, profile) = (self.new_or_known_user(), ids::profile(&name));
        let kind_of_user = if self.rng.percent(70) { UserKind::Person } else { UserKind::Service };
        let has_password = kind_of_user == UserKind::Person;
        match kind {
            23 => RegisterUser { user: new, kind: kind_of_user, profile, has_password }.into(),
            24 => InviteUser { user: new, kind: kind_of_user, profile }.into(),
            25 => AcceptInvitation { user, profile, has_password }.into(),
            26 if self.rng.percent(30) => self.relink().into(),
            26 => {
                let fields = [ProfileField::DisplayName, ProfileField::Email, ProfileField::ExternalId];
                let changed = vec![*self.rng.pick(&fields)];
                let kind = self.rng.percent(40).then_some(kind_of_user);
                // The same tags: only what is sealed is another.
                let profile = self.world.policy.user(user).and_then(|known| known.profile.cloned());
                EditUser { user, kind, profile, changed }.into()
            }
            27 => SuspendUser { user }.into(),
            28 => ReactivateUser { user: self.one_who_is(UserStatus::Suspended) }.into(),
            29 => {
                let moment = *self.rng.pick(&[SOON, TOMORROW, "2026-04-01T00:00:00Z"]);
                ScheduleDeletion { user, erase_at: at(moment) }.into()
            }
            30 => CancelDeletion { user: self.one_who_is(UserStatus::AwaitingDeletion) }.into(),
            31 => EraseUser { user }.into(),
            43 => {
                let user = self.one_who_is(UserStatus::Invited);
                RenewInvitation { user, shown: self.rng.percent(50) }.into()
            }
            _ => WithdrawInvitation { user: self.one_who_is(UserStatus::Invited) }.into(),
        }
    }

    fn about_credentials(&mut self, kind: usize) -> Command {
        let user = self.anybody();
        let session = SessionId::from(ids::token(&self.name()).as_uuid());
        match kind {
            32 => ChangePassword { user, has_password: self.rng.percent(70) }.into(),
            33 => {
                let mask = self.rng.percent(50).then(|| self.items());
                IssueToken { user, mask, ..self.token() }.into()
            }
            34 => RevokeToken { token: self.any_token() }.into(),
            35 => EndSession { session, user, expires_at: at(TOMORROW) }.into(),
            _ => EndSessions { user }.into(),
        }
    }

    fn any_token(&mut self) -> TokenId {
        let policy = &self.world.policy;
        let tokens: Vec<_> =
            policy.users().flat_map(|user| policy.tokens_of(user.id)).map(|token| token.id).collect();
        self.rng.any(&tokens).unwrap_or(ids::token("none"))
    }

    fn about_operations(&mut self, kind: usize) -> Command {
        let (projection, head, hash, digest) =
            (parsed("audit"), self.world.policy.version(), Hash::default(), Hash::default());
        let asked_by = Some(self.person());
        match kind {
            37 => {
                let rebuilt = ProjectionRebuilt {
                    projection,
                    version: 1,
                    generation: 2,
                    up_to: head,
                    digest,
                    asked_by,
                    differed: false,
                };
                RecordRebuild { rebuilt }.into()
            }
            38 => RecordBackup { taken: BackupTaken { head, hash, digest, asked_by } }.into(),
            39 => RecordRestore { restored: BackupRestored { head, hash, digest } }.into(),
            _ => {
                let past = self.rng.between(1, usize::try_from(head.get()).unwrap_or(1));
                let offset = Offset::new(past as u64).unwrap_or(head);
                SkipEvent { projection, offset }.into()
            }
        }
    }

    /// Somebody the play knows by name, somebody who came later, or the administrator.
    fn anybody(&mut self) -> UserId {
        if self.rng.percent(60) {
            return self.person();
        }
        let users: Vec<_> = self.world.policy.users().map(|user| user.id).collect();
        self.rng.any(&users).unwrap_or(ids::user("a"))
    }

    fn one_who_is(&mut self, status: UserStatus) -> UserId {
        let users = self.world.policy.users().filter(|user| user.status == status);
        let users: Vec<_> = users.map(|user| user.id).collect();
        self.rng.any(&users).unwrap_or_else(|| self.anybody())
    }

    /// So that worlds stay small: a new user while there are few.
    fn new_or_known_user(&mut self) -> UserId {
        if self.world.policy.user_count() < PEOPLE.len() + 5 {
            ids::user(&self.name())
        } else {
            self.person()
        }
    }

    fn name(&mut self) -> String {
        self.made += 1;
        format!("n{}", self.made)
    }
}
