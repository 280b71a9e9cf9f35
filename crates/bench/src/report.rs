//! The report: what was measured where, and which goal is met. Knows nothing of how it was measured.

use std::{fmt::Write, path::Path, process::Command};

/// One line of the report's table of goals.
#[derive(Debug, Clone)]
pub(crate) struct Goal {
    pub(crate) what: String,
    pub(crate) goal: String,
    pub(crate) measured: String,
    pub(crate) met: bool,
}

/// What is written.
#[derive(Debug, Default)]
pub(crate) struct Report {
    sections: String,
    goals: Vec<Goal>,
}

impl Report {
    /// A heading.
    pub(crate) fn section(&mut self, title: &str) {
        let _ = write!(self.sections, "\n## {title}\n\n");
    }

    /// A paragraph.
    pub(crate) fn say(&mut self, text: &str) {
        let _ = write!(self.sections, "{text}\n\n");
    }

    /// A table's head.
    pub(crate) fn head(&mut self, columns: &[&str]) {
        let _ = writeln!(self.sections, "| {} |", columns.join(" | "));
        let _ = writeln!(self.sections, "|{}", "---|".repeat(columns.len()));
    }

    /// A table's row.
    pub(crate) fn row(&mut self, cells: &[String]) {
        let _ = writeln!(self.sections, "| {} |", cells.join(" | "));
    }

    /// A goal, and whether it is met.
    pub(crate) fn goal(&mut self, what: &str, goal: &str, measured: &str, met: bool) {
        self.goals.push(Goal {
            what: what.to_owned(),
            goal: goal.to_owned(),
            measured: measured.to_owned(),
            met,
        });
    }

    /// The whole text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("# Benchmark, in process\n\n{}\n## Goals\n\n", machine());
        text.push_str("| what | goal | measured | |\n|---|---|---|---|\n");
        for Goal { what, goal, measured, met } in &self.goals {
            let met = if *met { "met" } else { "**not met**" };
            let _ = writeln!(text, "| {what} | {goal} | {measured} | {met} |");
        }
        text.push_str(&self.sections);
        text
    }

    /// Writes it.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(std::fs::write(path, self.text())?)
    }
}

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model =
        cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map(|(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let memory = read("/proc/meminfo");
    let memory =
        memory.lines().next().and_then(|line| line.split_whitespace().nth(1)).and_then(|kb| kb.parse().ok());
    let memory_gib = memory.map_or(0.0, |kb: f64| kb / 1024.0 / 1024.0);
    let load = read("/proc/loadavg");
    format!(
        "- machine: {}, {cores} cores, {memory_gib:.0} GiB, load at the end {}\n- {}, release profile (thin LTO)\n\
         - charter {}, cedar-policy 4.14, casbin 2.20; every time is the median [least–greatest] of {} repeats unless \
         said otherwise\n",
        model.unwrap_or("unknown").trim(),
        load.split(' ').next().unwrap_or("?"),
        said(Command::new("rustc").arg("-V")),
        env!("CARGO_PKG_VERSION"),
        crate::measure::REPEATS,
    )
}

fn said(command: &mut Command) -> String {
    let output = command.output().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    output.unwrap_or_else(|_| "rustc unknown".to_owned())
}
