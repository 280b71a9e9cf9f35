//! The permission catalog.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, PageAsk},
    body::Body,
    dto,
    problem::Problem,
    read,
};
use charter_commands::ApplyCatalog;
use charter_events::{
    AliasDefinition, DisplayName, Namespace, ObjectType, ObjectTypeDefinition, PermissionDefinition, Scope,
};
use charter_policy::PermissionView;

/// The catalog: flat, or as a tree; all of it, of one namespace, what fits an object type or a scope.
#[utoipa::path(get, path = "/api/v1/permissions", operation_id = "list_permissions", tag = "catalog",
    responses((status = 200, description = "One page, or the tree", body = dto::Permissions)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::Permissions> {
    ask.require("core.permission.read", Scope::Global)?;
    let shape = ask.params.word("shape", &["flat", "tree"])?;
    let page = ask.page()?;
    let found = matching(&ask)?;
    let mut shown =
        dto::Permissions { items: None, next: None, tree: None, object_types: object_types(&ask) };
    if shape == Some("tree") {
        shown.tree = Some(tree(&found));
    } else {
        let (items, next) = flat(&found, &page);
        (shown.items, shown.next) = (Some(items), next);
    }
    Ok(Answer::ok(ask.policy.version(), shown))
}

/// Registers a namespace's keys, object types and aliases as a whole. What is missing becomes deprecated; the same
/// document again changes nothing.
#[utoipa::path(put, path = "/api/v1/catalog/{namespace}", operation_id = "apply_catalog", tag = "catalog",
    params(("namespace" = String, Path, description = "The namespace")),
    request_body = dto::CatalogDocument,
    responses((status = 200, description = "It holds", body = dto::CatalogApplied)))]
pub(crate) async fn apply(ask: Ask, body: Body<dto::CatalogDocument>) -> Answered<dto::CatalogApplied> {
    let namespace = named(&ask)?;
    let Body { value: document, hash } = body;
    if document.namespace.as_ref().is_some_and(|said| *said != namespace) {
        let detail = "the document is of another namespace than the path";
        return Err(Problem::invalid_member("outside_namespace", "namespace", detail));
    }
    let permissions = document.permissions.into_iter().map(permission).collect::<Result<_, _>>()?;
    let object_types = document.object_types.into_iter().map(object_type).collect();
    let command = ApplyCatalog { namespace: namespace.clone(), permissions, object_types };
    let receipt = ask.submit(command, hash).await?;
    let applied = dto::CatalogApplied { namespace, policy_version: receipt.last };
    Ok(Answer::ok(receipt.last, applied))
}

fn named(ask: &Ask) -> Result<Namespace, Problem> {
    let text = ask.named("namespace");
    text.parse().map_err(|error: charter_events::InvalidName| {
        Problem::invalid_member("invalid_value", "namespace", error.to_string())
    })
}

fn permission(new: dto::CatalogPermission) -> Result<PermissionDefinition, Problem> {
    let shown = || new.key.as_str().chars().take(128).collect::<String>().parse::<DisplayName>();
    let description = match new.description {
        Some(description) => description,
        None => shown().map_err(|_| Problem::internal())?,
    };
    Ok(PermissionDefinition { key: new.key, description, object_types: new.object_types })
}

fn object_type(new: dto::CatalogObjectType) -> ObjectTypeDefinition {
    let aliases = new.aliases.into_iter().map(|(alias, key)| AliasDefinition { alias, key }).collect();
    ObjectTypeDefinition { name: new.name, read: new.read, create: new.create, manage: new.manage, aliases }
}

fn matching(ask: &Ask) -> Result<Vec<PermissionView<'_>>, Problem> {
    let namespace = ask.params.get::<Namespace>("namespace")?;
    let of_type = ask.params.get::<ObjectType>("object_type")?;
    let on_objects = ask.params.word("scope", &["global", "object"])? == Some("object");
    let matches = |view: &PermissionView<'_>| {
        namespace.as_ref().is_none_or(|ns| view.key.is_in(ns))
            && of_type.as_ref().is_none_or(|of| read::applies(view, of))
            && (!on_objects || !view.object_types.is_empty())
    };
    Ok(ask.policy.permissions().filter(matches).collect())
}

fn flat(found: &[PermissionView<'_>], page: &PageAsk) -> (Vec<dto::Permission>, Option<String>) {
    let begin = found.partition_point(|view| view.key.as_str() <= page.begin.key.as_str());
    let rest = found.get(begin..).unwrap_or_default();
    let rows = rest.get(..page.limit).unwrap_or(rest);
    let next = rows.last().filter(|_| rest.len() > rows.len()).map(|last| page.next_key(last.key.as_str()));
    (rows.iter().map(read::permission).collect(), next)
}

fn tree(found: &[PermissionView<'_>]) -> Vec<dto::NamespaceNode> {
    found
        .chunk_by(|a, b| a.key.namespace() == b.key.namespace())
        .map(|keys| dto::NamespaceNode {
            namespace: keys.first().map(|view| view.key.namespace().to_owned()).unwrap_or_default(),
            resources: keys.chunk_by(|a, b| a.key.resource() == b.key.resource()).map(resource).collect(),
        })
        .collect()
}

fn resource(keys: &[PermissionView<'_>]) -> dto::ResourceNode {
    dto::ResourceNode {
        resource: keys.first().map(|view| view.key.resource().to_owned()).unwrap_or_default(),
        permissions: keys.iter().map(read::permission).collect(),
    }
}

fn object_types(ask: &Ask) -> Vec<dto::ObjectTypeInfo> {
    ask.policy
        .object_types()
        .map(|view| dto::ObjectTypeInfo {
            name: view.definition.name.clone(),
            namespace: view.namespace.clone(),
            read: view.definition.read.clone(),
            create: view.definition.create.clone(),
            manage: view.definition.manage.clone(),
            aliases: view.definition.aliases.iter().map(|a| (a.alias.to_string(), a.key.clone())).collect(),
        })
        .collect()
}
