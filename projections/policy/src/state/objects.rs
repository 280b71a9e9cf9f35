//! Objects and what lies in what.

use crate::{
    ancestry::Ancestry,
    entries::Entries,
    intern::Interner,
    ix::{GrantIx, ObjectIx, TypeIx, UserIx},
    pages::Paged,
    sorted::Sorted,
};
use charter_events::{DisplayName, ExternalId, ObjectId, Offset, Timestamp};
use imbl::{GenericHashMap, OrdMap, shared_ptr::DefaultSharedPtr};
use std::{collections::HashMap, hash::BuildHasherDefault, sync::Arc};
use uuid::Uuid;

/// What the walk reads of an object, in one place: where to go next, and who is granted what on it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) parent: ObjectIx,
    pub(crate) type_ix: u16,
    pub(crate) exists: bool,
    pub(crate) is_folder: bool,
    pub(crate) inherits: bool,
    pub(crate) entries: Entries,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            parent: ObjectIx::NONE,
            type_ix: 0,
            exists: false,
            is_folder: false,
            inherits: true,
            entries: Entries::default(),
        }
    }
}

impl Node {
    pub(crate) fn object_type(&self) -> TypeIx {
        TypeIx(u32::from(self.type_ix))
    }
}

/// What is only shown.
#[derive(Debug, Clone)]
pub(crate) struct ObjectFacts {
    pub(crate) name: DisplayName,
    pub(crate) external_id: Option<ExternalId>,
    pub(crate) owner: UserIx,
    pub(crate) owner_grant: GrantIx,
    pub(crate) created_at: Timestamp,
    pub(crate) changed_at: Offset,
}

type Children = GenericHashMap<
    ObjectIx,
    Sorted<ObjectIx>,
    BuildHasherDefault<super::keys::IndexHasher>,
    DefaultSharedPtr,
>;

#[derive(Debug, Clone, Default)]
pub(crate) struct Objects {
    pub(crate) ids: Interner,
    pub(crate) nodes: Paged<Node, 64>,
    pub(crate) facts: Paged<Option<ObjectFacts>, 64>,
    /// What lies directly in each folder that contains anything; at the top under [`ObjectIx::NONE`].
    children: Children,
    of_type: Arc<Vec<Sorted<ObjectIx>>>,
    external: OrdMap<(TypeIx, ExternalId), ObjectIx>,
}

impl Objects {
    /// A standing object.
    #[inline]
    pub(crate) fn node(&self, ix: ObjectIx) -> Option<&Node> {
        self.nodes.get(ix.at()).filter(|node| node.exists)
    }

    pub(crate) fn get(&self, ix: ObjectIx) -> Option<&ObjectFacts> {
        self.facts.get(ix.at())?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, ix: ObjectIx) -> Option<&mut ObjectFacts> {
        self.facts.get_mut(ix.at())?.as_mut()
    }

    /// A standing object by its id.
    #[inline]
    pub(crate) fn find(&self, id: ObjectId) -> Option<ObjectIx> {
        self.ids.get(id.as_uuid()).map(ObjectIx).filter(|ix| self.node(*ix).is_some())
    }

    pub(crate) fn children(&self, folder: ObjectIx) -> Option<&Sorted<ObjectIx>> {
        self.children.get(&folder)
    }

    pub(crate) fn of_type(&self, object_type: TypeIx) -> Option<&Sorted<ObjectIx>> {
        self.of_type.get(object_type.at())
    }

    /// All objects at once; `None` when an id occurs twice.
    pub(crate) fn of(ids: Vec<Uuid>, nodes: Vec<Node>, facts: Vec<Option<ObjectFacts>>) -> Option<Self> {
        let mut children = HashMap::<ObjectIx, Sorted<ObjectIx>>::new();
        let (mut of_type, mut external) = (Vec::<Sorted<ObjectIx>>::new(), OrdMap::new());
        for (number, (node, facts)) in
            nodes.iter().zip(&facts).enumerate().filter(|(_, (node, _))| node.exists)
        {
            let (ix, object_type) = (ObjectIx(number as u32), node.object_type());
            children.entry(node.parent).or_default().insert(ix);
            if of_type.len() <= object_type.at() {
                of_type.resize(object_type.at() + 1, Sorted::default());
            }
            if let Some(list) = of_type.get_mut(object_type.at()) {
                list.insert(ix);
            }
            if let Some(name) = facts.as_ref().and_then(|facts| facts.external_id.clone()) {
                external.insert((object_type, name), ix);
            }
        }
        Some(Self {
            ids: Interner::of(ids)?,
            nodes: Paged::of(nodes),
            facts: Paged::of(facts),
            children: children.into_iter().collect(),
            of_type: Arc::new(of_type),
            external,
        })
    }

