//! Several commands as one: what somebody wants done all at once, or not at all.
//!
//! They are decided in order, each on what its predecessors left, with every guard, by the same caller at the same
//! moment. Refused: whatever refuses one of them, which the detail names; `limit_exceeded` for more than
//! [`SEVERAL_COMMANDS_MAX`], and for members of groups with so many grants that judging them would hold others up;
//! `empty`; `invalid_state` for an undo or several within several.

use crate::{
    AddMember, Command, Context, Decided, SetGroupExternalId,
    command::Decide,
    decide::require_consequences,
    last_administrator::stage,
    refusal::{Code, Refusal},
};
use charter_events::{Event, GroupId, Subject};
use charter_policy::Policy;
use uuid::Uuid;

/// The most commands in one.
pub const SEVERAL_COMMANDS_MAX: usize = 1_000;
/// The most grants of groups that are looked at for all members together: a guard asks about each grant for each.
const GRANTS_LOOKED_AT_MAX: usize = 100_000;

/// In several commands: the group that one of them made before, whose id nobody can know when they are put together.
pub const MADE_GROUP: GroupId = GroupId::new(Uuid::nil());

/// Several commands as one: all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Several {
    /// In the order they are decided.
    pub commands: Vec<Command>,
}

impl Decide for Several {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        if self.commands.is_empty() {
            return Err(Refusal::new(Code::Empty, "nothing is asked for"));
        }
        if self.commands.len() > SEVERAL_COMMANDS_MAX {
            let detail = format!("at most {SEVERAL_COMMANDS_MAX} changes at once");
            return Err(Refusal::new(Code::LimitExceeded, detail));
        }
        self.require_little_work(policy)?;
        let mut created = None;
        let mut staged = Staged::new(policy);
        for command in &self.commands {
            if matches!(command, Command::Several(_) | Command::Undo(_)) {
                let detail = format!("`{}` is not one of several", command.name());
                return Err(Refusal::new(Code::InvalidState, detail));
            }
            let command = &of_made(command, created);
            let made = staged.take(command, ctx).map_err(|refusal| within(command, refusal))?;
            created = created.or(made);
        }
        Ok(Decided { events: staged.events, created })
    }
}

impl Several {
    /// Refuses what would keep the writer busy for long.
    fn require_little_work(&self, policy: &Policy) -> Result<(), Refusal> {
        let groups = self.commands.iter().filter_map(|command| match command {
            Command::AddMember(add) => Some(add.group),
            Command::RemoveMember(remove) => Some(remove.group),
            _ => None,
        });
        let mut looked_at = 0_usize;
        let mut last = None;
        for group in groups {
            let grants = match last {
                Some((known, grants)) if known == group => grants,
                _ => policy.grants_of(Subject::Group(group)).count(),
            };
            last = Some((group, grants));
            looked_at = looked_at.saturating_add(grants);
            if looked_at > GRANTS_LOOKED_AT_MAX {
                let detail = "the group has so many grants that fewer members are changed at once";
                return Err(Refusal::new(Code::LimitExceeded, detail));
            }
        }
        Ok(())
    }
}

/// The policy as several commands, one after another, would leave it, and their events.
pub(crate) struct Staged {
    state: Policy,
    pub(crate) events: Vec<Event>,
}

impl Staged {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self { state: policy.clone(), events: Vec::new() }
    }

    /// Decides the next command and lets it happen here; gives what it made. `If-Match` is about none of them.
    pub(crate) fn take(&mut self, command: &Command, ctx: &mut Context<'_>) -> Result<Option<Uuid>, Refusal> {
        let decided = crate::decide(&self.state, command, &mut ctx.step())?;
        stage(&mut self.state, &decided.events, ctx)?;
        self.events.extend(decided.events);
        require_consequences(ctx, self.events.len())?;
        Ok(decided.created)
    }
}

/// The command, about the group that was made.
fn of_made(command: &Command, made: Option<Uuid>) -> Command {
    let Some(made) = made.map(GroupId::new) else { return command.clone() };
    match command {
        Command::AddMember(add) if add.group == MADE_GROUP => {
            AddMember { group: made, user: add.user }.into()
        }
        Command::SetGroupExternalId(set) if set.group == MADE_GROUP => {
            SetGroupExternalId { group: made, external_id: set.external_id.clone() }.into()
        }
        other => other.clone(),
    }
}

/// Says which of the commands was refused.
fn within(command: &Command, refusal: Refusal) -> Refusal {
    let whom = match command {
        Command::AddMember(add) => format!(" of user {}", add.user),
        Command::RemoveMember(remove) => format!(" of user {}", remove.user),
        _ => String::new(),
    };
    let detail = format!("`{}`{whom}: {}", command.name(), refusal.detail);
    Refusal { detail, ..refusal }
}
