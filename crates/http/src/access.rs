//! THE access table: one row for each route and method, with what its gate asks. The router is built from these rows,
//! so that a route without one does not exist; the API document gets its parameters and security from them too.
//!
//! A gate is coarse and fails closed: it asks whether the caller holds the key anywhere at all. It is never the only
//! check: what a use case needs at its scope, it asks itself.

use crate::{
    App,
    edge::gate,
    pages,
    routes::*,
    scim::{discovery as scim_discovery, groups as scim_groups, list as scim_list, users as scim_users},
};
use axum::{Router, http::Method, middleware::from_fn_with_state};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter, UtoipaMethodRouterExt};

/// What a route's gate asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Nothing.
    Public,
    /// That somebody is signed in; the use case says what he sees.
    SelfOnly,
    /// That the caller holds this key somewhere.
    Key(&'static str),
    /// That the caller holds this key of an object type somewhere: of the path's type, else of any.
    TypeKey(TypeKey),
}

/// The keys every object type names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeKey {
    /// To read objects of it.
    Read,
    /// To create one.
    Create,
    /// To rename or delete one.
    Manage,
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The HTTP method.
    pub method: &'static str,
    /// The path, its variable segments in braces.
    pub path: &'static str,
    /// What the gate asks.
    pub gate: Gate,
    /// The query parameters the route takes: any other is refused, or with `*` passed over, where a standard wants it.
    pub query: &'static [&'static str],
    /// Whether the request must name the version it is about, with `If-Match`.
    pub if_match: bool,
    /// Whether it is a change that takes `Idempotency-Key` and `X-Reason`.
    pub writes: bool,
}

use Gate::{Key, Public, SelfOnly};
const READS: Gate = Gate::TypeKey(TypeKey::Read);
const CREATES: Gate = Gate::TypeKey(TypeKey::Create);
const MANAGES: Gate = Gate::TypeKey(TypeKey::Manage);

macro_rules! access_table {
    ($(
        $kind:ident $method:ident $path:literal, $gate:expr, [$($query:literal),*], $area:ident :: $handler:ident;
    )+) => {
        /// The table.
        pub const ACCESS_TABLE: &[Row] = &[$(Row {
            method: stringify!($method),
            path: $path,
            gate: $gate,
            query: &[$($query),*],
            if_match: access_table!(@if_match $kind),
            writes: access_table!(@writes $kind),
        }),+];

        /// Every row's route, behind its gate. Without an app there are no gates: for the document alone.
        fn routed(app: Option<&App>) -> OpenApiRouter<App> {
            let mut router = OpenApiRouter::with_openapi(crate::openapi::head());
            let mut rows = ACCESS_TABLE.iter();
            $(
                if let Some(row) = rows.next() {
                    router = mount(router, app, row, utoipa_axum::routes!($area::$handler));
                }
            )+
            router
        }
    };
    (@if_match change) => { true };
    (@if_match $other:ident) => { false };
    (@writes read) => { false };
    (@writes $other:ident) => { true };
}

/// Adds one route, if it is the one its row says; a mismatch leaves the route out, and the tests find it.
fn mount(
    router: OpenApiRouter<App>,
    app: Option<&App>,
    row: &'static Row,
    route: UtoipaMethodRouter<App>,
) -> OpenApiRouter<App> {
    let declared =
        route.1.paths.iter().all(|(path, item)| path == row.path && crate::openapi::has(item, row.method));
    if !declared || route.1.paths.len() != 1 {
        tracing::error!(method = row.method, path = row.path, "the route is not the one its row names");
        return router;
    }
    match app {
        None => router.routes(route),
        Some(app) => {
            let state = (app.clone(), row);
            router.routes(route.map(|methods| methods.route_layer(from_fn_with_state(state, gate))))
        }
    }
}

/// The table's routes, each behind its gate.
pub(crate) fn routes(app: &App) -> Router<App> {
    routed(Some(app)).into()
}

/// The row of a route and method, if there is one.
pub(crate) fn row_of(method: &Method, path: &str) -> Option<&'static Row> {
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    ACCESS_TABLE.iter().find(|row| row.path == path && row.method == method)
}

/// The document of the table's routes.
pub(crate) fn document() -> OpenApi {
    crate::openapi::finished(routed(None).into_openapi())
}

