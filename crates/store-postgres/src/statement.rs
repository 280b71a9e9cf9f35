//! One statement with its values: what callers hand to whoever has the connection.

use charter_store::StoreError;
use sqlx::{
    Arguments, AssertSqlSafe, Encode, PgConnection, SqlSafeStr, SqlStr, Type,
    postgres::{PgArguments, PgRow, Postgres},
};

/// One statement with its values, which never become part of its text.
#[derive(Clone)]
pub(crate) struct Statement {
    sql: SqlStr,
    values: PgArguments,
    /// Whether the connection keeps it prepared.
    kept: bool,
}

impl Statement {
    pub(crate) fn new(sql: &'static str) -> Self {
        Self { sql: SqlStr::from_static(sql), values: PgArguments::default(), kept: true }
    }

    /// One whose text was made by [`charter_store::tables_sql`]. A text that comes again is worth being `kept`; without
    /// that the database plans it for the very values.
    pub(crate) fn made(sql: String, kept: bool) -> Self {
        Self { sql: AssertSqlSafe(sql).into_sql_str(), values: PgArguments::default(), kept }
    }

    /// With one more value.
    pub(crate) fn with<'t, T>(mut self, value: T) -> Result<Self, StoreError>
    where
        T: Encode<'t, Postgres> + Type<Postgres>,
    {
        let added = self.values.add(value);
        added.map_err(|e| StoreError::Refused(format!("a value can't be kept: {e}")))?;
        Ok(self)
    }

    /// Runs it and says how many rows it changed.
    pub(crate) async fn execute(self, connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
        let query = sqlx::query_with(self.sql, self.values).persistent(self.kept);
        Ok(query.execute(connection).await?.rows_affected())
    }

    /// Runs it and hands over its rows.
    pub(crate) async fn rows(self, connection: &mut PgConnection) -> Result<Vec<PgRow>, sqlx::Error> {
        sqlx::query_with(self.sql, self.values).persistent(self.kept).fetch_all(connection).await
    }
}

/// An offset as PostgreSQL keeps it.
pub(crate) fn integer(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Refused("an offset beyond the last one there is".into()))
}

/// A bound as PostgreSQL takes it.
pub(crate) fn limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
