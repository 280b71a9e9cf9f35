//! What `Policy` and the commands cost: folding, snapshots, questions, one command.

use crate::{
    measure::{self, REPEATS, Spread},
    questions::{Question, Workload},
};
use anyhow::{Context as _, anyhow};
use charter_commands::{
    AddMember, Command, Context, CreateObject, IssueGrant, Limits, UpsertCoreCatalog, decide,
};
use charter_events::{
    Affects, ChildTypes, Content, Effect, Event, EventMeta, ObjectType, Offset, PermissionKey, Scope,
    Subject, Timestamp,
};
use charter_policy::{Caller, Page, Policy};
use charter_testkit::{Rng, workload::RbacW};
use std::{hint::black_box, sync::Arc};
use uuid::Uuid;

/// How many events are decoded, then applied, at a time.
const CHUNK_EVENTS: usize = 50_000;

/// What folding a log took.
pub(crate) struct Replay {
    pub(crate) policy: Policy,
    pub(crate) events: usize,
    pub(crate) decode_nanos: f64,
    pub(crate) apply_nanos: f64,
}

/// Folds the log from its payloads' bytes.
pub(crate) fn replay(workload: &Workload) -> anyhow::Result<Replay> {
    let mut done = Replay { policy: Policy::new(), events: 0, decode_nanos: 0.0, apply_nanos: 0.0 };
    let mut events = workload.events();
    loop {
        let chunk: Vec<(EventMeta, &'static str, u16, Vec<u8>)> = events
            .by_ref()
            .take(CHUNK_EVENTS)
            .map(|(meta, event)| Ok((meta, event.type_name(), event.schema(), event.encode()?)))
            .collect::<anyhow::Result<_>>()?;
        if chunk.is_empty() {
            return Ok(done);
        }
        done.events += chunk.len();
        let (decoded, nanos) = measure::once(|| {
            chunk
                .into_iter()
                .map(|(meta, name, schema, payload)| Ok((meta, Event::decode(name, schema, &payload)?)))
                .collect::<anyhow::Result<Vec<_>>>()
        });
        done.decode_nanos += nanos;
        let decoded = decoded?;
        let (applied, nanos) =
            measure::once(|| decoded.iter().try_for_each(|(meta, event)| done.policy.apply(meta, event)));
        done.apply_nanos += nanos;
        applied.context("fold the workload")?;
    }
}

/// Nanoseconds a check with its full explanation.
pub(crate) fn check(policy: &Policy, questions: &[Question], now: Timestamp) -> Spread {
    measure::each(questions, REPEATS, |q| {
        black_box(policy.check(q.asked.user, &q.asked.key, q.asked.scope, now));
    })
}

/// Nanoseconds of a batch of these many questions, for several users.
pub(crate) fn batch(policy: &Policy, questions: &[Question], count: usize, now: Timestamp) -> Spread {
    let pairs = |chunk: &[Question]| -> Vec<(PermissionKey, Scope)> {
        chunk.iter().map(|q| (q.asked.key.clone(), q.asked.scope)).collect()
    };
    let batches: Vec<_> =
        questions.chunks_exact(count).map(|chunk| (chunk[0].asked.user, pairs(chunk))).collect();
    measure::each(&batches, REPEATS, |(user, pairs)| {
        black_box(policy.check_batch(*user, pairs, now));
    })
}

/// The list questions: nanoseconds and rows of each answer.
pub(crate) struct Lists {
    pub(crate) effective: Vec<(f64, usize)>,
    pub(crate) who_can: Vec<(f64, usize)>,
    pub(crate) allowed_objects: Vec<(f64, usize)>,
}

/// Asks the list questions.
pub(crate) fn lists(policy: &Policy, questions: &[Question], now: Timestamp) -> Lists {
    let object_type = charter_testkit::workload::OBJECT_TYPE;
    Lists {
        effective: measure::one_by_one(questions, |q| {
            black_box(policy.effective(q.asked.user, q.asked.scope, now)).len()
        }),
        who_can: measure::one_by_one(questions, |q| {
            black_box(policy.who_can(&q.asked.key, q.asked.scope, now, Page::ALL)).users.len()
        }),
        allowed_objects: measure::one_by_one(questions, |q| {
            let answer = policy.allowed_objects(q.asked.user, &q.asked.key, object_type, now, Page::ALL);
            black_box(answer).objects.len()
        }),
    }
}

/// The kinds of commands that are timed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    IssueGrant,
    CreateObject,
    AddMember,
}

