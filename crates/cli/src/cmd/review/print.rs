//! An access review on paper, as rows for a spreadsheet, and as one document.

use super::Report;
use crate::{
    app::App,
    cmd::shapes::{self, column, effective_in_words, grant_in_words},
    exit::Outcome,
    output::{Format, Shape, as_sent, as_table, text_of},
};
use serde_json::{Value, json};
use std::{borrow::Cow, collections::BTreeMap};

/// Prints it in the format asked for.
pub(super) fn report(app: &App, report: &Report) -> Outcome<()> {
    match app.out.format() {
        Format::Table => app.out.text(&paper(report)),
        Format::Csv | Format::Name => app.out.rows(&ROW, &rows(report)),
        _ => app.out.answer(&report.document(), String::new),
    }
}

const MEMBERSHIP: Shape =
    Shape { columns: &[column("GROUP", "/slug"), column("NAME", "/name")], name: "/slug", view: as_sent };

const GRANT: Shape = Shape {
    columns: &[
        column("THROUGH", "/through"),
        column("EFFECT", "/effect"),
        column("WHAT", "/what"),
        column("ON", "/on"),
        column("REACH", "/reach"),
        column("FROM", "/not_before"),
        column("UNTIL", "/expires_at"),
        column("LIVE", "/live"),
        column("GRANT", "/id"),
    ],
    name: "/id",
    view: grant_and_through,
};

/// Permissions at one place that have the same reason.
const TOGETHER: Shape = Shape {
    columns: &[
        column("AT", "/place"),
        column("STATE", "/state"),
        column("FROM", "/from"),
        column("PERMISSIONS", "/permissions"),
    ],
    name: "/place",
    view: as_sent,
};

const TOKEN: Shape = Shape {
    columns: &[
        column("NAME", "/name"),
        column("ISSUED", "/issued_at"),
        column("UNTIL", "/expires_at"),
        column("LAST USED", "/last_used"),
        column("CEILING", "/mask"),
        column("TOKEN", "/id"),
    ],
    name: "/id",
    view: as_sent,
};

/// One row of the report as a spreadsheet has it.
const ROW: Shape = Shape {
    columns: &[
        column("SECTION", "/section"),
        column("PLACE", "/place"),
        column("WHAT", "/what"),
        column("STATE", "/state"),
        column("THROUGH", "/through"),
        column("BEGINS", "/begins"),
        column("ENDS", "/ends"),
        column("DETAIL", "/detail"),
    ],
    name: "/section+/what",
    view: as_sent,
};

fn grant_and_through(row: &Value) -> Cow<'_, Value> {
    let mut view = grant_in_words(row).into_owned();
    let through = match row.get("through").and_then(Value::as_str) {
        Some(slug) => format!("group:{slug}"),
        None => "himself".to_owned(),
    };
    if let Some(members) = view.as_object_mut() {
        members.insert("through".to_owned(), through.into());
    }
    Cow::Owned(view)
}

fn paper(report: &Report) -> String {
    let text = |member: &str| report.user.get(member).filter(|value| !value.is_null()).map(text_of);
    let name = text("username").or_else(|| text("id")).unwrap_or_default();
    let mut paper = format!("Access of {name}");
    let about: Vec<String> =
        ["display_name", "email", "kind", "status", "external_id"].into_iter().filter_map(text).collect();
    if !about.is_empty() {
        paper.push_str(&format!(" ({})", about.join(", ")));
    }
    paper.push('\n');
    if report.user.get("administrator") == Some(&Value::Bool(true)) {
        paper.push_str("Administrator: may do everything, everywhere.\n");
    }
    if let Some(version) = report.versions.last() {
        paper.push_str(&format!("At version {version}, {}.\n", text_of(&report.at)));
    }
    let together = together(report);
    let sections: [(&str, &Shape, &[Value]); 6] = [
        ("Groups", &MEMBERSHIP, &report.memberships),
        ("Grants", &GRANT, &report.grants),
        ("Roles in these grants", &shapes::ROLE, &report.roles),
        ("What that comes to", &TOGETHER, &together),
        ("Owned objects", &shapes::OBJECT, &report.owned),
        ("API tokens", &TOKEN, &report.tokens),
    ];
    for (heading, shape, rows) in sections {
        let count = if heading == "What that comes to" { String::new() } else { format!(": {}", rows.len()) };
        paper.push_str(&format!("\n{heading}{count}\n"));
        if !rows.is_empty() {
            paper.push_str(&as_table(shape, rows));
        }
    }
    if !report.not_shown.is_empty() {
        paper.push_str("\nNot in this report\n");
        for why in &report.not_shown {
            paper.push_str(&format!("{}\n", text_of(&Value::from(why.as_str()))));
        }
    }
    paper
}

/// Each place's permissions, those with the same state and reason in one row.
fn together(report: &Report) -> Vec<Value> {
    let mut all = Vec::new();
    for place in &report.places {
        let mut rows: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
        for permission in permissions(place) {
            let words = effective_in_words(permission);
            let word =
                |member: &str| words.get(member).filter(|v| !v.is_null()).map(text_of).unwrap_or_default();
            let key = permission.get("permission").cloned().unwrap_or_default();
            rows.entry((word("state"), word("from"))).or_default().push(key);
        }
        let at = place.get("place");
        if rows.is_empty() {
            all.push(json!({"place": at, "state": "nothing"}));
        }
        all.extend(rows.into_iter().map(|((state, from), permissions)| {
            json!({"place": at, "state": state, "from": from, "permissions": permissions})
        }));
    }
    all
}

fn permissions(place: &Value) -> &[Value] {
    place.get("permissions").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn rows(report: &Report) -> Vec<Value> {
    let user = &report.user;
    let mut rows = vec![json!({
        "section": "user", "what": user.get("username").or_else(|| user.get("id")), "state": user.get("status"),
        "begins": user.get("created_at"), "detail": user.get("display_name"),
    })];
    for group in &report.memberships {
        rows.push(json!({"section": "group", "what": group.get("slug"), "detail": group.get("name")}));
    }
    for grant in &report.grants {
        let words = grant_and_through(grant);
        rows.push(json!({
            "section": "grant", "place": words.get("on"), "what": words.get("what"), "state": words.get("effect"),
            "through": words.get("through"), "begins": words.get("not_before"), "ends": words.get("expires_at"),
            "detail": words.get("reach"),
        }));
    }
    for role in &report.roles {
        rows.push(json!({"section": "role", "what": role.get("slug"), "detail": role.get("permissions")}));
    }
    for place in &report.places {
        for permission in permissions(place) {
            let words = effective_in_words(permission);
            rows.push(json!({
                "section": "permission", "place": place.get("place"), "what": words.get("permission"),
                "state": words.get("state"), "through": words.get("from"),
            }));
        }
    }
    for object in &report.owned {
        let name = shapes::OBJECT_REF.name_of(object);
        rows.push(json!({"section": "owned", "place": name, "what": name, "detail": object.get("name")}));
    }
    for token in &report.tokens {
        let used = token.get("last_used").filter(|used| !used.is_null()).map(text_of);
        rows.push(json!({
            "section": "token", "what": token.get("name"), "begins": token.get("issued_at"),
            "ends": token.get("expires_at"), "detail": token.get("mask"),
            "state": used.map(|used| format!("last used {used}")),
        }));
    }
    rows.extend(report.not_shown.iter().map(|why| json!({"section": "not shown", "what": why})));
    rows
}
