//! One request as use cases see it: who asks, one policy and one moment for all of it, the parameters, and the few
//! questions every use case has.

use crate::{App, access::Row, edge::Params, problem::Problem};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, header, request::Parts},
};
use charter_commands::Command;
use charter_control::{Authenticated, Past, PreviewSlot, Receipt, Request, RequestMeta};
use charter_events::{
    Hash, Head, ObjectId, Offset, PermissionKey, Scope, Timestamp, UserId, Via, envelope::REASON_BYTES_MAX,
};
use charter_policy::{AccessControl, Caller, ObjectView, Policy};
use std::{ops::Deref, sync::Arc};

mod paging;

pub use paging::PAGE_ROWS_MAX;
pub(crate) use paging::PageAsk;

/// The longest idempotency key, in bytes.
pub(crate) const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;

/// What a caller needs on an object for what he is about to do: who holds it may know the object.
pub(crate) enum Needs {
    /// He only looks.
    Nothing,
    /// One of core's keys.
    Core(&'static str),
    /// A key of some type.
    Key(PermissionKey),
    /// The manage key of the object's own type.
    Manage,
}

/// A request, whoever sent it.
pub(crate) struct Asked {
    pub(crate) app: App,
    /// One snapshot for the whole request.
    pub(crate) policy: Arc<Policy>,
    /// Where the log ended then, when the request is about the past: the policy is that of then, and the caller may
    /// read the whole log, so that nothing in it is hidden from him but what is sealed. Only routes that change nothing
    /// can have one.
    pub(crate) past: Option<Head>,
    pub(crate) now: Timestamp,
    pub(crate) row: &'static Row,
    pub(crate) params: Params,
    pub(crate) segments: Vec<(String, String)>,
    pub(crate) if_match: Option<Offset>,
    pub(crate) headers: HeaderMap,
    /// Where a preview of it is put, when it is only previewed.
    pub(crate) preview: Option<PreviewSlot>,
}

/// A request of somebody who is signed in.
#[derive(Clone)]
pub(crate) struct Ask {
    asked: Arc<Asked>,
    pub(crate) caller: Caller,
    pub(crate) user: UserId,
    pub(crate) who: Authenticated,
}

/// A request to a public route.
#[derive(Clone)]
pub(crate) struct Visit(pub(crate) Arc<Asked>);

impl Deref for Ask {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.asked
    }
}

impl Deref for Visit {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.0
    }
}

impl<S: Sync> FromRequestParts<S> for Ask {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // Only the gate puts it there: a handler without one answers nothing.
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::internal)
    }
}

impl<S: Sync> FromRequestParts<S> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Arc<Asked>>().cloned().map(Self).ok_or_else(Problem::internal)
    }
}

/// Whether a reason reads like one that an undo records: whoever reads the log takes that at its word.
fn claims_to_undo(reason: &str) -> bool {
    let rest = reason.split_once(char::is_whitespace).filter(|(word, _)| word.eq_ignore_ascii_case("undoes"));
    rest.is_some_and(|(_, rest)| rest.trim_start().starts_with(|next: char| next.is_ascii_digit()))
}

/// A header that is sent at most once: of two, nobody could say which one counts.
///
/// # Errors
/// 400, when it is sent twice.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, Problem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        (_, Some(_)) => Err(Problem::invalid_header(name, "it is sent twice")),
    }
}

/// Whether a request names this type among those it accepts.
pub(crate) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|media| {
        let name = media.split(';').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case(wanted)
    })
}

/// One of core's keys, written in this crate.
///
/// # Errors
/// 500, when it is misspelt.
pub(crate) fn core_key(text: &str) -> Result<PermissionKey, Problem> {
    text.parse().map_err(|error| {
        tracing::error!(%error, "a key of the access table");
        Problem::internal()
    })
}

