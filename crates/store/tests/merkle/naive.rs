//! RFC 6962 as it is written, over all leaves at once, beside what is kept of a tree.

use super::{leaves, tree, with_tiles};
use charter_events::Hash;
use charter_store::merkle::{
    EMPTY_ROOT, Nodes, ProofError, TILE_WIDTH, Tree, check_consistency, check_inclusion, node,
};

/// MTH(D[n]).
fn mth(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => EMPTY_ROOT,
        [one] => *one,
        _ => {
            let mut k = 1;
            while k * 2 < leaves.len() {
                k *= 2;
            }
            node(&mth(&leaves[..k]), &mth(&leaves[k..]))
        }
    }
}

#[test]
fn the_root_is_that_of_the_definition_at_every_size() {
    let leaves = leaves(1_100);
    let mut tree = Tree::default();
    for size in 0..leaves.len() {
        assert_eq!((tree.size(), tree.root()), (size as u64, mth(&leaves[..size])), "{size}");
        tree.push(leaves[size]);
    }
}

#[test]
fn every_earlier_root_can_be_told_from_a_tree() {
    let leaves = leaves(800);
    let tree = tree(&leaves);
    let mut nodes = Nodes::new(&tree);
    for size in 0..=800 {
        let root = with_tiles(&mut nodes, &leaves, |nodes| Ok(nodes.root(size as u64)?)).unwrap();
        assert_eq!(root, mth(&leaves[..size]), "{size}");
    }
}

#[test]
fn every_proof_of_inclusion_leads_to_the_root_and_to_no_other_place_leaf_or_root() {
    let leaves = leaves(600);
    let tree = tree(&leaves);
    let mut nodes = Nodes::new(&tree);
    for size in [1, 2, 3, 7, 8, 255, 256, 257, 300, 511, 512, 513, 599, 600_u64] {
        let root = mth(&leaves[..size as usize]);
        for index in (0..size).step_by(if size < 20 { 1 } else { 17 }).chain([size - 1]) {
            let path = with_tiles(&mut nodes, &leaves, |nodes| nodes.inclusion(index, size)).unwrap();
            let leaf = leaves[index as usize];
            check_inclusion(&leaf, index, size, &path, &root).unwrap();
            let refused = |leaf, index, size, path: &[Hash], root| {
                assert!(check_inclusion(leaf, index, size, path, root).is_err(), "{index} of {size}");
            };
            let other = node(&leaf, &root);
            refused(&other, index, size, &path, &root);
            refused(&leaf, index, size, &path, &other);
            refused(&leaf, index, size, &[path.as_slice(), &[other]].concat(), &root);
            if let Some((_, shorter)) = path.split_last() {
                refused(&leaf, index, size, shorter, &root);
                refused(&leaf, index ^ 1, size, &path, &root);
            }
        }
    }
}

#[test]
fn every_proof_of_consistency_joins_two_roots_and_no_others() {
    let leaves = leaves(530);
    let tree = tree(&leaves);
    let mut nodes = Nodes::new(&tree);
    let sizes = [0, 1, 2, 3, 4, 6, 7, 8, 127, 255, 256, 257, 300, 511, 512, 513, 529, 530_u64];
    for size in sizes {
        for old in sizes.into_iter().filter(|old| *old <= size) {
            let path = with_tiles(&mut nodes, &leaves, |nodes| nodes.consistency(old, size)).unwrap();
            let (old_root, root) = (mth(&leaves[..old as usize]), mth(&leaves[..size as usize]));
            check_consistency((old, &old_root), (size, &root), &path).unwrap();
            let other = node(&old_root, &root);
            let refused = |old_root, root, path: &[Hash]| {
                assert!(check_consistency((old, old_root), (size, root), path).is_err(), "{old} to {size}");
            };
            refused(&other, &root, &path);
            if old > 0 {
                refused(&old_root, &other, &path);
                refused(&old_root, &root, &[path.as_slice(), &[other]].concat());
            }
            if let Some((_, shorter)) = path.split_last() {
                refused(&old_root, &root, shorter);
            }
        }
    }
}

#[test]
fn nothing_is_proven_beyond_the_tree_and_no_foreign_leaves_are_taken() {
    let leaves = leaves(300);
    let tree = tree(&leaves);
    let mut nodes = Nodes::new(&tree);
    let out = |size| Err(ProofError::OutOfRange { size });
    assert_eq!(nodes.inclusion(300, 300), out(300));
    assert_eq!(nodes.inclusion(0, 301), out(301));
    assert_eq!(nodes.consistency(3, 2), out(2));
    assert_eq!(nodes.consistency(3, 301), out(301));
    let mut changed = leaves[..256].to_vec();
    changed.swap(3, 4);
    assert!(!nodes.take(0, changed));
    assert!(!nodes.take(0, leaves[..255].to_vec()));
    assert!(!nodes.take(1, leaves[..256].to_vec()), "there is no second full tile");
    assert!(nodes.take(0, leaves[..256].to_vec()));
    assert_eq!(nodes.leaf(7), Ok(leaves[7]));
    assert_eq!(nodes.tile(1, 0, 1), Some(vec![mth(&leaves[..TILE_WIDTH as usize])]));
    assert_eq!((nodes.tile(1, 0, 2), nodes.tile(2, 0, 1), nodes.tile(9, 0, 1)), (None, None, None));
}
