//! Who gained what by one command, and whether that is right: asked of the naive model of the testkit, before and
//! after, for every user, every key and every place, now and when grants begin or end. Nothing here asks the policy.
//!
//! A gain is right when the one who acted held the key there, as holding is meant: on the place itself, or, seen from
//! a folder above that the command was about, on what is imagined below that folder. A creator owns his new object; a
//! key that only now came into the catalog goes to whoever holds a wildcard above it. Whether an account works is left
//! aside: who is let back in gets what he had. But nobody here lets an administrator back in, for nobody here is one
//! for good; and whoever gets at another's credential gains all that one may.

use crate::world::{NOW, SOON, TOMORROW};
use charter_events::{
    Affects, ChildTypes, Content, Effect, Event, GrantId, ObjectId, Pattern, ProfileField, Scope, Subject,
    Timestamp, UserId,
};
use charter_policy::Caller;
use charter_testkit::{
    at, ids,
    model::{Columns, Grant, Keys, Lack, Place, Sheet, World},
};

/// One accepted command: who sent it, what it became, and the world on both sides of it.
pub(crate) struct Act<'a> {
    pub(crate) before: &'a World,
    pub(crate) after: &'a World,
    pub(crate) caller: &'a Caller,
    pub(crate) events: &'a [Event],
}

/// Somebody whose credential came into other hands, until when.
struct Victim {
    user: UserId,
    until: Option<Timestamp>,
}

impl Act<'_> {
    /// The first thing that nobody should have got by this, in words.
    pub(crate) fn wrong(&self, columns: &mut Columns) -> Option<String> {
        if let Some(actor) = self.caller.user().filter(|actor| !self.before.is_active(*actor)) {
            return Some(format!("the account of {actor} does not work, and he did this"));
        }
        let moments = [NOW, SOON, TOMORROW].map(at);
        moments
            .into_iter()
            .find_map(|moment| self.wrong_at(columns, moment))
            .or_else(|| self.deny_lifted(columns))
            .or_else(|| self.beyond_the_mask(columns))
    }

    fn wrong_at(&self, columns: &mut Columns, moment: Timestamp) -> Option<String> {
        let actor = Actor {
            sheet: self.caller.user().map(|user| self.before.sheet(columns, user, moment)),
            ceiling: ceiling(self.caller, columns),
        };
        let fresh = columns.of(&self.after.keys) & !columns.of(&self.before.keys);
        for user in &self.after.users {
            let before = self.before.sheet(columns, user.id, moment);
            let after = self.after.sheet(columns, user.id, moment);
            let taken_over = self.is_taken_over(user.id, moment);
            for place in self.after.everywhere() {
                let there = self.before_it(place);
                let had = if taken_over { 0 } else { before.at(there) };
                let gained = after.at(place) & !had & !fresh;
                if gained == 0 || self.is_his_new_object(user.id, place) {
                    continue;
                }
                let unheld = gained & !actor.held(there);
                if let Some(column) =
                    Columns::set(unheld).find(|column| !self.may_give(&actor, &after, place, *column))
                {
                    let key = columns.key(column);
                    return Some(format!("{} may {key} at {place:?} from {moment}", user.id));
                }
            }
        }
        self.administrators_as_they_should(columns, moment)
    }

    /// Nobody here is an administrator for good: so none comes back, and the one there is stays.
    fn administrators_as_they_should(&self, columns: &mut Columns, moment: Timestamp) -> Option<String> {
        let all = columns.of(&self.after.keys);
        let mut administers = |user| {
            self.after.sheet(columns, user, moment).administered() == all && self.after.is_active(user)
        };
        if !administers(ids::user("root")) {
            return Some(format!("the administrator is none from {moment}"));
        }
        let back = |user: UserId| !self.before.is_active(user) && self.after.is_active(user);
        let known = |user: UserId| self.before.users.iter().any(|known| known.id == user);
        let mut users = self.after.users.iter().map(|user| user.id);
        let back = users.find(|user| known(*user) && back(*user) && administers(*user))?;
        Some(format!("{back}, an administrator from {moment}, works again"))
    }

    /// Whether another than the user got a credential of his that works at the moment.
    fn is_taken_over(&self, user: UserId, moment: Timestamp) -> bool {
        let victims = self.events.iter().filter_map(victim);
        let mut others = victims.filter(|victim| Some(victim.user) != self.caller.user());
        others.any(|victim| victim.user == user && victim.until.is_none_or(|end| moment < end))
    }

    /// The place as it was before; for what is new, what was imagined where it came to lie.
    fn before_it(&self, place: Place) -> Place {
        let (mut at, mut levels, is_folder) = match place {
            Place::Global => return place,
            Place::At(id) => (id, 0, self.is_folder(id)),
            Place::Below { folder, levels, is_folder } => (folder, levels, is_folder),
        };
        while !self.before.objects.iter().any(|object| object.id == at) {
            let object = self.after.objects.iter().find(|object| object.id == at);
            let Some(parent) = object.and_then(|object| object.parent) else { return Place::Global };
            at = parent;
            levels += 1;
        }
        match levels {
            0 => Place::At(at),
            _ => Place::Below { folder: at, levels: levels.min(2), is_folder },
        }
    }

    fn is_folder(&self, id: ObjectId) -> bool {
        let mut objects = self.after.objects.iter();
        objects.any(|object| object.id == id && object.object_type.as_str() == "folder")
    }

    fn is_his_new_object(&self, user: UserId, place: Place) -> bool {
        let (Place::At(id) | Place::Below { folder: id, .. }) = place else { return false };
        let created = |event: &Event| matches!(event, Event::ObjectCreated(e) if e.object == id);
        self.caller.user() == Some(user) && self.events.iter().any(created)
    }

    /// Whether the actor held the key at the place, seen from some folder between there and what decides now.
    fn may_give(&self, actor: &Actor<'_>, after: &Sheet<'_>, place: Place, column: usize) -> bool {
        let bit = 1 << column;
        if after.administered() & bit != 0 {
            return actor.held(Place::Global) & bit != 0;
        }
        let chain = self.before.seen_from_above(self.before_it(place));
        let on_chain = |scope: &Scope| chain.iter().any(|(above, _)| above == scope);
        let decides = after.decided_at(place, column);
        // What was moved, opened or handed over changed for itself and all below it: there it must be held.
        let limit = self.changed_objects().find(on_chain).or_else(|| decides.filter(on_chain));
        let until = chain.iter().position(|(above, _)| Some(*above) == limit).map_or(1, |at| at + 1);
        chain.iter().take(until).any(|(_, seen)| actor.held(*seen) & bit != 0)
    }

    fn changed_objects(&self) -> impl Iterator<Item = Scope> {
        self.events.iter().filter_map(|event| match event {
            Event::ObjectMoved(e) => Some(Scope::Object(e.object)),
            Event::ObjectInheritanceChanged(e) => Some(Scope::Object(e.object)),
            Event::ObjectTransferred(e) => Some(Scope::Object(e.object)),
            _ => None,
        })
    }

    /// A deny that somebody is rid of: lifting it widens access, also where nothing allows yet. It takes holding its
    /// keys over its reach for good.
    fn deny_lifted(&self, columns: &mut Columns) -> Option<String> {
        let now = at(NOW);
        for user in &self.before.users {
            let still: Vec<GrantId> = denies(self.after, user.id, now).map(|grant| grant.id).collect();
            for deny in denies(self.before, user.id, now).filter(|deny| !still.contains(&deny.id)) {
                if !self.goes_with_its_object(deny) && !self.could_lift(deny, columns) {
                    return Some(format!("{} is rid of the deny {deny:?}", user.id));
                }
            }
        }
        None
    }

    /// An object that is gone leaves no place; its new owner is not kept out of it.
    fn goes_with_its_object(&self, deny: &Grant) -> bool {
        let Scope::Object(id) = deny.scope else { return false };
        let owns = |event: &Event| {
            matches!(event, Event::ObjectTransferred(e)
                if e.object == id && deny.subject == Subject::User(e.owner))
        };
        !self.after.objects.iter().any(|object| object.id == id) || self.events.iter().any(owns)
    }

    fn could_lift(&self, deny: &Grant, columns: &mut Columns) -> bool {
        let (Some(actor), Content::Keys(keys)) = (self.caller.user(), &deny.content) else { return false };
        let content: Vec<_> = keys.iter().map(|key| Pattern::from(key.clone())).collect();
        let reach: (Scope, Affects, ChildTypes) = (deny.scope, deny.affects, deny.child_types);
        let within = columns.of(keys) & !ceiling(self.caller, columns) == 0;
        within && self.before.lacking(actor, &content, reach, None, at(NOW)) == Lack::Nothing
    }

    /// A masked token makes no credential that reaches further than itself.
    fn beyond_the_mask(&self, columns: &mut Columns) -> Option<String> {
        let Caller::User { id, ceiling: Some(mask) } = self.caller else { return None };
        let ceiling = ceiling(self.caller, columns);
        let whole = mask.contains(&Pattern::all());
        self.events.iter().find_map(|event| {
            let reaches = match event {
                Event::CredentialTokenIssued(e) if e.user == *id => {
                    let all = [Pattern::all()];
                    let mask = e.mask.as_deref().unwrap_or(&all);
                    mask.iter().fold(0, |all, item| all | columns.matched(item))
                }
                Event::CredentialPasswordChanged(e) if e.user == *id && !whole => Keys::MAX,
                Event::UserProfileChanged(e) if e.user == *id && !whole => Keys::MAX,
                _ => 0,
            };
            (reaches & !ceiling != 0).then(|| format!("a masked token of {id} made {event:?}"))
        })
    }
}

