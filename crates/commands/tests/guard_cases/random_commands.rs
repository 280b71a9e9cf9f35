//! The property behind all guards: whatever anybody does, nobody can afterwards do anything that neither he nor the
//! one who did it could do before, today or later; and whoever gets at another's credential could do what that one
//! can.

use crate::{
    random_world::{PEOPLE, Play, keys},
    world::{NOW, SOON, TOMORROW},
};
use charter_commands::{ChangePassword, Command, EditUser, IssueToken};
use charter_events::{
    Affects, ChildTypes, ObjectId, Pattern, PermissionKey, Reach, Scope, Timestamp, UserId,
};
use charter_policy::{Because, Caller, Policy};
use charter_testkit::{at, ids};

const WORLDS: u64 = 400;
const COMMANDS: usize = 60;

/// One accepted command, and the state before it.
struct Act<'a> {
    before: &'a Policy,
    after: &'a Policy,
    actor: UserId,
    command: &'a Command,
}

#[test]
fn nobody_gains_what_neither_he_nor_the_actor_held() {
    match played(WORLDS) {
        Ok((asked, accepted)) => {
            println!("{asked} commands, {accepted} accepted");
            assert!(
                asked >= 20_000 && accepted * 10 >= asked,
                "{accepted} of {asked} accepted: worth nothing"
            );
        }
        Err(gain) => panic!("{gain}"),
    }
}

/// Plays so many worlds: how many commands were asked for and accepted, or the first gain that nothing justifies.
pub(crate) fn played(worlds: u64) -> Result<(usize, usize), String> {
    let (mut asked, mut accepted) = (0_usize, 0_usize);
    for seed in 0..worlds {
        let mut play = Play::new(seed);
        for number in 0..COMMANDS {
            let (actor, command) = play.next();
            let before = play.world.policy.clone();
            asked += 1;
            let Ok(decided) = play.world.decide(&Caller::of(actor), command.clone()) else { continue };
            if decided.events.is_empty() {
                continue;
            }
            accepted += 1;
            for event in &decided.events {
                play.world.apply(event);
            }
            let act = Act { before: &before, after: &play.world.policy, actor, command: &command };
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
    Ok((asked, accepted))
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
        let user = match self.command {
            Command::ChangePassword(ChangePassword { user, .. })
            | Command::EditUser(EditUser { user, .. })
            | Command::IssueToken(IssueToken { user, .. }) => *user,
            _ => return None,
        };
        (user != self.actor).then_some(user)
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
        match self.command {
            Command::IssueToken(token) => token.expires_at.is_none_or(|end| moment < end),
            _ => true,
        }
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
        let object = match self.command {
            Command::MoveObject(command) => command.object,
            Command::SetInheritance(command) => command.object,
            Command::TransferObject(command) => command.object,
            _ => return None,
        };
        Some(Scope::Object(object))
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
