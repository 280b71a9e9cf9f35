//! The proof that no guard is without a test: each is taken out once, and some case has to fail.

use crate::world::REMOVED;
use charter_commands::{Guard, Guards};
use std::panic::catch_unwind;

#[test]
fn every_guard_taken_out_is_noticed_by_some_case() {
    let all = crate::all_cases();
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for guard in Guard::ALL {
        REMOVED.set(Guards::only(*guard));
        let noticed = all.iter().filter(|(_, case)| catch_unwind(case).is_err()).map(|(name, _)| *name);
        let noticed: Vec<_> = noticed.take(3).collect();
        if noticed.is_empty() {
            missed.push(*guard);
        } else {
            println!("{guard:?}: {}", noticed.join(", "));
        }
    }
    REMOVED.set(Guards::NONE);
    let broken: Vec<_> =
        all.iter().filter(|(_, case)| catch_unwind(case).is_err()).map(|(name, _)| *name).collect();
    drop(std::panic::take_hook());
    assert!(broken.is_empty(), "with every guard standing these fail: {broken:?}");
    assert!(missed.is_empty(), "nobody notices when these are gone: {missed:?}");
}

/// The guards without which somebody gains something: the random play has to find each of them by itself. (Without
/// the commands' keys nobody gains anything, for holding is asked as well; nor by a role that nobody has.)
const WITHOUT_WHICH_SOMEBODY_GAINS: [Guard; 19] = [
    Guard::ActiveCaller,
    Guard::SystemOnly,
    Guard::HoldToIssue,
    Guard::HoldToRevoke,
    Guard::LiftDenyWithoutEnd,
    Guard::HoldRoleAtGrants,
    Guard::HoldToAddMember,
    Guard::HoldToRemoveMember,
    Guard::LeaveWithDeny,
    Guard::HoldToDeleteGroup,
    Guard::HoldWhatBegins,
    Guard::HoldWhatCeases,
    Guard::HoldToTransfer,
    Guard::HoldToRename,
    Guard::HoldToReset,
    Guard::HoldToLink,
    Guard::CredentialWithinCeiling,
    Guard::RestoreAdministrator,
    Guard::LastAdministrator,
];

#[test]
fn the_random_play_finds_what_a_missing_guard_lets_through() {
    let worlds = 1_000;
    let missed: Vec<_> = WITHOUT_WHICH_SOMEBODY_GAINS
        .into_iter()
        .filter(|guard| {
            REMOVED.set(Guards::only(*guard));
            let found = crate::nobody_gains::played(0..worlds).err();
            println!("{guard:?}: {}", found.as_deref().and_then(|text| text.lines().next()).unwrap_or("-"));
            found.is_none()
        })
        .collect();
    REMOVED.set(Guards::NONE);
    assert!(missed.is_empty(), "not found in {worlds} worlds: {missed:?}");
}