impl Asked {
    /// A variable segment of the path, decoded once.
    pub(crate) fn segment(&self, name: &str) -> Option<&str> {
        self.segments.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A variable segment the route has.
    pub(crate) fn named(&self, name: &str) -> &str {
        self.segment(name).unwrap_or_default()
    }

    /// What is recorded with a command: request id, reason, idempotency key, the version it is held to.
    ///
    /// # Errors
    /// 400 naming the header that can't be taken.
    pub(crate) fn meta(&self, body: Hash) -> Result<RequestMeta, Problem> {
        let text = |name: &'static str, bytes_max: usize| match only(&self.headers, name)? {
            None => Ok(None),
            Some(value) => match std::str::from_utf8(value.as_bytes()) {
                Ok(text) if (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control) => {
                    Ok(Some(text.to_owned()))
                }
                _ => Err(Problem::invalid_header(name, format!("it takes 1 to {bytes_max} bytes of text"))),
            },
        };
        let key = if self.row.method == "POST" {
            text("idempotency-key", IDEMPOTENCY_KEY_BYTES_MAX)?
        } else {
            None
        };
        let reason = text("x-reason", REASON_BYTES_MAX)?;
        if reason.as_deref().is_some_and(claims_to_undo) {
            let detail = "`undoes <offset>` is what an undo records, and nothing else may begin so";
            return Err(Problem::invalid_header("X-Reason", detail));
        }
        Ok(RequestMeta {
            request_id: text("x-request-id", charter_events::envelope::REQUEST_ID_BYTES_MAX)?,
            reason,
            idempotency: key.map(|key| (key, body)),
            if_match: self.if_match,
            preview: self.preview.clone(),
            ..RequestMeta::new(Via::Api)
        })
    }
}

impl Ask {
    pub(crate) fn new(asked: Arc<Asked>, who: Authenticated) -> Self {
        Self { asked, caller: who.caller.clone(), user: who.user, who }
    }

    /// The same request, asked of another state of the present: what a preview began with, or led to.
    pub(crate) fn on(&self, policy: Arc<Policy>, now: Timestamp) -> Self {
        let asked = Asked {
            app: self.app.clone(),
            policy,
            past: None,
            now,
            row: self.row,
            params: self.params.clone(),
            segments: self.segments.clone(),
            if_match: None,
            headers: HeaderMap::new(),
            preview: None,
        };
        Self { asked: Arc::new(asked), ..self.clone() }
    }

    /// The same request about the past.
    pub(crate) fn back_then(&self, past: Past) -> Self {
        let asked = Asked {
            app: self.app.clone(),
            policy: past.policy,
            past: Some(past.head),
            now: past.now,
            row: self.row,
            params: self.params.clone(),
            segments: self.segments.clone(),
            if_match: None,
            headers: HeaderMap::new(),
            preview: None,
        };
        Self { asked: Arc::new(asked), ..self.clone() }
    }

    /// Refuses unless the caller is allowed one of core's keys at the scope. What he may see of the past was judged by
    /// the present policy, before it was looked up.
    pub(crate) fn require(&self, key: &str, scope: Scope) -> Result<(), Problem> {
        if self.past.is_some() {
            return Ok(());
        }
        Ok(self.policy.at(self.now).require(&self.caller, &core_key(key)?, scope)?)
    }

    /// Whether the caller is allowed a key at the scope, his token's ceiling included.
    pub(crate) fn may(&self, key: &PermissionKey, scope: Scope) -> bool {
        self.past.is_some()
            || self
                .policy
                .at(self.now)
                .is_allowed(&self.caller, key, scope)
                .is_ok_and(|decision| decision.allowed())
    }

    /// Whether the caller is allowed one of core's keys at the scope.
    pub(crate) fn may_core(&self, key: &str, scope: Scope) -> bool {
        core_key(key).is_ok_and(|key| self.may(&key, scope))
    }

    /// Whether the caller is allowed one of core's keys everywhere by the present policy, also when he asks about the
    /// past: what the log itself does not show him, such as a person's names, he needs a right of now for.
    pub(crate) fn may_core_now(&self, key: &str) -> bool {
        let (policy, now) = match self.past {
            None => (Arc::clone(&self.policy), self.now),
            Some(_) => (self.app.control.policy(), self.app.control.now()),
        };
        core_key(key).is_ok_and(|key| {
            let decision = policy.at(now).is_allowed(&self.caller, &key, Scope::Global);
            decision.is_ok_and(|decision| decision.allowed())
        })
    }

