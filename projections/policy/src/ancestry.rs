//! What lies above and below what: a port of its own, so that a materialised path can take the place of parent links
//! without touching a question.

use crate::ix::ObjectIx;

/// The tree of folders.
pub(crate) trait Ancestry {
    /// The folder an object lies in.
    fn parent(&self, object: ObjectIx) -> Option<ObjectIx>;

    /// What lies directly in a folder.
    fn contents(&self, folder: ObjectIx) -> impl Iterator<Item = ObjectIx>;

    /// The folders above an object, nearest first.
    fn ancestors(&self, object: ObjectIx) -> impl Iterator<Item = ObjectIx> {
        std::iter::successors(self.parent(object), |folder| self.parent(*folder))
    }

    /// How many folders are above an object.
    fn depth(&self, object: ObjectIx) -> usize {
        self.ancestors(object).count()
    }

    /// Whether an object lies in a folder, however deep.
    fn is_below(&self, object: ObjectIx, folder: ObjectIx) -> bool {
        self.ancestors(object).any(|above| above == folder)
    }

    /// Everything below a folder with its distance (1: directly in it); the folder itself is not given.
    fn below(&self, folder: ObjectIx) -> impl Iterator<Item = (ObjectIx, usize)> {
        let mut waiting: Vec<(ObjectIx, usize)> = self.contents(folder).map(|child| (child, 1)).collect();
        std::iter::from_fn(move || {
            let (object, distance) = waiting.pop()?;
            waiting.extend(self.contents(object).map(|child| (child, distance + 1)));
            Some((object, distance))
        })
    }

    /// How many levels lie below an object: 0 when nothing does.
    fn height(&self, object: ObjectIx) -> usize {
        self.below(object).map(|(_, distance)| distance).max().unwrap_or(0)
    }
}
