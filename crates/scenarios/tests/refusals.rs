//! What the model refuses, a file is refused for: with the file, the line and the reason.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use charter_scenarios::{FILE_BYTES_MAX, FILE_SCENARIOS_MAX, Format, Outcome, parse, run};

/// A valid scenario, one thing a line, so that lines can be pointed at.
const VALID: &str = "\
name: valid
catalog:
  - {key: m.s.x, object_types: [server]}
  - {key: m.s.p}
  - {key: m.s.a, object_types: [any]}
users:
  - a
  - {name: b, status: suspended}
groups:
  g: [a]
roles:
  on-objects: {scope: object, permissions: [m.s.x]}
  on-platform: {scope: global, permissions: [m.s.*]}
  empty: {scope: both}
objects:
  - {type: folder, name: f}
  - {type: server, name: s, parent: f, owner: a}
  - {type: world, name: w}
grants:
  - {name: one, to: user:a, role: on-objects, on: server:s}
";

fn refusal(text: &str) -> String {
    match parse("t.yaml", text.as_bytes(), Format::Yaml) {
        Err(refused) => refused.to_string(),
        Ok(scenarios) => {
            match scenarios.iter().map(run).find(|report| report.exit_code() == 2).unwrap().outcome {
                Outcome::Refused(refused) => refused.to_string(),
                other => panic!("{other:?}"),
            }
        }
    }
}

fn with(grant: &str) -> String {
    format!("{VALID}  - {grant}\n")
}

#[test]
fn the_scenario_all_of_this_starts_from_is_accepted() {
    for extra in [
        "{name: x, to: group:g, role: empty}",
        "{name: x, to: user:b, keys: [m.s.a], on: world:w}",
        "{name: x, to: user:b, keys: [m.s.x], on: folder:f, affects: children_only, child_types: objects}",
        "{name: x, to: user:a, keys: [m.s.p], effect: deny}",
        "{name: x, to: user:a, role: on-objects, on: server:s}",
        "{name: 'x:y', to: user:a, role: on-platform, not_before: 2026-01-01T00:00:00Z, \
         expires_at: 2026-01-01T00:00:01Z}",
    ] {
        let scenarios = parse("t.yaml", with(extra).as_bytes(), Format::Yaml).unwrap();
        assert_eq!(run(&scenarios[0]).outcome, Outcome::Held, "{extra}");
    }
}

#[test]
fn a_grant_the_model_refuses_is_refused_with_its_line() {
    for (grant, reason) in [
        (
            "{name: x, to: user:a, role: on-objects, effect: deny, on: server:s}",
            "a deny carries literal keys, never a role",
        ),
        ("{name: x, to: user:a, role: on-objects}", "role `on-objects` can be given on objects only"),
        (
            "{name: x, to: user:a, role: on-platform, on: server:s}",
            "role `on-platform` can be given globally only",
        ),
        (
            "{name: x, to: user:a, role: owner, on: server:s}",
            "role `owner` is given by owning an object only",
        ),
        ("{name: x, to: user:a, role: nobody}", "there is no role `nobody`"),
        ("{name: x, to: user:a, role: empty, keys: [m.s.x]}", "it carries a role or keys, never both"),
        ("{name: x, to: user:a}", "it carries a role or keys, never neither"),
        ("{name: x, to: user:a, keys: []}", "it takes at least one key"),
        ("{name: x, to: user:a, keys: [m.s.x, m.s.x]}", "key `m.s.x` is listed twice"),
        ("{name: x, to: user:a, keys: [m.s.z]}", "key `m.s.z` is not in the catalog"),
        (
            "{name: x, to: user:a, keys: [m.s.p], on: server:s}",
            "key `m.s.p` is platform-wide and can't be granted on an object",
        ),
        (
            "{name: x, to: user:a, keys: [m.s.p], on: folder:f}",
            "key `m.s.p` is platform-wide and can't be granted on an object",
        ),
        (
            "{name: x, to: user:a, keys: [m.s.x], on: world:w}",
            "key `m.s.x` does not list object type `world`",
        ),
        ("{name: x, to: user:nobody, role: empty}", "there is no user `nobody`"),
        ("{name: x, to: group:a, role: empty}", "there is no group `a`"),
        ("{name: x, to: user:a, role: empty, on: server:w}", "there is no object `server:w`"),
        (
            "{name: x, to: user:a, role: empty, affects: self_only}",
            "`affects` and `child_types` are for folders only",
        ),
        (
            "{name: x, to: user:a, role: empty, on: server:s, child_types: objects}",
            "`affects` and `child_types` are for folders only",
        ),
        (
            "{name: x, to: user:a, role: empty, on: folder:f, affects: self_only, child_types: objects}",
            "with `affects: self_only` no `child_types` can be named",
        ),
        (
            "{name: x, to: user:a, role: empty, not_before: 2026-01-01T00:00:00Z, expires_at: 2026-01-01T00:00:00Z}",
            "it would end before it begins",
        ),
    ] {
        assert_eq!(
            refusal(&with(grant)),
            format!("t.yaml:21: scenario 1 `valid`: grants[1]: grant `x`: {reason}")
        );
    }
}

