//! What goes over the wire. Requests ignore members they don't know. A member that may be absent may be null where that
//! says nothing; where it would say whom or what a question is about, null is refused, not taken for absent.

use crate::{
    dto::{Because, ScopeRef, SubjectKind, required},
    problem::Problem,
};
use charter_events::{GrantId, Offset, Timestamp};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, Unexpected},
};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Somebody or something: a subject or a resource.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = AuthzenEntity, example = json!({"type": "server", "id": "s1"}))]
pub(crate) struct Entity {
    /// A subject's type is `user` or a synonym set at the server; a resource's is an object type.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// A user by id, username or external id; an object by id or external id.
    pub(crate) id: String,
    /// Taken and ignored: what a decision needs is known here.
    #[serde(default)]
    properties: Option<Map<String, Value>>,
}

/// What is searched for: all of a type. An `id` is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = AuthzenWanted, example = json!({"type": "user"}))]
pub(crate) struct Wanted {
    /// The type.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Taken and ignored.
    #[serde(default)]
    properties: Option<Map<String, Value>>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = AuthzenAction, example = json!({"name": "view"}))]
pub(crate) struct Action {
    /// A permission key, or an alias that the resource's type was registered with.
    pub(crate) name: String,
    /// Taken and ignored.
    #[serde(default)]
    properties: Option<Map<String, Value>>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = AuthzenEvaluationRequest, example = json!({
    "subject": {"type": "user", "id": "alice"}, "action": {"name": "view"},
    "resource": {"type": "server", "id": "s1"}
}))]
pub(crate) struct EvaluationRequest {
    /// Who.
    pub(crate) subject: Entity,
    /// What.
    pub(crate) action: Action,
    /// On what.
    pub(crate) resource: Entity,
    /// With `"explain": true` the answer says why. Everything else in it is ignored.
    #[serde(default)]
    pub(crate) context: Option<Map<String, Value>>,
}

/// Several questions. What stands at the top holds for each that does not say it itself, whole. Without
/// `evaluations`, or with none in it, this is one question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = AuthzenEvaluationsRequest, example = json!({
    "subject": {"type": "user", "id": "alice"}, "action": {"name": "view"},
    "evaluations": [{"resource": {"type": "server", "id": "s1"}}, {"resource": {"type": "server", "id": "s2"}}]
}))]
pub(crate) struct EvaluationsRequest {
    /// Who, unless a question says otherwise.
    #[serde(default, deserialize_with = "required")]
    #[schema(nullable = false)]
    pub(crate) subject: Option<Entity>,
    /// What, unless a question says otherwise.
    #[serde(default, deserialize_with = "required")]
    #[schema(nullable = false)]
    pub(crate) action: Option<Action>,
    /// On what, unless a question says otherwise.
    #[serde(default, deserialize_with = "required")]
    #[schema(nullable = false)]
    pub(crate) resource: Option<Entity>,
    /// As in a single question, unless a question says otherwise.
    #[serde(default)]
    pub(crate) context: Option<Map<String, Value>>,
    /// The questions, at most 1,000: each an object with `subject`, `action`, `resource` and `context`, as far as the
    /// top does not say them. One that can't be read is answered `false`.
    #[serde(default, deserialize_with = "objects")]
    #[schema(nullable = false, max_items = 1000)]
    pub(crate) evaluations: Option<Vec<Map<String, Value>>>,
    /// How they are answered.
    #[serde(default)]
    pub(crate) options: Option<Options>,
}

/// One of several questions: what it does not leave to the top.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Item {
    #[serde(default, deserialize_with = "required")]
    pub(crate) subject: Option<Entity>,
    #[serde(default, deserialize_with = "required")]
    pub(crate) action: Option<Action>,
    #[serde(default, deserialize_with = "required")]
    pub(crate) resource: Option<Entity>,
    #[serde(default)]
    pub(crate) context: Option<Map<String, Value>>,
}

/// How several questions are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = AuthzenOptions)]
pub(crate) struct Options {
    /// Which of them are answered.
    #[serde(default)]
    pub(crate) evaluations_semantic: Semantic,
}

/// Which of several questions are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AuthzenSemantic)]
pub(crate) enum Semantic {
    /// All.
    #[default]
    ExecuteAll,
    /// Those up to the first `false`.
    DenyOnFirstDeny,
    /// Those up to the first `true`.
    PermitOnFirstPermit,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = AuthzenDecision, example = json!({"decision": true}))]
pub(crate) struct Decision {
    /// Whether he may.
    pub(crate) decision: bool,
    /// Why: only where the question's context holds `"explain": true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<Why>,
}

/// Why the answer is so: what decided, or what kept it from being decided, which is `false` as well.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = AuthzenWhy)]
pub(crate) enum Why {
    /// It was decided.
    Decided(Decided),
    /// It was not.
    Failed {
        /// What was wrong.
        error: Fault,
    },
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = AuthzenDecided)]
pub(crate) struct Decided {
    /// Why.
    pub(crate) because: Because,
    /// Where the deciding entries stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<ScopeRef>,
    /// To whom they are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<SubjectKind>,
    /// All grants that decided.
    #[schema(value_type = Vec<Uuid>)]
    pub(crate) grants: Vec<GrantId>,
    /// The version it was decided at.
    #[schema(value_type = u64)]
    pub(crate) policy_version: Offset,
    /// The moment it was decided at.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Timestamp,
}