/// The one who acted, as he was before.
struct Actor<'w> {
    /// None for a module, which holds nothing.
    sheet: Option<Sheet<'w>>,
    ceiling: Keys,
}

impl Actor<'_> {
    fn held(&self, place: Place) -> Keys {
        self.sheet.as_ref().map_or(0, |sheet| sheet.at(place)) & self.ceiling
    }
}

fn ceiling(caller: &Caller, columns: &mut Columns) -> Keys {
    match caller {
        Caller::User { ceiling: Some(mask), .. } => {
            mask.iter().fold(0, |all, item| all | columns.matched(item))
        }
        _ => Keys::MAX,
    }
}

/// Whose credential an event puts into the hands of whoever caused it.
fn victim(event: &Event) -> Option<Victim> {
    match event {
        Event::CredentialPasswordChanged(e) if e.has_password => Some(Victim { user: e.user, until: None }),
        Event::CredentialTokenIssued(e) => Some(Victim { user: e.user, until: e.expires_at }),
        Event::UserProfileChanged(e) if e.changed.iter().any(|field| *field != ProfileField::DisplayName) => {
            Some(Victim { user: e.user, until: None })
        }
        _ => None,
    }
}

/// The denies a user is addressed by that have not ended.
fn denies(world: &World, user: UserId, now: Timestamp) -> impl Iterator<Item = &Grant> {
    let his = move |grant: &&Grant| match grant.subject {
        Subject::User(id) => id == user,
        Subject::Group(id) => {
            world.groups.iter().any(|group| group.id == id && group.members.contains(&user))
        }
    };
    let stands =
        move |grant: &&Grant| grant.effect == Effect::Deny && grant.expires_at.is_none_or(|end| now < end);
    world.grants.iter().filter(stands).filter(his)
}
