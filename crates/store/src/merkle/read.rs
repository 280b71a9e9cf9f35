//! Proofs from a tree whose leaves are in a log: the tiles they take are read again, and are taken only when they are
//! those the tree was made of.

use super::{
    proof::ProofError,
    tile::TILE_WIDTH,
    tree::{Absent, Nodes, Tree},
};
use crate::{error::StoreError, log::LogStore};
use charter_events::{Hash, Offset};

/// Why leaves can't be had, or nothing is proven from them.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The log can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such place.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The hashes in the log are not those the tree was made of.
    #[error("the events from offset {from} on are not those that were there before")]
    Changed {
        /// The first offset of the tile; which of its 256 events was changed is not known.
        from: Offset,
    },
}

/// The leaves of a tile, as many as the tree has there.
///
/// # Errors
/// [`ReadError::Store`], [`ReadError::Changed`]; [`ReadError::Proof`] where the tree has no leaves.
pub async fn leaves<L: LogStore + ?Sized>(log: &L, tree: &Tree, tile: u64) -> Result<Vec<Hash>, ReadError> {
    if tile == tree.size() / TILE_WIDTH {
        return Ok(tree.tail().to_vec());
    }
    let Some(root) = tree.tile_root(tile) else {
        return Err(ProofError::OutOfRange { size: tree.size() }.into());
    };
    let before = tile.checked_mul(TILE_WIDTH).and_then(Offset::new).unwrap_or(Offset::MAX);
    let width = usize::try_from(TILE_WIDTH).unwrap_or(usize::MAX);
    let leaves = log.hashes(before, width).await?;
    if leaves.len() == width && super::tree::root_of(&leaves) == root {
        return Ok(leaves);
    }
    Err(ReadError::Changed { from: before.plus(1).unwrap_or(Offset::MAX) })
}

/// The leaf at `index` and the proof that it is in the tree of the first `size` leaves.
///
/// # Errors
/// [`ReadError`].
pub async fn inclusion<L: LogStore + ?Sized>(
    log: &L,
    tree: &Tree,
    index: u64,
    size: u64,
) -> Result<(Hash, Vec<Hash>), ReadError> {
    with_tiles(log, tree, |nodes| {
        let path = nodes.inclusion(index, size)?;
        Ok((nodes.leaf(index)?, path))
    })
    .await
}

/// The proof that the tree of the first `old` leaves is the beginning of that of the first `size`.
///
/// # Errors
/// [`ReadError`].
pub async fn consistency<L: LogStore + ?Sized>(
    log: &L,
    tree: &Tree,
    old: u64,
    size: u64,
) -> Result<Vec<Hash>, ReadError> {
    with_tiles(log, tree, |nodes| nodes.consistency(old, size)).await
}

/// Asks until nothing is absent: three tiles at most, those of both ends and of the leaf.
async fn with_tiles<T, L: LogStore + ?Sized>(
    log: &L,
    tree: &Tree,
    ask: impl Fn(&Nodes<'_>) -> Result<T, ProofError>,
) -> Result<T, ReadError> {
    let mut nodes = Nodes::new(tree);
    loop {
        match ask(&nodes) {
            Err(ProofError::Absent(Absent { tile })) => {
                let read = leaves(log, tree, tile).await?;
                if !nodes.take(tile, read) {
                    return Err(ProofError::OutOfRange { size: tree.size() }.into());
                }
            }
            done => return Ok(done?),
        }
    }
}
