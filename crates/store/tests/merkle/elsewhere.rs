//! What is made here is read by programs written elsewhere, and the other way round.

use super::{leaves, tree, with_tiles};
use base64::{Engine, engine::general_purpose::STANDARD};
use charter_events::{Hash, LogId};
use charter_store::{
    Key32,
    merkle::{Checkpoint, Nodes, NoteError, SignedNote, Signer, TILE_WIDTH, TileId, Tree, origin},
};
use ed25519_dalek::SigningKey;
use signed_note::{Note, NoteError as TheirError, StandardSigner, StandardVerifier, VerifierList};
use tlog_tiles::{Error, HashReader, Tile, TileHashReader, TileReader, check_record, check_tree};

fn theirs(hash: &Hash) -> tlog_tiles::Hash {
    tlog_tiles::Hash(*hash.as_bytes())
}

/// The tiles of a tree, as a server hands them out.
struct Tiles<'a> {
    tree: &'a Tree,
    leaves: &'a [Hash],
}

impl TileReader for Tiles<'_> {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, Error> {
        let nodes = Nodes::new(self.tree);
        let read = |tile: &Tile| {
            let (level, index, width) = (tile.level(), tile.level_index(), u64::from(tile.width()));
            // Their paths are of tiles of any height; ours are of height 8 alone, which C2SP leaves out.
            let path = tile.path().replace("tile/8/", "");
            assert_eq!(path.parse(), Ok(TileId { level: Some(u32::from(level)), index, width }), "{path}");
            let hashes = match level {
                0 => {
                    let from = (index * TILE_WIDTH) as usize;
                    self.leaves[from..from + width as usize].to_vec()
                }
                _ => nodes.tile(u32::from(level), index, width).unwrap(),
            };
            hashes.iter().flat_map(|hash| *hash.as_bytes()).collect()
        };
        Ok(tiles.iter().map(read).collect())
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

#[test]
fn a_reader_of_tiles_gets_every_leaf_proven_from_ours() {
    // More than 256 full tiles, so that there is a tile of level 2.
    for size in [1, 255, 256, 257, 1_000, 65_536, 66_000_u64] {
        let leaves = leaves(size);
        let tree = tree(&leaves);
        let tiles = Tiles { tree: &tree, leaves: &leaves };
        let reader = TileHashReader::new(size, theirs(&tree.root()), &tiles);
        for index in [0, size / 3, size / 2, size - 1] {
            let place = tlog_tiles::stored_hash_index(0, index);
            assert_eq!(reader.read_hashes(&[place]).unwrap(), [theirs(&leaves[index as usize])], "{index}");
        }
    }
}

#[test]
fn their_checks_pass_our_proofs_and_ours_are_theirs() {
    let leaves = leaves(1_000);
    let whole = tree(&leaves);
    let mut nodes = Nodes::new(&whole);
    let tiles = Tiles { tree: &whole, leaves: &leaves };
    let reader = TileHashReader::new(1_000, theirs(&whole.root()), &tiles);
    for size in [1, 2, 5, 255, 256, 257, 700, 768, 999, 1_000_u64] {
        let root = theirs(&tree(&leaves[..size as usize]).root());
        for index in (0..size).step_by(41) {
            let path = with_tiles(&mut nodes, &leaves, |nodes| nodes.inclusion(index, size)).unwrap();
            let path: Vec<_> = path.iter().map(theirs).collect();
            check_record(&path, size, root, index, theirs(&leaves[index as usize])).unwrap();
            assert_eq!(tlog_tiles::prove_record(size, index, &reader).unwrap(), path);
        }
        for old in (1..size).step_by(37) {
            let path = with_tiles(&mut nodes, &leaves, |nodes| nodes.consistency(old, size)).unwrap();
            let path: Vec<_> = path.iter().map(theirs).collect();
            let old_root = theirs(&tree(&leaves[..old as usize]).root());
            check_tree(&path, size, root, old, old_root).unwrap();
            assert_eq!(tlog_tiles::prove_tree(size, old, &reader).unwrap(), path);
        }
    }
}

fn checkpoint() -> Checkpoint {
    Checkpoint { origin: origin(LogId::from_u128(7)), size: 42, root: tree(&leaves(42)).root() }
}

#[test]
fn a_checkpoint_signed_here_is_good_elsewhere() {
    let checkpoint = checkpoint();
    let signer = Signer::new(&checkpoint.origin, &Key32::new([5; 32]));
    let note = checkpoint.sign(&signer).to_string();
    let read = Note::from_bytes(note.as_bytes()).unwrap();
    let key = StandardVerifier::new(&signer.verifier_key().to_string()).unwrap();
    let (good, unknown) = read.verify(&VerifierList::new(vec![Box::new(key)])).unwrap();
    assert_eq!((good.len(), unknown.len()), (1, 0));
    let told = tlog_tiles::Checkpoint::from_bytes(read.text()).unwrap();
    assert_eq!((told.origin(), told.size()), (checkpoint.origin.as_str(), 42));
    assert_eq!(*told.hash(), theirs(&checkpoint.root));
    assert_eq!(told.to_bytes(), checkpoint.to_string().into_bytes());
    let other = StandardVerifier::new(&Signer::new("other", &Key32::new([6; 32])).verifier_key().to_string());
    let refused = read.verify(&VerifierList::new(vec![Box::new(other.unwrap())])).unwrap_err();
    assert!(matches!(refused, TheirError::UnverifiedNote), "{refused}");
}

/// Their signer of this name and seed, and its verifier key.
fn their_signer(name: &str, seed: [u8; 32]) -> (StandardSigner, String) {
    let verifier =
        signed_note::new_ed25519_verifier_key(name, &SigningKey::from_bytes(&seed).verifying_key());
    let id = verifier.rsplit('+').nth(1).unwrap();
    let secret = STANDARD.encode([&[1], seed.as_slice()].concat());
    (StandardSigner::new(&format!("PRIVATE+KEY+{name}+{id}+{secret}")).unwrap(), verifier)
}

#[test]
fn a_checkpoint_signed_elsewhere_is_good_here_and_counts_beside_a_witness() {
    let checkpoint = checkpoint();
    let ours = Signer::new(&checkpoint.origin, &Key32::new([5; 32])).verifier_key();
    let (signer, key) = their_signer(&checkpoint.origin, [5; 32]);
    assert_eq!(key, ours.to_string());
    let (witness, _) = their_signer("witness.example/w1", [6; 32]);
    let mut note = Note::new(checkpoint.to_string().as_bytes(), &[]).unwrap();
    note.add_sigs(&[&witness, &signer]).unwrap();
    let note: SignedNote = String::from_utf8(note.to_bytes()).unwrap().parse().unwrap();
    note.check(&ours).unwrap();
    assert_eq!(Checkpoint::of(&note), Ok(checkpoint));
    let stranger = Signer::new("stranger", &Key32::new([8; 32])).verifier_key();
    assert_eq!(note.check(&stranger), Err(NoteError::NotSigned));
}
