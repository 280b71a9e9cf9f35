//! The rules of the house that neither the compiler nor clippy checks, each a small function over one file.

use crate::{
    links,
    tree::{File, Tree},
};

/// The longest source file, in lines.
const FILE_LINES_MAX: usize = 600;
/// From here on a source file is listed as growing too long.
const FILE_LINES_SOFT: usize = 400;
/// The longest line of a source file, in characters; one with a text in quotes is as long as its text.
const LINE_CHARS_MAX: usize = 120;

/// What no source file contains. Written in two parts so that this file doesn't either.
const LEFTOVERS: &[(&str, &str, &str)] = &[
    ("FIX", "ME", "finish it"),
    ("XX", "X", "finish it"),
    ("TO", "DO", "finish it"),
    ("todo", "!(", "finish it"),
    ("unimplemented", "!(", "finish it"),
    ("dbg", "!(", "a leftover of debugging"),
    ("#[all", "ow(", "use `#[expect(…, reason = \"…\")]`"),
    ("#![all", "ow(", "use `#![expect(…, reason = \"…\")]`"),
    ("#[ign", "ore", "a test runs or is deleted"),
];

/// Folders at the top of one machine; a path that begins there means nothing elsewhere.
const MACHINE_FOLDERS: &[&str] = &["home", "root", "Users", "work"];
/// How the hosts of package registries begin; a file that names one is bound to it.
const REGISTRY_HOSTS: &[&str] = &["registry", "index", "static", "files", "deb", "proxy"];
/// Followed by a number: a reference to a list that isn't part of the checkout.
const LIST_WORDS: &[&str] = &["issue", "ticket", "task"];

/// A fault for each breach of a rule anywhere in the checkout.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.files.iter().flat_map(|file| check_file(tree, file)).collect()
}

/// The source files that are longer than they should be and not yet longer than they may be.
pub(crate) fn long_files(tree: &Tree) -> Vec<String> {
    let files = tree.files.iter().filter(|f| is_source(&f.path));
    let long = files.map(|f| (f.text.lines().count(), &f.path)).filter(|(n, _)| *n > FILE_LINES_SOFT);
    long.map(|(lines, path)| format!("{path}: {lines} lines")).collect()
}

fn check_file(tree: &Tree, file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    if is_source(&file.path) {
        faults.extend(too_long(file));
        faults.extend(long_lines(file));
        faults.extend(leftovers(file));
    }
    if file.path.ends_with(".rs") {
        faults.extend(opening(file));
    }
    if file.path.ends_with(".md") {
        faults.extend(links::check(tree, file));
    }
    if file.path.ends_with("Cargo.toml") {
        faults.extend(shared_lints(file));
    }
    if is_written_by_hand(&file.path) {
        faults.extend(bound_to_a_machine(file));
    }
    faults
}

fn is_source(path: &str) -> bool {
    [".rs", ".sh", ".py", ".ts", ".js", ".sql"].iter().any(|end| path.ends_with(end))
        || path == "Makefile"
        || path == ".ci/run"
}

fn is_written_by_hand(path: &str) -> bool {
    !path.ends_with(".lock")
        && !path.ends_with("package-lock.json")
        && !path.ends_with(".proptest-regressions")
}

fn too_long(file: &File) -> Option<String> {
    let lines = file.text.lines().count();
    let fault = || format!("{}: {lines} lines, at most {FILE_LINES_MAX}: split it by topic", file.path);
    (lines > FILE_LINES_MAX).then(fault)
}

fn long_lines(file: &File) -> impl Iterator<Item = String> {
    let is_long = |line: &str| line.chars().count() > LINE_CHARS_MAX && !line.contains('"');
    let lines = file.text.lines().enumerate().filter(move |(_, line)| is_long(line));
    lines.map(|(n, _)| format!("{}:{}: a line of more than {LINE_CHARS_MAX} characters", file.path, n + 1))
}

fn leftovers(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    for (n, line) in file.text.lines().enumerate() {
        for (first, second, instead) in LEFTOVERS {
            let word = format!("{first}{second}");
            if contains_word(line, &word) {
                faults.push(format!("{}:{}: `{word}`: {instead}", file.path, n + 1));
            }
        }
    }
    faults
}

/// Whether a line contains a word that isn't the middle of another.
fn contains_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
        let ends_in_word = word.chars().next_back().is_some_and(is_part);
        let inside = before.is_some_and(is_part) || (ends_in_word && after.is_some_and(is_part));
        !inside
    })
}

