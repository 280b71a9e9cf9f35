//! The property behind all guards: whatever anybody does, nobody can afterwards do anything that neither he nor the
//! one who did it could do before, today or later; and whoever gets at another's credential could do what that one
//! can.

use crate::{
    random_world::{PEOPLE, Play, keys},
    undo::{Happened, recorded},
    world::{NOW, SOON, TOMORROW},
};
use charter_commands::{ChangePassword, Command, EditUser, IssueToken};
use charter_events::{
    Affects, ChildTypes, ObjectId, Pattern, PermissionKey, Reach, Scope, Timestamp, UserId,
};
use charter_policy::{Because, Caller, Policy};
use charter_testkit::{Rng, at, ids};

const WORLDS: u64 = 400;
const COMMANDS: usize = 60;

/// One accepted command, and the state before it.
struct Act<'a> {
    before: &'a Policy,
    after: &'a Policy,
    actor: UserId,
    /// One, or those by which he undid another.
    commands: &'a [Command],
}

#[test]
fn nobody_gains_what_neither_he_nor_the_actor_held() {
    match played(WORLDS) {
        Ok((asked, accepted, undone)) => {
            println!("{asked} commands, {accepted} accepted, {undone} of them undid others");
            assert!(
                asked >= 20_000 && accepted * 10 >= asked && undone >= 200,
                "{accepted} of {asked} accepted: worth nothing"
            );
        }
        Err(gain) => panic!("{gain}"),
    }
}

/// Plays so many worlds: how many commands were asked for, accepted, and undid others, or the first gain that nothing
/// justifies.
pub(crate) fn played(worlds: u64) -> Result<(usize, usize, usize), String> {
    let (mut asked, mut accepted, mut undone) = (0_usize, 0_usize, 0_usize);
    for seed in 0..worlds {
        let mut play = Play::new(seed);
        let mut log: Vec<Happened> = Vec::new();
        let mut rng = Rng::new(seed);
        for number in 0..COMMANDS {
            let (actor, mut command) = play.next();
            // Now and then he undoes something instead.
            if rng.percent(20)
                && let Some(undo) =
                    log.get(rng.below(log.len())).and_then(|happened| happened.try_undo().ok())
            {
                command = play.world.told(undo);
            }
            let before = play.world.policy.clone();
            asked += 1;
            let Ok(decided) = play.world.decide(&Caller::of(actor), command.clone()) else { continue };
            if decided.events.is_empty() {
                continue;
            }
            accepted += 1;
            log.push(recorded(&mut play.world, decided.events.clone()));
            let commands = match &command {
                Command::Undo(undo) => undo.commands(&before, play.world.now).unwrap_or_default(),
                other => vec![other.clone()],
            };
            undone += usize::from(matches!(command, Command::Undo(_)));
            let act = Act { before: &before, after: &play.world.policy, actor, commands: &commands };
            if let Some(gain) = act.unjustified_gain() {
                return Err(format!(
                    "world {seed}, command {number}: {actor} {command:?}\nbecame {:?}\n{gain}",
                    decided.events
                ));
            }
            if play.world.policy.lasting_administrators(play.world.now) != [ids::user("root")] {
                return Err(format!(
                    "world {seed}, command {number}: {command:?} and the administrator is another"
                ));
            }
        }
    }
    Ok((asked, accepted, undone))
}

