//! What a provider is told about these routes (RFC 7644, 4): what they can do, which resources there are, and which
//! attributes are kept of them. It says no more than is so.

use super::{
    ROOT,
    answer::{Answer, Answered},
    group, user,
};
use crate::{
    ask::{Ask, PAGE_ROWS_MAX},
    dto,
    problem::Problem,
};
use axum::http::StatusCode;
use serde_json::{Value, json};

const LIST: &str = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const RESOURCE_TYPE: &str = "urn:ietf:params:scim:schemas:core:2.0:ResourceType";
const SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:Schema";
const CONFIG: &str = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig";

/// What these routes can do.
#[utoipa::path(get, path = "/scim/v2/ServiceProviderConfig", operation_id = "scim_config", tag = "scim",
    responses((status = 200, description = "What is supported", body = dto::ScimResource,
        content_type = "application/scim+json")))]
pub(crate) async fn config(ask: Ask) -> Answered {
    let supported = |supported: bool| json!({"supported": supported});
    let config = json!({
        "schemas": [CONFIG],
        "patch": supported(true),
        "bulk": {"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": true, "maxResults": PAGE_ROWS_MAX},
        "changePassword": supported(false),
        "sort": supported(true),
        "etag": supported(true),
        "authenticationSchemes": [{
            "type": "oauthbearertoken",
            "name": "API token",
            "description": "An API token of a user, sent as `Authorization: Bearer <token>`.",
            "primary": true,
        }],
        "meta": {"resourceType": "ServiceProviderConfig", "location": format!("{ROOT}/ServiceProviderConfig")},
    });
    Ok(Answer::ok(ask.policy.version(), config))
}

/// Which resources there are.
#[utoipa::path(get, path = "/scim/v2/ResourceTypes", operation_id = "scim_resource_types", tag = "scim",
    responses((status = 200, description = "All of them", body = dto::ScimList,
        content_type = "application/scim+json")))]
pub(crate) async fn resource_types(ask: Ask) -> Answered {
    all(&ask, all_types())
}

/// One of them.
#[utoipa::path(get, path = "/scim/v2/ResourceTypes/{id}", operation_id = "scim_resource_type", tag = "scim",
    params(("id" = String, Path, description = "Its name")),
    responses((status = 200, description = "It", body = dto::ScimResource,
        content_type = "application/scim+json")))]
pub(crate) async fn resource_type(ask: Ask) -> Answered {
    one(&ask, all_types())
}

/// Which attributes are kept.
#[utoipa::path(get, path = "/scim/v2/Schemas", operation_id = "scim_schemas", tag = "scim",
    responses((status = 200, description = "All of them", body = dto::ScimList,
        content_type = "application/scim+json")))]
pub(crate) async fn schemas(ask: Ask) -> Answered {
    all(&ask, all_schemas())
}

/// One of them.
#[utoipa::path(get, path = "/scim/v2/Schemas/{id}", operation_id = "scim_schema", tag = "scim",
    params(("id" = String, Path, description = "Its URN")),
    responses((status = 200, description = "It", body = dto::ScimResource,
        content_type = "application/scim+json")))]
pub(crate) async fn schema(ask: Ask) -> Answered {
    one(&ask, all_schemas())
}

fn all(ask: &Ask, of: Vec<Value>) -> Answered {
    if ask.params.text("filter").is_some() {
        // RFC 7644, 4: a filter would be ignored here, and is refused instead.
        let detail = "what there is to discover is not filtered";
        return Err(Problem::new(StatusCode::FORBIDDEN, "not_filtered", detail));
    }
    let list = json!({
        "schemas": [LIST],
        "totalResults": of.len(),
        "startIndex": 1,
        "itemsPerPage": of.len(),
        "Resources": of,
    });
    Ok(Answer::ok(ask.policy.version(), list))
}

fn one(ask: &Ask, of: Vec<Value>) -> Answered {
    let wanted = ask.named("id");
    let found = of.into_iter().find(|one| one["id"].as_str() == Some(wanted));
    found.map(|found| Answer::ok(ask.policy.version(), found)).ok_or_else(Problem::not_found)
}

fn all_types() -> Vec<Value> {
    let resource_type = |name: &str, endpoint: &str, schema: &str, about: &str| {
        json!({
            "schemas": [RESOURCE_TYPE],
            "id": name,
            "name": name,
            "endpoint": endpoint,
            "description": about,
            "schema": schema,
            "meta": {"resourceType": "ResourceType", "location": format!("{ROOT}/ResourceTypes/{name}")},
        })
    };
    vec![
        resource_type("User", "/Users", user::SCHEMA, "A person's account"),
        resource_type("Group", "/Groups", group::SCHEMA, "A group of users"),
    ]
}

