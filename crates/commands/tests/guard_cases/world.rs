//! A small installation to break into: core's catalog and seeded roles, a module's servers, an administrator
//! `root`, and a few people who hold nothing yet.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a mistake in a case's own data should stop it at once"
)]

use charter_commands::{Code, Command, Context, Decided, Ids, Limits, Refusal, core_catalog, decide};
use charter_events::{
    CredentialPasswordChanged, Event, EventMeta, InstallationCreated, Namespace, ObjectId,
    ObjectTypesRegistered, Offset, Pattern, PermissionKey, PermissionsRegistered, RoleCreated, Scope,
    Timestamp, UserId,
};
use charter_policy::{Caller, Policy};
use charter_testkit::{History, SequentialIds, at, history::parsed, ids, to_user};
use uuid::Uuid;

/// When everything begins, unless a case says otherwise.
pub(crate) const NOW: &str = "2026-03-01T12:00:00Z";
/// An hour later.
pub(crate) const SOON: &str = "2026-03-01T13:00:00Z";
/// A day later.
pub(crate) const TOMORROW: &str = "2026-03-02T12:00:00Z";

/// What the module of the world registers for its servers, beside read, create and manage.
pub(crate) const SERVER_KEYS: &[&str] =
    &["srv.server.create", "srv.server.delete", "srv.server.manage", "srv.server.read", "srv.server.start"];

#[cfg(feature = "mutants")]
thread_local! {
    /// The guards taken out of every decision of this thread.
    pub(crate) static REMOVED: std::cell::Cell<charter_commands::Guards> =
        const { std::cell::Cell::new(charter_commands::Guards::NONE) };
}

struct Counted(SequentialIds);

impl Ids for Counted {
    fn next(&mut self) -> Uuid {
        self.0.next()
    }
}

pub(crate) struct World {
    pub(crate) policy: Policy,
    pub(crate) now: Timestamp,
    pub(crate) limits: Limits,
    pub(crate) if_match: Option<Offset>,
    ids: Counted,
    /// What happened, from the first event on; a policy put back to an earlier version goes on from there.
    log: Vec<Event>,
}

/// The events an installation begins with, with roles known by their slug.
fn installation() -> History {
    let mut history = History::empty().event(InstallationCreated { name: ids::shown("Test") });
    let (core, revision) = (Namespace::core(), Some(core_catalog::REVISION));
    let types = vec![core_catalog::folder_type().unwrap()];
    history = history.event(ObjectTypesRegistered { namespace: core.clone(), types });
    let permissions = core_catalog::permissions().unwrap();
    history = history.event(PermissionsRegistered { namespace: core, revision, permissions });
    for role in core_catalog::seeded_roles().unwrap() {
        history = history.event(RoleCreated {
            role: ids::role(role.slug),
            slug: parsed(role.slug),
            name: ids::shown(role.name),
            scope: role.scope,
            permissions: role.permissions,
            seeded: Some(role.seeded),
        });
    }
    history
}

impl World {
    /// An installation without anybody in it.
    pub(crate) fn empty() -> Self {
        Self::folded(installation())
    }

    /// The installation with its servers, `root` the administrator, and people `a` to `d` and `x`.
    pub(crate) fn new() -> Self {
        let mut history = installation().object_type("srv", "server").keys(SERVER_KEYS, &["server"]);
        for name in ["root", "a", "b", "c", "d", "x"] {
            history = history.user(name);
        }
        Self::folded(history.administrator("root").event(password("root")))
    }

    /// The world and what happened in it besides.
    pub(crate) fn with(more: impl FnOnce(History) -> History) -> Self {
        let mut world = Self::new();
        world.given(more);
        world
    }

    fn folded(history: History) -> Self {
        let mut world = Self {
            policy: Policy::new(),
            now: at(NOW),
            limits: Limits::default(),
            if_match: None,
            ids: Counted(SequentialIds::new()),
            log: Vec::new(),
        };
        world.given(|_| history);
        world
    }

    /// Lets happen what no guard was asked about.
    pub(crate) fn given(&mut self, more: impl FnOnce(History) -> History) {
        for (_, event) in more(History::empty()).into_events() {
            self.apply(&event);
        }
    }

    /// What happened so far.
    pub(crate) fn log(&self) -> &[Event] {
        &self.log
    }

    /// The world these events lead to; none when they contradict each other.
    pub(crate) fn of(events: &[Event]) -> Option<Self> {
        let mut world = Self::folded(History::empty());
        events.iter().all(|event| world.try_apply(event).is_ok()).then_some(world)
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        self.try_apply(event).unwrap_or_else(|fault| panic!("{event:?} does not fit: {fault}"));
    }

    fn try_apply(&mut self, event: &Event) -> Result<(), charter_policy::FoldError> {
        let offset = self.policy.version().plus(1).unwrap();
        let actor = charter_events::Actor::System;
        let meta = EventMeta { offset, recorded_at: self.now.max(self.policy.recorded_at()), actor };
        self.policy.apply(&meta, event)?;
        self.log.truncate(usize::try_from(offset.get() - 1).unwrap());
        self.log.push(event.clone());
        Ok(())
    }

