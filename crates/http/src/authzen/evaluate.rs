//! Questions answered yes or no, one or several: decided as `/check` decides. Where that would refuse to answer, the
//! answer is `false`, alone and among others alike.

use super::{
    names,
    shapes::{
        Decided, Decision, Entity, EvaluationRequest, Evaluations, EvaluationsRequest, Item, Options,
        Semantic, Why,
    },
};
use crate::{ask::Ask, body::fit, problem::Problem, read};
use charter_policy::Decision as Made;
use serde_json::{Map, Value};

/// The most questions asked at once.
const EVALUATIONS_MAX: usize = 1_000;
/// The member of a question's context that asks why.
const EXPLAIN: &str = "explain";

/// By whom a question is decided.
pub(crate) trait Judge {
    /// The answer, and why where that is asked for.
    fn decide(&self, question: &EvaluationRequest) -> Decision;
}

/// Whoever decides by the policy, for a caller.
struct ByPolicy<'a>(&'a Ask);

/// Decides by the policy, for a caller.
pub(crate) fn judge(ask: &Ask) -> impl Judge {
    ByPolicy(ask)
}

impl Judge for ByPolicy<'_> {
    fn decide(&self, question: &EvaluationRequest) -> Decision {
        let explain = asks_why(question.context.as_ref());
        match decided(self.0, question) {
            Ok(made) => {
                let decision = made.allowed();
                Decision { decision, context: explain.then(|| Why::Decided(why(self.0, &made))) }
            }
            Err(problem) => Decision::failed(problem, explain),
        }
    }
}

impl Decision {
    /// The answer to what can't be decided.
    pub(crate) fn failed(problem: Problem, explain: bool) -> Self {
        Self { decision: false, context: explain.then(|| Why::Failed { error: problem.into() }) }
    }
}

/// Whether a question's context asks why.
pub(crate) fn asks_why(context: Option<&Map<String, Value>>) -> bool {
    context.and_then(|context| context.get(EXPLAIN)) == Some(&Value::Bool(true))
}

fn decided(ask: &Ask, question: &EvaluationRequest) -> Result<Made, Problem> {
    let EvaluationRequest { subject, action, resource, .. } = question;
    if !names::is_user(&ask.app.config, &subject.kind) {
        return Err(Problem::not_found().of("subject"));
    }
    let key = names::permission(&ask.policy, &resource.kind, &action.name).ok_or_else(unknown_action)?;
    read::in_catalog(ask, &key, "action")?;
    let found = ask.app.control.resolve_object_of(&ask.policy, &resource.kind, &resource.id);
    let object = found.ok_or_else(|| Problem::not_found().of("resource"))?;
    read::ask_at(ask, Some(&subject.id), &key, object, "resource").map(|(_, made)| made)
}

fn unknown_action() -> Problem {
    let detail = "it is no permission of the catalog, and no alias of the resource's type";
    Problem::invalid_member("unknown_permission", "action", detail)
}

fn why(ask: &Ask, made: &Made) -> Decided {
    let shown = read::decision(ask, made);
    Decided {
        because: shown.because,
        scope: shown.scope,
        subject: shown.subject,
        grants: shown.grants,
        policy_version: shown.policy_version,
        at: shown.at,
    }
}

/// Several questions, in their order, up to the one that settles it.
///
/// # Errors
/// 400 when they are too many, and when there is only one, at the top, and it is not whole.
pub(crate) fn all(judge: &impl Judge, request: EvaluationsRequest) -> Result<Evaluations, Problem> {
    let EvaluationsRequest { subject, action, resource, context, evaluations, options } = request;
    let top = Item { subject, action, resource, context };
    let items = evaluations.unwrap_or_default();
    if items.is_empty() {
        return Ok(Evaluations::One(judge.decide(&top.whole()?)));
    }
    if items.len() > EVALUATIONS_MAX {
        let detail = format!("at most {EVALUATIONS_MAX} at once");
        return Err(Problem::invalid_member("limit_exceeded", "evaluations", detail).bad_request());
    }
    let Options { evaluations_semantic: semantic } = options.unwrap_or_default();
    let mut answers = Vec::with_capacity(items.len());
    for item in items {
        let answer = answered(judge, &top, item);
        let settled = match semantic {
            Semantic::ExecuteAll => false,
            Semantic::DenyOnFirstDeny => !answer.decision,
            Semantic::PermitOnFirstPermit => answer.decision,
        };
        answers.push(answer);
        if settled {
            break;
        }
    }
    Ok(Evaluations::Several { evaluations: answers })
}

/// The answer to one of several: `false` to one that can't be read or is not whole.
fn answered(judge: &impl Judge, top: &Item, item: Map<String, Value>) -> Decision {
    let context = item.get("context").filter(|context| !context.is_null());
    let explain = match context {
        Some(context) => asks_why(context.as_object()),
        None => asks_why(top.context.as_ref()),
    };
    let read = fit::<Item>(Value::Object(item)).and_then(|item| item.or(top).whole());
    match read {
        Ok(question) => judge.decide(&question),
        Err(problem) => Decision::failed(problem, explain),
    }
}

impl Item {
    /// With what it leaves to the top.
    fn or(self, top: &Self) -> Self {
        Self {
            subject: self.subject.or_else(|| top.subject.clone()),
            action: self.action.or_else(|| top.action.clone()),
            resource: self.resource.or_else(|| top.resource.clone()),
            context: self.context.or_else(|| top.context.clone()),
        }
    }

    /// As a whole question.
    ///
    /// # Errors
    /// 400 naming what it lacks.
    fn whole(self) -> Result<EvaluationRequest, Problem> {
        let lacks = |member: &str| Problem::invalid_member("missing_member", member, "it is missing");
        let entity = |found: Option<Entity>, member| found.ok_or_else(|| lacks(member).bad_request());
        Ok(EvaluationRequest {
            subject: entity(self.subject, "subject")?,
            action: self.action.ok_or_else(|| lacks("action").bad_request())?,
            resource: entity(self.resource, "resource")?,
            context: self.context,
        })
    }
}
