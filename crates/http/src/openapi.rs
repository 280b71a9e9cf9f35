//! The OpenAPI 3.1 document. Bodies and answers come from the handlers; query parameters, headers, security and
//! problems from the access table, so that neither can say something else than the server does.

use crate::{
    access::{ACCESS_TABLE, Gate, Row, TypeKey},
    ask::IDEMPOTENCY_KEY_BYTES_MAX,
    dto::{EventReason, ProblemBody, ScimError},
    edge::{OTHERS, PROBES},
    scim,
};
use charter_events::envelope::REASON_BYTES_MAX;
use std::collections::BTreeSet;
use utoipa::{
    OpenApi, PartialSchema, ToSchema,
    openapi::{
        ComponentsBuilder, ContentBuilder, Info, License, OpenApi as Document, OpenApiBuilder, Ref, RefOr,
        Required, Response, ResponseBuilder,
        header::{Header, HeaderBuilder},
        path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
        schema::{ObjectBuilder, Schema, SchemaType, Type},
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
        tag::Tag,
    },
};

const SCHEME: &str = "bearer";
const COOKIE: &str = "cookie";
const PROBLEM: &str = "Problem";
const SCIM_ERROR: &str = "ScimError";
/// What `If-Match` takes.
const ETAG: &str = r#"^(\*|"[0-9]+")$"#;

#[derive(OpenApi)]
#[openapi()]
struct Nothing;

/// What the document begins with, before any route.
pub(crate) fn head() -> Document {
    let mut info = Info::new("Charter", env!("CARGO_PKG_VERSION"));
    info.description = Some(ABOUT.to_owned());
    let mut license = License::new("Apache-2.0");
    license.identifier = Some("Apache-2.0".to_owned());
    info.license = Some(license);
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("The secret of a session (`chs_…`) or of an API token (`cht_…`)."))
        .build();
    let about = "A browser's session, from a page of this installation alone; whatever changes something comes with the \
                 header `X-Charter-Request`. Without TLS the cookie is called `charter`.";
    let cookie = ApiKey::Cookie(ApiKeyValue::with_description("__Host-charter", about));
    let mut problem = ResponseBuilder::new()
        .description("Why the request was not answered")
        .content(
            "application/problem+json",
            ContentBuilder::new().schema(Some(Ref::from_schema_name("ProblemBody"))).build(),
        )
        .build();
    let mut scim_error = ResponseBuilder::new()
        .description("Why the request was not answered")
        .content(
            "application/scim+json",
            ContentBuilder::new().schema(Some(Ref::from_schema_name("ScimError"))).build(),
        )
        .build();
    for answer in [&mut problem, &mut scim_error] {
        refer(answer, &[VERSION, STALE, LEVEL, LEVEL_OF, WAIT]);
    }
    let mut components = ComponentsBuilder::new()
        .security_scheme(SCHEME, SecurityScheme::Http(bearer))
        .security_scheme(COOKIE, SecurityScheme::ApiKey(cookie))
        .schema(ProblemBody::name(), ProblemBody::schema())
        .schema(EventReason::name(), EventReason::schema())
        .response(PROBLEM, problem)
        .schema(ScimError::name(), ScimError::schema())
        .response(SCIM_ERROR, scim_error)
        .build();
    components.headers.extend(common_headers().map(|(name, header)| (name.to_owned(), header.into())));
    OpenApiBuilder::from(Nothing::openapi()).info(info).components(Some(components)).build()
}

const ABOUT: &str = "A permission control plane: every change is an event, every answer is folded from the events, \
and every answer can explain itself. Errors are RFC 9457 problems with a stable `code`. Every answer names its policy \
version; a request may ask for at least one with `Policy-Version-Min`. A server that can't reach its store goes on \
answering for a while and says so with `Policy-Stale`; after that it answers 503 `unavailable`.";

/// The document with everything the access table knows.
pub(crate) fn finished(mut document: Document) -> Document {
    let mut tags = BTreeSet::new();
    for row in ACCESS_TABLE {
        if let Some(operation) =
            document.paths.paths.get_mut(row.path).and_then(|item| operation(item, row.method))
        {
            complete(operation, row);
            tags.extend(operation.tags.iter().flatten().cloned());
        }
    }
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths = paths.into_iter().map(|(path, item)| (templated(&path), item)).collect();
    document.tags = Some(tags.into_iter().map(Tag::new).collect());
    document
}

/// A path as OpenAPI writes it, which has no sign for a variable that holds slashes.
fn templated(path: &str) -> String {
    path.replace("{*", "{")
}

