//! RBAC-W: U users, U/10 flat groups (each user in 5), O objects in a folder tree of depth 4, 3 grants an object (2 to
//! groups, 1 to a user; 5% deny), 50 roles of 10 keys (10 of them with a resource wildcard), 200 keys, 10
//! administrators.
//!
//! Folders are among the O objects and carry grants like the others. Every part follows from the seed and its own
//! number, so that millions of events need no memory and questions can look anything up.

use super::{OBJECT_TYPE, beginning, numbered, profile, questions::Questions, role, small};
use crate::{
    Rng,
    history::{parsed, seeded},
    ids::{self, shaped},
};
use charter_events::{
    Affects, ChildTypes, Content, Effect, Event, EventMeta, GrantId, GrantIssued, GroupCreated, GroupId,
    GroupMemberAdded, ObjectCreated, ObjectId, Pattern, PermissionKey, RoleId, RoleScope, Scope, SeededRole,
    Subject, UserId, UserKind, UserRegistered,
};

/// How large a workload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A tenth of S, for tests.
    Xs,
    /// 1,000 users, 10,000 objects.
    S,
    /// 10,000 users, 100,000 objects.
    M,
    /// 100,000 users, 1,000,000 objects.
    L,
}

impl Size {
    /// Users and objects, folders included.
    pub const fn counts(self) -> (usize, usize) {
        match self {
            Self::Xs => (100, 1_000),
            Self::S => (1_000, 10_000),
            Self::M => (10_000, 100_000),
            Self::L => (100_000, 1_000_000),
        }
    }
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "XS" | "xs" => Ok(Self::Xs),
            "S" | "s" => Ok(Self::S),
            "M" | "m" => Ok(Self::M),
            "L" | "l" => Ok(Self::L),
            _ => Err("expected one of S, M, L".to_owned()),
        }
    }
}

/// Keys in the catalog.
pub const KEYS: usize = 200;
/// Roles besides the seeded ones.
pub const ROLES: usize = 50;
/// Entries of a role.
pub const ROLE_KEYS: usize = 10;
/// Roles one entry of which is a resource wildcard.
pub const WILDCARD_ROLES: usize = 10;
/// Groups a user is in.
pub const USER_GROUPS: usize = 5;
/// Grants on an object.
pub const OBJECT_GRANTS: usize = 3;
/// Users with a global grant of `administrator`: the first ones.
pub const ADMINISTRATORS: usize = 10;
/// Keys that share a resource.
const RESOURCE_KEYS: usize = 10;

/// What a grant of the workload gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// Allows the keys of the role of this number.
    Role(usize),
    /// Denies the key of this number.
    DenyKey(usize),
}

/// One grant of the workload, by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issued {
    /// The number of the user, or of the group.
    pub subject: usize,
    /// Whether the subject is a group.
    pub to_group: bool,
    /// What it gives.
    pub given: Given,
}

/// The workload of a size and a seed.
#[derive(Debug, Clone)]
pub struct RbacW {
    seed: u64,
    users: usize,
    objects: usize,
    /// Folders in a folder, but for the lowest ones, which hold all other objects.
    fan: usize,
    keys: Vec<PermissionKey>,
}

impl RbacW {
    /// The workload of a size and a seed.
    pub fn new(size: Size, seed: u64) -> Self {
        let (users, objects) = size.counts();
        let mut fan = 1;
        while (fan + 1_usize).pow(4) <= objects {
            fan += 1;
        }
        let keys = (0..KEYS).map(|number| {
            let (resource, action) = (number / RESOURCE_KEYS, number % RESOURCE_KEYS);
            parsed(&format!("bench{}.resource{:02}.action{action}", resource / 5, resource % 5))
        });
        Self { seed, users, objects, fan, keys: keys.collect() }
    }

    /// How many users.
    pub const fn user_count(&self) -> usize {
        self.users
    }

    /// How many groups.
    pub const fn group_count(&self) -> usize {
        self.users / 10
    }

    /// How many objects, folders included.
    pub const fn object_count(&self) -> usize {
        self.objects
    }

    /// How many of the objects are folders: the first ones.
    pub const fn folder_count(&self) -> usize {
        self.fan + self.fan * self.fan + self.fan * self.fan * self.fan
    }

