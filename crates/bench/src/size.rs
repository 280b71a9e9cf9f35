//! One size of RBAC-W: agreement, then every figure, then the goals.

use crate::{
    agreement::{self, Counts, Engines},
    child,
    facts::Facts,
    floor::Floor,
    measure::{self, REPEATS, Spread, shown, time},
    ours::{self, Kind, Writer},
    peers::{Index, casbin::Casbin, cedar::Cedar},
    questions::{Question, Workload},
    report::Report,
};
use anyhow::ensure;
use charter_events::Timestamp;
use charter_policy::Policy;
use charter_testkit::workload::{RbacW, Size};
use std::{hint::black_box, path::Path};

const QUESTIONS: usize = 100_000;
const CEDAR_QUESTIONS: usize = 2_000;
const CASBIN_QUESTIONS: usize = 500;
const LIST_QUESTIONS: usize = 500;
const COMMANDS: usize = 2_000;
const BATCH_QUESTIONS: usize = 1_000;
/// Of the peers: they are slow, and steady.
const PEER_REPEATS: usize = 5;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// Median nanoseconds of each kind of command at a size.
pub(crate) type Commands = Vec<(Kind, f64)>;

/// Measures one size.
pub(crate) fn run(
    report: &mut Report,
    folder: &Path,
    name: &str,
    size: Size,
    seed: u64,
) -> anyhow::Result<Commands> {
    let rbac = RbacW::new(size, seed);
    let workload = Workload::rbac(size, seed);
    let now = workload.now();
    report.section(&format!("RBAC-W {name}"));
    let (users, objects) = size.counts();
    let facts = Facts::of(workload.events())?;
    report.say(&format!(
        "Seed {seed}: {users} users, {} groups, {objects} objects, {} grants, {} keys.",
        facts.members.len(),
        facts.grants.len(),
        facts.keys.len()
    ));
    let policy = fold(report, folder, name, &workload)?;

    let questions = workload.questions(&facts, seed, QUESTIONS)?;
    let floor = Floor::new(&facts);
    let index = Index::new(&facts, now);
    let cedar = Cedar::new(&index)?;
    let casbin = Casbin::new(&index)?;
    let engines = Engines { policy: &policy, floor: &floor, cedar: &cedar, casbin: &casbin, index: &index };
    let counts = Counts { all: QUESTIONS, cedar: CEDAR_QUESTIONS, casbin: CASBIN_QUESTIONS };
    report.say("Agreement first:\n");
    agreement::show(report, &workload, &engines, &questions, &counts, None)?;

    decisions(report, name, &engines, &questions, now)?;
    lists(report, name, &policy, &questions[..LIST_QUESTIONS], now);
    if name == "S" {
        counted(report, folder, &questions[..1_000], now)?;
    }
    commands(report, &policy, &rbac, now)
}

fn fold(report: &mut Report, folder: &Path, name: &str, workload: &Workload) -> anyhow::Result<Policy> {
    let replay = ours::replay(workload)?;
    let per_second = |nanos: f64| format!("{:.0}", replay.events as f64 / nanos * 1e9);
    let both = replay.decode_nanos + replay.apply_nanos;
    let (snapshot, save_nanos) = measure::once(|| replay.policy.to_snapshot());
    let snapshot = snapshot?;
    let (loaded, load_nanos) = measure::once(|| Policy::from_snapshot(&snapshot));
    let loaded = loaded?;
    ensure!(loaded.digest() == replay.policy.digest(), "a loaded snapshot is another policy");
    let path = folder.join(format!("{name}.snapshot"));
    std::fs::write(&path, &snapshot)?;
    let resident = child::resident_elsewhere(&path)? as f64;

    report.head(&["folding", "figure"]);
    let rows = [
        ("events", replay.events.to_string()),
        ("decode alone, events/s", per_second(replay.decode_nanos)),
        ("apply alone, events/s", per_second(replay.apply_nanos)),
        ("decode and apply, events/s", per_second(both)),
        ("snapshot, MiB", format!("{:.1}", snapshot.len() as f64 / 1024.0 / 1024.0)),
        ("snapshot save / load", format!("{} / {}", time(save_nanos), time(load_nanos))),
        ("resident after loading it, MiB", format!("{:.1}", resident / 1024.0 / 1024.0)),
    ];
    for (what, figure) in rows {
        report.row(&[what.to_owned(), figure]);
    }
    report.say("");
    let rate = replay.events as f64 / both * 1e9;
    report.goal(
        &format!("replay at {name}, decode and apply"),
        "≥ 300,000 events/s",
        &format!("{rate:.0} events/s"),
        rate >= 300_000.0,
    );
    if name == "L" {
        report.goal(
            "memory at L",
            "≤ 1 GiB resident",
            &format!("{:.2} GiB", resident / GIB),
            resident <= GIB,
        );
        report.goal("start from snapshot at L", "≤ 3 s", &time(load_nanos), load_nanos <= 3e9);
    }
    Ok(replay.policy)
}