fn complete(operation: &mut Operation, row: &Row) {
    let parameters = operation.parameters.get_or_insert_default();
    parameters.extend(row.query.iter().filter(|name| **name != OTHERS).map(|name| query(name)));
    let about = "Answer at this policy version or a later one; 503 `version_not_reached` after a wait";
    // Waiting is for those who are signed in.
    if row.gate != Gate::Public {
        parameters.push(header("Policy-Version-Min", about, number(0, None), false));
    }
    if row.if_match {
        let one_of_ours =
            ObjectBuilder::new().schema_type(SchemaType::Type(Type::String)).pattern(Some(ETAG));
        parameters.push(header("If-Match", "The `ETag` last seen, or `*`", one_of_ours.build().into(), true));
    }
    if row.writes {
        let about = "Why, recorded with the change; at most 1024 bytes, not `undoes <offset>`";
        parameters.push(header("X-Reason", about, text_within(REASON_BYTES_MAX), false));
        if row.method == "POST" {
            let about = "The same key and request again gives the first answer; kept at least 24 hours";
            let key = text_within(IDEMPOTENCY_KEY_BYTES_MAX);
            parameters.push(header("Idempotency-Key", about, key, false));
        }
    }
    let (security, needs) = match row.gate {
        Gate::Public => (vec![SecurityRequirement::default()], "Public.".to_owned()),
        Gate::SelfOnly => (bearer(), "Needs: to be signed in.".to_owned()),
        Gate::Key(key) => (bearer(), format!("Needs: `{key}`.")),
        Gate::TypeKey(TypeKey::Read) => (bearer(), "Needs: the type's read key.".to_owned()),
        Gate::TypeKey(TypeKey::Create) => (bearer(), "Needs: the type's create key.".to_owned()),
        Gate::TypeKey(TypeKey::Manage) => (bearer(), "Needs: the type's manage key.".to_owned()),
    };
    operation.security = Some(security);
    let told = operation.description.take().filter(|text| !text.is_empty());
    operation.description = Some(told.map_or(needs.clone(), |text| format!("{text}\n\n{needs}")));
    for answer in operation.responses.responses.values_mut() {
        if let RefOr::T(answer) = answer {
            refer(answer, &[VERSION, STALE]);
            // How it is doing a server tells however often it is asked.
            if !PROBES.contains(&row.path) {
                refer(answer, &[LEVEL, LEVEL_OF]);
            }
            if row.query.contains(&"as_of") {
                dated(answer);
            }
        }
    }
    let form = if scim::is_path(row.path) { SCIM_ERROR } else { PROBLEM };
    let problem = RefOr::Ref(Ref::new(format!("#/components/responses/{form}")));
    operation.responses.responses.insert("default".to_owned(), problem);
}

/// The headers any answer may have, told once: how each is called, what it says, and its form.
fn common_headers() -> [(&'static str, Header); 5] {
    let header = |about: &str, schema: Schema| {
        HeaderBuilder::new().description(Some(about)).schema(Some(schema)).build()
    };
    let level = "What is left in each bucket that the request was counted in: `\"<name>\";r=<requests>`; absent where \
                 nothing is counted";
    let policy = "Those buckets: `\"<name>\";q=<requests it holds>;w=<seconds until it is full again>`";
    [
        (VERSION, header("The policy version the answer was made at", number(0, None))),
        (
            STALE,
            header(
                "For how many seconds the server has not reached its store; absent when it has",
                integer(),
            ),
        ),
        (LEVEL, header(level, text())),
        (LEVEL_OF, header(policy, text())),
        (WAIT, header("After how many seconds to ask again: of 429, and of most 503", number(1, None))),
    ]
}

const VERSION: &str = "Policy-Version";
const STALE: &str = "Policy-Stale";
const LEVEL: &str = "RateLimit";
const LEVEL_OF: &str = "RateLimit-Policy";
const WAIT: &str = "Retry-After";

/// Names headers of an answer that are told once.
fn refer(answer: &mut Response, names: &[&str]) {
    for name in names {
        let there = Ref::new(format!("#/components/headers/{name}"));
        answer.headers.insert((*name).to_owned(), RefOr::Ref(there));
    }
}

/// What an answer about the past says of it.
fn dated(answer: &mut Response) {
    for (name, about) in [
        ("As-Of-Time", "Of an answer about the past: the moment it was judged at"),
        ("As-Of-Hash", "Of an answer about the past: the hash of the last event of its version"),
    ] {
        let header = HeaderBuilder::new().description(Some(about)).schema(Some(text())).build();
        answer.headers.insert(name.to_owned(), header.into());
    }
}

fn bearer() -> Vec<SecurityRequirement> {
    [SCHEME, COOKIE].map(|scheme| SecurityRequirement::new(scheme, Vec::<String>::new())).into()
}

fn header(name: &str, about: &str, schema: Schema, required: bool) -> RefOr<Parameter> {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(if required { Required::True } else { Required::False })
        .description(Some(about))
        .schema(Some(schema))
        .build()
        .into()
}

fn text() -> Schema {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::String)).build().into()
}

