//! The guards, case by case: each is a way in that an earlier wording of some guard left open, or a rule of the
//! decision model, as a sentence. A case begins with a control where that is possible: the same command by somebody
//! who may.
//!
//! With the feature `mutants`, every guard is taken out once, and some case has to notice.

#[macro_use]
mod cases;

mod c01_to_c08;
mod c09_to_c16;
mod c17_to_c24;
mod every_command;
mod gains;
mod identity;
mod last_administrator;
mod lasting;
mod nobody_gains;
mod random_world;
#[cfg(feature = "mutants")]
mod removed;
mod rules_catalog_and_users;
mod rules_grants_and_roles;
mod rules_objects;
mod say;
mod several;
mod undo;
mod undo_restores;
mod undo_since;
mod world;

/// The cases of all files, but for the large ones.
#[cfg(feature = "mutants")]
fn all_cases() -> Vec<(&'static str, fn())> {
    [
        c01_to_c08::CASES,
        c09_to_c16::CASES,
        c17_to_c24::CASES,
        identity::CASES,
        last_administrator::CASES,
        lasting::CASES,
        rules_grants_and_roles::CASES,
        rules_objects::CASES,
        rules_catalog_and_users::CASES,
        undo::CASES,
        undo_restores::CASES,
        undo_since::CASES,
    ]
    .concat()
}
