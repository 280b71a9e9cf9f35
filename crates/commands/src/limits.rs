//! The maxima a command is held to (api.md, "Maxima"), each with its unit in its name. Beyond one: `limit_exceeded`.

/// Upper bounds of what one command may say and what may stand. The defaults are the documented ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How deep folders nest, the object at the bottom counted (an object at the top has depth 1).
    pub folder_depth_levels: usize,
    /// Keys and wildcards in one role.
    pub role_content_items: usize,
    /// Literal keys in one grant.
    pub inline_keys: usize,
    /// Members of one group.
    pub group_members: usize,
    /// Grants of one subject at one scope.
    pub subject_scope_grants: usize,
    /// Grants on one object or folder.
    pub object_grants: usize,
    /// Events of one command; beyond it `too_many_consequences`.
    pub command_events: usize,
    /// Bytes of one event's payload.
    pub payload_bytes: usize,
    /// Permissions in one namespace's document.
    pub namespace_permissions: usize,
    /// Object types in one namespace's document.
    pub namespace_object_types: usize,
    /// Object types one permission may list.
    pub permission_object_types: usize,
    /// Action aliases of one object type.
    pub type_aliases: usize,
    /// API tokens of one user.
    pub user_tokens: usize,
    /// Items in one token's mask.
    pub mask_items: usize,
    /// Microseconds between scheduling a deletion and erasing, at the least, but for an administrator for good.
    pub deletion_grace_micros_min: i64,
    /// Grants whose passed end one command records.
    pub expired_grants: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            folder_depth_levels: 256,
            role_content_items: 1_000,
            inline_keys: 100,
            group_members: 100_000,
            subject_scope_grants: 100,
            object_grants: 100_000,
            command_events: 1_000_000,
            payload_bytes: charter_events::registry::PAYLOAD_BYTES_MAX,
            namespace_permissions: 10_000,
            namespace_object_types: 1_000,
            permission_object_types: 100,
            type_aliases: 100,
            user_tokens: 100,
            mask_items: 100,
            deletion_grace_micros_min: 24 * 60 * 60 * 1_000_000,
            expired_grants: 10_000,
        }
    }
}
