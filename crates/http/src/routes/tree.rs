//! The log's Merkle tree over HTTP: signed checkpoints, tiles, proofs, in the forms of C2SP. A reader written for
//! `tlog-tiles` is given `/api/v1/log` as the place.

use crate::{answer::POLICY_VERSION, ask::Ask, live, problem::Problem};
use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use charter_control::TreeError;
use charter_events::{Offset, Scope};
use charter_store::{causes, merkle::TileId};

const TEXT: &str = "text/plain; charset=utf-8";

impl From<TreeError> for Problem {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::NotMade => {
                Self::overloaded("checkpoint_not_made", "the log's tree is still being made")
            }
            TreeError::Beyond { .. } => Self::not_found(),
            TreeError::Damaged { .. } => Self::overloaded(
                "log_damaged",
                "the log is not what was signed; this server has stopped writing",
            ),
            TreeError::Store(error) => {
                tracing::error!(error = %causes(&error), "the log's tree can't be read");
                Self::overloaded("unavailable", "the store can't be reached")
            }
        }
    }
}

fn answer(ask: &Ask, kind: &'static str, body: impl IntoResponse) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), kind.to_owned()),
        (POLICY_VERSION, ask.policy.version().to_string()),
    ];
    (headers, body).into_response()
}

/// The newest checkpoint: how many events the log has and the root of the tree over them, signed. It is made about once
/// a second while the log grows. Keep it elsewhere: with it, a log that was cut or rewritten is found out. A signed
/// note (C2SP `tlog-checkpoint`); `GET /api/v1/log` tells the key.
#[utoipa::path(get, path = "/api/v1/log/checkpoint", operation_id = "log_checkpoint", tag = "history",
    responses((status = 200, description = "A signed note", body = String, content_type = "text/plain")))]
pub(crate) async fn checkpoint(ask: Ask) -> Result<Response, Problem> {
    ask.require(live::KEY, Scope::Global)?;
    let signed = ask.app.control.checkpoint()?;
    Ok(answer(&ask, TEXT, signed.note.to_string()))
}

/// A tile of the tree, or of its entries (C2SP `tlog-tiles`): `<level>/<index>` or `entries/<index>`, the index in
/// groups of three digits, all but the last with an `x`; `.p/<width>` after it for one that is not full. A tile is 32
/// bytes for each hash, an entry the canonical record of an event behind its length of two bytes. A full tile never
/// changes.
#[utoipa::path(get, path = "/api/v1/log/tile/{*tile}", operation_id = "log_tile", tag = "history",
    params(("tile" = String, Path, description = "Such as `0/x001/067` or `entries/000.p/12`; slashes as they are")),
    responses((status = 200, description = "Hashes or entries", content_type = "application/octet-stream")))]
pub(crate) async fn tile(ask: Ask) -> Result<Response, Problem> {
    ask.require(live::KEY, Scope::Global)?;
    let tile: TileId = ask.named("tile").parse().map_err(|_| Problem::not_found())?;
    let bytes = ask.app.control.tile(tile).await?;
    Ok(answer(&ask, "application/octet-stream", bytes))
}

/// A proof that an event is in the log, which needs nothing but the log's key to check: its record, the way to the
/// root, and the newest checkpoint (C2SP `tlog-proof`, the record as its extra data). Of an offset after the log's end
/// it is 422 `beyond_head`.
#[utoipa::path(get, path = "/api/v1/log/proof", operation_id = "log_proof", tag = "history",
    responses((status = 200, description = "A proof", body = String, content_type = "text/plain")))]
pub(crate) async fn proof(ask: Ask) -> Result<Response, Problem> {
    ask.require(live::KEY, Scope::Global)?;
    let offset =
        ask.params.number::<u64>("offset")?.and_then(Offset::new).filter(|offset| *offset > Offset::ZERO);
    let offset =
        offset.ok_or_else(|| Problem::invalid_parameter("offset", "it takes the offset of an event"))?;
    let proof = ask.app.control.prove(offset).await.map_err(|error| unproven(&ask, offset, error))?;
    Ok(answer(&ask, TEXT, proof.to_string()))
}

/// An event that the newest checkpoint does not have yet is in the next one; one that the log does not have is none.
fn unproven(ask: &Ask, offset: Offset, error: TreeError) -> Problem {
    let head = ask.app.control.head().offset;
    match error {
        TreeError::Beyond { .. } if offset <= head => {
            Problem::overloaded("checkpoint_not_made", "the next checkpoint will have the event")
        }
        TreeError::Beyond { .. } => {
            let detail = format!("the log has no event at offset {offset}: it ends at {head}");
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "beyond_head", detail).of("offset")
        }
        error => error.into(),
    }
}