    /// The seed.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The keys, in byte order.
    pub fn keys(&self) -> &[PermissionKey] {
        &self.keys
    }

    /// The user of this number.
    pub const fn user_id(number: usize) -> UserId {
        UserId::new(shaped(1, number as u128))
    }

    /// The group of this number.
    pub const fn group_id(number: usize) -> GroupId {
        GroupId::new(shaped(2, number as u128))
    }

    /// The role of this number.
    pub const fn role_id(number: usize) -> RoleId {
        RoleId::new(shaped(3, number as u128))
    }

    /// The object of this number.
    pub const fn object_id(number: usize) -> ObjectId {
        ObjectId::new(shaped(4, number as u128))
    }

    /// The grant of this place on the object of this number.
    pub const fn grant_id(object: usize, place: usize) -> GrantId {
        GrantId::new(shaped(5, (object * OBJECT_GRANTS + place) as u128))
    }

    /// The number of the folder an object lies in: three levels of folders, objects below the third.
    pub const fn parent(&self, object: usize) -> Option<usize> {
        let fan = self.fan;
        let (second, third, leaves) = (fan, fan + fan * fan, self.folder_count());
        if object < second {
            None
        } else if object < third {
            Some((object - second) / fan)
        } else if object < leaves {
            Some(second + (object - third) / fan)
        } else {
            Some(third + (object - leaves) % (leaves - third))
        }
    }

    /// The numbers of the groups a user is in.
    pub fn groups_of(&self, user: usize) -> [usize; USER_GROUPS] {
        let mut rng = Rng::part(self.seed, 1, user as u64);
        let mut groups = [usize::MAX; USER_GROUPS];
        for place in 0..USER_GROUPS {
            let mut group = rng.below(self.group_count());
            while groups[..place].contains(&group) {
                group = (group + 1) % self.group_count();
            }
            groups[place] = group;
        }
        groups
    }

    /// The entries of a role, sorted: key numbers, and for the first [`WILDCARD_ROLES`] one wildcard.
    pub fn role_content(&self, number: usize) -> Vec<Pattern> {
        let mut rng = Rng::part(self.seed, 2, number as u64);
        let mut content = Vec::new();
        if number < WILDCARD_ROLES {
            let key = rng.pick(&self.keys);
            content.push(parsed(&format!("{}.{}.*", key.namespace(), key.resource())));
        }
        while content.len() < ROLE_KEYS {
            let key = Pattern::from(rng.pick(&self.keys).clone());
            if !content.contains(&key) {
                content.push(key);
            }
        }
        content.sort();
        content
    }

    /// The grants on an object: the first two to groups, the third to a user.
    pub fn grants_on(&self, object: usize) -> [Issued; OBJECT_GRANTS] {
        let mut rng = Rng::part(self.seed, 3, object as u64);
        std::array::from_fn(|place| {
            let to_group = place < 2;
            let subject = rng.below(if to_group { self.group_count() } else { self.users });
            let given =
                if rng.percent(5) { Given::DenyKey(rng.below(KEYS)) } else { Given::Role(rng.below(ROLES)) };
            Issued { subject, to_group, given }
        })
    }

