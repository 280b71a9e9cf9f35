//! What every store refuses before it asks its database, so that all of them refuse the same. Must not know any
//! database.

use crate::{
    error::StoreError,
    tables::{Filter, Operation, Query, TABLE_CHANGES_MAX, TABLE_ROWS_MAX, TABLE_TEXT_BYTES_MAX, TableFault},
};
use charter_tables::{Changes, Kind, Spec, TableSpec, Value};

/// A table of a projection.
///
/// # Errors
/// [`StoreError::Refused`] when there is none at this place.
pub fn table_at(spec: &'static Spec, table: usize) -> Result<&'static TableSpec, StoreError> {
    spec.tables.get(table).ok_or_else(|| refused(format!("`{}` has no table {table}", spec.name)))
}

/// Looks at changes before anything is written.
///
/// # Errors
/// [`StoreError::Refused`] for more than [`TABLE_CHANGES_MAX`], or for a table that is not there; [`StoreError::Row`]
/// for a row that does not fit its table.
pub fn check_changes(spec: &'static Spec, changes: &Changes) -> Result<(), StoreError> {
    check_count(changes.len())?;
    for (table, key, row) in changes.iter() {
        let table = table_at(spec, table)?;
        let misfit = row.map_or_else(|| table.key_misfit(key), |row| table.misfit(row));
        if let Some(why) = misfit {
            return Err(StoreError::Row { table: table.name.to_owned(), why });
        }
    }
    Ok(())
}

fn check_count(changes: usize) -> Result<(), StoreError> {
    if changes > TABLE_CHANGES_MAX {
        return Err(refused(format!("{changes} changes at once, at most {TABLE_CHANGES_MAX}")));
    }
    Ok(())
}

impl TableFault {
    /// Looks at its length.
    ///
    /// # Errors
    /// [`StoreError::Refused`].
    pub fn check(&self) -> Result<(), StoreError> {
        check_text("the text about a fault", &self.why)
    }
}

impl Operation {
    /// Looks at its lengths.
    ///
    /// # Errors
    /// [`StoreError::Refused`].
    pub fn check(&self) -> Result<(), StoreError> {
        check_text("an operation's kind", &self.kind)?;
        check_text("an operation's target", &self.target)?;
        check_text("the text about an operation", &self.detail)
    }
}

impl Query {
    /// Looks at every column it names, and tells its table.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a table or a column that is not there, or a value that does not fit one.
    pub fn check(&self) -> Result<&'static TableSpec, StoreError> {
        let table = table_at(self.spec, self.table)?;
        self.filters.iter().try_for_each(|filter| check_filter(table, filter))?;
        if let Some(column) = self.order_by {
            kind_of(table, column)?;
        }
        if let Some(after) = &self.after {
            self.check_after(table, after)?;
        }
        Ok(table)
    }

    /// How many rows it may return.
    pub fn page_rows(&self) -> usize {
        self.limit.min(TABLE_ROWS_MAX)
    }

    fn check_after(&self, table: &TableSpec, after: &[Value]) -> Result<(), StoreError> {
        let key = match (self.order_by, after.split_first()) {
            (None, _) => after,
            (Some(column), Some((value, key))) if fits(table, column, value)? => key,
            (Some(_), _) => {
                return Err(refused(format!("a row after which there is none in `{}`", table.name)));
            }
        };
        match table.key_misfit(key) {
            Some(why) => Err(refused(format!("a key that is none of `{}`: {why}", table.name))),
            None => Ok(()),
        }
    }
}

fn check_filter(table: &TableSpec, filter: &Filter) -> Result<(), StoreError> {
    let good = match filter {
        Filter::Is(column, value) => fits(table, column, value)?,
        Filter::AtLeast(column, value) | Filter::Below(column, value) => {
            *value != Value::Null && fits(table, column, value)?
        }
        Filter::Contains(columns, _) => {
            let mut texts = columns.iter().map(|column| Ok(kind_of(table, column)? == Kind::Text));
            !columns.is_empty()
                && texts
                    .try_fold(true, |all, text: Result<_, StoreError>| Ok::<_, StoreError>(all && text?))?
        }
        Filter::OneOf(column, _) => kind_of(table, column)? == Kind::Uuid,
    };
    if good { Ok(()) } else { Err(refused(format!("a filter that does not fit `{}`", table.name))) }
}

fn fits(table: &TableSpec, column: &str, value: &Value) -> Result<bool, StoreError> {
    Ok(value.fits(kind_of(table, column)?))
}

fn kind_of(table: &TableSpec, column: &str) -> Result<Kind, StoreError> {
    let found = table.columns.iter().find(|known| known.name == column);
    found
        .map(|column| column.kind)
        .ok_or_else(|| refused(format!("`{}` has no column `{column}`", table.name)))
}

fn check_text(what: &str, text: &str) -> Result<(), StoreError> {
    if text.len() > TABLE_TEXT_BYTES_MAX || text.contains('\0') {
        return Err(refused(format!("{what}: at most {TABLE_TEXT_BYTES_MAX} bytes, and no NUL")));
    }
    Ok(())
}

fn refused(why: String) -> StoreError {
    StoreError::Refused(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_call_are_counted() {
        assert!(check_count(TABLE_CHANGES_MAX).is_ok());
        assert!(matches!(check_count(TABLE_CHANGES_MAX + 1), Err(StoreError::Refused(_))));
    }
}