// kind: `read` changes nothing; `write` is a command; `change` is a command that needs `If-Match`.
access_table! {
    read   GET    "/healthz", Public, [], ops::healthz;
    read   GET    "/readyz", Public, [], ops::readyz;
    read   GET    "/metrics", Key("core.projection.read"), [], ops::metrics;
    read   GET    "/api/openapi.json", Public, [], ops::openapi_json;

    read   GET    "/invitation", Public, [], pages::invitation;
    read   GET    "/reset-password", Public, [], pages::reset_password;
    read   GET    "/assets/links.js", Public, [], pages::script;
    read   GET    "/assets/links.css", Public, [], pages::style;

    read   GET    "/api/v1/setup", Public, [], setup::state;
    write  POST   "/api/v1/setup", Public, [], setup::first_administrator;
    read   GET    "/api/v1/sign-in", Public, [], session::ways;
    read   POST   "/api/v1/session", Public, [], session::sign_in;
    write  DELETE "/api/v1/session", SelfOnly, [], session::sign_out;
    read   GET    "/api/v1/session/oidc", Public, ["return_to"], oidc::begin;
    read   GET    "/api/v1/session/oidc/callback", Public, ["code", "state", "iss", "error", "*"], oidc::callback;
    read   POST   "/api/v1/session/device", Public, [], oidc::begin_device;
    read   POST   "/api/v1/session/device/token", Public, [], oidc::finish_device;
    read   GET    "/api/v1/user/me", SelfOnly, [], me::me;
    write  PUT    "/api/v1/user/me/password", SelfOnly, [], me::change_password;
    read   GET    "/api/v1/user/me/sessions", SelfOnly, [], me::sessions;
    write  DELETE "/api/v1/user/me/sessions", SelfOnly, [], me::end_sessions;
    write  DELETE "/api/v1/user/me/sessions/{id}", SelfOnly, [], me::end_session;
    read   GET    "/api/v1/user/me/tokens", SelfOnly, [], tokens::own;
    write  POST   "/api/v1/user/me/tokens", SelfOnly, [], tokens::issue_own;
    write  DELETE "/api/v1/user/me/tokens/{id}", SelfOnly, [], tokens::revoke_own;

    read   GET    "/api/v1/users", Key("core.user.read"),
           ["limit", "cursor", "q", "sort", "kind", "status"], users::list;
    write  POST   "/api/v1/users", Key("core.user.create"), [], users::create;
    read   GET    "/api/v1/users/{id}", Key("core.user.read"), ["as_of"], users::get;
    write  PATCH  "/api/v1/users/{id}", Key("core.user.edit"), [], users::patch;
    write  POST   "/api/v1/users/{id}/suspend", Key("core.user.suspend"), [], users::suspend;
    write  POST   "/api/v1/users/{id}/reactivate", Key("core.user.suspend"), [], users::reactivate;
    write  POST   "/api/v1/users/{id}/schedule-deletion", Key("core.user.delete"), [], users::schedule_deletion;
    write  POST   "/api/v1/users/{id}/restore", Key("core.user.delete"), [], users::restore;
    write  POST   "/api/v1/users/{id}/credential-reset", Key("core.user.edit"), [], users::credential_reset;
    write  PUT    "/api/v1/users/{id}/identity", Key("core.user.edit"), [], users::link;
    write  DELETE "/api/v1/users/{id}/identity", Key("core.user.edit"), [], users::unlink;
    write  POST   "/api/v1/users/{id}/reset-link", Key("core.user.edit"), [], users::reset_link;
    read   GET    "/api/v1/users/{id}/tokens", Key("core.user.edit"), [], tokens::of_user;
    write  POST   "/api/v1/users/{id}/tokens", Key("core.user.edit"), [], tokens::issue_for;
    write  DELETE "/api/v1/users/{id}/tokens/{token}", Key("core.user.edit"), [], tokens::revoke_of;

    read   GET    "/api/v1/invitations", Key("core.user.read"), ["limit", "cursor"], invitations::list;
    write  POST   "/api/v1/invitations", Key("core.user.create"), [], invitations::invite;
    read   POST   "/api/v1/invitations/accept", Public, [], invitations::accept;
    read   POST   "/api/v1/invitations/oidc", Public, [], oidc::begin_invitation;
    write  POST   "/api/v1/invitations/{id}/resend", Key("core.user.create"), [], invitations::resend;
    write  DELETE "/api/v1/invitations/{id}", Key("core.user.delete"), [], invitations::withdraw;
    read   POST   "/api/v1/password/forgotten", Public, [], invitations::forgotten;
    read   POST   "/api/v1/password/reset", Public, [], invitations::reset;

    read   GET    "/api/v1/permissions", Key("core.permission.read"),
           ["limit", "cursor", "shape", "namespace", "object_type", "scope"], permissions::list;
    write  PUT    "/api/v1/catalog/{namespace}", Key("core.module.install"), [], permissions::apply;

    read   GET    "/api/v1/roles", Key("core.role.read"),
           ["limit", "cursor", "q", "sort", "scope", "as_of"], roles::list;
    write  POST   "/api/v1/roles", Key("core.role.create"), [], roles::create;
    read   GET    "/api/v1/roles/{id}", Key("core.role.read"), ["as_of"], roles::get;
    change PATCH  "/api/v1/roles/{id}", Key("core.role.edit"), [], roles::patch;
    change DELETE "/api/v1/roles/{id}", Key("core.role.delete"), [], roles::delete;

    read   GET    "/api/v1/groups", Key("core.group.read"), ["limit", "cursor", "q", "sort"], groups::list;
    write  POST   "/api/v1/groups", Key("core.group.create"), [], groups::create;
    read   GET    "/api/v1/groups/{id}", Key("core.group.read"), ["as_of"], groups::get;
    change PATCH  "/api/v1/groups/{id}", Key("core.group.edit"), [], groups::patch;
    change DELETE "/api/v1/groups/{id}", Key("core.group.delete"), [], groups::delete;
    read   GET    "/api/v1/groups/{id}/members", Key("core.group.read"),
           ["limit", "cursor", "as_of"], groups::members;
    write  PUT    "/api/v1/groups/{id}/members/{user}", Key("core.group.manage"), [], groups::add_member;
    write  DELETE "/api/v1/groups/{id}/members/{user}", SelfOnly, [], groups::remove_member;

    read   GET    "/api/v1/objects", READS,
           ["limit", "cursor", "q", "sort", "type", "parent", "owner"], objects::list;
    write  POST   "/api/v1/objects", CREATES, [], objects::create;
    read   GET    "/api/v1/objects/{type}/{id}", READS, ["as_of"], objects::get;
    change PATCH  "/api/v1/objects/{type}/{id}", MANAGES, [], objects::patch;
    change DELETE "/api/v1/objects/{type}/{id}", MANAGES, [], objects::delete;
    write  POST   "/api/v1/objects/{type}/{id}/transfer", Key("core.object.transfer"), [], objects::transfer;
    write  POST   "/api/v1/objects/{type}/{id}/move", Key("core.object.move"), [], objects::relocate;
    write  POST   "/api/v1/objects/{type}/{id}/inheritance", Key("core.grant.manage"), [], objects::set_inheritance;
    read   GET    "/api/v1/objects/{type}/{id}/access", Key("core.grant.read"),
           ["limit", "cursor", "as_of"], sharing::access;

    read   GET    "/api/v1/grants", Key("core.grant.read"),
           ["limit", "cursor", "subject", "scope", "role", "as_of"], grants::list;
    write  POST   "/api/v1/grants", Key("core.grant.manage"), [], grants::issue;
    read   GET    "/api/v1/grants/{id}", Key("core.grant.read"), ["as_of"], grants::get;
    write  DELETE "/api/v1/grants/{id}", SelfOnly, [], grants::revoke;

    read   POST   "/api/v1/check", SelfOnly, ["as_of"], questions::check;
    read   POST   "/api/v1/check/batch", SelfOnly, ["as_of"], questions::check_batch;
    read   POST   "/api/v1/explain", SelfOnly, ["as_of"], questions::explain;
    read   POST   "/api/v1/effective", SelfOnly, ["as_of"], questions::effective;
    read   POST   "/api/v1/allowed-objects", SelfOnly, ["as_of"], questions::allowed_objects;
    read   POST   "/api/v1/who-can", Key("core.decision.read"), ["as_of"], questions::who_can;

    read   GET    "/.well-known/authzen-configuration", Public, [], authzen::configuration;
    read   POST   "/access/v1/evaluation", Key("core.decision.read"), [], authzen::evaluation;
    read   POST   "/access/v1/evaluations", Key("core.decision.read"), [], authzen::evaluations;
    read   POST   "/access/v1/search/subject", Key("core.decision.read"), [], authzen::search_subject;
    read   POST   "/access/v1/search/resource", Key("core.decision.read"), [], authzen::search_resource;
    read   POST   "/access/v1/search/action", Key("core.decision.read"), [], authzen::search_action;

    read   POST   "/api/v1/commands/preview", SelfOnly, [], changes::preview;
    read   GET    "/api/v1/history/diff", Key("core.audit.read"),
           ["from", "to", "user", "object", "permission", "every_place", "rows"], changes::diff;

    read   GET    "/api/v1/audit", Key("core.audit.read"),
           ["limit", "cursor", "actor", "subject", "object", "type", "from", "to", "q"], audit::list;
    read   GET    "/api/v1/events", Key("core.audit.read"), ["after", "limit"], history::events;
    write  POST   "/api/v1/history/undo", Key("core.audit.read"), [], undo::undo;
    read   GET    "/api/v1/log", Key("core.audit.read"), ["digest"], history::log;
    read   GET    "/api/v1/log/checkpoint", Key("core.audit.read"), [], tree::checkpoint;
    read   GET    "/api/v1/log/proof", Key("core.audit.read"), ["offset"], tree::proof;
    read   GET    "/api/v1/log/tile/{*tile}", Key("core.audit.read"), [], tree::tile;
    read   GET    "/api/v1/servers", Key("core.projection.read"), [], ops::servers;

    read   GET    "/api/v1/projections", Key("core.projection.read"), [], projections::list;
    read   POST   "/api/v1/projections/{name}/rebuild", Key("core.projection.rebuild"), [], projections::rebuild;
    read   POST   "/api/v1/projections/{name}/switch", Key("core.projection.rebuild"), [], projections::switch;
    read   POST   "/api/v1/projections/{name}/rollback", Key("core.projection.rebuild"), [], projections::rollback;
    write  POST   "/api/v1/projections/{name}/skip", Key("core.projection.rebuild"), [], projections::skip;
    read   POST   "/api/v1/backups", Key("core.backup.create"), [], backups::create;
    read   GET    "/api/v1/operations", SelfOnly, [], operations::list;
    read   GET    "/api/v1/operations/{id}", SelfOnly, [], operations::get;
    read   POST   "/api/v1/operations/{id}/cancel", SelfOnly, [], operations::cancel;
    read   POST   "/api/v1/operations/{id}/resume", SelfOnly, [], operations::resume;

    read   GET    "/scim/v2/ServiceProviderConfig", SelfOnly, [], scim_discovery::config;
    read   GET    "/scim/v2/ResourceTypes", SelfOnly, ["filter"], scim_discovery::resource_types;
    read   GET    "/scim/v2/ResourceTypes/{id}", SelfOnly, [], scim_discovery::resource_type;
    read   GET    "/scim/v2/Schemas", SelfOnly, ["filter"], scim_discovery::schemas;
    read   GET    "/scim/v2/Schemas/{id}", SelfOnly, [], scim_discovery::schema;
    read   POST   "/scim/v2/.search", SelfOnly, [], scim_list::search;
    read   GET    "/scim/v2/Users", Key("core.user.read"),
           ["filter", "sortBy", "sortOrder", "startIndex", "count", "attributes", "excludedAttributes"],
           scim_users::list;
    read   POST   "/scim/v2/Users/.search", Key("core.user.read"), [], scim_users::search;
    write  POST   "/scim/v2/Users", Key("core.user.create"), ["attributes", "excludedAttributes"],
           scim_users::create;
    read   GET    "/scim/v2/Users/{id}", Key("core.user.read"), ["attributes", "excludedAttributes"],
           scim_users::get;
    write  PUT    "/scim/v2/Users/{id}", Key("core.user.edit"), ["attributes", "excludedAttributes"],
           scim_users::replace;
    write  PATCH  "/scim/v2/Users/{id}", Key("core.user.edit"), ["attributes", "excludedAttributes"],
           scim_users::patch;
    write  DELETE "/scim/v2/Users/{id}", Key("core.user.delete"), [], scim_users::delete;
    read   GET    "/scim/v2/Groups", Key("core.group.read"),
           ["filter", "sortBy", "sortOrder", "startIndex", "count", "attributes", "excludedAttributes"],
           scim_groups::list;
    read   POST   "/scim/v2/Groups/.search", Key("core.group.read"), [], scim_groups::search;
    write  POST   "/scim/v2/Groups", Key("core.group.create"), ["attributes", "excludedAttributes"],
           scim_groups::create;
    read   GET    "/scim/v2/Groups/{id}", Key("core.group.read"), ["attributes", "excludedAttributes"],
           scim_groups::get;
    write  PUT    "/scim/v2/Groups/{id}", Key("core.group.manage"), ["attributes", "excludedAttributes"],
           scim_groups::replace;
    write  PATCH  "/scim/v2/Groups/{id}", Key("core.group.manage"), ["attributes", "excludedAttributes"],
           scim_groups::patch;
    write  DELETE "/scim/v2/Groups/{id}", Key("core.group.delete"), [], scim_groups::delete;
}
