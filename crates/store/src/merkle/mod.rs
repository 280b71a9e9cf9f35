//! The Merkle tree over a log's offsets (RFC 6962): its root, proofs, tiles, and checkpoints of it that are signed.
//!
//! Owns the arithmetic and the forms. Leaf `offset − 1` is the event's hash, which is SHA-256(0x00 ‖ canonical record)
//! already ([`chain`](crate::chain)); an inner node is SHA-256(0x01 ‖ left ‖ right). The forms are those of C2SP:
//! `tlog-tiles`, `tlog-checkpoint`, `signed-note` and `tlog-proof`, so that tools written elsewhere read them. Leaves
//! are read through the port of the log alone ([`read`]). Must not know any database, nor when a checkpoint is made.

mod checkpoint;
mod note;
mod proof;
pub mod read;
mod text;
mod tile;
mod tree;

pub use checkpoint::{Checkpoint, NOTE_BYTES_MAX, origin};
pub use note::{NoteError, Signature, SignedNote, Signer, VerifierKey};
pub use proof::{ProofError, check_consistency, check_inclusion};
pub use text::{InclusionText, PROOF_BYTES_MAX, UnprovenError};
pub use tile::{InvalidTile, TILE_WIDTH, TileId};
pub use tree::{Absent, EMPTY_ROOT, Nodes, Tree, node};
