//! What cargo says of the workspace, cut down to what the checks need. Knows no rule.

use anyhow::{Context, ensure};
use serde::Deserialize;
use std::{collections::BTreeSet, process::Command};

/// The workspace's crates and everything they are built from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workspace {
    /// The workspace's own crates.
    pub(crate) crates: Vec<Member>,
    /// The names of all packages the product is built from here: everything but `bench`, tests aside.
    pub(crate) built_from: BTreeSet<String>,
}

/// One crate of the workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) name: String,
    /// Its direct dependencies.
    pub(crate) edges: Vec<Edge>,
}

/// One direct dependency.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    /// On which package.
    pub(crate) on: String,
    /// Whether only tests and examples see it.
    pub(crate) dev: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

/// Asks cargo, without touching the network or the lock file.
pub(crate) fn read() -> anyhow::Result<Workspace> {
    let metadata = cargo(&["metadata", "--format-version=1", "--no-deps"])?;
    let metadata: Metadata = serde_json::from_slice(&metadata).context("read cargo metadata")?;
    let crates = metadata.packages.into_iter().map(|package| {
        let edges = package.dependencies.into_iter();
        let edges = edges.map(|d| Edge { on: d.name, dev: d.kind.as_deref() == Some("dev") });
        Member { name: package.name, edges: edges.collect() }
    });
    let built_from = ["tree", "--workspace", "--exclude=charter-bench", "--edges=normal,build"];
    let lines = cargo(&[&built_from[..], &["--prefix=none", "--format={p}"]].concat())?;
    let lines = String::from_utf8_lossy(&lines);
    let names = lines.lines().filter_map(|line| line.split(' ').next());
    Ok(Workspace { crates: crates.collect(), built_from: names.map(str::to_owned).collect() })
}

fn cargo(args: &[&str]) -> anyhow::Result<Vec<u8>> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(args).args(["--locked", "--offline"]).current_dir(crate::tree::root());
    let output = command.output().context("run cargo")?;
    ensure!(output.status.success(), "cargo {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}
