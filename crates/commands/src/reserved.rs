//! Names that can't be given because look-ups would read them as something else.

use crate::{
    Context, Guard,
    refusal::{Code, Refusal},
};
use uuid::Uuid;

/// References are looked up as a UUID first, so a name in the form of one could never be reached, or would stand for
/// another thing.
pub(crate) fn require_not_an_id(ctx: &Context<'_>, field: &str, name: &str) -> Result<(), Refusal> {
    ctx.guard(Guard::NotReserved, || match Uuid::try_parse(name) {
        Ok(_) => Err(Refusal::of(Code::ReservedName, field, format!("`{name}` has the form of an id"))),
        Err(_) => Ok(()),
    })
}