fn opening(file: &File) -> Option<String> {
    let first = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    (!first.starts_with("//!"))
        .then(|| format!("{}: opens without a `//!` that says what it owns and must not know", file.path))
}

fn shared_lints(file: &File) -> Option<String> {
    let is_package = file.text.lines().any(|line| line.trim() == "[package]");
    let mut after = file.text.lines().map(str::trim).skip_while(|line| *line != "[lints]");
    let shared = after.nth(1) == Some("workspace = true");
    (is_package && !shared).then(|| format!("{}: lacks `[lints]` with `workspace = true`", file.path))
}

fn bound_to_a_machine(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    for (n, line) in file.text.lines().enumerate() {
        let mut fault = |what: String| faults.push(format!("{}:{}: {what}", file.path, n + 1));
        for folder in MACHINE_FOLDERS {
            let path = format!("/{folder}/");
            let begins = |at: usize| {
                let before = line.get(..at).and_then(|text| text.chars().next_back());
                before.is_none_or(|c| c.is_whitespace() || "\"'`(=:,".contains(c))
            };
            if line.match_indices(&path).any(|(at, _)| begins(at)) {
                fault(format!("`{path}` is a path of one machine"));
            }
        }
        for host in REGISTRY_HOSTS {
            if line.contains(&format!("://{host}.")) {
                fault("the host of a package registry".to_owned());
            }
        }
        if LIST_WORDS.iter().any(|word| names_a_number(line, word)) {
            fault("a reference to a list that isn't part of the checkout".to_owned());
        }
    }
    faults
}

/// Whether a line says `<word> 12` or `<word> #12`.
fn names_a_number(line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    let mut after = line.match_indices(word).filter_map(|(at, _)| line.get(at + word.len()..));
    after.any(|rest| {
        let number = rest.strip_prefix(" #").or_else(|| rest.strip_prefix(' ')).unwrap_or_default();
        number.starts_with(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        check_file(&Tree::default(), &file)
    }

    #[test]
    fn the_checkout_keeps_the_rules_of_the_house() {
        let faults = check(&Tree::read().unwrap());
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn what_keeps_the_rules_is_no_fault() {
        for (path, text) in [
            ("a.rs", "//! Owns a.\n\n// XXXL is a size\nfn f() {}\n"),
            ("Cargo.toml", "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n"),
            ("Cargo.toml", "[workspace]\n"),
            ("a.md", "see https://example.org/work/ and `modules/home/x`, an issue of 3 pages\n"),
        ] {
            assert_eq!(faults(path, text), Vec::<String>::new(), "{path}: {text}");
        }
    }

    #[test]
    fn each_breach_is_named_once() {
        let opened = "//! Owns a.\n";
        for (path, text, fault) in [
            ("a.rs", "fn f() {}\n".to_owned(), "opens without"),
            ("a.rs", format!("{opened}{}", "\n".repeat(600)), "601 lines"),
            ("a.rs", format!("{opened}// {}\n", "é".repeat(118)), "more than 120"),
            ("a.rs", format!("{opened}// {}{}: later\n", "FIX", "ME"), "finish it"),
            ("a.rs", format!("{opened}fn f() {{ todo{}) }}\n", "!("), "finish it"),
            ("a.rs", format!("{opened}fn f() {{ dbg{}1) }}\n", "!("), "debugging"),
            ("a.rs", format!("{opened}#[all{}dead_code)]\n", "ow("), "expect"),
            ("a.rs", format!("{opened}#[ign{}]\n", "ore"), "runs or is deleted"),
            ("Cargo.toml", "[package]\nname = \"a\"\n".to_owned(), "lacks `[lints]`"),
            ("a.toml", format!("path = \"/{}/x\"\n", "home"), "path of one machine"),
            ("a.sh", format!("curl https://{}.example.org\n", "registry"), "package registry"),
            ("a.md", format!("as {} #12 says\n", "issue"), "a reference to a list"),
            ("a.md", format!("as {} 12 says\n", "issue"), "a reference to a list"),
            ("a.md", "[x](missing.md)\n".to_owned(), "leads nowhere"),
        ] {
            let found = faults(path, &text);
            assert!(found.len() == 1 && found[0].contains(fault), "{fault}: {found:?}");
        }
    }
}
