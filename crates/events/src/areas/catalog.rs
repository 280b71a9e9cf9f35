//! The catalog: which keys and object types exist.

use super::payload;
use crate::{
    key::PermissionKey,
    names::{ActionAlias, DisplayName, Namespace, ObjectType},
};

payload! {
    /// One permission as registered.
    PermissionDefinition {
        /// The key; it lies in the registering namespace.
        key: PermissionKey,
        /// What it lets one do, for people.
        description: DisplayName,
        /// The object types it can be scoped to, sorted; `any` stands for every type; none: platform-wide only.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        object_types: Vec<ObjectType>,
    }
}

payload! {
    /// A short action name of an object type.
    AliasDefinition {
        /// The short name.
        alias: ActionAlias,
        /// The key it stands for.
        key: PermissionKey,
    }
}

payload! {
    /// One object type as registered.
    ObjectTypeDefinition {
        /// The type's name, unique in the installation.
        name: ObjectType,
        /// What it takes to read an object of the type.
        read: PermissionKey,
        /// What it takes to create one.
        create: PermissionKey,
        /// What it takes to rename or delete one.
        manage: PermissionKey,
        /// Short action names, sorted by alias.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        aliases: Vec<AliasDefinition>,
    }
}

payload! {
    /// Permissions came into the catalog, or changed their description or object types; a deprecated one is current
    /// again.
    PermissionsRegistered {
        /// Whose keys.
        namespace: Namespace,
        /// The revision of the registering build, for core only: an older build never overwrites a newer one's catalog.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revision: Option<u32>,
        /// Sorted by key.
        permissions: Vec<PermissionDefinition>,
    }
}

payload! {
    /// Permissions are no longer newly granted; they are still checked and held.
    PermissionsDeprecated {
        /// Whose keys.
        namespace: Namespace,
        /// Sorted.
        keys: Vec<PermissionKey>,
    }
}

payload! {
    /// Permissions left the catalog. What they are stripped from stands beside it as events of their own; denies keep
    /// them.
    PermissionsRemoved {
        /// Whose keys.
        namespace: Namespace,
        /// Sorted.
        keys: Vec<PermissionKey>,
    }
}

payload! {
    /// Object types came into the catalog, or gained aliases.
    ObjectTypesRegistered {
        /// Whose types.
        namespace: Namespace,
        /// Sorted by name.
        types: Vec<ObjectTypeDefinition>,
    }
}

payload! {
    /// Object types left the catalog; no object of them was left.
    ObjectTypesRemoved {
        /// Whose types.
        namespace: Namespace,
        /// Sorted.
        types: Vec<ObjectType>,
    }
}
