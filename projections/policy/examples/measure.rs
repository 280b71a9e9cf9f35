//! Measures the policy alone, in process: `cargo run --release -p charter-policy --example measure -- S [M L]`.
//!
//! For work on this crate; figures to compare with peers come from the benchmarks' own crate.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a tool for the terminal"
)]

use charter_events::{Affects, ChildTypes, Content, Effect, Event, EventMeta, GrantId, Subject};
use charter_events::{GrantIssued, GrantRevoked, PermissionKey, Scope, Timestamp, UserId};
use charter_policy::{Page, Policy};
use charter_testkit::workload::{RbacW, Size};
use std::hint::black_box;

fn main() {
    for argument in std::env::args().skip(1) {
        measure(&argument, argument.parse().unwrap());
    }
}

/// Time on a processor so far: what the machine's other work can't lengthen by making this wait.
fn on_cpu() -> std::time::Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    std::time::Duration::from_nanos(
        text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or_default(),
    )
}

fn timed<T>(what: &str, count: usize, work: impl FnOnce() -> T) -> T {
    let begin = on_cpu();
    let result = work();
    let nanos = (on_cpu() - begin).as_nanos() as f64;
    println!("  {what:<34} {:>12.1} ns each, {:>9.1} ms in all", nanos / count.max(1) as f64, nanos / 1e6);
    result
}

fn resident_mib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).unwrap_or_default() / 1024
}

fn measure(name: &str, size: Size) {
    println!("{name}");
    let workload = RbacW::new(size, 1);
    let before = resident_mib();
    let policy = fold(&workload);
    println!("  resident: {} MiB more", resident_mib() - before);
    let questions: Vec<_> = workload.questions(7).take(200_000).collect();
    let now = Timestamp::from_micros(1_800_000_000_000_000).unwrap();
    for _ in 0..2 {
        let allowed = timed("check", questions.len(), || {
            questions
                .iter()
                .filter(|q| policy.check(black_box(q.user), &q.key, q.scope, now).allowed())
                .count()
        });
        println!("  allowed: {:.1} %", allowed as f64 * 100.0 / questions.len() as f64);
    }
    let visited: u64 = questions.iter().map(|q| policy.check_counted(q.user, &q.key, q.scope, now).1).sum();
    println!("  entries visited by a check: {:.1}", visited as f64 / questions.len() as f64);
    batch(&policy, &questions.iter().map(|q| (q.user, q.key.clone(), q.scope)).collect::<Vec<_>>(), now);
    commands(&policy, &workload);
    snapshot(&policy);
}

fn fold(workload: &RbacW) -> Policy {
    let mut policy = Policy::new();
    let (mut events, mut folding) = (0_usize, std::time::Duration::ZERO);
    let mut source = workload.events();
    loop {
        let chunk: Vec<(EventMeta, Event)> = source.by_ref().take(50_000).collect();
        if chunk.is_empty() {
            break;
        }
        let begin = on_cpu();
        for (meta, event) in &chunk {
            policy.apply(meta, event).unwrap();
        }
        folding += on_cpu() - begin;
        events += chunk.len();
    }
    println!("  {events} events, {:.0} a second", events as f64 / folding.as_secs_f64());
    policy
}

fn batch(policy: &Policy, questions: &[(UserId, PermissionKey, Scope)], now: Timestamp) {
    let thousand: Vec<_> = questions[..1000].iter().map(|(_, key, scope)| (key.clone(), *scope)).collect();
    timed("batch of 1,000", 1, || black_box(policy.check_batch(questions[0].0, &thousand, now)));
    timed("effective", 200, || {
        questions[..200].iter().for_each(|(user, _, scope)| {
            black_box(policy.effective(*user, *scope, now));
        });
    });
    for limit in [100, usize::MAX] {
        let page = Page::first(limit);
        let rows: usize = timed(&format!("who_can, {limit} rows at most"), 500, || {
            questions[..500]
                .iter()
                .map(|(_, key, scope)| policy.who_can(key, *scope, now, page).users.len())
                .sum()
        });
        println!("  rows: {:.1}", rows as f64 / 500.0);
        let rows: usize = timed(&format!("allowed_objects, {limit} rows at most"), 200, || {
            let each = questions[..200].iter();
            each.map(|(user, key, _)| policy.allowed_objects(*user, key, "server", now, page).objects.len())
                .sum()
        });
        println!("  rows: {:.1}", rows as f64 / 200.0);
    }
    timed("allows_anywhere", 2_000, || {
        questions[..2_000].iter().filter(|(user, key, _)| policy.allows_anywhere(*user, key, now)).count()
    });
}

fn commands(policy: &Policy, workload: &RbacW) {
    let mut current = policy.clone();
    let mut kept = Vec::new();
    timed("clone, issue, publish", 5_000, || {
        for number in 0..5_000_usize {
            let mut staged = current.clone();
            let grant = GrantId::from_u128(0xABC0_0000 + number as u128);
            let issued = GrantIssued {
                grant,
                subject: Subject::User(RbacW::user_id(number * 7 % workload.user_count())),
                content: Content::Role(RbacW::role_id(number % 50)),
                scope: Scope::Object(RbacW::object_id(number * 977 % workload.object_count())),
                effect: Effect::Allow,
                not_before: None,
                expires_at: None,
                affects: Affects::All,
                child_types: ChildTypes::All,
            };
            apply(&mut staged, issued.into());
            kept.push(grant);
            current = staged;
        }
    });
    timed("clone, revoke, publish", kept.len(), || {
        for grant in kept {
            let mut staged = current.clone();
            apply(&mut staged, GrantRevoked { grant }.into());
            current = staged;
        }
    });
}

fn apply(policy: &mut Policy, event: Event) {
    let meta = EventMeta {
        offset: policy.version().plus(1).unwrap(),
        recorded_at: policy.recorded_at(),
        actor: charter_events::Actor::System,
    };
    policy.apply(&meta, &event).unwrap();
}

fn snapshot(policy: &Policy) {
    let bytes = timed("snapshot written", 1, || policy.to_snapshot().unwrap());
    println!("  bytes: {} MiB", bytes.len() / (1 << 20));
    let loaded = timed("snapshot loaded", 1, || Policy::from_snapshot(&bytes).unwrap());
    let digest = timed("digest", 1, || policy.digest());
    assert_eq!(digest, loaded.digest());
}
