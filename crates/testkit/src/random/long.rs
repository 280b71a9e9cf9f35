//! A long random history: after its beginning things come and go for weeks, and its world stays about as large.

use super::{
    History,
    make::{Making, Size},
};
use crate::clock::later;

/// How far apart commands are: together with grants that last hours, every hour sees some begin and end.
const BETWEEN_COMMANDS_MICROS: [i64; 4] = [0, 1, 61_000_000, 900_000_000];
/// What is not made beyond so many, so that the naive model can keep up.
const USERS_MAX: usize = 40;
const GROUPS_MAX: usize = 8;
const ROLES_MAX: usize = 12;
const OBJECTS_MAX: usize = 50;
const GRANTS_MAX: usize = 400;

pub(super) fn history(seed: u64, commands: usize) -> History {
    let mut making = Making::begun(seed, Size::Long);
    while making.steps.len() < commands {
        making.go_on();
        let pause = *making.rng.pick(&BETWEEN_COMMANDS_MICROS);
        making.now = later(making.now, pause);
    }
    let mut steps = making.steps;
    steps.truncate(commands);
    let now = steps.last().map_or(making.now, |step| step.at);
    History { seed, steps, now }
}

impl Making {
    /// One more thing happens; nothing, when what came up is not possible.
    fn go_on(&mut self) {
        let number = self.steps.len();
        let world = &self.world;
        let (groups, roles, objects) = (world.groups.len(), world.roles.len(), world.objects.len());
        let grants = world.grants.len();
        match self.rng.below(24) {
            0..=8 if grants < GRANTS_MAX => self.grant(),
            9 if self.living().len() < USERS_MAX => self.user(&format!("u{number}")),
            10 if groups < GROUPS_MAX => self.group(&format!("g{number}")),
            11 if roles < ROLES_MAX => self.role(&format!("r{number}")),
            12 | 13 if objects < OBJECTS_MAX => self.object(&format!("o{number}")),
            _ => self.edit(),
        }
    }
}
