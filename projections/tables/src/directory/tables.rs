//! The tables of `directory` and their columns.

use crate::rows::{
    Column,
    Kind::{Bool, Int, Text, Uuid},
    TableSpec,
};

pub(super) const USERS: usize = 0;
pub(super) const GROUPS: usize = 1;
pub(super) const GROUP_MEMBERS: usize = 2;
pub(super) const ROLES: usize = 3;
pub(super) const ROLE_PERMISSIONS: usize = 4;
pub(super) const OBJECTS: usize = 5;

const CHANGED_AT: Column = Column::new("changed_at", Int, "Offset of the last event that changed it.");
const POSITION: Column =
    Column::new("position", Int, "Its place in the order of creation, from 0; never used again.");
const SEARCH: Column = Column::new("search", Text, "What it is found by, lower-cased.");
const NAME_KEY: Column = Column::new("name_key", Text, "The name, lower-cased: to sort by.");

pub(super) const TABLES: &[TableSpec] = &[
    TableSpec {
        name: "users",
        about: "A user; an erased one stays, without a name anywhere. Names are sealed and not in any table.",
        columns: &[
            Column::new("user_id", Uuid, "Its id."),
            Column::new("kind", Text, "`person` or `service`."),
            Column::new("status", Text, "`active`, `invited`, `suspended`, `awaiting_deletion` or `erased`."),
            Column::new("has_password", Bool, "Whether there is a password to sign in with."),
            Column::new("has_identity", Bool, "Whether there is an identity at a provider to sign in as."),
            Column::new("created_at", Int, "When it was invited or registered."),
            Column::maybe("erase_at", Int, "When it may be erased, while awaiting deletion."),
            CHANGED_AT,
            POSITION,
        ],
        key: 1,
        indexes: &[&["position"], &["status", "position"], &["created_at"], &["changed_at"]],
    },
    TableSpec {
        name: "groups",
        about: "A group of users.",
        columns: &[
            Column::new("group_id", Uuid, "Its id."),
            Column::new("slug", Text, "The unique name it is looked up by."),
            Column::new("name", Text, "The name it is shown by."),
            NAME_KEY,
            SEARCH,
            Column::new("member_count", Int, "How many users are in it."),
            CHANGED_AT,
            POSITION,
        ],
        key: 1,
        indexes: &[&["slug"], &["name_key"], &["position"], &["changed_at"]],
    },
    TableSpec {
        name: "group_members",
        about: "A user in a group.",
        columns: &[
            Column::new("group_id", Uuid, "The group."),
            Column::new("user_id", Uuid, "Who is in it."),
            Column::new("added_at", Int, "Since when."),
            Column::new("added_by_event", Int, "Offset of the event that put him in."),
        ],
        key: 2,
        indexes: &[&["user_id"]],
    },
    TableSpec {
        name: "roles",
        about: "A role.",
        columns: &[
            Column::new("role_id", Uuid, "Its id."),
            Column::new("slug", Text, "The unique name it is looked up by."),
            Column::new("name", Text, "The name it is shown by."),
            NAME_KEY,
            SEARCH,
            Column::new("scope", Text, "Where it may be assigned: `global`, `object` or `both`."),
            Column::maybe("seeded", Text, "Which role of the beginning it is, if any."),
            CHANGED_AT,
            POSITION,
        ],
        key: 1,
        indexes: &[&["slug"], &["name_key"], &["position"], &["changed_at"]],
    },
    TableSpec {
        name: "role_permissions",
        about: "What a role holds: a key, or a wildcard (`*`, `ns.*`, `ns.res.*`).",
        columns: &[
            Column::new("role_id", Uuid, "The role."),
            Column::new("pattern", Text, "The key or wildcard."),
        ],
        key: 2,
        indexes: &[&["pattern"]],
    },
    TableSpec {
        name: "objects",
        about: "An object that grants can be on; a folder is one of type `folder`.",
        columns: &[
            Column::new("object_id", Uuid, "Its id."),
            Column::new("object_type", Text, "Its type."),
            Column::maybe("external_id", Text, "Its id in somebody else's system."),
            Column::new("name", Text, "The name it is shown by."),
            NAME_KEY,
            SEARCH,
            Column::maybe("parent_id", Uuid, "The folder it lies in; empty at the top."),
            Column::maybe("owner_id", Uuid, "The user who owns it."),
            Column::new("inherits", Bool, "Whether what stands above counts for it."),
            Column::new("created_at", Int, "When it was created."),
            CHANGED_AT,
            POSITION,
        ],
        key: 1,
        indexes: &[
            &["object_type", "name_key"],
            &["object_type", "external_id"],
            &["name_key"],
            &["parent_id"],
            &["owner_id"],
            &["position"],
            &["changed_at"],
        ],
    },
];