    /// Makes room for an object whose id has just been interned, and files it.
    pub(crate) fn push(&mut self, node: Node, facts: Option<ObjectFacts>) {
        let ix = ObjectIx(self.nodes.len() as u32);
        let (exists, parent, object_type) = (node.exists, node.parent, node.object_type());
        self.nodes.push(node);
        let external = facts.as_ref().and_then(|facts| facts.external_id.clone());
        self.facts.push(facts);
        if exists {
            self.put_below(ix, parent);
            self.file(ix, object_type, true);
            if let Some(external) = external {
                self.external.insert((object_type, external), ix);
            }
        }
    }

    /// Takes an object out of every list. Nothing lies in it and nothing is granted on it any more.
    pub(crate) fn delete(&mut self, ix: ObjectIx) {
        let Some(node) = self.nodes.get_mut(ix.at()) else { return };
        let (parent, object_type) = (node.parent, node.object_type());
        *node = Node { type_ix: node.type_ix, ..Node::default() };
        self.take_from(ix, parent);
        self.file(ix, object_type, false);
        self.set_external_id(ix, object_type, None);
        if let Some(facts) = self.facts.get_mut(ix.at()) {
            *facts = None;
        }
    }

    pub(crate) fn move_to(&mut self, ix: ObjectIx, parent: ObjectIx) {
        let Some(node) = self.nodes.get_mut(ix.at()) else { return };
        let from = std::mem::replace(&mut node.parent, parent);
        self.take_from(ix, from);
        self.put_below(ix, parent);
    }

    pub(crate) fn set_external_id(
        &mut self,
        ix: ObjectIx,
        object_type: TypeIx,
        external: Option<ExternalId>,
    ) {
        let Some(Some(facts)) = self.facts.get_mut(ix.at()) else { return };
        if let Some(old) = std::mem::replace(&mut facts.external_id, external.clone()) {
            self.external.remove(&(object_type, old));
        }
        if let Some(new) = external {
            self.external.insert((object_type, new), ix);
        }
    }

    /// The object of a type that is known by an external id: its own, or the object's id where it has none.
    pub(crate) fn by_external_id(&self, object_type: TypeIx, external: &str) -> Option<ObjectIx> {
        let name = external.parse::<ExternalId>().ok()?;
        if let Some(ix) = self.external.get(&(object_type, name)) {
            return Some(*ix);
        }
        let id = external.parse::<ObjectId>().ok().filter(|id| id.to_string() == external)?;
        let ix = self.find(id)?;
        let of_type = self.node(ix)?.object_type() == object_type;
        (of_type && self.get(ix)?.external_id.is_none()).then_some(ix)
    }

    fn put_below(&mut self, ix: ObjectIx, parent: ObjectIx) {
        self.children.entry(parent).or_default().insert(ix);
    }

    fn take_from(&mut self, ix: ObjectIx, parent: ObjectIx) {
        if let Some(children) = self.children.get_mut(&parent) {
            children.remove(&ix);
            if children.is_empty() {
                self.children.remove(&parent);
            }
        }
    }

    fn file(&mut self, ix: ObjectIx, object_type: TypeIx, is_in: bool) {
        let lists = Arc::make_mut(&mut self.of_type);
        if lists.len() <= object_type.at() {
            lists.resize(object_type.at() + 1, Sorted::default());
        }
        if let Some(list) = lists.get_mut(object_type.at()) {
            if is_in {
                list.insert(ix)
            } else {
                list.remove(&ix)
            };
        }
    }
}

impl Ancestry for Objects {
    fn parent(&self, object: ObjectIx) -> Option<ObjectIx> {
        self.node(object)?.parent.some()
    }

    fn contents(&self, folder: ObjectIx) -> impl Iterator<Item = ObjectIx> {
        self.children(folder).into_iter().flat_map(Sorted::iter)
    }
}