    /// The command as the writer decides it: an undo is told of all that happened since.
    pub(crate) fn told(&self, command: impl Into<Command>) -> Command {
        let mut command = command.into();
        if let Command::Undo(undo) = &mut command {
            let offsets = (1..=self.policy.version().get()).map(|at| Offset::new(at).unwrap());
            let since = offsets.zip(&self.log).skip(usize::try_from(undo.seen().get()).unwrap());
            since.for_each(|(offset, event)| undo.saw(offset, event));
        }
        command
    }

    /// Time passes.
    pub(crate) fn at(&mut self, moment: &str) {
        self.now = at(moment);
    }

    /// What would be decided.
    pub(crate) fn decide(
        &mut self,
        caller: &Caller,
        command: impl Into<Command>,
    ) -> Result<Decided, Refusal> {
        let command = self.told(command);
        let context = Context::new(caller, self.now, &mut self.ids, &self.limits).if_match(self.if_match);
        #[cfg(feature = "mutants")]
        let context = {
            let mut context = context;
            context.removed = REMOVED.get();
            context
        };
        let mut context = context;
        decide(&self.policy, &command, &mut context)
    }

    /// The command is accepted and happens.
    pub(crate) fn ok(&mut self, who: &str, command: impl Into<Command>) -> Decided {
        self.ok_as(&caller(who), command)
    }

    /// The same for a caller of any kind.
    pub(crate) fn ok_as(&mut self, caller: &Caller, command: impl Into<Command>) -> Decided {
        let command = command.into();
        let decided = self.decide(caller, command.clone());
        let decided = decided.unwrap_or_else(|why| panic!("{caller:?} {command:?}: {why:?}"));
        for event in &decided.events {
            self.apply(event);
        }
        decided
    }

    /// The control: the same command by this caller would be accepted, and would change something.
    pub(crate) fn would(&mut self, who: &str, command: impl Into<Command>) {
        let command = command.into();
        match self.decide(&caller(who), command.clone()) {
            Ok(decided) => assert!(!decided.events.is_empty(), "control: {who} {command:?} changes nothing"),
            Err(why) => panic!("control: {who} {command:?}: {why:?}"),
        }
    }

    /// The command is refused with this code; being refused, it has no events.
    pub(crate) fn refused(&mut self, who: &str, command: impl Into<Command>, code: Code) -> Refusal {
        self.refused_as(&caller(who), command, code)
    }

    /// The same for a caller of any kind.
    pub(crate) fn refused_as(&mut self, caller: &Caller, command: impl Into<Command>, code: Code) -> Refusal {
        let command = command.into();
        match self.decide(caller, command.clone()) {
            Ok(decided) => panic!("{caller:?} {command:?} became {:?}", decided.events),
            Err(why) => {
                assert_eq!(why.code, code, "{caller:?} {command:?}: {why:?}");
                why
            }
        }
    }

    /// Whether somebody may do something, now.
    pub(crate) fn can(&self, who: &str, permission: &str, scope: Scope) -> bool {
        self.policy.check(ids::user(who), &key(permission), scope, self.now).allowed()
    }
}

/// The caller of this name: `system`, `module:<namespace>`, or a user.
pub(crate) fn caller(who: &str) -> Caller {
    match who.split_once(':') {
        Some(("module", namespace)) => Caller::Module(parsed(namespace)),
        _ if who == "system" => Caller::System,
        _ => Caller::of(ids::user(who)),
    }
}

/// A user who comes with a masked token.
pub(crate) fn masked(who: &str, mask: &[&str]) -> Caller {
    let mask: Vec<Pattern> = mask.iter().map(|item| parsed(item)).collect();
    Caller::User { id: ids::user(who), ceiling: Some(mask.into()) }
}

pub(crate) fn key(text: &str) -> PermissionKey {
    parsed(text)
}

pub(crate) fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| parsed(text)).collect()
}

pub(crate) fn user(name: &str) -> UserId {
    ids::user(name)
}

pub(crate) fn server(name: &str) -> ObjectId {
    ids::object("server", name)
}

pub(crate) fn on_server(name: &str) -> Scope {
    Scope::Object(server(name))
}

pub(crate) fn on_folder(name: &str) -> Scope {
    Scope::Object(ids::folder(name))
}

/// A user gets a way to sign in.
pub(crate) fn password(name: &str) -> CredentialPasswordChanged {
    CredentialPasswordChanged { user: ids::user(name), has_password: true }
}

/// A grant of keys to a user on a server, under a name made of both.
pub(crate) fn allow_on(history: History, who: &str, object: &str, keys: &[&str]) -> History {
    history.grant(&format!("{who}:{object}"), to_user(who).keys(keys).on("server", object))
}

/// A grant of keys to a user on a folder.
pub(crate) fn allow_in(history: History, who: &str, folder: &str, keys: &[&str]) -> History {
    history.grant(&format!("{who}:{folder}"), to_user(who).keys(keys).on("folder", folder))
}

/// A global grant of keys to a user.
pub(crate) fn allow(history: History, who: &str, keys: &[&str]) -> History {
    history.grant(&format!("{who}:global"), to_user(who).keys(keys))
}
