//! Which generation an operation is about, and what that means for the generations there are. Pure.
//!
//! An operation names its target as `<projection>/<generation>`, so that whoever goes on with it after a crash can't
//! take another one for it.

use charter_store::{Generation, Operation, OperationState};

/// Builds a generation, compares it, and has it read.
pub(super) const REBUILD: &str = "projection.rebuild";
/// The same, and has it read also where it differs from what is read now.
pub(super) const REPAIR: &str = "projection.repair";
/// As a rebuild, up to the switch.
pub(super) const BUILD: &str = "projection.build";
/// Has a generation read that was built before.
pub(super) const SWITCH: &str = "projection.switch";
/// Has the generation read again that was read before.
pub(super) const ROLLBACK: &str = "projection.rollback";

/// The target of an operation on a generation.
pub(super) fn target(projection: &str, generation: u32) -> String {
    format!("{projection}/{generation}")
}

/// The projection and the generation an operation is about; none for operations on something else.
pub(super) fn of(operation: &Operation) -> Option<(&str, u32)> {
    let ours = [REBUILD, REPAIR, BUILD, SWITCH, ROLLBACK].contains(&operation.kind.as_str());
    let (projection, number) = operation.target.rsplit_once('/').filter(|_| ours)?;
    Some((projection, number.parse().ok()?))
}

/// The newest operation on a projection. Operations come newest first.
pub(super) fn newest<'a>(operations: &'a [Operation], projection: &str) -> Option<&'a Operation> {
    operations.iter().find(|operation| of(operation).is_some_and(|(name, _)| name == projection))
}

/// The generation of a projection with a number.
pub(super) fn generation<'a>(all: &'a [Generation], projection: &str, number: u32) -> Option<&'a Generation> {
    all.iter().find(|one| one.projection == projection && one.number == number)
}

/// The generation of a projection that is read.
pub(super) fn active<'a>(all: &'a [Generation], projection: &str) -> Option<&'a Generation> {
    all.iter().find(|one| one.projection == projection && one.active)
}

/// Whether a generation is not read and never was: it was given up, or is being made, or waits to be read.
pub(super) fn never_read(operations: &[Operation], one: &Generation) -> bool {
    let about = |operation: &&Operation| of(operation) == Some((one.projection.as_str(), one.number));
    let last = operations.iter().filter(about).find(|operation| operation.kind != ROLLBACK);
    !one.active && last.is_some_and(|last| last.state != OperationState::Done || last.kind == BUILD)
}

/// The generation that was read before the one that is, if it is kept: of those that once were, it has come furthest.
pub(super) fn previous<'a>(
    all: &'a [Generation],
    operations: &[Operation],
    projection: &str,
) -> Option<&'a Generation> {
    all.iter()
        .filter(|one| one.projection == projection && !one.active && one.indexed)
        .filter(|one| !never_read(operations, one))
        .max_by_key(|one| (one.checkpoint.offset, one.number))
}

/// The generations of a projection that nobody needs when a new one is begun: given up, or built and never read.
pub(super) fn given_up(all: &[Generation], operations: &[Operation], projection: &str) -> Vec<u32> {
    let of_it = all.iter().filter(|one| one.projection == projection);
    of_it.filter(|one| never_read(operations, one)).map(|one| one.number).collect()
}

/// Whether the tables of this version are to be built without anybody asking for it: none are read, or those of an
/// earlier version are, and nobody stopped that. What a newer build made is left alone.
pub(super) fn is_due(all: &[Generation], operations: &[Operation], projection: &str, version: u32) -> bool {
    if active(all, projection).is_some_and(|read| read.version >= version) {
        return false;
    }
    let Some(last) = newest(operations, projection) else { return true };
    let about = of(last).and_then(|(_, number)| generation(all, projection, number));
    match last.state {
        OperationState::Done => about.is_none_or(|one| one.active || one.version != version),
        OperationState::Running => false,
        OperationState::Cancelled | OperationState::Failed => about.is_none_or(|one| one.version != version),
    }
}
