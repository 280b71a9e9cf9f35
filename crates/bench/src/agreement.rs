//! Before anything is timed: everybody's answers to the same questions, side by side.

use crate::{
    facts::Facts,
    floor::Floor,
    peers::{Index, casbin::Casbin, cedar::Cedar},
    questions::{Question, Workload},
    report::Report,
};
use anyhow::{bail, ensure};
use charter_policy::Policy;
use charter_testkit::model::World;

/// Everything one workload is asked with.
pub(crate) struct Engines<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) floor: &'a Floor,
    pub(crate) cedar: &'a Cedar<'a>,
    pub(crate) casbin: &'a Casbin<'a>,
    pub(crate) index: &'a Index<'a>,
}

/// How many questions each is asked; the first ones of the same list.
pub(crate) struct Counts {
    pub(crate) all: usize,
    pub(crate) cedar: usize,
    pub(crate) casbin: usize,
}

/// Asks everybody, writes a table, and fails where somebody disagrees.
pub(crate) fn show(
    report: &mut Report,
    workload: &Workload,
    engines: &Engines<'_>,
    questions: &[Question],
    counts: &Counts,
    model: Option<&World>,
) -> anyhow::Result<()> {
    let now = workload.now();
    let ours = |q: &Question| engines.policy.check(q.asked.user, &q.asked.key, q.asked.scope, now).allowed();
    let answers: Vec<bool> = questions.iter().take(counts.all).map(ours).collect();
    let allowed = answers.iter().filter(|a| **a).count();
    report.say(&format!("{} questions, {} allowed.", answers.len(), percent(allowed, answers.len())));
    report.head(&["who", "questions", "agree with `Policy`", "modelled exactly"]);

    let mut faults = Vec::new();
    let mut compare =
        |who: &str, exact: &str, count: usize, ask: &mut dyn FnMut(&Question) -> anyhow::Result<bool>| {
            let mut agreed = 0;
            for (question, ours) in questions.iter().zip(&answers).take(count) {
                let theirs = ask(question)?;
                agreed += usize::from(theirs == *ours);
                if theirs != *ours && faults.len() < 5 {
                    faults.push(format!("{who}: {theirs}, `Policy`: {ours}: {:?}", question.asked));
                }
            }
            let asked = count.min(answers.len());
            report.row(&[who.to_owned(), asked.to_string(), agreed.to_string(), exact.to_owned()]);
            anyhow::Ok(())
        };
    let micros = now.as_micros();
    compare("floor", "all of it", counts.all, &mut |q| {
        Ok(engines.floor.check(q.user, q.key, q.place(), micros))
    })?;
    if let Some(model) = model {
        compare("naive model", "all of it", counts.all, &mut |q| {
            Ok(model.check(q.asked.user, &q.asked.key, q.asked.scope, now).allowed)
        })?;
    }
    compare(
        "Cedar",
        "the walk in its policy; time, reach and role content resolved while its slice is built",
        counts.cedar,
        &mut |q| {
            let prepared = engines.cedar.prepare(q)?;
            if let Some(fault) = engines.cedar.fault(&prepared) {
                bail!("cedar could not evaluate: {fault}");
            }
            Ok(engines.cedar.ask(&prepared))
        },
    )?;
    compare(
        "Casbin",
        "order and effect of the rows; chain, time, reach and role content resolved while its slice is built",
        counts.casbin,
        &mut |q| Casbin::ask(&engines.casbin.prepare(q)?),
    )?;
    ensure!(faults.is_empty(), "answers differ:\n{}", faults.join("\n"));

    let elsewhere =
        questions.iter().zip(&answers).filter(|(q, ours)| deny_overrides(engines, q) != **ours).count();
    report.say(&format!(
        "\nAn evaluator that lets any deny on the chain win would answer {elsewhere} of them otherwise."
    ));
    Ok(())
}

/// The common other reading of the same grants: any deny on the chain wins, else any allow.
fn deny_overrides(engines: &Engines<'_>, question: &Question) -> bool {
    let facts: &Facts = engines.index.facts;
    let slice = engines.index.slice(question);
    let is_his = |grant: &crate::facts::Grant| match grant.to {
        crate::facts::To::User(user) => user == question.user,
        crate::facts::To::Group(group) => facts.groups_of[question.user as usize].contains(&group),
    };
    let on_chain: Vec<_> =
        slice.levels.iter().flat_map(|level| &level.grants).filter(|g| is_his(g)).collect();
    facts.is_active[question.user as usize]
        && (slice.wild.iter().any(|g| is_his(g))
            || (!on_chain.is_empty() && on_chain.iter().all(|grant| !grant.denies)))
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}
