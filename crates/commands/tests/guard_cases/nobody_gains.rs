//! The property behind all guards: whatever anybody does who is no administrator, nobody can afterwards do anything
//! that neither he nor the one who did it could do before, today or later; and whoever gets at another's credential
//! could do what that one can. What is refused, or only previewed, changes nothing.
//!
//! What is right is computed by the naive model ([`crate::gains`]), not by the policy the guards ask.

use crate::{
    every_command::{KINDS, number},
    gains::Act,
    random_world::{PEOPLE, Play, keys},
    undo::{Happened, recorded},
    world::World,
};
use charter_commands::{Command, Decided, Refusal};
use charter_events::Event;
use charter_policy::Caller;
use charter_testkit::{Rng, ids, model, model::Columns};
use std::collections::BTreeMap;

/// How many commands each world is asked for.
const COMMANDS: usize = 80;

/// What a play came to.
#[derive(Default)]
pub(crate) struct Played {
    asked: usize,
    accepted: usize,
    previewed: usize,
    /// By the command's number: how often it was asked for, and accepted.
    kinds: BTreeMap<usize, (usize, usize)>,
    names: BTreeMap<usize, &'static str>,
}

impl Played {
    fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.accepted += other.accepted;
        self.previewed += other.previewed;
        for (kind, (asked, accepted)) in &other.kinds {
            let known = self.kinds.entry(*kind).or_default();
            *known = (known.0 + asked, known.1 + accepted);
        }
        self.names.extend(&other.names);
    }
}

#[test]
fn over_a_hundred_thousand_commands_nobody_gains_what_neither_he_nor_the_actor_held() {
    let worlds = 1_280;
    // On as many threads as there are: a world is its own.
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(8)) as u64;
    let mut all = Played::default();
    std::thread::scope(|scope| {
        let part = |first: u64| (first..worlds).step_by(usize::try_from(threads).unwrap());
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || played(part(first)))).collect();
        for part in parts {
            all.add(&part.join().unwrap().unwrap_or_else(|wrong| panic!("{wrong}")));
        }
    });
    for (kind, (asked, accepted)) in &all.kinds {
        println!("{:<32} {asked:>6} asked {accepted:>6} accepted", all.names[kind]);
    }
    println!("{} asked, {} accepted, {} previewed", all.asked, all.accepted, all.previewed);
    assert!(
        all.asked >= 100_000 && all.accepted * 10 >= all.asked && all.previewed >= 5_000,
        "worth nothing"
    );
    let seldom: Vec<_> =
        (0..KINDS).filter(|kind| all.kinds.get(kind).is_none_or(|(asked, _)| *asked < 200)).collect();
    assert!(seldom.is_empty(), "commands that hardly came up: {seldom:?}");
    let never = all.kinds.iter().filter(|(kind, (_, accepted))| *accepted == 0 && !is_system_s(**kind));
    let never: Vec<_> = never.map(|(kind, _)| all.names[kind]).collect();
    assert!(never.is_empty(), "commands that were never accepted: {never:?}");
}

/// What only the control plane does, and nobody here is let do.
fn is_system_s(kind: usize) -> bool {
    matches!(kind, 0..=3 | 22 | 25 | 31 | 37..=39)
}

/// Plays the worlds of these seeds; or the first thing that went wrong, with the world it went wrong in.
pub(crate) fn played(seeds: impl Iterator<Item = u64>) -> Result<Played, String> {
    let mut played = Played::default();
    for seed in seeds {
        Table::new(seed).play(&mut played)?;
    }
    Ok(played)
}

/// One world being played.
struct Table {
    seed: u64,
    play: Play,
    rng: Rng,
    columns: Columns,
    model: model::World,
    log: Vec<Happened>,
}

impl Table {
    fn new(seed: u64) -> Self {
        let play = Play::new(seed);
        let columns = Columns::new(keys(&play.world.policy));
        let model = model::World::of(play.world.log());
        Self { seed, play, rng: Rng::part(seed, 40, 0), columns, model, log: Vec::new() }
    }

    fn play(mut self, played: &mut Played) -> Result<(), String> {
        for turn in 0..COMMANDS {
            let (caller, command) = self.play.anything(&self.log);
            let command = self.play.world.told(command);
            let kind = number(&command);
            let counted = played.kinds.entry(kind).or_default();
            counted.0 += 1;
            played.names.insert(kind, command.name());
            played.asked += 1;
            if self.rng.percent(8) {
                played.previewed += 1;
                self.preview(&caller, &command)?;
            }
            let Some(decided) = self.decide(&caller, &command)? else { continue };
            played.accepted += 1;
            counted.1 += 1;
            if is_system_s(kind) {
                return Err(format!("{caller:?} was let do {command:?}"));
            }
            self.happens(turn, &caller, &command, &decided.events)?;
        }
        Ok(())
    }