#[test]
fn what_is_given_twice_is_refused() {
    for (from, to, refused) in [
        (
            "  - {key: m.s.p}",
            "  - {key: m.s.x}",
            "t.yaml:4: scenario 1 `valid`: catalog[1]: key `m.s.x` is given twice",
        ),
        (
            "[any]",
            "[any, any]",
            "t.yaml:5: scenario 1 `valid`: catalog[2]: object type `any` is listed twice",
        ),
        (
            "{name: b, status: suspended}",
            "{name: a}",
            "t.yaml:8: scenario 1 `valid`: users[1]: user `a` is given twice",
        ),
        ("g: [a]", "g: [a, a]", "t.yaml:10: scenario 1 `valid`: groups.g: user `a` is listed twice"),
        (
            "[m.s.x]}",
            "[m.s.x, m.s.x]}",
            "t.yaml:12: scenario 1 `valid`: roles.on-objects: `m.s.x` is listed twice",
        ),
        (
            "{type: world, name: w}",
            "{type: folder, name: f}",
            "t.yaml:18: scenario 1 `valid`: objects[2]: object `folder:f` is given twice",
        ),
        (
            "name: one",
            "name: owner:server:s",
            "t.yaml:20: scenario 1 `valid`: grants[0]: grant `owner:server:s` is given twice",
        ),
        ("name: valid", "name: valid\nname: valid", "t.yaml:1: scenario 1: duplicate field `name`"),
        ("  empty:", "  on-objects:", "t.yaml:12: scenario 1: roles: `on-objects` is given twice"),
        ("g: [a]", "g: [a]\n  g: [a]", "t.yaml:10: scenario 1: groups: `g` is given twice"),
    ] {
        assert!(VALID.contains(from), "{from}");
        assert_eq!(refusal(&VALID.replacen(from, to, 1)), refused);
    }
}

#[test]
fn what_names_nothing_or_lies_in_itself_is_refused() {
    for (from, to, refused) in [
        ("g: [a]", "g: [c]", "t.yaml:10: scenario 1 `valid`: groups.g: there is no user `c`"),
        (
            "[m.s.x]}",
            "[m.s.z]}",
            "t.yaml:12: scenario 1 `valid`: roles.on-objects: key `m.s.z` is not in the catalog",
        ),
        ("  empty:", "  owner:", "t.yaml:14: scenario 1 `valid`: roles.owner: role `owner` is built in"),
        ("parent: f", "parent: e", "t.yaml:17: scenario 1 `valid`: objects[1]: there is no folder `e`"),
        ("parent: f", "parent: w", "t.yaml:17: scenario 1 `valid`: objects[1]: there is no folder `w`"),
        ("owner: a", "owner: c", "t.yaml:17: scenario 1 `valid`: objects[1]: there is no user `c`"),
        ("name: f}", "name: f, parent: f}", "t.yaml:16: scenario 1 `valid`: objects[0]: it lies in itself"),
        (
            "type: world",
            "type: any",
            "t.yaml:18: scenario 1 `valid`: objects[2]: `any` stands for every type and names none",
        ),
        (
            "status: suspended}",
            "status: erased}\n  - c",
            "t.yaml:18: scenario 1 `valid`: objects[1]: user `b` is erased and owns nothing",
        ),
    ] {
        let text = VALID.replacen(from, to, 1);
        let text = if to.contains("erased") { text.replacen("owner: a", "owner: b", 1) } else { text };
        assert!(VALID.contains(from), "{from}");
        assert_eq!(refusal(&text), refused);
    }
}

#[test]
fn a_question_that_names_nothing_is_refused() {
    for (question, reason) in [
        ("checks: [{user: c, permission: m.s.x, expect: deny}]", "checks[0]: there is no user `c`"),
        (
            "checks: [{user: a, permission: m.s.x, on: server:t, expect: deny}]",
            "checks[0]: there is no object `server:t`",
        ),
        (
            "checks: [{user: a, permission: m.s.x, expect: {grants: [two]}}]",
            "checks[0]: there is no grant `two`",
        ),
        (
            "checks: [{user: a, permission: m.s.x, expect: {scope: folder:e}}]",
            "checks[0]: there is no object `folder:e`",
        ),
        ("who_can: [{permission: m.s.z, expect: []}]", "who_can[0]: key `m.s.z` is not in the catalog"),
        ("who_can: [{permission: m.s.x, expect: [c]}]", "who_can[0]: there is no user `c`"),
        (
            "allowed_objects: [{user: a, permission: m.s.x, type: server, expect: [w]}]",
            "allowed_objects[0]: there is no object `server:w`",
        ),
        (
            "effective: [{user: a, expect: {denied: [m.s.z]}}]",
            "effective[0]: key `m.s.z` is not in the catalog",
        ),
        (
            "holds: [{user: a, content: [m.s.z], expect: {missing: []}}]",
            "holds[0]: key `m.s.z` is not in the catalog",
        ),
        (
            "holds: [{user: a, content: [m.s.x], expect: {missing: [m.s.a]}}]",
            "holds[0]: `m.s.a` is expected to be missing but not in the content",
        ),
        (
            "holds: [{user: a, content: [m.s.x], affects: self_only, expect: {missing: []}}]",
            "holds[0]: `affects` and `child_types` are for folders only",
        ),
    ] {
        assert_eq!(
            refusal(&format!("{VALID}{question}\n")),
            format!("t.yaml:21: scenario 1 `valid`: {reason}")
        );
    }
}