impl Act<'_> {
    fn unjustified_gain(&self) -> Option<String> {
        let objects =
            self.before.objects().map(|object| object.id).filter(|id| self.after.object(*id).is_some());
        let scopes: Vec<_> = objects.map(Scope::Object).chain([Scope::Global]).collect();
        let victim = self.credential_of();
        let keys = keys();
        for moment in [NOW, SOON, TOMORROW].map(at) {
            for who in PEOPLE.map(ids::user) {
                for scope in &scopes {
                    for key in &keys {
                        let gains = self.gains(who, key, *scope, moment, victim);
                        if gains && !self.is_justified(who, key, *scope, moment) {
                            return Some(format!("{who} may {key} at {scope:?} from {moment}"));
                        }
                    }
                }
            }
        }
        None
    }

    /// Whose credential the command gave to the actor.
    fn credential_of(&self) -> Option<UserId> {
        let user = self.commands.iter().find_map(|command| match command {
            Command::ChangePassword(ChangePassword { user, .. })
            | Command::EditUser(EditUser { user, .. })
            | Command::IssueToken(IssueToken { user, .. }) => Some(*user),
            _ => None,
        });
        user.filter(|user| *user != self.actor)
    }

    /// Whether somebody may now what he might not; or is somebody else now, and this is what that one may.
    fn gains(
        &self,
        who: UserId,
        key: &PermissionKey,
        scope: Scope,
        moment: Timestamp,
        victim: Option<UserId>,
    ) -> bool {
        let allows = |policy: &Policy| policy.check(who, key, scope, moment).allowed();
        allows(self.after) && (victim == Some(who) && self.lasts_until(moment) || !allows(self.before))
    }

    fn lasts_until(&self, moment: Timestamp) -> bool {
        self.commands.iter().all(|command| match command {
            Command::IssueToken(token) => token.expires_at.is_none_or(|end| moment < end),
            _ => true,
        })
    }

    /// Whether the actor could do it before: there, or at a place between there and the scope that now lets in.
    fn is_justified(&self, who: UserId, key: &PermissionKey, scope: Scope, moment: Timestamp) -> bool {
        let decision = self.after.check(who, key, scope, moment);
        if decision.because == Because::Administrator {
            return self.held(key, Scope::Global, moment);
        }
        let chain = self.chain(scope);
        let limit =
            decision.scope.filter(|from| chain.contains(from)).or_else(|| self.target()).unwrap_or(scope);
        let until = chain.iter().position(|place| *place == limit).map_or(1, |place| place + 1);
        chain.iter().take(until).any(|place| self.held(key, *place, moment))
    }

    /// The object the command is about.
    fn target(&self) -> Option<Scope> {
        self.commands.iter().find_map(|command| match command {
            Command::MoveObject(command) => Some(Scope::Object(command.object)),
            Command::SetInheritance(command) => Some(Scope::Object(command.object)),
            Command::TransferObject(command) => Some(Scope::Object(command.object)),
            _ => None,
        })
    }

    /// The scopes that counted before, nearest first.
    fn chain(&self, scope: Scope) -> Vec<Scope> {
        let mut chain = vec![scope];
        let Scope::Object(mut id) = scope else { return chain };
        while let Some(object) = self.before.object(id) {
            if !object.inherits {
                return chain;
            }
            let Some(parent) = object.parent else { break };
            chain.push(Scope::Object(parent));
            id = parent;
        }
        chain.push(Scope::Global);
        chain
    }

    /// Whether the actor might do it before, at the place itself or at what is imagined below it.
    fn held(&self, key: &PermissionKey, place: Scope, moment: Timestamp) -> bool {
        if self.before.check(self.actor, key, place, moment).allowed() {
            return true;
        }
        let Scope::Object(id) = place else { return false };
        self.is_folder(id)
            && BELOW.iter().any(|reach| {
                let item = [Pattern::from(key.clone())];
                self.before.missing(self.actor, &item, place, *reach, moment).is_empty()
            })
    }

    fn is_folder(&self, id: ObjectId) -> bool {
        self.before.object(id).is_some_and(|object| object.is_folder)
    }
}

/// The places below a folder, kind by kind.
const BELOW: [Reach; 4] = [
    Reach { affects: Affects::DirectChildrenOnly, child_types: ChildTypes::Objects },
    Reach { affects: Affects::DirectChildrenOnly, child_types: ChildTypes::Containers },
    Reach { affects: Affects::ChildrenOnly, child_types: ChildTypes::Objects },
    Reach { affects: Affects::ChildrenOnly, child_types: ChildTypes::Containers },
];
