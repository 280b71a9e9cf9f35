//! The catalog: namespaces register their keys and object types, and remove keys. One file a command.

mod apply;
mod chunks;
mod document;
mod remove;

pub use apply::ApplyCatalog;
pub use remove::RemovePermissions;

use crate::{
    Context, Guard,
    holding::require_administrator,
    may::require_global,
    refusal::{Code, Refusal},
};
use charter_events::Namespace;
use charter_policy::{Caller, Policy, Span};

/// A namespace is its module's own. Others need the key and to be administrators, for standing wildcards match
/// whatever comes, for as long as what they change lasts; core's is declared in code and nobody's to change.
fn require_own_namespace(
    policy: &Policy,
    ctx: &Context<'_>,
    namespace: &Namespace,
    key: &'static str,
    span: Span,
) -> Result<(), Refusal> {
    require_global(policy, ctx, key)?;
    ctx.guard(Guard::AdministratorForCatalog, || match ctx.caller {
        Caller::User { .. } => require_administrator(policy, ctx, span),
        Caller::Module(_) | Caller::System => Ok(()),
    })?;
    let foreign = |detail: String| Err(Refusal::of(Code::ForeignNamespace, "namespace", detail));
    ctx.guard(Guard::OwnNamespace, || match ctx.caller {
        _ if namespace.is_core() => foreign("the namespace `core` is the control plane's own".to_owned()),
        Caller::Module(own) if own != namespace => {
            foreign(format!("the namespace of this module is `{own}`"))
        }
        _ => Ok(()),
    })
}