/// A published policy and what it takes to change it: decide, clone, apply, publish.
pub(crate) struct Writer {
    published: Arc<Policy>,
    limits: Limits,
    next_id: u128,
    now: Timestamp,
}

impl Writer {
    /// Begins with a policy, adding core's catalog so that an administrator can be asked for core's keys.
    pub(crate) fn new(policy: &Policy, now: Timestamp) -> anyhow::Result<Self> {
        let published = Arc::new(policy.clone());
        let mut writer = Self { published, limits: Limits::default(), next_id: 1 << 100, now };
        writer.submit(&Caller::System, &Command::from(UpsertCoreCatalog {}))?;
        Ok(writer)
    }

    fn submit(&mut self, caller: &Caller, command: &Command) -> anyhow::Result<()> {
        let mut next_id = self.next_id;
        let mut ids = || {
            next_id += 1;
            Uuid::from_u128(next_id)
        };
        let mut staged = Policy::clone(&self.published);
        let mut context = Context::new(caller, self.now, &mut ids, &self.limits);
        let decided = decide(&staged, command, &mut context);
        let decided =
            decided.map_err(|refusal| anyhow!("refused: {}: {}", refusal.code.as_str(), refusal.detail))?;
        self.next_id = next_id;
        let actor = caller.attribution(&staged);
        for event in &decided.events {
            let offset = Offset::new(staged.version().get() + 1).context("offsets are used up")?;
            staged.apply(&EventMeta { offset, recorded_at: self.now, actor: actor.clone() }, event)?;
        }
        self.published = Arc::new(staged);
        Ok(())
    }

    /// Nanoseconds of each of so many commands of a kind, by an administrator.
    pub(crate) fn time(&mut self, kind: Kind, workload: &RbacW, count: usize) -> anyhow::Result<Spread> {
        let mut rng = Rng::part(workload.seed(), 77, kind as u64);
        let caller = Caller::of(RbacW::user_id(0));
        let commands: Vec<Command> = (0..count).map(|_| command(kind, workload, &mut rng)).collect();
        let mut figures = Vec::new();
        for command in &commands {
            let (done, nanos) = measure::once(|| self.submit(&caller, command));
            done?;
            figures.push(nanos);
        }
        Ok(Spread::of(figures))
    }
}

fn command(kind: Kind, workload: &RbacW, rng: &mut Rng) -> Command {
    let leaf = rng.between(workload.folder_count(), workload.object_count() - 1);
    match kind {
        Kind::IssueGrant => Command::from(IssueGrant {
            subject: Subject::User(RbacW::user_id(rng.below(workload.user_count()))),
            content: Content::Role(RbacW::role_id(rng.below(charter_testkit::workload::ROLES))),
            scope: Scope::Object(RbacW::object_id(leaf)),
            effect: Effect::Allow,
            not_before: None,
            // a moment of its own, so that no two are the same grant
            expires_at: Timestamp::from_micros(4_000_000_000_000_000 + i64::from(rng.bits() as u32)),
            affects: Affects::All,
            child_types: ChildTypes::All,
        }),
        Kind::CreateObject => Command::from(CreateObject {
            // the workload's own type has keys that nobody registered
            object_type: ObjectType::folder(),
            external_id: None,
            name: charter_testkit::history::parsed("New"),
            parent: Some(RbacW::object_id(rng.below(workload.folder_count()))),
        }),
        Kind::AddMember => {
            // a group the user is not in yet, most of the time; being in it already is no event and no error
            let group = RbacW::group_id(rng.below(workload.group_count()));
            Command::from(AddMember { group, user: RbacW::user_id(rng.below(workload.user_count())) })
        }
    }
}
