//! The Merkle tree, its proofs, tiles, checkpoints: against the definition in RFC 6962, read naively, and against
//! readers of such logs written elsewhere.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod elsewhere;
mod forms;
mod naive;

use charter_events::Hash;
use charter_store::merkle::{Absent, Nodes, ProofError, TILE_WIDTH, Tree};
use sha2::{Digest, Sha256};

/// Leaves that differ.
fn leaves(count: u64) -> Vec<Hash> {
    (0..count).map(|n| Hash::new(Sha256::digest(n.to_be_bytes()).into())).collect()
}

fn tree(leaves: &[Hash]) -> Tree {
    let mut tree = Tree::default();
    leaves.iter().for_each(|leaf| tree.push(*leaf));
    tree
}

/// Asks until nothing is absent, handing over the tiles that are asked for.
fn with_tiles<T>(
    nodes: &mut Nodes<'_>,
    leaves: &[Hash],
    ask: impl Fn(&Nodes<'_>) -> Result<T, ProofError>,
) -> Result<T, ProofError> {
    loop {
        match ask(nodes) {
            Err(ProofError::Absent(Absent { tile })) => {
                let from = usize::try_from(tile * TILE_WIDTH).unwrap();
                assert!(
                    nodes.take(tile, leaves[from..from + 256].to_vec()),
                    "tile {tile} is what was pushed"
                );
            }
            done => return done,
        }
    }
}
