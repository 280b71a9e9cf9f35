//! Random small worlds, dense with conflict, and random commands in them.

use crate::world::{SERVER_KEYS, SOON, TOMORROW, World, key, patterns};
use charter_commands::*;
use charter_events::{
    Affects, ChildTypes, Content, Effect, GrantIssued, GroupId, ObjectId, Pattern, PermissionKey,
    ProfileField, Reach, RoleId, RoleScope, Scope, SealedProfile, Subject, Timestamp, UserId, UserKind,
};
use charter_policy::Policy;
use charter_testkit::{History, Rng, at, history::parsed, ids};

/// Who acts: nobody here is an administrator for good.
pub(crate) const PEOPLE: [&str; 6] = ["a", "b", "c", "d", "x", "t"];

/// The keys that matter: the module's, and those by which one gets at others'.
const CORE_KEYS: [&str; 19] = [
    "core.folder.create",
    "core.folder.manage",
    "core.grant.manage",
    "core.group.create",
    "core.group.delete",
    "core.group.edit",
    "core.group.manage",
    "core.module.install",
    "core.module.uninstall",
    "core.object.move",
    "core.object.transfer",
    "core.projection.rebuild",
    "core.role.create",
    "core.role.delete",
    "core.role.edit",
    "core.user.create",
    "core.user.delete",
    "core.user.edit",
    "core.user.suspend",
];
const ON_OBJECTS: [&str; 3] = ["core.grant.manage", "core.object.move", "core.object.transfer"];
const ITEMS: [&str; 6] =
    ["*", "srv.*", "srv.server.*", "srv.server.start", "srv.server.delete", "core.grant.manage"];

/// The module whose catalog is changed, and a key it may come to register.
pub(crate) const MODULE: &str = "srv";
pub(crate) const EXTRA_KEY: &str = "srv.server.stop";

/// Every key there may be.
pub(crate) fn keys(policy: &Policy) -> Vec<PermissionKey> {
    policy.permissions().map(|known| known.key.clone()).chain([key(EXTRA_KEY)]).collect()
}

pub(crate) struct Play {
    pub(crate) world: World,
    pub(crate) rng: Rng,
    pub(crate) made: u32,
}

impl Play {
    pub(crate) fn new(seed: u64) -> Self {
        let mut play = Self { world: World::new(), rng: Rng::new(seed), made: 0 };
        let mut h = History::empty().user("t");
        for group in ["g0", "g1"] {
            let members: Vec<_> = PEOPLE.into_iter().filter(|_| play.rng.percent(30)).collect();
            h = h.group(group, members);
        }
        for (slug, scope) in [("r0", "object"), ("r1", "both"), ("r2", "global")] {
            let items: Vec<_> = (0..play.rng.below(3)).map(|_| *play.rng.pick(&ITEMS[1..])).collect();
            h = h.role(slug, scope, items);
        }
        for (folder, parents) in
            [("f0", vec![None]), ("f1", vec![Some("f0")]), ("f2", vec![Some("f1"), None]), ("f3", vec![None])]
        {
            let owner = play.owner();
            h = h.object("folder", folder, *play.rng.pick(&parents), owner);
            h = h.inherits("folder", folder, !play.rng.percent(20));
        }
        for server in ["s0", "s1", "s2", "s3"] {
            let parent = *play.rng.pick(&[None, Some("f0"), Some("f1"), Some("f2"), Some("f3")]);
            let owner = play.owner();
            h = h.object("server", server, parent, owner).inherits("server", server, !play.rng.percent(15));
        }
        play.world.given(|_| h);
        play.grants();
        // An administrator whose account does not work, and may be tempting to let work again.
        play.world.given(|h| h.user("z").administrator("z").suspended("z"));
        // To undo what happened, one must know it.
        play.world.given(|h| {
            PEOPLE.iter().fold(h, |h, who| {
                h.grant(&format!("audit:{who}"), charter_testkit::to_user(who).keys(["core.audit.read"]))
            })
        });
        play
    }

