//! The repository's own scenarios hold, and a scenario that does not hold says so with its place and its walk.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_scenarios::{Format, Outcome, Report, parse, run};

fn reports(name: &str, text: &str) -> Vec<Report> {
    let format = Format::of_name(name).unwrap();
    parse(name, text.as_bytes(), format).unwrap().iter().map(run).collect()
}

macro_rules! own_files {
    ($($test:ident: $file:literal, $scenarios:literal;)+) => {$(
        #[test]
        fn $test() {
            let reports = reports($file, include_str!(concat!("../../../tests/decisions/", $file)));
            assert_eq!(reports.len(), $scenarios);
            for report in reports {
                assert_eq!(report.outcome, Outcome::Held, "{report}");
                assert!(report.asked > 0 && report.exit_code() == 0);
            }
        }
    )+};
}

own_files! {
    nearest_scope_user_and_deny_win: "precedence.yaml", 4;
    reach_and_seals_cut_off: "reach.yaml", 2;
    grants_begin_and_end_at_their_instants: "time.yaml", 2;
    administrators_and_inactive_accounts: "administrators.yaml", 2;
    json_holds_one_scenario: "one.json", 1;
    json_lines_hold_one_a_line: "lines.jsonl", 2;
}

const FACTS: &str = "\
name: facts
catalog: [{key: m.s.x, object_types: [server]}, {key: m.s.y, object_types: [server]}]
users: [a, b]
groups: {g: [b]}
objects: [{type: folder, name: f}, {type: server, name: s, parent: f, owner: a}]
grants:
  - {name: no, to: group:g, keys: [m.s.x], effect: deny, on: folder:f}
";

fn differing(questions: &str) -> Report {
    let mut reports = reports("file.yaml", &format!("{FACTS}{questions}"));
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

#[test]
fn a_wrong_expectation_is_shown_with_what_came_and_why() {
    for (questions, shown) in [
        (
            "checks:\n  - {user: a, permission: m.s.x, on: server:s, expect: allow}\n\
             \x20 - {user: b, permission: m.s.x, on: server:s, expect: {verdict: allow, grants: []}}\n",
            "differs file.yaml: facts (1 of 2 differ)
file.yaml:10: checks[1]: may b do m.s.x on server:s?
  expected  allow, by []
  got       deny, by [no]
            deny because grant, at folder:f, as group, by [no]",
        ),
        (
            "who_can:\n  - {permission: m.s.x, on: server:s, expect: [b]}\n",
            "differs file.yaml: facts (1 of 1 differ)
file.yaml:9: who_can[0]: who may do m.s.x on server:s?
  expected  b
  got       a
            a: allow because grant, at server:s, as user, by [owner:server:s]
            b: deny because grant, at folder:f, as group, by [no]",
        ),
        (
            "allowed_objects:\n  - {user: b, permission: m.s.y, type: server, expect: [s]}\n",
            "differs file.yaml: facts (1 of 1 differ)
file.yaml:9: allowed_objects[0]: on which objects of type server may b do m.s.y?
  expected  s
  got       
            server:s: b: deny because not_set",
        ),
        (
            "effective:\n  - {user: b, on: server:s, expect: {denied: []}}\n",
            "differs file.yaml: facts (1 of 1 differ)
file.yaml:9: effective[0]: what may b do on server:s?
  expected  denied []
  got       denied [m.s.x]
            m.s.x: deny because grant, at folder:f, as group, by [no]",
        ),
        (
            "holds:\n  - {user: a, content: [m.s.x, m.*], on: server:s, expect: {missing: [m.s.x]}}\n",
            "differs file.yaml: facts (1 of 1 differ)
file.yaml:9: holds[0]: what of [m.s.x, m.*] does a lack on server:s, affects All, child types All?
  expected  [m.s.x]
  got       []",
        ),
    ] {
        let report = differing(questions);
        assert_eq!(report.to_string(), shown);
        assert_eq!(report.exit_code(), 1);
    }
}

#[test]
fn what_an_expectation_leaves_out_is_not_compared() {
    for expect in [
        "allow",
        "{verdict: allow}",
        "{because: grant}",
        "{scope: server:s}",
        "{subject: user}",
        "{grants: [owner:server:s]}",
    ] {
        let report =
            differing(&format!("checks: [{{user: a, permission: m.s.x, on: server:s, expect: {expect}}}]\n"));
        assert_eq!(report.outcome, Outcome::Held, "{report}");
    }
    for expect in [
        "deny",
        "{because: not_set}",
        "{scope: global}",
        "{scope: folder:f}",
        "{subject: group}",
        "{grants: []}",
        "{grants: [no]}",
    ] {
        let report =
            differing(&format!("checks: [{{user: a, permission: m.s.x, on: server:s, expect: {expect}}}]\n"));
        assert_eq!(report.exit_code(), 1, "{expect}");
    }
}
