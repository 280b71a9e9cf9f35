//! Whether the relative links of the Markdown files lead somewhere.

use crate::tree::{File, Tree};

/// A fault for each link of a Markdown file to a file, folder or heading that is not there.
pub(crate) fn check(tree: &Tree, file: &File) -> Vec<String> {
    let broken = links(&file.text).into_iter().filter(|link| !resolves(tree, file, link));
    broken.map(|link| format!("{}: the link to `{link}` leads nowhere", file.path)).collect()
}

/// The targets of `[text](target)`, code aside.
fn links(markdown: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        // what stands between backticks is code
        for text in line.split('`').step_by(2) {
            let targets = text.split("](").skip(1);
            found.extend(targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target));
        }
        // a link whose text is code: [`text`](target)
        let targets = line.split("`](").skip(1);
        found.extend(targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn resolves(tree: &Tree, file: &File, link: &str) -> bool {
    if link.contains("://") || link.starts_with("mailto:") {
        return true;
    }
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let target = if path.is_empty() { file.path.clone() } else { joined(&file.path, path) };
    let Some(heading) = heading else { return target.is_empty() || tree.paths.contains(&target) };
    let Some(target) = tree.files.iter().find(|f| f.path == target) else { return false };
    target.text.lines().filter(|l| l.starts_with('#')).any(|l| slug(l) == heading)
}

fn joined(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchor a heading gets.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_is_named() {
        let text =
            "# Two Words\n[a](b.md) [`c`](sub/) [d](#two-words) [e](https://example.org) `[f](g.md)`\n";
        let file = File { path: "docs/x.md".to_owned(), text: text.to_owned() };
        let mut tree = Tree { files: vec![file.clone()], ..Tree::default() };
        tree.paths.extend(["docs".into(), "docs/b.md".into(), "docs/sub".into()]);
        assert_eq!(check(&tree, &file), Vec::<String>::new());

        tree.paths.remove("docs/b.md");
        tree.paths.remove("docs/sub");
        let broken = check(&tree, &file);
        assert_eq!(
            broken,
            ["docs/x.md: the link to `b.md` leads nowhere", "docs/x.md: the link to `sub/` leads nowhere"]
        );

        let file = File { path: "x.md".to_owned(), text: "[d](#three)".to_owned() };
        tree.files.push(file.clone());
        assert_eq!(check(&tree, &file).len(), 1);
    }
}