    fn owner(&mut self) -> Option<&'static str> {
        if self.rng.percent(60) { Some(*self.rng.pick(&PEOPLE)) } else { None }
    }

    /// Grants that somebody gave before, by whatever right.
    fn grants(&mut self) {
        for _ in 0..24 {
            let asked = self.grant();
            let issued = self.issued(asked);
            self.world.given(|h| h.event(issued));
        }
        for who in PEOPLE {
            let held: Vec<_> = CORE_KEYS.into_iter().filter(|_| self.rng.percent(45)).collect();
            if !held.is_empty() {
                let grant = crate::say::issue(who, &held, Scope::Global);
                let issued = self.issued(grant);
                self.world.given(|h| h.event(issued));
            }
        }
        if self.rng.percent(40) {
            let hour = crate::say::until(crate::say::issue_role("t", "administrator", Scope::Global), SOON);
            let issued = self.issued(hour);
            self.world.given(|h| h.event(issued));
        }
    }

    fn issued(&mut self, grant: IssueGrant) -> GrantIssued {
        self.made += 1;
        let mut content = grant.content;
        if let Content::Keys(keys) = &mut content {
            keys.sort();
            keys.dedup();
        }
        GrantIssued {
            grant: ids::grant(&format!("given {}", self.made)),
            subject: grant.subject,
            content,
            scope: grant.scope,
            effect: grant.effect,
            not_before: grant.not_before,
            expires_at: grant.expires_at,
            affects: grant.affects,
            child_types: grant.child_types,
        }
    }

    fn objects(&self) -> Vec<ObjectId> {
        self.world.policy.objects().map(|object| object.id).collect()
    }

    pub(crate) fn person(&mut self) -> UserId {
        ids::user(self.rng.pick::<&str>(&PEOPLE))
    }

    fn group(&mut self) -> GroupId {
        ids::group(self.rng.pick::<&str>(&["g0", "g1"]))
    }

    pub(crate) fn role(&mut self) -> RoleId {
        let roles: Vec<_> = self.world.policy.roles().map(|role| role.id).collect();
        *self.rng.pick(&roles)
    }

    pub(crate) fn object(&mut self) -> ObjectId {
        let objects = self.objects();
        self.rng.any(&objects).unwrap_or(ids::folder("none"))
    }

    pub(crate) fn folder(&mut self) -> Option<ObjectId> {
        let policy = &self.world.policy;
        let folders: Vec<_> =
            policy.objects().filter(|object| object.is_folder).map(|object| object.id).collect();
        if self.rng.percent(25) { None } else { self.rng.any(&folders) }
    }

    fn moment(&mut self) -> Option<Timestamp> {
        self.rng.any(&[None, None, None, None, Some(at(SOON)), Some(at(TOMORROW))]).flatten()
    }

    pub(crate) fn items(&mut self) -> Vec<Pattern> {
        let count = self.rng.between(1, 2);
        patterns(&(0..count).map(|_| *self.rng.pick(&ITEMS)).collect::<Vec<_>>())
    }

    /// A grant as somebody may ask for it, fit for its scope.
    pub(crate) fn grant(&mut self) -> IssueGrant {
        let scope = if self.rng.percent(25) { Scope::Global } else { Scope::Object(self.object()) };
        let subject =
            if self.rng.percent(70) { Subject::User(self.person()) } else { Subject::Group(self.group()) };
        let effect = if self.rng.percent(30) { Effect::Deny } else { Effect::Allow };
        let content = self.content(scope, effect);
        let (not_before, mut expires_at) = (self.moment(), self.moment());
        if not_before >= expires_at && not_before.is_some() {
            expires_at = None;
        }
        let is_folder = match scope {
            Scope::Object(id) => self.world.policy.object(id).is_some_and(|object| object.is_folder),
            Scope::Global => false,
        };
        let reach = if is_folder && self.rng.percent(50) { self.reach() } else { Reach::ALL };
        let Reach { affects, child_types } = reach;
        IssueGrant { subject, content, scope, effect, not_before, expires_at, affects, child_types }
    }

    fn content(&mut self, scope: Scope, effect: Effect) -> Content {
        if effect == Effect::Allow && self.rng.percent(40) {
            let role = if scope == Scope::Global { ["r1", "r2"] } else { ["r0", "r1"] };
            let role = ids::role(self.rng.pick::<&str>(&role));
            if self.world.policy.role(role).is_some() {
                return Content::Role(role);
            }
        }
        let count = self.rng.between(1, 3);
        let mut pick = || match scope {
            Scope::Object(_) if self.rng.percent(35) => *self.rng.pick(&ON_OBJECTS),
            Scope::Global if self.rng.percent(20) => *self.rng.pick(&CORE_KEYS),
            _ => *self.rng.pick(SERVER_KEYS),
        };
        Content::Keys((0..count).map(|_| key(pick())).collect())
    }

    fn reach(&mut self) -> Reach {
        let affects = [
            Affects::All,
            Affects::SelfOnly,
            Affects::ChildrenOnly,
            Affects::SelfAndDirectChildren,
            Affects::DirectChildrenOnly,
        ];
        let affects = *self.rng.pick(&affects);
        let kinds = [ChildTypes::All, ChildTypes::Objects, ChildTypes::Containers];
        let child_types = if affects == Affects::SelfOnly { ChildTypes::All } else { *self.rng.pick(&kinds) };
        Reach { affects, child_types }
    }

    pub(crate) fn standing_grant(&mut self) -> RevokeGrant {
        let grants: Vec<_> = self.world.policy.grants().map(|grant| grant.id).collect();
        RevokeGrant { grant: self.rng.any(&grants).unwrap_or(ids::grant("none")) }
    }

    /// Who acts next, and what he asks for.
    pub(crate) fn next(&mut self) -> (UserId, Command) {
        let actor = self.person();
        let command = match self.rng.below(100) {
            0..30 => self.grant().into(),
            30..42 => self.standing_grant().into(),
            42..50 => ChangeRole { role: self.role(), name: None, add: self.items(), remove: vec![] }.into(),
            50..53 => ChangeRole { role: self.role(), name: None, add: vec![], remove: self.items() }.into(),
            53..60 => AddMember { group: self.group(), user: self.person() }.into(),
            60..65 => RemoveMember { group: self.group(), user: self.person() }.into(),
            65..75 => MoveObject { object: self.object(), parent: self.folder() }.into(),
            75..82 => SetInheritance { object: self.object(), inherits: self.rng.percent(50) }.into(),
            82..86 => TransferObject { object: self.object(), owner: self.person() }.into(),
            86..90 => self.new_object().into(),
            90..91 => DeleteObject { object: self.object() }.into(),
            91..93 => self.new_role().into(),
            93..94 => DeleteRole { role: self.role() }.into(),
            94..95 => DeleteGroup { group: self.group() }.into(),
            95..98 => ChangePassword { user: self.person(), has_password: true }.into(),
            98..99 if self.rng.percent(50) => self.rename().into(),
            98..99 => self.relink().into(),
            _ => self.token().into(),
        };
        (actor, command)
    }

    pub(crate) fn new_object(&mut self) -> CreateObject {
        let object_type = *self.rng.pick(&["folder", "server"]);
        CreateObject { parent: self.folder(), ..crate::say::create(object_type, None) }
    }

    pub(crate) fn new_role(&mut self) -> CreateRole {
        self.made += 1;
        let slug = format!("made{}", self.made);
        CreateRole {
            slug: parsed(&slug),
            name: ids::shown(&slug),
            scope: RoleScope::Both,
            permissions: self.items(),
        }
    }

    fn rename(&mut self) -> EditUser {
        self.made += 1;
        let name = format!("name{}", self.made);
        let kind = self.rng.percent(20).then_some(UserKind::Person);
        let changed = vec![ProfileField::Username];
        EditUser { user: self.person(), kind, profile: Some(ids::profile(&name)), changed }
    }

    /// Somebody linked to an identity nobody has, or to none.
    pub(crate) fn relink(&mut self) -> EditUser {
        self.made += 1;
        let user = self.person();
        let known = self.world.policy.user(user).and_then(|known| known.profile.cloned());
        let identity = self.rng.percent(70).then(|| ids::tag(&format!("identity {}", self.made)));
        let profile = known.map(|known| SealedProfile { identity, ..known });
        EditUser { user, kind: None, profile, changed: vec![ProfileField::Identity] }
    }

    pub(crate) fn token(&mut self) -> IssueToken {
        self.made += 1;
        let (token, user) = (ids::token(&format!("made{}", self.made)), self.person());
        IssueToken { token, user, name: ids::shown("Token"), expires_at: self.moment(), mask: None }
    }
}