    /// Whether the caller may know an object: he holds its read key, or may ask about others there.
    pub(crate) fn knows(&self, object: &ObjectView<'_>) -> bool {
        let scope = Scope::Object(object.id);
        let read = self.policy.object_type(object.object_type.as_str()).map(|of| &of.definition.read);
        read.is_some_and(|key| self.may(key, scope)) || self.may_core("core.decision.read", scope)
    }

    /// An object the caller may know, by type and id or external id. Who holds the key he needs there may know it too.
    ///
    /// # Errors
    /// 404, the same for one that is not there and one he may not know.
    pub(crate) fn object(
        &self,
        object_type: &str,
        name: &str,
        key: &Needs,
    ) -> Result<ObjectView<'_>, Problem> {
        self.app
            .control
            .resolve_object_of(&self.policy, object_type, name)
            .and_then(|id| self.policy.object(id))
            .filter(|object| self.knows(object) || self.holds(object, key))
            .ok_or_else(Problem::not_found)
    }

    fn holds(&self, object: &ObjectView<'_>, needs: &Needs) -> bool {
        let scope = Scope::Object(object.id);
        match needs {
            Needs::Nothing => false,
            Needs::Core(key) => self.may_core(key, scope),
            Needs::Key(key) => self.may(key, scope),
            Needs::Manage => {
                let of = self.policy.object_type(object.object_type.as_str());
                of.is_some_and(|of| self.may(&of.definition.manage, scope))
            }
        }
    }

    /// A user by id, username or external id.
    pub(crate) fn user_named(&self, text: &str) -> Option<UserId> {
        let control = &self.app.control;
        match self.past {
            None => control.resolve_user(&self.policy, text),
            Some(_) => control.resolve_past_user(&self.policy, text),
        }
    }

    /// The object of the path.
    pub(crate) fn path_object(&self, needs: &Needs) -> Result<ObjectView<'_>, Problem> {
        self.object(self.named("type"), self.named("id"), needs)
    }

    /// An object the caller may know, named `type:id` or `type:external_id` in a body or a parameter.
    pub(crate) fn object_ref(&self, text: &str, field: &str, needs: &Needs) -> Result<ObjectId, Problem> {
        let Some((object_type, name)) = text.split_once(':') else {
            return Err(Problem::invalid_member(
                "invalid_reference",
                field,
                "it takes `<type>:<id or external id>`",
            ));
        };
        self.object(object_type, name, needs).map(|object| object.id).map_err(|problem| problem.of(field))
    }

    /// A scope named in a body or a parameter: `global`, or an object.
    pub(crate) fn scope_ref(&self, text: &str, field: &str, needs: &Needs) -> Result<Scope, Problem> {
        if text == "global" {
            Ok(Scope::Global)
        } else {
            self.object_ref(text, field, needs).map(Scope::Object)
        }
    }

    /// Hands a command to the writer. It is the writer's from then on: nobody who hangs up cancels it.
    pub(crate) async fn submit(&self, command: impl Into<Command>, body: Hash) -> Result<Receipt, Problem> {
        let request = Request::new(self.caller.clone(), command.into(), self.meta(body).await?);
        Ok(self.app.control.submit(request).await?)
    }

    /// What is recorded with a command. Every command of somebody who is signed in passes here last, after its body
    /// was read: a credential that was revoked while that took its time is worth nothing.
    ///
    /// # Errors
    /// 401 when the credential is no longer good; 400 naming the header that can't be taken.
    pub(crate) async fn meta(&self, body: Hash) -> Result<RequestMeta, Problem> {
        if !self.app.control.is_still_good(&self.who).await {
            return Err(Problem::invalid_token());
        }
        Ok(self.asked.meta(body)?.while_good(&self.who))
    }

    /// The same request at the version a command led to.
    pub(crate) async fn after(&self, version: Offset) -> Result<Self, Problem> {
        let policy = self.app.control.at_least(version).await?;
        Ok(self.on(policy, self.app.control.now()))
    }
}
