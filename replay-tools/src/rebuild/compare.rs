//! Two generations of the same tables, row by row in order of their keys.

use crate::ToolError;
use charter_store::{TABLE_ROWS_MAX, TableStore, Target};
use charter_tables::{Row, TableSpec, Value};
use std::{cmp::Ordering, collections::VecDeque};

/// The most differences that are listed.
pub const DIFFERENCES_LISTED_MAX: usize = 20;
/// How many rows are read at once.
const PAGE_ROWS_MAX: usize = if TABLE_ROWS_MAX < 5_000 { TABLE_ROWS_MAX } else { 5_000 };

/// How new tables compare with those that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compared {
    /// Every row is the same.
    Equal,
    /// Some rows are not.
    Differs {
        /// The first of them, at most [`DIFFERENCES_LISTED_MAX`].
        rows: Vec<Difference>,
        /// How many more there are.
        more: u64,
    },
    /// They never stood still long enough to be read row by row; their digests at one moment are not the same.
    DigestDiffers,
    /// The tables that are read are of another version, and are not compared.
    OtherVersion {
        /// Which.
        live: u32,
    },
    /// None are read yet.
    NothingRead,
}

/// A row that is not the same in both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its table.
    pub table: &'static str,
    /// Its key, as text.
    pub key: String,
    /// The columns that differ; none when the row is in one of the two only.
    pub columns: Vec<&'static str>,
    /// Whether it is in the tables that are read.
    pub in_live: bool,
    /// Whether it is in the new ones.
    pub in_rebuilt: bool,
}

/// Reads the rows of one table in order of their keys, a page at a time.
struct Rows<'a> {
    store: &'a dyn TableStore,
    target: Target,
    table: usize,
    key: usize,
    page: VecDeque<Row>,
    last: Option<Row>,
    ended: bool,
}

impl<'a> Rows<'a> {
    fn new((store, target): (&'a dyn TableStore, Target), table: usize, key: usize) -> Self {
        Self { store, target, table, key, page: VecDeque::new(), last: None, ended: false }
    }

    /// Has a row at hand, if there is one.
    async fn fill(&mut self) -> Result<(), ToolError> {
        if self.page.is_empty() && !self.ended {
            let after = self.last.as_ref();
            let page = self.store.scan_rows(self.target, self.table, after, PAGE_ROWS_MAX).await?;
            self.ended = page.is_empty();
            self.last = page.last().map(|row| self.key_of(row)).or_else(|| self.last.take());
            self.page = page.into();
        }
        Ok(())
    }

    fn key_of(&self, row: &Row) -> Row {
        row.iter().take(self.key).cloned().collect()
    }
}

/// Compares all tables of two generations.
pub(super) async fn rows(
    live: (&dyn TableStore, Target),
    rebuilt: (&dyn TableStore, Target),
) -> Result<Compared, ToolError> {
    let (mut differences, mut more) = (Vec::new(), 0_u64);
    for (place, table) in live.1.spec.tables.iter().enumerate() {
        let (mut live, mut rebuilt) =
            (Rows::new(live, place, table.key), Rows::new(rebuilt, place, table.key));
        while let Some(difference) = next(table, &mut live, &mut rebuilt).await? {
            if differences.len() < DIFFERENCES_LISTED_MAX {
                differences.push(difference);
            } else {
                more = more.saturating_add(1);
            }
        }
    }
    Ok(if differences.is_empty() { Compared::Equal } else { Compared::Differs { rows: differences, more } })
}

/// The next row that is not the same in both.
async fn next(
    table: &'static TableSpec,
    live: &mut Rows<'_>,
    rebuilt: &mut Rows<'_>,
) -> Result<Option<Difference>, ToolError> {
    loop {
        live.fill().await?;
        rebuilt.fill().await?;
        let order = match (live.page.front(), rebuilt.page.front()) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => live.key_of(one).cmp(&rebuilt.key_of(other)),
        };
        let one = if order.is_le() { live.page.pop_front() } else { None };
        let other = if order.is_ge() { rebuilt.page.pop_front() } else { None };
        if one != other {
            return Ok(Some(difference(table, one.as_ref(), other.as_ref())));
        }
    }
}

fn difference(table: &'static TableSpec, live: Option<&Row>, rebuilt: Option<&Row>) -> Difference {
    let key = live.or(rebuilt).into_iter().flatten().take(table.key).map(text).collect::<Vec<_>>().join(" ");
    let columns = match (live, rebuilt) {
        (Some(one), Some(other)) => {
            let differs = table.columns.iter().zip(one.iter().zip(other)).filter(|(_, (a, b))| a != b);
            differs.map(|(column, _)| column.name).collect()
        }
        _ => Vec::new(),
    };
    Difference { table: table.name, key, columns, in_live: live.is_some(), in_rebuilt: rebuilt.is_some() }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Uuid(id) => id.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Int(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Bytes(bytes) => hex::encode(bytes),
    }
}