/// A text that is not empty; its bound is told in characters, of which none is shorter than a byte.
fn text_within(bytes_max: usize) -> Schema {
    let text = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String));
    text.min_length(Some(1)).max_length(Some(bytes_max)).build().into()
}

fn words(words: &[&str]) -> Schema {
    let text = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String));
    text.enum_values(Some(words.iter().map(|word| (*word).to_owned()))).build().into()
}

fn number(least: i64, most: Option<i64>) -> Schema {
    let number = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer)).minimum(Some(least));
    number.maximum(most).build().into()
}

fn integer() -> Schema {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer)).build().into()
}

fn query(name: &str) -> RefOr<Parameter> {
    let (about, schema) = match name {
        "limit" => ("At most so many rows; 100 when absent", number(1, Some(500))),
        "cursor" => ("From the page before", text()),
        "offset" => ("The offset of an event", number(1, None)),
        "after" => ("Events after this offset; from the first when absent", number(0, None)),
        "shape" => ("Flat (the default), or a tree", words(&["flat", "tree"])),
        "namespace" => ("Of this namespace", text()),
        "object_type" => ("What can be granted on objects of this type", text()),
        "type" => ("Of this type", text()),
        "actor" => ("Done by this user, by `module:<name>`, or by `system`", text()),
        "parent" => {
            ("What lies directly in this folder, `folder:<id or external id>`, or at the top: `none`", text())
        }
        "subject" => ("Of `user:<id, username or external id>` or `group:<id or slug>`", text()),
        "role" => ("Of this role: id or slug", text()),
        "q" => ("What has this text in it, in any case", text()),
        "sort" => ("By this; `-` before it: the largest first. See the route", text()),
        "kind" => ("Of this kind", words(&["person", "service"])),
        "status" => {
            ("Of this status", words(&["active", "invited", "suspended", "awaiting_deletion", "erased"]))
        }
        "owner" => ("What this user owns: id, username or external id", text()),
        "as_of" => {
            ("As it was at this offset or RFC 3339 time; needs `core.audit.read`, and nothing else", text())
        }
        "from" => ("From this offset or RFC 3339 time", text()),
        "to" => ("To this offset or RFC 3339 time; now when absent", text()),
        "user" => ("Of this user: id, username or external id", text()),
        "object" => ("On this object, `<type>:<id or external id>`; `global`: platform-wide", text()),
        "permission" => ("Of this permission", text()),
        "rows" => (
            "The most rows of an answer that is always whole, 1,000 when absent; what has more is refused",
            number(1, Some(10_000)),
        ),
        "every_place" => {
            ("Whether an administrator's changes are told place by place", words(&["true", "false"]))
        }
        "filter" => ("What they must be: see RFC 7644, 3.4.2.2", text()),
        "sortBy" => ("By this attribute; in the order they came when absent", text()),
        "sortOrder" => ("Which way", words(&["ascending", "descending"])),
        "startIndex" => ("The place of the first one, from 1 on", integer()),
        "count" => ("At most so many; 100 when absent, and never more than 500", integer()),
        "attributes" => ("Only these attributes are shown, separated by commas", text()),
        "excludedAttributes" => ("These attributes are not shown", text()),
        "return_to" => {
            ("Where the browser goes in the end: a path of this installation; `/` when absent", text())
        }
        "code" => ("What the identity provider gave the browser", text()),
        "state" => ("What the browser was sent off with", text()),
        "iss" => ("Which identity provider sends it back", text()),
        "error" => ("Why the identity provider did not recognise anybody", text()),
        "digest" => ("Whether a digest of the state is wanted", words(&["true", "false"])),
        "scope" => ("For or at this scope: see the route", text()),
        _ => ("", text()),
    };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(schema))
        .build()
        .into()
}

fn operation<'a>(item: &'a mut PathItem, method: &str) -> Option<&'a mut Operation> {
    match method {
        "GET" => item.get.as_mut(),
        "POST" => item.post.as_mut(),
        "PUT" => item.put.as_mut(),
        "PATCH" => item.patch.as_mut(),
        "DELETE" => item.delete.as_mut(),
        _ => None,
    }
}

/// Whether a path item has this method, and no other.
pub(crate) fn has(item: &PathItem, method: &str) -> bool {
    let mut item = item.clone();
    let others = ["GET", "POST", "PUT", "PATCH", "DELETE"].into_iter().filter(|other| *other != method);
    let has_method = operation(&mut item, method).is_some();
    let has_other = others.into_iter().any(|other| operation(&mut item, other).is_some());
    has_method && !has_other
}