fn decisions(
    report: &mut Report,
    name: &str,
    engines: &Engines<'_>,
    questions: &[Question],
    now: Timestamp,
) -> anyhow::Result<()> {
    let micros = now.as_micros();
    let floor = measure::each(questions, REPEATS, |q| {
        black_box(engines.floor.check(black_box(q.user), q.key, q.place(), micros));
    });
    let check = ours::check(engines.policy, questions, now);
    let batch = ours::batch(engines.policy, questions, BATCH_QUESTIONS, now);
    let (cedar, cedar_slice, cedar_all) = cedar(engines, questions)?;
    let (casbin, casbin_slice) = casbin(engines, questions)?;

    let ratio = |spread: Spread| format!("{:.1}", spread.median / check.median);
    report.head(&["one decision", "time", "× `Policy::check`"]);
    for (what, spread) in [
        ("floor: plain arrays of integers, no explanation", floor),
        ("`Policy::check`, ids and text in, full explanation out", check),
        ("the same in a batch of 1,000, each", batch.times(1.0 / BATCH_QUESTIONS as f64)),
        ("Cedar, the action's own policy, evaluation only", cedar),
        ("Cedar, with building the entity slice", cedar_slice),
        ("Cedar, all policies loaded, evaluation only", cedar_all),
        ("Casbin, the question's rows, evaluation only", casbin),
        ("Casbin, with building the rows", casbin_slice),
    ] {
        report.row(&[what.to_owned(), shown(spread), ratio(spread)]);
    }
    report.say("");
    let to_floor = check.median / floor.median;
    let to_cedar = cedar.median / check.median;
    report.goal(
        &format!("check with full explanation at {name}"),
        "≤ 5 × the floor",
        &format!("{to_floor:.1} × ({} to {})", time(check.median), time(floor.median)),
        to_floor <= 5.0,
    );
    report.goal(
        &format!("the same at {name}"),
        "≥ 100 × faster than Cedar's evaluation alone",
        &format!(
            "{to_cedar:.0} × (Cedar {}); Casbin {:.0} ×",
            time(cedar.median),
            casbin.median / check.median
        ),
        to_cedar >= 100.0,
    );
    report.goal(&format!("batch of 1,000 at {name}"), "≤ 1 ms", &time(batch.median), batch.median <= 1e6);
    Ok(())
}

fn cedar(engines: &Engines<'_>, questions: &[Question]) -> anyhow::Result<(Spread, Spread, Spread)> {
    let cedar = engines.cedar;
    let questions = &questions[..CEDAR_QUESTIONS];
    let prepared: Vec<_> = questions.iter().map(|q| cedar.prepare(q)).collect::<anyhow::Result<_>>()?;
    let alone = measure::each(&prepared, PEER_REPEATS, |p| {
        black_box(cedar.ask(p));
    });
    let with_slice = measure::each(questions, PEER_REPEATS, |q| {
        black_box(cedar.prepare(q).map(|p| cedar.ask(&p)).is_ok());
    });
    let all = measure::each(&prepared[..200], PEER_REPEATS, |p| {
        black_box(cedar.ask_of(p, &cedar.all));
    });
    Ok((alone, with_slice, all))
}

fn casbin(engines: &Engines<'_>, questions: &[Question]) -> anyhow::Result<(Spread, Spread)> {
    let casbin = engines.casbin;
    let questions = &questions[..CASBIN_QUESTIONS];
    let prepared: Vec<_> = questions.iter().map(|q| casbin.prepare(q)).collect::<anyhow::Result<_>>()?;
    let alone = measure::each(&prepared, PEER_REPEATS, |p| {
        black_box(Casbin::ask(p).is_ok());
    });
    let with_rows = measure::each(questions, PEER_REPEATS, |q| {
        black_box(casbin.prepare(q).and_then(|p| Casbin::ask(&p)).is_ok());
    });
    Ok((alone, with_rows))
}

fn lists(report: &mut Report, name: &str, policy: &Policy, questions: &[Question], now: Timestamp) {
    let lists = ours::lists(policy, questions, now);
    report.head(&["one list", "median", "99 of 100", "rows: median, most", "within 50 µs + 1 µs a row"]);
    for (what, answers) in [
        ("`effective`", lists.effective),
        ("`who_can`", lists.who_can),
        ("`allowed_objects`", lists.allowed_objects),
    ] {
        let within =
            answers.iter().filter(|(nanos, rows)| *nanos <= 50_000.0 + 1_000.0 * *rows as f64).count();
        let mut nanos: Vec<f64> = answers.iter().map(|(nanos, _)| *nanos).collect();
        nanos.sort_by(f64::total_cmp);
        let mut rows: Vec<usize> = answers.iter().map(|(_, rows)| *rows).collect();
        rows.sort_unstable();
        let share = 100.0 * within as f64 / answers.len() as f64;
        let median = nanos[nanos.len() / 2];
        report.row(&[
            what.to_owned(),
            time(median),
            time(nanos[nanos.len() * 99 / 100]),
            format!("{}, {}", rows[rows.len() / 2], rows[rows.len() - 1]),
            format!("{share:.1} %"),
        ]);
        report.goal(
            &format!("{what} at {name}"),
            "≤ 50 µs + 1 µs a row",
            &format!("{share:.1} % of answers within; median {}", time(median)),
            share >= 99.0,
        );
    }
    report.say("");
}

fn counted(report: &mut Report, folder: &Path, questions: &[Question], now: Timestamp) -> anyhow::Result<()> {
    let path = folder.join("questions");
    child::write_questions(&path, questions, now)?;
    let counted = child::instructions(&folder.join("S.snapshot"), &path, questions.len())?;
    report.say(&counted.map_or_else(
        || "Instructions of one check: valgrind is not installed.".to_owned(),
        |count| {
            format!("Instructions of one check, counted over 1,000 questions by callgrind: **{count:.0}**.")
        },
    ));
    Ok(())
}

fn commands(report: &mut Report, policy: &Policy, rbac: &RbacW, now: Timestamp) -> anyhow::Result<Commands> {
    let mut writer = Writer::new(policy, now)?;
    report.head(&["one command: decide, clone, apply, publish (2,000 of each)", "time"]);
    let mut medians = Vec::new();
    for kind in [Kind::IssueGrant, Kind::CreateObject, Kind::AddMember] {
        let spread = writer.time(kind, rbac, COMMANDS)?;
        report.row(&[format!("{kind:?}"), shown(spread)]);
        medians.push((kind, spread.median));
    }
    report.say("");
    Ok(medians)
}