    /// The decision; none when it was refused, or nothing is to be done. Either leaves everything as it was.
    fn decide(&mut self, caller: &Caller, command: &Command) -> Result<Option<Decided>, String> {
        let before = self.digest();
        let decided = self.play.world.decide(caller, command.clone());
        if self.digest() != before {
            return Err(format!("{caller:?} {command:?} changed something before it happened"));
        }
        Ok(decided.ok().filter(|decided| !decided.events.is_empty()))
    }

    /// All there is; now and then only, for it costs as much as a decision.
    fn digest(&mut self) -> Option<[u8; 32]> {
        self.play.made.is_multiple_of(8).then(|| self.play.world.policy.digest())
    }

    /// A preview is decided and happens on a copy: it tells what the command would then do, and leaves no trace.
    fn preview(&mut self, caller: &Caller, command: &Command) -> Result<(), String> {
        let before = self.play.world.policy.digest();
        let names = |decided: Result<Decided, Refusal>| {
            decided.map(|decided| decided.events.iter().map(Event::type_name).collect::<Vec<_>>())
        };
        let told = self.play.world.decide(caller, command.clone());
        if let Ok(decided) = &told {
            let mut copy = World::of(self.play.world.log()).ok_or("the log contradicts itself")?;
            decided.events.iter().for_each(|event| copy.apply(event));
        }
        let then = self.play.world.decide(caller, command.clone());
        if self.play.world.policy.digest() != before {
            return Err(format!("the preview of {caller:?} {command:?} changed something"));
        }
        let (told, then) = (names(told), names(then));
        if told != then {
            return Err(format!("{caller:?} {command:?} was told {told:?} and would get {then:?}"));
        }
        Ok(())
    }

    fn happens(
        &mut self,
        turn: usize,
        caller: &Caller,
        command: &Command,
        events: &[Event],
    ) -> Result<(), String> {
        let mut after = self.model.clone();
        events.iter().for_each(|event| after.apply(event));
        let act = Act { before: &self.model, after: &after, caller, events };
        if let Some(wrong) = act.wrong(&mut self.columns) {
            let world = shrunk(self.play.world.log(), caller, command, &wrong, &mut self.columns);
            let report = format!(
                "world {}, command {turn}: {wrong}\ngiven\n{}when {caller:?} sends\n  {command:?}\nthen\n{}",
                self.seed,
                shown(&world),
                shown(events)
            );
            return Err(with_names(report));
        }
        self.log.push(recorded(&mut self.play.world, events.to_vec()));
        self.model = after;
        Ok(())
    }
}

/// The events of a world in which the same command still goes wrong, as few as leaving them out one by one finds.
fn shrunk(
    log: &[Event],
    caller: &Caller,
    command: &Command,
    wrong: &str,
    columns: &mut Columns,
) -> Vec<Event> {
    let mut smallest = log.to_vec();
    // An undo names places in the log: another log is another command.
    if matches!(command, Command::Undo(_)) {
        return smallest;
    }
    for at in (0..log.len()).rev() {
        let mut fewer = smallest.clone();
        fewer.remove(at);
        if goes_wrong(&fewer, caller, command, columns).as_deref() == Some(wrong) {
            smallest = fewer;
        }
    }
    smallest
}

fn goes_wrong(log: &[Event], caller: &Caller, command: &Command, columns: &mut Columns) -> Option<String> {
    let decided = World::of(log)?.decide(caller, command.clone()).ok()?;
    let before = model::World::of(log);
    let mut after = before.clone();
    decided.events.iter().for_each(|event| after.apply(event));
    Act { before: &before, after: &after, caller, events: &decided.events }.wrong(columns)
}

fn shown(events: &[Event]) -> String {
    let line = |event: &Event| {
        let payload = event.encode().unwrap_or_default();
        format!("  {} {}\n", event.type_name(), String::from_utf8_lossy(&payload))
    };
    events.iter().map(line).collect()
}

/// The ids of what the world begins with, as their names.
fn with_names(mut text: String) -> String {
    let mut names = BTreeMap::new();
    for name in PEOPLE.into_iter().chain(["root", "z"]) {
        names.insert(ids::user(name).to_string(), name);
    }
    for name in ["g0", "g1"] {
        names.insert(ids::group(name).to_string(), name);
    }
    for name in ["administrator", "owner", "viewer", "operator", "r0", "r1", "r2"] {
        names.insert(ids::role(name).to_string(), name);
    }
    for name in ["f0", "f1", "f2", "f3"] {
        names.insert(ids::folder(name).to_string(), name);
    }
    for name in ["s0", "s1", "s2", "s3"] {
        names.insert(ids::object("server", name).to_string(), name);
    }
    for (id, name) in names {
        text = text.replace(&id, name);
    }
    text
}
