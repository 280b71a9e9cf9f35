//! What is measured in a process of its own: the memory of a loaded policy, and the instructions of a check.

use crate::questions::Question;
use anyhow::{Context, ensure};
use charter_events::{PermissionKey, Scope, Timestamp, UserId};
use charter_policy::Policy;
use std::{hint::black_box, path::Path, process::Command};

/// Loads a snapshot and says how many bytes the process then occupies.
pub(crate) fn resident(snapshot: &Path) -> anyhow::Result<u64> {
    let policy = load(snapshot)?;
    let bytes = resident_bytes()?;
    drop(black_box(policy));
    Ok(bytes)
}

fn load(snapshot: &Path) -> anyhow::Result<Policy> {
    let bytes = std::fs::read(snapshot).context("read the snapshot")?;
    Ok(Policy::from_snapshot(&bytes)?)
}

/// What this process occupies now.
fn resident_bytes() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("read the process's status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("find VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().context("read VmRSS")?;
    Ok(kib * 1024)
}

/// Asks the questions of a file so many times over, and says how many were allowed.
pub(crate) fn checks(snapshot: &Path, questions: &Path, rounds: usize) -> anyhow::Result<usize> {
    let policy = load(snapshot)?;
    let text = std::fs::read_to_string(questions).context("read the questions")?;
    let questions: Vec<(UserId, PermissionKey, Scope, Timestamp)> =
        text.lines().map(parse).collect::<anyhow::Result<_>>()?;
    let mut allowed = 0;
    for _ in 0..rounds {
        for (user, key, scope, now) in &questions {
            allowed += usize::from(black_box(policy.check(*user, key, *scope, *now)).allowed());
        }
    }
    Ok(allowed)
}

fn parse(line: &str) -> anyhow::Result<(UserId, PermissionKey, Scope, Timestamp)> {
    let mut words = line.split(' ');
    let mut word = || words.next().context("a question has four words");
    let (user, key, object, now) = (word()?, word()?, word()?, word()?);
    Ok((user.parse()?, key.parse()?, Scope::Object(object.parse()?), now.parse()?))
}

/// Writes questions for [`checks`].
pub(crate) fn write_questions(path: &Path, questions: &[Question], now: Timestamp) -> anyhow::Result<()> {
    let lines = questions.iter().filter_map(|q| match q.asked.scope {
        Scope::Object(object) => Some(format!("{} {} {object} {now}\n", q.asked.user, q.asked.key)),
        Scope::Global => None,
    });
    std::fs::write(path, lines.collect::<String>()).context("write the questions")
}

/// The memory of a policy, measured in a process that does nothing else, in bytes.
pub(crate) fn resident_elsewhere(snapshot: &Path) -> anyhow::Result<u64> {
    let output = Command::new(std::env::current_exe()?).arg("resident").arg(snapshot).output()?;
    ensure!(output.status.success(), "measure memory: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// Instructions of one check, counted by valgrind; `None` where it isn't installed.
pub(crate) fn instructions(snapshot: &Path, questions: &Path, count: usize) -> anyhow::Result<Option<f64>> {
    let count_of = |rounds: usize| -> anyhow::Result<Option<f64>> {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(std::env::current_exe()?);
        command.arg("checks").arg(snapshot).arg(questions).arg(rounds.to_string());
        let Ok(output) = command.output() else { return Ok(None) };
        ensure!(output.status.success(), "valgrind: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let collected = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, n)| n.trim());
        Ok(Some(collected.context("read valgrind's count")?.parse()?))
    };
    // the difference leaves out starting, loading and parsing
    let (Some(once), Some(twice)) = (count_of(1)?, count_of(2)?) else { return Ok(None) };
    Ok(Some((twice - once) / count as f64))
}