/// What kept a question from being decided: as a problem of the API tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AuthzenFault)]
pub(crate) struct Fault {
    /// The status it would have by itself.
    pub(crate) status: u16,
    /// What was wrong, stable, for programs.
    pub(crate) code: String,
    /// What was wrong, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// The member that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<String>,
}

/// The answers to several questions, in their order; or to the one question that was asked instead.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = AuthzenEvaluations)]
pub(crate) enum Evaluations {
    /// To several.
    Several {
        /// The answers: as many as were asked, or up to the one that settled it.
        evaluations: Vec<Decision>,
    },
    /// To one.
    One(Decision),
}

/// Who may do this on that?
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = AuthzenSubjectSearch, example = json!({
    "subject": {"type": "user"}, "action": {"name": "view"}, "resource": {"type": "server", "id": "s1"}
}))]
pub(crate) struct SubjectSearch {
    /// Subjects of which type: `user` or a synonym of it.
    pub(crate) subject: Wanted,
    /// What.
    pub(crate) action: Action,
    /// On what.
    pub(crate) resource: Entity,
    /// Taken and ignored.
    #[serde(default)]
    context: Option<Map<String, Value>>,
    /// Which page of the results.
    #[serde(default)]
    pub(crate) page: Option<PageRequest>,
}

/// On which resources of a type may he do this?
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = AuthzenResourceSearch, example = json!({
    "subject": {"type": "user", "id": "alice"}, "action": {"name": "view"}, "resource": {"type": "server"}
}))]
pub(crate) struct ResourceSearch {
    /// Who.
    pub(crate) subject: Entity,
    /// What.
    pub(crate) action: Action,
    /// Resources of which type.
    pub(crate) resource: Wanted,
    /// Taken and ignored.
    #[serde(default)]
    context: Option<Map<String, Value>>,
    /// Which page of the results.
    #[serde(default)]
    pub(crate) page: Option<PageRequest>,
}

/// What may he do on that?
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = AuthzenActionSearch, example = json!({
    "subject": {"type": "user", "id": "alice"}, "resource": {"type": "server", "id": "s1"}
}))]
pub(crate) struct ActionSearch {
    /// Who.
    pub(crate) subject: Entity,
    /// On what.
    pub(crate) resource: Entity,
    /// Taken and ignored.
    #[serde(default)]
    context: Option<Map<String, Value>>,
    /// Which page of the results.
    #[serde(default)]
    pub(crate) page: Option<PageRequest>,
}

/// Which page of the results is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[schema(as = AuthzenPageRequest)]
pub(crate) struct PageRequest {
    /// The `next_token` of the page before, for the same question by the same caller.
    #[serde(default)]
    pub(crate) token: Option<String>,
    /// At most so many results; 100 when absent, and never more than 500.
    #[serde(default)]
    #[schema(format = "uint64")]
    pub(crate) limit: Option<u64>,
}

/// One page of a search's results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AuthzenFound)]
pub(crate) struct Found<T> {
    /// How it goes on.
    pub(crate) page: PageAnswer,
    /// The results of this page.
    pub(crate) results: Vec<T>,
}

/// How a search's results go on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
#[schema(as = AuthzenPage)]
pub(crate) struct PageAnswer {
    /// Hand this back as `page.token`; empty at the end.
    pub(crate) next_token: String,
}

/// A subject or resource that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AuthzenFoundEntity, example = json!({"type": "server", "id": "s1"}))]
pub(crate) struct FoundEntity {
    /// Its type, as it was asked for.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// A user's external id, else his username; an object's external id, else its id.
    pub(crate) id: String,
}

/// An action that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AuthzenFoundAction, example = json!({"name": "view"}))]
pub(crate) struct FoundAction {
    /// An alias of the resource's type; the permission key where it has none.
    pub(crate) name: String,
}

/// Where everything is (`/.well-known/authzen-configuration`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AuthzenConfiguration)]
pub(crate) struct Configuration {
    /// The server as it is called from outside.
    pub(crate) policy_decision_point: String,
    /// One question.
    pub(crate) access_evaluation_endpoint: String,
    /// Several questions.
    pub(crate) access_evaluations_endpoint: String,
    /// Who may.
    pub(crate) search_subject_endpoint: String,
    /// On what.
    pub(crate) search_resource_endpoint: String,
    /// To do what.
    pub(crate) search_action_endpoint: String,
}

/// Objects that are looked into one by one. Nothing else is one, null neither.
fn objects<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Map<String, Value>>>, D::Error> {
    let items = Vec::<Value>::deserialize(deserializer)?.into_iter().map(|item| match item {
        Value::Object(members) => Ok(members),
        _ => Err(D::Error::invalid_type(Unexpected::Other("something else"), &"objects")),
    });
    items.collect::<Result<_, _>>().map(Some)
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        let problem = problem.bad_request();
        Self {
            status: problem.status().as_u16(),
            code: problem.code().to_owned(),
            message: problem.detail().map(str::to_owned),
            field: problem.field().map(str::to_owned),
        }
    }
}
