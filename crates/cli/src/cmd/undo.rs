//! `charter undo`: takes back what a command did, by the commands that lead back, after showing what that would do.

use super::common::Yes;
use crate::{
    app::App,
    exit::{Doing, Exit, Outcome},
};
use charter_events::Offset;
use charter_http::dto::{AccessChange, Change, ChangePlace, PreviewAnswer, UndoAsk, Undone};
use reqwest::Method;
use serde_json::to_value;
use std::fmt::Write;

/// The most lines of a kind that a preview shows.
const LINES_MAX: usize = 20;

/// Which command to take back.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The offset of any event of the command, as `charter events ls` and `charter audit` show it
    #[arg(value_name = "OFFSET", value_parser = offset)]
    offset: Offset,
    /// Leave to do it
    #[command(flatten)]
    yes: Yes,
}

fn offset(text: &str) -> Result<Offset, String> {
    text.parse().ok().and_then(Offset::new).ok_or_else(|| "it takes a whole number, such as 17".to_owned())
}

/// Does it.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let client = app.client()?;
    let ask = UndoAsk { offset: args.offset };
    if app.previews() {
        // The client asks for the preview in its place, and it is shown as any other is.
        client.post("/history/undo", &ask).await?;
        return Ok(Exit::Done);
    }
    let body = to_value(&ask).doing("write JSON")?;
    let would = client.preview(Method::POST, "/history/undo", None, Some(&body)).await?;
    let would: PreviewAnswer = would.read()?;
    app.out.warn(&preview_text(&would));
    let what = format!("undo the command that event {} is part of", args.offset);
    app.confirm(args.yes.yes, &what, &args.offset.to_string())?;
    let answer = client.post("/history/undo", &ask).await?;
    let undone: Undone = answer.read()?;
    app.out.answer(&answer.body, || {
        let undid = range(undone.undone_first, undone.undone_last);
        let by = range(undone.first, undone.last);
        format!("Undone: {undid}, by {by}. `charter undo {}` takes that back.", undone.last)
    })?;
    Ok(Exit::Done)
}

fn range(first: Offset, last: Offset) -> String {
    if first == last { format!("event {first}") } else { format!("events {first} to {last}") }
}

/// What a change would do, for people.
pub(crate) fn preview_text(preview: &PreviewAnswer) -> String {
    let mut text = String::from("It would append:\n");
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for event in &preview.events {
        match kinds.last_mut() {
            Some((kind, count)) if *kind == event.type_name => *count += 1,
            _ => kinds.push((&event.type_name, 1)),
        }
    }
    let lines = kinds.iter().map(|(kind, count)| match count {
        1 => format!("  {kind}"),
        more => format!("  {kind}, {more} times"),
    });
    listed(&mut text, lines);
    if preview.changes.is_empty() {
        text.push_str("Nobody you may see would gain or lose anything now.");
    } else {
        text.push_str("So these would change:\n");
        listed(&mut text, preview.changes.iter().map(change_line));
    }
    if !preview.complete {
        text.push_str("\nThere is more than is told.");
    }
    text.trim_end().to_owned()
}

/// The first lines, and how many are left out.
fn listed(text: &mut String, lines: impl ExactSizeIterator<Item = String>) {
    let left_out = lines.len().saturating_sub(LINES_MAX);
    for line in lines.take(LINES_MAX) {
        text.push_str(&line);
        text.push('\n');
    }
    if left_out > 0 {
        // Writing to a text never fails.
        let _ = writeln!(text, "  … and {left_out} more");
    }
}

fn change_line(change: &AccessChange) -> String {
    let sign = match change.change {
        Change::Gained => '+',
        Change::Lost => '-',
    };
    let id = change.user.id.to_string();
    let who = change.user.username.as_deref().unwrap_or(&id);
    let place = match &change.place {
        ChangePlace::Everywhere => "everywhere".to_owned(),
        ChangePlace::Global => "platform-wide".to_owned(),
        ChangePlace::Object { object } => format!("on {}:{}", object.object_type, object.external_id),
    };
    format!("  {sign} {who} {} {place}", change.permission)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn preview(events: &[&str], changes: usize) -> PreviewAnswer {
        let event = |name: &&str| json!({"type": name, "schema": 1, "payload": {}});
        let decision = json!({
            "allowed": false, "verdict": "deny", "because": "not_set", "grants": [], "policy_version": 9,
            "at": "2026-03-01T12:00:00Z",
        });
        let change = json!({
            "user": {"id": "01935f3a-7c00-7000-8001-a11ce0000001", "username": "bob"}, "permission": "a.b.c",
            "place": {"kind": "global"}, "change": "gained", "before": decision, "after": decision,
        });
        serde_json::from_value(json!({
            "policy_version": 9, "at": "2026-03-01T12:00:00Z", "complete": changes < 50,
            "event_count": events.len(),
            "events": events.iter().map(event).collect::<Vec<_>>(), "changes": vec![change; changes],
        }))
        .unwrap()
    }

    #[test]
    fn a_preview_counts_what_repeats_and_leaves_out_what_is_too_much() {
        let text = preview_text(&preview(&["group.created", "group.member_added", "group.member_added"], 1));
        let expected = "It would append:\n  group.created\n  group.member_added, 2 times\n\
                        So these would change:\n  + bob a.b.c platform-wide";
        assert_eq!(text, expected);
        let text = preview_text(&preview(&["grant.issued"], 60));
        assert!(text.contains("… and 40 more") && text.ends_with("There is more than is told."));
        let text = preview_text(&preview(&["role.renamed"], 0));
        assert!(text.ends_with("Nobody you may see would gain or lose anything now."), "{text}");
    }

    #[test]
    fn an_offset_is_a_whole_number() {
        assert_eq!(offset("17").unwrap().get(), 17);
        for text in ["", "-1", "x", "1.5", "99999999999999999999"] {
            assert!(offset(text).is_err(), "{text}");
        }
    }
}
