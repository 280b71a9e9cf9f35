//! Read models in tables, in memory: a map of rows for each table of each generation.

use super::MemoryStore;
use crate::{
    error::StoreError,
    table_checks::{check_changes, table_at},
    tables::{
        Checkpoint, Filter, Generation, Listed, OPERATIONS_KEPT, Operation, OperationState, Query,
        TABLE_ROWS_MAX, TableFault, TableStore, Target,
    },
};
use async_trait::async_trait;
use charter_events::{Hash, Offset, Timestamp};
use charter_tables::{Changes, Row, RowsDigest, Spec, TableSpec, Value};
use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeMap,
    ops::Bound,
    sync::{Mutex, MutexGuard, PoisonError},
};
use uuid::Uuid;

/// All tables, and the operations.
#[derive(Default)]
pub(super) struct Tables(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    generations: BTreeMap<(String, u32), Built>,
    /// The highest number a projection ever had.
    numbers: BTreeMap<String, u32>,
    operations: BTreeMap<Uuid, Operation>,
}

struct Built {
    generation: Generation,
    /// By table: rows by their keys.
    tables: Vec<BTreeMap<Row, Row>>,
}

impl MemoryStore {
    fn tables(&self) -> Result<MutexGuard<'_, Kept>, StoreError> {
        self.shared.hooks.reading()?;
        Ok(self.shared.tables.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn built(&self, target: Target) -> Result<&Built, StoreError> {
        self.generations
            .get(&(target.spec.name.to_owned(), target.number))
            .ok_or_else(|| moved(target.spec.name))
    }

    fn built_mut(&mut self, target: Target) -> Result<&mut Built, StoreError> {
        let key = (target.spec.name.to_owned(), target.number);
        self.generations.get_mut(&key).ok_or_else(|| moved(target.spec.name))
    }

    fn active(&self, projection: &str) -> Option<&Built> {
        self.generations
            .values()
            .find(|built| built.generation.active && built.generation.projection == projection)
    }

    fn put_operation(&mut self, operation: &Operation) {
        let runs = |one: &Operation| one.state == OperationState::Running;
        let ended = self.operations.get(&operation.id).is_some_and(|old| !runs(old));
        if !(ended && runs(operation)) {
            self.operations.insert(operation.id, operation.clone());
        }
        let mut ended: Vec<_> = self.operations.values().filter(|one| !runs(one)).collect();
        ended.sort_by_key(|operation| Reverse((operation.started_at, operation.id)));
        let old: Vec<_> = ended.iter().skip(OPERATIONS_KEPT).map(|operation| operation.id).collect();
        self.operations.retain(|id, _| !old.contains(id));
    }
}

impl Built {
    fn table(&self, spec: &'static Spec, table: usize) -> Result<&BTreeMap<Row, Row>, StoreError> {
        table_at(spec, table)?;
        self.tables.get(table).ok_or_else(|| moved(spec.name))
    }

    fn change(&mut self, changes: &Changes) {
        for (table, key, row) in changes.iter() {
            let Some(rows) = self.tables.get_mut(table) else { continue };
            match row {
                Some(row) => drop(rows.insert(key.clone(), row.clone())),
                None => drop(rows.remove(key)),
            }
        }
    }

    fn digest(&self, spec: &Spec) -> RowsDigest {
        let mut digest = RowsDigest::default();
        for (table, rows) in spec.tables.iter().zip(&self.tables) {
            rows.values().for_each(|row| digest.add(table.name, row));
        }
        digest
    }
}

fn moved(projection: &str) -> StoreError {
    StoreError::CheckpointMoved { projection: projection.to_owned() }
}

#[async_trait]
impl TableStore for MemoryStore {
    async fn generations(&self) -> Result<Vec<Generation>, StoreError> {
        Ok(self.tables()?.generations.values().map(|built| built.generation.clone()).collect())
    }

    async fn create_generation(&self, spec: &'static Spec, now: Timestamp) -> Result<u32, StoreError> {
        let log_id = self.read_kept().head.log_id;
        let mut kept = self.tables()?;
        let number = kept.numbers.get(spec.name).copied().unwrap_or_default() + 1;
        kept.numbers.insert(spec.name.to_owned(), number);
        let generation = Generation {
            projection: spec.name.to_owned(),
            number,
            version: spec.version,
            checkpoint: Checkpoint { log_id, offset: Offset::ZERO, hash: Hash::ZERO },
            active: false,
            indexed: false,
            fault: None,
            created_at: now,
        };
        let tables = spec.tables.iter().map(|_| BTreeMap::new()).collect();
        kept.generations.insert((spec.name.to_owned(), number), Built { generation, tables });
        Ok(number)
    }

    async fn change_rows(
        &self,
        target: Target,
        from: Checkpoint,
        to: Checkpoint,
        changes: &Changes,
    ) -> Result<(), StoreError> {
        check_changes(target.spec, changes)?;
        if to.log_id != from.log_id || to.offset < from.offset {
            return Err(StoreError::Refused("a checkpoint only goes on".into()));
        }
        let mut kept = self.tables()?;
        let built = kept.built_mut(target)?;
        if built.generation.checkpoint != from {
            return Err(moved(target.spec.name));
        }
        built.change(changes);
        built.generation.checkpoint = to;
        Ok(())
    }

    async fn note_fault(&self, target: Target, fault: Option<TableFault>) -> Result<(), StoreError> {
        fault.as_ref().map_or(Ok(()), TableFault::check)?;
        self.tables()?.built_mut(target)?.generation.fault = fault;
        Ok(())
    }

