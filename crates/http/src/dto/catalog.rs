//! The permission catalog.

use charter_events::{ActionAlias, DisplayName, Namespace, ObjectType, Offset, PermissionKey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A permission of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Permission {
    /// The key.
    #[schema(value_type = String, example = "minecraft.server.restart")]
    pub key: PermissionKey,
    /// What it lets one do.
    pub description: String,
    /// The object types it can be scoped to; `any` stands for every type; none: platform-wide only.
    #[schema(value_type = Vec<String>)]
    pub object_types: Vec<ObjectType>,
    /// Whether it is still checked and held but no longer newly granted.
    pub deprecated: bool,
}

/// An object type of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectTypeInfo {
    /// Its name.
    #[schema(value_type = String, example = "server")]
    pub name: ObjectType,
    /// Who registered it.
    #[schema(value_type = String, example = "minecraft")]
    pub namespace: Namespace,
    /// What it takes to read an object of the type.
    #[schema(value_type = String)]
    pub read: PermissionKey,
    /// What it takes to create one.
    #[schema(value_type = String)]
    pub create: PermissionKey,
    /// What it takes to rename or delete one.
    #[schema(value_type = String)]
    pub manage: PermissionKey,
    /// Short action names and the keys they stand for.
    #[schema(value_type = BTreeMap<String, String>)]
    pub aliases: BTreeMap<String, PermissionKey>,
}

/// The catalog, whole or filtered. `items` in the flat shape, `tree` in the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Permissions {
    /// Flat: one page, in byte order of the keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Permission>>,
    /// Flat: hand this back as `cursor` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Tree: everything that matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Vec<NamespaceNode>>,
    /// The object types there are, in byte order.
    pub object_types: Vec<ObjectTypeInfo>,
}

/// A namespace and what lies below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamespaceNode {
    /// The first segment.
    pub namespace: String,
    /// Its resources.
    pub resources: Vec<ResourceNode>,
}

/// A resource and its permissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourceNode {
    /// The second segment.
    pub resource: String,
    /// Its permissions.
    pub permissions: Vec<Permission>,
}

/// One namespace's keys, object types and aliases, whole: what is missing becomes deprecated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "permissions": [
        {"key": "minecraft.server.read", "description": "See a server", "object_types": ["server"]},
        {"key": "minecraft.server.create", "description": "Create a server", "object_types": ["folder"]},
        {"key": "minecraft.server.manage", "description": "Rename or delete a server", "object_types": ["server"]}
    ],
    "object_types": [
        {"name": "server", "read": "minecraft.server.read", "create": "minecraft.server.create",
         "manage": "minecraft.server.manage", "aliases": {"view": "minecraft.server.read"}}
    ]
}))]
pub struct CatalogDocument {
    /// The namespace, as a check: it must be the one of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub namespace: Option<Namespace>,
    /// Its keys.
    #[serde(default)]
    pub permissions: Vec<CatalogPermission>,
    /// Its object types.
    #[serde(default)]
    pub object_types: Vec<CatalogObjectType>,
}

/// A permission to be registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogPermission {
    /// The key; it lies in the namespace.
    #[schema(value_type = String)]
    pub key: PermissionKey,
    /// What it lets one do; the key itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub description: Option<DisplayName>,
    /// The object types it can be scoped to; `any` stands for every type; none: platform-wide only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub object_types: Vec<ObjectType>,
}

/// An object type to be registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogObjectType {
    /// Its name, unique in the installation.
    #[schema(value_type = String)]
    pub name: ObjectType,
    /// What it takes to read an object of the type.
    #[schema(value_type = String)]
    pub read: PermissionKey,
    /// What it takes to create one.
    #[schema(value_type = String)]
    pub create: PermissionKey,
    /// What it takes to rename or delete one.
    #[schema(value_type = String)]
    pub manage: PermissionKey,
    /// Short action names and the keys they stand for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, String>)]
    pub aliases: BTreeMap<ActionAlias, PermissionKey>,
}

/// What a catalog document changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CatalogApplied {
    /// The namespace.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// The version from which it holds.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
}
