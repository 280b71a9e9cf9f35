//! Proving to a stranger that an event is in the log: a text he can check with the log's verifier key alone.

use crate::{EvidenceError, Progress, ToolError};
use charter_events::{Head, Offset};
use charter_store::{
    Fault, LogStore, What,
    chain::{self, write_record},
    merkle::{
        Checkpoint, InclusionText, SignedNote, Signer, Tree, origin,
        read::{self, ReadError},
    },
    verify,
};

/// By which checkpoint an event is proven.
#[derive(Debug)]
pub enum By<'a> {
    /// One that was signed before, and is known to whoever is to be convinced.
    Known(&'a SignedNote),
    /// A new one of the whole log, signed now: after every event's hash and link was checked, since a signature vouches
    /// for all that is before it.
    New(&'a Signer),
}

/// Proves that the event at an offset is in the log. For a checkpoint that is known the tree is made from the log's
/// hashes and must have its root; for a new one from every event, verified.
///
/// # Errors
/// [`EvidenceError::Unproven`] for an offset that is not in the checkpoint; [`EvidenceError::Cut`],
/// [`EvidenceError::Rewritten`] when the log is not that of the checkpoint; [`ToolError::OtherLog`];
/// [`ToolError::Store`] with the first bad offset of a damaged log.
pub async fn prove(
    log: &dyn LogStore,
    offset: Offset,
    by: By<'_>,
    progress: impl FnMut(Progress) + Send,
) -> Result<InclusionText, EvidenceError> {
    let head = log.head().await?;
    let known = match by {
        By::Known(note) => {
            Some(Checkpoint::of(note).map_err(|error| EvidenceError::Unproven(error.to_string()))?)
        }
        By::New(_) => None,
    };
    let size = known.as_ref().map_or(head.offset.get(), |checkpoint| checkpoint.size);
    fits(&head, offset, size, known.as_ref())?;
    let tree = match &known {
        Some(_) => tree_of(log, size, progress).await?,
        None => verified_tree(log, progress).await?,
    };
    // What was appended meanwhile was verified with the rest.
    let size = known.as_ref().map_or(tree.size(), |checkpoint| checkpoint.size);
    let (root, ours) = (tree.root(), origin(head.log_id));
    let note = match (by, known) {
        (By::Known(note), Some(checkpoint)) if checkpoint.root == root => note.clone(),
        (By::Known(_), _) => return Err(EvidenceError::Rewritten { after: Offset::ZERO, size }),
        (By::New(signer), _) => Checkpoint { origin: ours, size, root }.sign(signer),
    };
    let index = offset.get().saturating_sub(1);
    let before = Offset::new(index).unwrap_or(Offset::ZERO);
    let event = log.read(before, 1).await?.into_iter().next().filter(|event| event.offset == offset);
    let event = event.ok_or_else(|| damaged(offset, What::Missing))?;
    let (leaf, path) = read::inclusion(log, &tree, index, size).await.map_err(unproven)?;
    if leaf != event.hash || chain::hash(head.log_id, &event) != event.hash {
        return Err(damaged(offset, What::HashMismatch));
    }
    let mut record = Vec::new();
    write_record(head.log_id, &event, &mut record);
    Ok(InclusionText { record, index, path, note })
}

fn fits(head: &Head, offset: Offset, size: u64, known: Option<&Checkpoint>) -> Result<(), EvidenceError> {
    let ours = origin(head.log_id);
    if let Some(other) = known.filter(|checkpoint| checkpoint.origin != ours) {
        let name = &other.origin;
        let why = format!("the checkpoint is of `{name}`, the log is `{ours}`");
        return Err(ToolError::OtherLog(why).into());
    }
    if size > head.offset.get() {
        return Err(EvidenceError::Cut { offset: head.offset.plus(1).unwrap_or(Offset::MAX), size });
    }
    if offset == Offset::ZERO || offset.get() > size {
        let why = format!("offset {offset} is not among the {size} events of the checkpoint");
        return Err(EvidenceError::Unproven(why));
    }
    Ok(())
}

/// The tree over all events, each of which was found sound.
async fn verified_tree(
    log: &dyn LogStore,
    progress: impl FnMut(Progress) + Send,
) -> Result<Tree, EvidenceError> {
    let mut tree = Tree::default();
    verify::scan_each(log, Offset::ZERO, progress, |event| tree.push(event.hash)).await?;
    Ok(tree)
}

/// The tree over the first `size` events, from their hashes alone.
async fn tree_of(
    log: &dyn LogStore,
    size: u64,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Tree, EvidenceError> {
    let mut tree = Tree::default();
    let end = Offset::new(size).unwrap_or(Offset::MAX);
    while tree.size() < size {
        let at = Offset::new(tree.size()).unwrap_or(Offset::MAX);
        let missing = usize::try_from(size - tree.size()).unwrap_or(usize::MAX);
        let page = log.hashes(at, missing).await?;
        if page.is_empty() {
            return Err(damaged(at.plus(1).unwrap_or(Offset::MAX), What::Missing));
        }
        page.into_iter().take(missing).for_each(|hash| tree.push(hash));
        progress(Progress { at: Offset::new(tree.size()).unwrap_or(Offset::MAX), end });
    }
    Ok(tree)
}

fn unproven(error: ReadError) -> EvidenceError {
    match error {
        ReadError::Store(error) => error.into(),
        ReadError::Changed { from } => damaged(from, What::HashMismatch),
        ReadError::Proof(error) => EvidenceError::Unproven(error.to_string()),
    }
}

fn damaged(offset: Offset, what: What) -> EvidenceError {
    ToolError::Store(Fault::new(offset, what).into()).into()
}
