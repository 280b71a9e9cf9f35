//! How value types of the events appear in the OpenAPI document. Documentation only: no value of these types exists.

use serde::Serialize;
use utoipa::ToSchema;

macro_rules! documented {
    ($(#[$doc:meta])* $name:ident as $shown:ident { $($variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Serialize, ToSchema)]
        #[schema(as = $shown)]
        #[serde(rename_all = "snake_case")]
        #[expect(missing_docs, reason = "the variants are those of the events' type of the same name")]
        pub enum $name { $($variant),+ }
    };
}

documented! {
    /// Whether a matching grant lets in or keeps out.
    EffectSchema as Effect { Allow, Deny }
}
documented! {
    /// How far below its folder a grant reaches.
    AffectsSchema as Affects { All, SelfOnly, ChildrenOnly, SelfAndDirectChildren, DirectChildrenOnly }
}
documented! {
    /// Which kinds of things below the folder a grant reaches.
    ChildTypesSchema as ChildTypes { All, Objects, Containers }
}
documented! {
    /// Where a role may be assigned.
    RoleScopeSchema as RoleScope { Global, Object, Both }
}
documented! {
    /// One of the roles every installation begins with.
    SeededRoleSchema as SeededRole { Administrator, Owner, Viewer, Operator }
}
documented! {
    /// A person, or a program that calls the API.
    UserKindSchema as UserKind { Person, Service }
}