#[test]
fn what_is_no_scenario_is_refused() {
    for (from, to, line, reason) in [
        ("grants:", "grant:", 19, "unknown field `grant`"),
        ("status: suspended", "state: suspended", 8, "unknown field `state`"),
        ("status: suspended", "status: asleep", 8, "unknown variant `asleep`"),
        ("owner: a", "owned_by: a", 17, "unknown field `owned_by`"),
        ("role: on-objects", "roles: [on-objects]", 20, "unknown field `roles`"),
        ("scope: both", "scope: everywhere", 14, "unknown variant `everywhere`"),
        ("key: m.s.p", "key: m.s.*", 4, "`m.s.*` is not a valid permission key"),
        ("role: on-objects", "keys: [m.s.*]", 20, "`m.s.*` is not a valid permission key"),
        ("[m.s.x]}", "[m.s*]}", 12, "`m.s*` is not a valid permission or wildcard"),
        ("  - a\n", "  - Alice\n", 7, "`Alice` is not a valid name"),
        ("to: user:a", "to: a", 20, "`a` names no subject"),
        ("on: server:s", "on: s", 20, "`s` names no object"),
        ("name: one", "name: One", 20, "`One` is not a valid name of a grant"),
        ("name: valid", "at: yesterday", 1, "`yesterday` is not an RFC 3339 time"),
        ("name: valid\n", "at: 2026-01-01T00:00:00Z\n", 1, "missing field `name`"),
    ] {
        assert!(VALID.contains(from), "{from}");
        let refused = refusal(&VALID.replacen(from, to, 1));
        let (place, said) = refused.split_once(": ").unwrap();
        assert_eq!(place, format!("t.yaml:{line}"), "{refused}");
        assert!(said.contains(reason), "{refused}");
    }
}

#[test]
fn a_file_that_can_not_be_read_is_refused() {
    let refused = |bytes: &[u8], format| parse("f", bytes, format).unwrap_err().to_string();
    assert_eq!(refused(b"", Format::Yaml), "f: the file holds no scenario");
    assert_eq!(refused(b"\n\n", Format::JsonLines), "f: the file holds no scenario");
    assert_eq!(refused(b"name: x\nusers: [\xff]\n", Format::Yaml), "f:2: the file is not UTF-8");
    assert_eq!(
        refused(b"{\"name\":\"x\"}\n{\"name\":", Format::JsonLines),
        "f:2: scenario 2: EOF while parsing a value"
    );
    assert_eq!(
        refused(b"{\n\"name\": 1\n}", Format::Json),
        "f:2: invalid type: integer `1`, expected a string"
    );
    assert!(refused(b"name: [", Format::Yaml).starts_with("f:"), "{}", refused(b"name: [", Format::Yaml));
    let large = vec![b' '; FILE_BYTES_MAX + 1];
    assert_eq!(refused(&large, Format::Yaml), format!("f: the file is larger than {FILE_BYTES_MAX} bytes"));
    let many = "{\"name\":\"x\"}\n".repeat(FILE_SCENARIOS_MAX + 1);
    assert_eq!(
        refused(many.as_bytes(), Format::JsonLines),
        format!("f:{}: a file holds at most {FILE_SCENARIOS_MAX} scenarios", FILE_SCENARIOS_MAX + 1)
    );
}

#[test]
fn aliases_that_multiply_are_refused_rather_than_followed() {
    let mut text = String::from("name: bomb\nusers:\n  - &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("  - &a{level} [{items}]\n"));
    }
    assert!(refusal(&text).starts_with("t.yaml"));
}

#[test]
fn the_second_scenario_of_a_file_is_named_by_its_number_and_its_own_lines() {
    let text =
        format!("{VALID}---\n{}", with("{name: x, to: user:a}").replace("name: valid", "name: second"));
    let refused = refusal(&text);
    assert!(refused.starts_with("t.yaml:42: scenario 2 `second`: grants[1]"), "{refused}");
}
