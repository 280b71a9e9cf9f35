//! The Merkle tree over the published log, and checkpoints of it that this server signs: made in the background after
//! start, then kept up about once a second. Must not know how it is asked for; the arithmetic is
//! [`charter_store::merkle`]'s.
//!
//! A signature vouches for everything before it. So a leaf enters the tree only with its event: read whole, from the
//! first one of the log on, its hash computed again and its link checked, and the last must be the published head.
//! That a server started from a snapshot, or that the event was verified when it was folded, is not enough: what is
//! signed is what stands in the log now. Hashes that are read again later must be those the tree was made of: a log
//! that is changed beneath a running server is not served as if it were the one that was signed.

use crate::{
    control::{Control, Inner},
    health::NotReady,
};
use charter_events::{Head, LogId, Offset};
use charter_store::{
    Fault, InstallationSecrets, StoreError, What, causes,
    chain::{self, Verifier, write_record},
    merkle::{
        Checkpoint, InclusionText, Nodes, ProofError, SignedNote, Signer, TILE_WIDTH, TileId, Tree, origin,
        read::{self, ReadError},
    },
};
use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Instant,
};

/// How many events are read and verified at once: others get their turn between two pages.
const PAGE_EVENTS_MAX: usize = 1_000;

/// Why a checkpoint, a tile or a proof can't be given.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The tree is still being made: this server has started a moment ago.
    #[error("the log's tree is still being made")]
    NotMade,
    /// The newest checkpoint has no such tile or event.
    #[error("the newest checkpoint, of {size} events, does not have it")]
    Beyond {
        /// How many events it has.
        size: u64,
    },
    /// What stands in the log is not what was signed.
    #[error("the log is damaged at offset {offset}")]
    Damaged {
        /// The first bad offset, as near as it is known.
        offset: Offset,
    },
    /// The log can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A checkpoint, and the note that it is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// What is signed.
    pub checkpoint: Checkpoint,
    /// The note.
    pub note: SignedNote,
}

/// The tree, as far as it is made, and the newest checkpoint.
pub(crate) struct Keeping {
    signer: Signer,
    kept: RwLock<Kept>,
}

#[derive(Clone)]
struct Kept {
    tree: Arc<Tree>,
    /// At the last event of the tree.
    verifier: Verifier,
    signed: Option<Arc<SignedCheckpoint>>,
}

impl Keeping {
    /// Of a log, signing with the installation's key.
    pub(crate) fn new(log_id: LogId, secrets: &InstallationSecrets) -> Result<Self, StoreError> {
        let missing =
            || Fault::new(Offset::ZERO, What::File("the key that signs checkpoints is missing".into()));
        let key = secrets.signing_key.as_ref().ok_or_else(missing)?;
        let kept = Kept { tree: Arc::default(), verifier: Verifier::from_start(log_id), signed: None };
        Ok(Self { signer: Signer::new(&origin(log_id), key), kept: RwLock::new(kept) })
    }