    async fn index_generation(&self, target: Target) -> Result<(), StoreError> {
        self.tables()?.built_mut(target)?.generation.indexed = true;
        Ok(())
    }

    async fn activate_generation(&self, target: Target, instead_of: Option<u32>) -> Result<(), StoreError> {
        let mut kept = self.tables()?;
        let name = target.spec.name;
        let read = kept.active(name).map(|built| &built.generation);
        let behind = read.map_or(Offset::ZERO, |read| read.checkpoint.offset);
        if read.map(|read| read.number) != instead_of
            || kept.built(target)?.generation.checkpoint.offset < behind
        {
            return Err(moved(name));
        }
        for built in kept.generations.values_mut().filter(|built| built.generation.projection == name) {
            built.generation.active = built.generation.number == target.number;
        }
        Ok(())
    }

    async fn drop_generation(&self, projection: &str, number: u32) -> Result<(), StoreError> {
        let mut kept = self.tables()?;
        let key = (projection.to_owned(), number);
        if kept.generations.get(&key).is_some_and(|built| built.generation.active) {
            return Err(StoreError::Refused("tables that are read are not removed".into()));
        }
        kept.generations.remove(&key);
        Ok(())
    }

    async fn retire_generation(&self, projection: &str, number: u32) -> Result<(), StoreError> {
        self.tables()?.generations.remove(&(projection.to_owned(), number));
        Ok(())
    }

    async fn digest_rows(&self, targets: &[Target]) -> Result<Vec<(Checkpoint, RowsDigest)>, StoreError> {
        let kept = self.tables()?;
        let digest = |target: &Target| {
            let built = kept.built(*target)?;
            Ok((built.generation.checkpoint, built.digest(target.spec)))
        };
        targets.iter().map(digest).collect()
    }

    async fn scan_rows(
        &self,
        target: Target,
        table: usize,
        after: Option<&Row>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let kept = self.tables()?;
        let rows = kept.built(target)?.table(target.spec, table)?;
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let page = rows.range::<Row, _>((from, Bound::Unbounded)).take(limit.min(TABLE_ROWS_MAX));
        Ok(page.map(|(_, row)| row.clone()).collect())
    }

    async fn list_rows(&self, query: &Query) -> Result<Option<Listed>, StoreError> {
        let table = query.check()?;
        let kept = self.tables()?;
        let of_version = |built: &&Built| built.generation.version == query.spec.version;
        let Some(built) = kept.active(query.spec.name).filter(of_version) else { return Ok(None) };
        let (checkpoint, generation) = (built.generation.checkpoint, built.generation.number);
        let rows = page(table, built.table(query.spec, query.table)?, query);
        Ok(Some(Listed { rows, checkpoint, generation }))
    }

    async fn begin_operation(&self, operation: &Operation, running: &[Uuid]) -> Result<bool, StoreError> {
        operation.check()?;
        let mut kept = self.tables()?;
        let runs = |one: &Operation| one.state == OperationState::Running && !running.contains(&one.id);
        let free = !kept.operations.values().any(runs);
        if free {
            kept.put_operation(operation);
        }
        Ok(free)
    }

    async fn put_operation(&self, operation: &Operation) -> Result<(), StoreError> {
        operation.check()?;
        self.tables()?.put_operation(operation);
        Ok(())
    }

    async fn move_operation(
        &self,
        id: Uuid,
        from: OperationState,
        to: OperationState,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut kept = self.tables()?;
        let Some(operation) = kept.operations.get_mut(&id).filter(|operation| operation.state == from) else {
            return Ok(false);
        };
        (operation.state, operation.updated_at) = (to, now);
        Ok(true)
    }

    async fn operations(&self) -> Result<Vec<Operation>, StoreError> {
        let mut all: Vec<_> = self.tables()?.operations.values().cloned().collect();
        all.sort_by_key(|operation| Reverse((operation.started_at, operation.id)));
        Ok(all)
    }
}

fn page(table: &TableSpec, rows: &BTreeMap<Row, Row>, query: &Query) -> Vec<Row> {
    let place = |row: &Row| -> Row {
        let first = query.order_by.and_then(|column| table.column(column)).and_then(|at| row.get(at));
        first.into_iter().chain(row.iter().take(table.key)).cloned().collect()
    };
    let order = |one: &Row, other: &Row| if query.descending { other.cmp(one) } else { one.cmp(other) };
    let mut found: Vec<(Row, &Row)> = rows
        .values()
        .filter(|row| query.filters.iter().all(|filter| holds(table, filter, row)))
        .map(|row| (place(row), row))
        .filter(|(at, _)| query.after.as_ref().is_none_or(|after| order(at, after) == Ordering::Greater))
        .collect();
    found.sort_by(|(one, _), (other, _)| order(one, other));
    found.into_iter().take(query.page_rows()).map(|(_, row)| row.clone()).collect()
}

fn holds(table: &TableSpec, filter: &Filter, row: &Row) -> bool {
    let at = |column: &str| table.column(column).and_then(|at| row.get(at)).unwrap_or(&Value::Null);
    match filter {
        Filter::Is(column, value) => at(column) == value,
        Filter::AtLeast(column, value) => at(column) != &Value::Null && at(column) >= value,
        Filter::Below(column, value) => at(column) != &Value::Null && at(column) < value,
        Filter::Contains(columns, wanted) => columns
            .iter()
            .any(|column| matches!(at(column), Value::Text(text) if text.contains(wanted.as_str()))),
        Filter::OneOf(column, ids) => matches!(at(column), Value::Uuid(id) if ids.contains(id)),
    }
}