/// One attribute of a schema.
struct Attribute {
    name: &'static str,
    about: &'static str,
    kind: &'static str,
    required: bool,
    exact: bool,
    mutability: &'static str,
    unique: bool,
    multi: bool,
    values: &'static [&'static str],
    references: &'static [&'static str],
    parts: Vec<Value>,
}

impl Attribute {
    const fn text(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            kind: "string",
            required: false,
            exact: false,
            mutability: "readWrite",
            unique: false,
            multi: false,
            values: &[],
            references: &[],
            parts: Vec::new(),
        }
    }

    fn list(name: &'static str, about: &'static str, parts: Vec<Self>) -> Self {
        let parts = parts.into_iter().map(Self::shown).collect();
        Self { kind: "complex", multi: true, parts, ..Self::text(name, about) }
    }

    fn reference(about: &'static str, to: &'static [&'static str]) -> Self {
        Self { kind: "reference", exact: true, references: to, ..Self::text("$ref", about) }
    }

    fn read_only(self) -> Self {
        Self { mutability: "readOnly", ..self }
    }

    fn immutable(self) -> Self {
        Self { mutability: "immutable", ..self }
    }

    fn shown(self) -> Value {
        let mut shown = json!({
            "name": self.name,
            "type": self.kind,
            "multiValued": self.multi,
            "description": self.about,
            "required": self.required,
            "caseExact": self.exact,
            "mutability": self.mutability,
            "returned": "default",
            "uniqueness": if self.unique { "server" } else { "none" },
        });
        if let Some(members) = shown.as_object_mut() {
            if !self.values.is_empty() {
                members.insert("canonicalValues".to_owned(), json!(self.values));
            }
            if !self.references.is_empty() {
                members.insert("referenceTypes".to_owned(), json!(self.references));
            }
            if !self.parts.is_empty() {
                members.insert("subAttributes".to_owned(), json!(self.parts));
            }
        }
        shown
    }
}

fn all_schemas() -> Vec<Value> {
    let schema = |id: &str, name: &str, about: &str, attributes: Vec<Attribute>| {
        let attributes: Vec<Value> = attributes.into_iter().map(Attribute::shown).collect();
        json!({
            "schemas": [SCHEMA],
            "id": id,
            "name": name,
            "description": about,
            "attributes": attributes,
            "meta": {"resourceType": "Schema", "location": format!("{ROOT}/Schemas/{id}")},
        })
    };
    vec![
        schema(user::SCHEMA, "User", "A person's account", user_attributes()),
        schema(group::SCHEMA, "Group", "A group of users", group_attributes()),
    ]
}

fn user_attributes() -> Vec<Attribute> {
    let address = vec![
        Attribute::text("value", "The address"),
        Attribute { values: &["work"], ..Attribute::text("type", "Always `work`") },
    ];
    let groups = vec![
        Attribute { exact: true, ..Attribute::text("value", "The group's id") }.read_only(),
        Attribute::reference("Where the group is", &["Group"]).read_only(),
        Attribute::text("display", "How the group is shown").read_only(),
        Attribute { values: &["direct"], ..Attribute::text("type", "Always `direct`: groups do not nest") }
            .read_only(),
    ];
    vec![
        Attribute {
            required: true,
            unique: true,
            ..Attribute::text("userName", "By which the person signs in; no form of an id")
        },
        Attribute::text("displayName", "How the person is shown; at most 128 characters"),
        Attribute {
            kind: "boolean",
            required: true,
            ..Attribute::text("active", "Whether the account works; suspended when not")
        },
        Attribute::list("emails", "Where mail reaches the person: one address", address),
        Attribute::list("groups", "The groups the person is in", groups).read_only(),
    ]
}

fn group_attributes() -> Vec<Attribute> {
    let members = vec![
        Attribute { exact: true, ..Attribute::text("value", "The user's id") }.immutable(),
        Attribute::reference("Where the user is", &["User"]).immutable(),
        Attribute { values: &["User"], ..Attribute::text("type", "Always `User`: groups do not nest") }
            .immutable(),
    ];
    vec![
        Attribute {
            required: true,
            ..Attribute::text("displayName", "How the group is shown; at most 128 characters")
        },
        Attribute::list("members", "Who is in it", members),
    ]
}