    /// The log. L has about 4.6 million events; they are made one by one.
    pub fn events(&self) -> impl Iterator<Item = (EventMeta, Event)> + '_ {
        let roles = (0..ROLES).map(|number| {
            role(
                Self::role_id(number),
                &format!("role-{number}"),
                RoleScope::Both,
                self.role_content(number),
                None,
            )
        });
        let users = (0..self.users).map(|number| {
            let (user, kind) = (Self::user_id(number), UserKind::Person);
            UserRegistered { user, kind, profile: profile(number as u64) }.into()
        });
        let groups = (0..self.group_count()).map(|number| {
            let slug = format!("group-{number}");
            GroupCreated { group: Self::group_id(number), slug: parsed(&slug), name: ids::shown(&slug) }
                .into()
        });
        let members = (0..self.users).flat_map(|user| {
            self.groups_of(user).into_iter().map(move |group| {
                GroupMemberAdded { group: Self::group_id(group), user: Self::user_id(user) }.into()
            })
        });
        let administrators = (0..ADMINISTRATORS).map(|number| {
            let content = Content::Role(seeded(SeededRole::Administrator));
            let grant = GrantId::new(shaped(6, number as u128));
            issued(grant, Subject::User(Self::user_id(number)), content, Scope::Global, Effect::Allow)
        });
        let objects = (0..self.objects).map(|number| self.object(number));
        let grants = (0..self.objects).flat_map(move |object| {
            (0..).zip(self.grants_on(object)).map(move |(place, grant)| self.grant(object, place, grant))
        });
        let first = beginning(&self.keys).into_iter();
        numbered(
            first
                .chain(roles)
                .chain(users)
                .chain(groups)
                .chain(members)
                .chain(administrators)
                .chain(objects)
                .chain(grants),
        )
    }

    /// Questions without end; about half are allowed.
    pub fn questions(&self, seed: u64) -> Questions<'_> {
        Questions::new(self, seed)
    }

    fn object(&self, number: usize) -> Event {
        let is_folder = number < self.folder_count();
        let name = format!("object-{number}");
        ObjectCreated {
            object: Self::object_id(number),
            object_type: parsed(if is_folder { "folder" } else { OBJECT_TYPE }),
            external_id: None,
            name: ids::shown(&name),
            parent: self.parent(number).map(Self::object_id),
            owner: None,
            inherits: true,
        }
        .into()
    }

    fn grant(&self, object: usize, place: usize, grant: Issued) -> Event {
        let subject = if grant.to_group {
            Subject::Group(Self::group_id(grant.subject))
        } else {
            Subject::User(Self::user_id(grant.subject))
        };
        let (content, effect) = match grant.given {
            Given::Role(number) => (Content::Role(Self::role_id(number)), Effect::Allow),
            Given::DenyKey(number) => (Content::Keys(vec![self.keys[number].clone()]), Effect::Deny),
        };
        issued(
            Self::grant_id(object, place),
            subject,
            content,
            Scope::Object(Self::object_id(object)),
            effect,
        )
    }

    /// Who is in each group, by numbers.
    pub fn members(&self) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.group_count()];
        for user in 0..self.users {
            for group in self.groups_of(user) {
                members[group].push(small(user));
            }
        }
        members
    }
}

fn issued(grant: GrantId, subject: Subject, content: Content, scope: Scope, effect: Effect) -> Event {
    GrantIssued {
        grant,
        subject,
        content,
        scope,
        effect,
        not_before: None,
        expires_at: None,
        affects: Affects::All,
        child_types: ChildTypes::All,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{at, model::World};

    #[test]
    fn the_shape_is_the_one_written_down() {
        let workload = RbacW::new(Size::S, 1);
        let mut depths = [0; 5];
        for object in 0..workload.object_count() {
            let mut depth = 1;
            let mut folder = workload.parent(object);
            while let Some(at) = folder {
                assert!(at < workload.folder_count() && at < object);
                depth += 1;
                folder = workload.parent(at);
            }
            depths[depth] += 1;
        }
        assert_eq!(depths, [0, 10, 100, 1_000, 8_890]);
        let events: Vec<_> = workload.events().collect();
        let issued = events.iter().filter(|(_, event)| matches!(event, Event::GrantIssued(_))).count();
        assert_eq!(issued, 3 * 10_000 + 10);
        let denies =
            events.iter().filter(|(_, e)| matches!(e, Event::GrantIssued(g) if g.effect == Effect::Deny));
        assert!((1_300..1_700).contains(&denies.count()), "about 5% deny");
    }

    #[test]
    fn the_same_seed_is_the_same_log_and_another_is_not() {
        let log = |seed| RbacW::new(Size::Xs, seed).events().collect::<Vec<_>>();
        assert_eq!(log(3), log(3));
        assert_ne!(log(3), log(4));
    }

    #[test]
    fn about_half_of_the_questions_are_allowed() {
        let workload = RbacW::new(Size::Xs, 5);
        let events: Vec<Event> = workload.events().map(|(_, event)| event).collect();
        let world = World::of(&events);
        let now = at("2026-06-01T00:00:00Z");
        let allowed = workload
            .questions(9)
            .take(200)
            .filter(|q| world.check(q.user, &q.key, q.scope, now).allowed)
            .count();
        assert!((70..=150).contains(&allowed), "{allowed} of 200");
    }
}
