//! `charter servers`: who is alive on the same database.

use crate::{
    app::App,
    exit::{Exit, Outcome},
    output::{Column, Shape, as_sent},
};
use serde_json::Value;

const SHAPE: Shape = Shape {
    columns: &[
        Column { heading: "SERVER", at: "/id" },
        Column { heading: "BUILD", at: "/build" },
        Column { heading: "STARTED", at: "/started_at" },
        Column { heading: "VERSION", at: "/version" },
        Column { heading: "ALIVE UNTIL", at: "/expires_at" },
    ],
    name: "/id",
    view: as_sent,
};

/// Lists them.
pub(crate) async fn run(app: &App) -> Outcome {
    let answer = app.client()?.get("/servers", &[]).await?;
    let rows = answer.body.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    app.out.rows(&SHAPE, &rows)?;
    Ok(Exit::Done)
}
