//! Users: created first, and brought to the status their scenario states last, so that grants and ownership may wait
//! on any account.

use crate::{facts::Writer, file::Scenario, refused::Problem, words::Status};
use charter_events::{
    EndedBy, Event, GrantEnded, GroupMemberRemoved, NameTag, Sealed, SealedProfile, Subject, Timestamp,
    UserDeletionScheduled, UserErased, UserId, UserInvited, UserKind, UserRegistered, UserSuspended,
};

impl Writer {
    pub(crate) fn users(&mut self, scenario: &Scenario) -> Result<(), Problem> {
        for (index, entry) in scenario.users.iter().enumerate() {
            let user = self.id(entry.name.to_string()).into();
            if self.names.users.insert(entry.name.clone(), user).is_some() {
                return Err(Problem::item("users", index, format!("user `{}` is given twice", entry.name)));
            }
            let (kind, profile) = (UserKind::Person, profile(user));
            match entry.status {
                Status::Invited => self.push(UserInvited { user, kind, profile }),
                _ => self.push(UserRegistered { user, kind, profile }),
            }
        }
        Ok(())
    }

    /// Brings every user to the status stated.
    pub(crate) fn statuses(&mut self, scenario: &Scenario) {
        for entry in &*scenario.users {
            let Some(user) = self.names.user(entry.name.as_str()) else { continue };
            match entry.status {
                Status::Active | Status::Invited => {}
                Status::Suspended => self.push(UserSuspended { user }),
                Status::AwaitingDeletion => {
                    self.push(UserDeletionScheduled { user, erase_at: Timestamp::MAX })
                }
                Status::Erased => self.erase(user),
            }
        }
    }

    /// An erased user's grants and memberships ended beside it.
    fn erase(&mut self, user: UserId) {
        self.push(UserDeletionScheduled { user, erase_at: Timestamp::MIN });
        let ends: Vec<Event> = self
            .events
            .iter()
            .filter_map(|event| match event {
                Event::GrantIssued(grant) if grant.subject == Subject::User(user) => {
                    Some(GrantEnded { grant: grant.grant, by: EndedBy::User(user) }.into())
                }
                Event::GroupMemberAdded(member) if member.user == user => {
                    Some(GroupMemberRemoved { group: member.group, user }.into())
                }
                _ => None,
            })
            .collect();
        self.events.extend(ends);
        self.push(UserErased { user });
    }
}

/// Nothing is sealed: nobody but the scenario's own names is ever shown. The tag is the id, which is unique.
fn profile(user: UserId) -> SealedProfile {
    let mut tag = [0; 32];
    for (to, from) in tag.iter_mut().zip(user.as_uuid().as_bytes()) {
        *to = *from;
    }
    SealedProfile {
        sealed: Sealed::new(&[]),
        username: NameTag::new(tag),
        login_name: None,
        external_id: None,
        identity: None,
    }
}