    fn load(&self) -> Kept {
        self.kept.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tree with the newest checkpoint, which it has at least the leaves of.
    fn signed(&self) -> Result<(Arc<Tree>, Arc<SignedCheckpoint>), TreeError> {
        let Kept { tree, signed, .. } = self.load();
        Ok((tree, signed.ok_or(TreeError::NotMade)?))
    }

    fn change(&self, change: impl FnOnce(&mut Kept)) {
        change(&mut self.kept.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Keeps the tree up until the server stops, or the log is found damaged.
pub(crate) async fn run(inner: Arc<Inner>) {
    let every = inner.config.sign_every;
    let began = Instant::now();
    let keep = async {
        loop {
            let first = inner.tree.load().signed.is_none();
            match grow(&inner).await {
                Ok(size) if first && size > 0 => {
                    tracing::info!(events = size, took = ?began.elapsed(), "the log's tree is made");
                }
                Ok(_) => {}
                Err(StoreError::Damaged(fault)) => {
                    tracing::error!(error = %causes(&fault), "the log's tree can't be made");
                    inner.health.fail(NotReady::Damaged { offset: fault.offset });
                    return;
                }
                Err(error) => tracing::warn!(error = %causes(&error), "the log's tree does not grow"),
            }
            tokio::time::sleep(every).await;
        }
    };
    inner.stop.run_until_cancelled(keep).await;
}

/// Adds what was published since, and signs when that is anything. Returns the size.
async fn grow(inner: &Inner) -> Result<u64, StoreError> {
    let head = inner.published.load().head;
    let size = head.offset.get();
    loop {
        let Kept { mut verifier, .. } = inner.tree.load();
        let at = verifier.head().offset;
        if at >= head.offset {
            break;
        }
        let limit = usize::try_from(size - at.get()).unwrap_or(usize::MAX).min(PAGE_EVENTS_MAX);
        let page = inner.store.read(at, limit).await?;
        if page.is_empty() {
            return Err(Fault::new(at.plus(1).unwrap_or(Offset::MAX), What::Missing).into());
        }
        for event in page.iter().take(limit) {
            verifier.next(event)?;
        }
        inner.tree.change(|kept| {
            let tree = Arc::make_mut(&mut kept.tree);
            page.iter().take(limit).for_each(|event| tree.push(event.hash));
            kept.verifier = verifier;
        });
        tokio::task::yield_now().await;
    }
    let signed = inner.tree.load().signed.map_or(0, |signed| signed.checkpoint.size);
    if signed != size {
        if inner.tree.load().verifier.head().hash != head.hash {
            return Err(Fault::new(head.offset, What::HeadMismatch).into());
        }
        let root = inner.tree.load().tree.root();
        let checkpoint = Checkpoint { origin: origin(head.log_id), size, root };
        let note = checkpoint.sign(&inner.tree.signer);
        inner.tree.change(|kept| kept.signed = Some(Arc::new(SignedCheckpoint { checkpoint, note })));
    }
    Ok(size)
}

impl Control {
    /// The key by which this log's checkpoints are checked: `<name>+<id>+<base64>`.
    pub fn verifier_key(&self) -> String {
        self.inner.tree.signer.verifier_key().to_string()
    }

    /// The newest checkpoint; it is made about once a second while the log grows.
    ///
    /// # Errors
    /// [`TreeError::NotMade`].
    pub fn checkpoint(&self) -> Result<Arc<SignedCheckpoint>, TreeError> {
        self.inner.tree.signed().map(|(_, signed)| signed)
    }

    /// The hashes of a tile, or its entries, each behind its length of two bytes (C2SP `tlog-tiles`). An entry is the
    /// canonical record of an event.
    ///
    /// # Errors
    /// [`TreeError`].
    pub async fn tile(&self, tile: TileId) -> Result<Vec<u8>, TreeError> {
        let (tree, signed) = self.inner.tree.signed()?;
        let size = signed.checkpoint.size;
        if tile.leaves().is_none_or(|(_, end)| end > size) {
            return Err(TreeError::Beyond { size });
        }
        let hashes = match tile.level {
            None => return self.entries(&tree, tile).await,
            Some(0) => self.leaves(&tree, tile.index).await?,
            Some(level) => {
                let nodes = Nodes::new(&tree).tile(level, tile.index, tile.width);
                nodes.ok_or(TreeError::Beyond { size })?
            }
        };
        let width = usize::try_from(tile.width).unwrap_or(usize::MAX);
        Ok(hashes.iter().take(width).flat_map(|hash| *hash.as_bytes()).collect())
    }

    async fn leaves(&self, tree: &Tree, tile: u64) -> Result<Vec<charter_events::Hash>, TreeError> {
        match read::leaves(self.inner.store.as_ref(), tree, tile).await {
            Ok(leaves) => Ok(leaves),
            Err(error) => Err(self.told(error).await),
        }
    }

    async fn entries(&self, tree: &Tree, tile: TileId) -> Result<Vec<u8>, TreeError> {
        let leaves = self.leaves(tree, tile.index).await?;
        let log_id = self.log_id();
        let mut at = tile.index.checked_mul(TILE_WIDTH).and_then(Offset::new).unwrap_or(Offset::MAX);
        let mut left = leaves.iter().take(usize::try_from(tile.width).unwrap_or(usize::MAX)).peekable();
        let mut entries = Vec::new();
        while left.peek().is_some() {
            let page = self.inner.store.read(at, left.len()).await?;
            let next = at.plus(1).unwrap_or(Offset::MAX);
            if page.is_empty() {
                return Err(self.damaged(next));
            }
            for (event, leaf) in page.iter().zip(left.by_ref()) {
                if event.hash != *leaf || chain::hash(log_id, event) != *leaf {
                    return Err(self.damaged(event.offset));
                }
                let mut record = Vec::with_capacity(320);
                write_record(log_id, event, &mut record);
                // The texts in a record have limits: none comes near this one.
                entries.extend(u16::try_from(record.len()).unwrap_or(u16::MAX).to_be_bytes());
                entries.append(&mut record);
                at = event.offset;
            }
        }
        Ok(entries)
    }

    /// That an event is in the newest checkpoint, as a text that stands alone.
    ///
    /// # Errors
    /// [`TreeError`].
    pub async fn prove(&self, offset: Offset) -> Result<InclusionText, TreeError> {
        let (tree, signed) = self.inner.tree.signed()?;
        let size = signed.checkpoint.size;
        let index = offset.get().checked_sub(1).filter(|index| *index < size);
        let index = index.ok_or(TreeError::Beyond { size })?;
        let store = self.inner.store.as_ref();
        let proven = read::inclusion(store, &tree, index, size).await;
        let (leaf, path) = match proven {
            Ok(proven) => proven,
            Err(error) => return Err(self.told(error).await),
        };
        let before = Offset::new(index).unwrap_or(Offset::MAX);
        let event = store.read(before, 1).await?.into_iter().next();
        let is_it = |event: &charter_events::StoredEvent| {
            event.hash == leaf && chain::hash(self.log_id(), event) == leaf
        };
        let event = event.filter(is_it).ok_or_else(|| self.damaged(offset))?;
        let mut record = Vec::new();
        write_record(self.log_id(), &event, &mut record);
        Ok(InclusionText { record, index, path, note: signed.note.clone() })
    }

    async fn told(&self, error: ReadError) -> TreeError {
        match error {
            ReadError::Store(error) => TreeError::Store(error),
            ReadError::Changed { from } => self.damaged(self.first_bad(from).await),
            ReadError::Proof(ProofError::OutOfRange { size }) => TreeError::Beyond { size },
            // Tiles that are absent are read; a proof that is wrong is not made here.
            ReadError::Proof(ProofError::Absent(_) | ProofError::Wrong) => TreeError::NotMade,
        }
    }

    /// The first event of a tile that is bad in itself; the first of the tile when all are whole, and still others than
    /// before.
    async fn first_bad(&self, from: Offset) -> Offset {
        let before = Offset::new(from.get().saturating_sub(2)).unwrap_or(Offset::ZERO);
        let width = usize::try_from(TILE_WIDTH).unwrap_or(usize::MAX).saturating_add(1);
        let Ok(page) = self.inner.store.read(before, width).await else { return from };
        let Some(first) = page.first() else { return from };
        let head = Head { offset: before, hash: first.prev_hash, ..chain::empty(self.log_id()) };
        let mut verifier = Verifier::from_head(head);
        let fault = page.iter().find_map(|event| verifier.next(event).err());
        fault.map_or(from, |fault| fault.offset.max(from))
    }

    /// The log is not what it was when the tree was made of it: nothing more is written to it.
    fn damaged(&self, offset: Offset) -> TreeError {
        tracing::error!(%offset, "the log is not what was signed");
        self.inner.health.fail(NotReady::Damaged { offset });
        TreeError::Damaged { offset }
    }
}
