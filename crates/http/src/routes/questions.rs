//! Questions: each is the one walk of the policy, asked for one or many.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Needs},
    body::Body,
    dto,
    problem::Problem,
    read::{self, Names},
};
use charter_events::{ObjectType, Scope};

/// The most questions of a batch.
const BATCH_CHECKS_MAX: usize = 1_000;

/// May this user do this here? Anyone may ask about himself, and is told what he may with the token he asks with.
#[utoipa::path(post, path = "/api/v1/check", operation_id = "check", tag = "questions",
    request_body = dto::CheckRequest,
    responses((status = 200, description = "The answer, allow or deny", body = dto::Decision)))]
pub(crate) async fn check(ask: Ask, body: Body<dto::CheckRequest>) -> Answered<dto::Decision> {
    let question = body.value;
    let (user, object) = (question.user.as_deref(), question.object.as_deref());
    let (_, _, made) = read::ask_one(&ask, user, &question.permission, object, ("permission", "object"))?;
    Ok(Answer::ok(ask.policy.version(), read::decision(&ask, &made)))
}

/// Many questions about one user, answered at one version; all of them or none.
#[utoipa::path(post, path = "/api/v1/check/batch", operation_id = "check_batch", tag = "questions",
    request_body = dto::CheckBatchRequest,
    responses((status = 200, description = "The answers, in order", body = dto::CheckBatchAnswer)))]
pub(crate) async fn check_batch(
    ask: Ask,
    body: Body<dto::CheckBatchRequest>,
) -> Answered<dto::CheckBatchAnswer> {
    let batch = body.value;
    if batch.checks.len() > BATCH_CHECKS_MAX {
        let detail = format!("at most {BATCH_CHECKS_MAX} checks in a batch");
        return Err(Problem::invalid_member("limit_exceeded", "checks", detail));
    }
    let mut results = Vec::with_capacity(batch.checks.len());
    for (place, item) in batch.checks.iter().enumerate() {
        let fields = (format!("checks[{place}].permission"), format!("checks[{place}].object"));
        let named = (fields.0.as_str(), fields.1.as_str());
        let (_, _, made) =
            read::ask_one(&ask, batch.user.as_deref(), &item.permission, item.object.as_deref(), named)?;
        results.push(read::decision(&ask, &made));
    }
    let policy_version = ask.policy.version();
    Ok(Answer::ok(policy_version, dto::CheckBatchAnswer { results, policy_version }))
}

/// The same as a check, with the question and the deciding grants spelled out.
#[utoipa::path(post, path = "/api/v1/explain", operation_id = "explain", tag = "questions",
    request_body = dto::CheckRequest,
    responses((status = 200, description = "The answer and why", body = dto::Explanation)))]
pub(crate) async fn explain(ask: Ask, body: Body<dto::CheckRequest>) -> Answered<dto::Explanation> {
    let question = body.value;
    let (user, object) = (question.user.as_deref(), question.object.as_deref());
    let (who, scope, made) =
        read::ask_one(&ask, user, &question.permission, object, ("permission", "object"))?;
    let decision = read::decision(&ask, &made);
    let without = read::without_token(&ask, &made, &question.permission, scope);
    let seen: Vec<_> = without
        .as_ref()
        .unwrap_or(&made)
        .grants
        .iter()
        .filter_map(|id| ask.policy.grant(*id))
        .filter(|view| who.himself || read::sees_grant(&ask, view))
        .collect();
    let known = who.user.filter(|_| who.known);
    let names = Names::of(&ask, known).await;
    let object = match scope {
        Scope::Global => None,
        Scope::Object(id) => ask.policy.object(id).map(|view| read::object_ref(&view)),
    };
    let narrowed = ask.caller.ceiling().is_some() && who.himself;
    let token_reaches = narrowed.then(|| ask.caller.reaches(&question.permission));
    let without_token = without.as_ref().map(|without| read::decision(&ask, without));
    let mut summary = read::summary(&decision);
    if let Some(without) = &without_token {
        summary.push_str(&format!("; without the token: {}", read::summary(without)));
    }
    let explanation = dto::Explanation {
        user: known.map(|id| names.user(id)),
        permission: question.permission,
        object,
        summary,
        token_reaches,
        without_token,
        decision,
        grants: read::grants(&ask, &seen).await,
    };
    Ok(Answer::ok(ask.policy.version(), explanation))
}

/// Every key of the catalog as allowed, denied or not set, for one user at one place.
#[utoipa::path(post, path = "/api/v1/effective", operation_id = "effective", tag = "questions",
    request_body = dto::EffectiveRequest,
    responses((status = 200, description = "One row a key", body = dto::EffectiveAnswer)))]
pub(crate) async fn effective(ask: Ask, body: Body<dto::EffectiveRequest>) -> Answered<dto::EffectiveAnswer> {
    let question = body.value;
    let scope = match &question.object {
        None => Scope::Global,
        Some(text) => Scope::Object(read::asked_object(&ask, text, "object")?),
    };
    let (who, entries) = read::effective(&ask, question.user.as_deref(), scope)?;
    let answer = dto::EffectiveAnswer {
        user: who.user.filter(|_| who.known),
        permissions: entries.iter().map(|entry| read::effective_row(&ask, entry)).collect(),
        policy_version: ask.policy.version(),
        at: ask.now,
    };
    Ok(Answer::ok(ask.policy.version(), answer))
}

/// On which objects of a type may this user do this? Of somebody else, only those where the caller may ask about him.
#[utoipa::path(post, path = "/api/v1/allowed-objects", operation_id = "allowed_objects", tag = "questions",
    request_body = dto::AllowedObjectsRequest,
    responses((status = 200, description = "One page", body = dto::AllowedObjectsAnswer)))]
pub(crate) async fn allowed_objects(
    ask: Ask,
    body: Body<dto::AllowedObjectsRequest>,
) -> Answered<dto::AllowedObjectsAnswer> {
    let question = body.value;
    read::in_catalog(&ask, &question.permission, "permission")?;
    let of: ObjectType = question.object_type.parse().map_err(|error: charter_events::InvalidName| {
        Problem::invalid_member("invalid_value", "type", error.to_string())
    })?;
    if ask.policy.object_type(of.as_str()).is_none() {
        return Err(Problem::invalid_member("unknown_object_type", "type", "the catalog has no such type"));
    }
    let who = read::about(&ask, question.user.as_deref(), Scope::Global)?;
    let filter = [&format!("{:?}", who.user), question.permission.as_str(), of.as_str()];
    let page = ask.page_asked(&filter, question.limit, question.cursor.as_deref())?;
    let (all, views, next) = read::allowed_objects(&ask, &who, &question.permission, of.as_str(), &page);
    let answer = dto::AllowedObjectsAnswer {
        all,
        objects: views.iter().map(read::object_ref).collect(),
        next,
        policy_version: ask.policy.version(),
    };
    Ok(Answer::ok(ask.policy.version(), answer))
}

/// Who may do this here, and through what? This is about users, not about the token it is asked with.
#[utoipa::path(post, path = "/api/v1/who-can", operation_id = "who_can", tag = "questions",
    request_body = dto::WhoCanRequest,
    responses((status = 200, description = "One page", body = dto::WhoCanAnswer)))]
pub(crate) async fn who_can(ask: Ask, body: Body<dto::WhoCanRequest>) -> Answered<dto::WhoCanAnswer> {
    let question = body.value;
    read::in_catalog(&ask, &question.permission, "permission")?;
    let scope = match &question.object {
        None => Scope::Global,
        Some(text) => ask.object_ref(text, "object", &Needs::Nothing).map(Scope::Object)?,
    };
    ask.require("core.decision.read", scope)?;
    let filter = [&format!("{scope:?}"), question.permission.as_str()];
    let page = ask.page_asked(&filter, question.limit, question.cursor.as_deref())?;
    let found = ask.policy.who_can(&question.permission, scope, ask.now, page.page());
    let names = Names::of(&ask, found.users.iter().map(|holder| holder.user)).await;
    let answer = dto::WhoCanAnswer {
        users: found
            .users
            .iter()
            .map(|holder| read::holder(&ask, &question.permission, holder, &names))
            .collect(),
        next: found.next.map(|last| page.next(last)),
        policy_version: ask.policy.version(),
    };
    Ok(Answer::ok(ask.policy.version(), answer))
}
