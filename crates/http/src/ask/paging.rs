//! Pages of lists: where one begins, how many rows it has, and the cursor of the next.

use super::Ask;
use crate::{
    edge::{Cursor, CursorOf, whole},
    problem::Problem,
};
use charter_policy::{Page, Position};

/// The most rows of a page.
pub const PAGE_ROWS_MAX: usize = 500;
/// The rows of a page when the request names no number.
const PAGE_ROWS_DEFAULT: usize = 100;

impl Ask {
    /// Where this page begins and how many rows it has, from the query.
    pub(crate) fn page(&self) -> Result<PageAsk, Problem> {
        let limit = match self.params.text("limit") {
            None => PAGE_ROWS_DEFAULT,
            Some(text) => page_rows(whole(text))
                .ok_or_else(|| Problem::invalid_parameter("limit", format!("it is 1 to {PAGE_ROWS_MAX}")))?,
        };
        self.page_of(&[&self.params.filter()], limit, self.params.text("cursor"))
    }

    /// The same of a question, which names limit and cursor in its body.
    pub(crate) fn page_asked(
        &self,
        filter: &[&str],
        limit: Option<u16>,
        cursor: Option<&str>,
    ) -> Result<PageAsk, Problem> {
        let limit = match limit {
            None => PAGE_ROWS_DEFAULT,
            Some(rows) => page_rows(Some(rows.into())).ok_or_else(|| {
                Problem::invalid_member("invalid_value", "limit", format!("it is 1 to {PAGE_ROWS_MAX}"))
            })?,
        };
        let in_query = self.params.filter();
        let parts: Vec<&str> = filter.iter().copied().chain([in_query.as_str()]).collect();
        self.page_of(&parts, limit, cursor)
    }

    fn page_of(&self, filter: &[&str], limit: usize, cursor: Option<&str>) -> Result<PageAsk, Problem> {
        let segments: Vec<&str> = self.segments.iter().map(|(_, value)| value.as_str()).collect();
        let of = CursorOf::new((self.row.path, &segments), filter, self.user);
        let key = self.app.control.cursor_key();
        let begin = match cursor {
            None => Cursor::at(self.policy.version(), 0, None),
            Some(text) => Cursor::open(text, of, key)?,
        };
        Ok(PageAsk { begin, limit, of, key: *key })
    }
}

fn page_rows(rows: Option<usize>) -> Option<usize> {
    rows.filter(|rows| (1..=PAGE_ROWS_MAX).contains(rows))
}

/// A page that was asked for.
pub(crate) struct PageAsk {
    pub(crate) begin: Cursor,
    pub(crate) limit: usize,
    of: CursorOf,
    key: [u8; 32],
}

impl PageAsk {
    /// The last row's position of the page before.
    pub(crate) fn after(&self) -> Option<Position> {
        self.begin.position()
    }

    /// The same for the policy's own lists.
    pub(crate) fn page(&self) -> Page {
        Page { after: self.after(), limit: self.limit }
    }

    /// The cursor of this page.
    pub(crate) fn same(&self) -> String {
        self.begin.seal(self.of, &self.key)
    }

    /// The cursor of the page after this position.
    pub(crate) fn next(&self, last: Position) -> String {
        self.next_in(0, Some(last))
    }

    /// The cursor of the page after this text.
    pub(crate) fn next_key(&self, last: &str) -> String {
        Cursor::after_key(self.begin.first_version, last).seal(self.of, &self.key)
    }

    /// The same in a list made of several.
    pub(crate) fn next_in(&self, part: u32, last: Option<Position>) -> String {
        Cursor::at(self.begin.first_version, part, last).seal(self.of, &self.key)
    }

    /// A page of the rows an iterator in order of position begins with, and the cursor of the next.
    pub(crate) fn take<T>(
        &self,
        rows: impl Iterator<Item = T>,
        position: impl Fn(&T) -> Position,
    ) -> (Vec<T>, Option<String>) {
        let mut rows: Vec<T> = rows.take(self.limit.saturating_add(1)).collect();
        let more = rows.len() > self.limit;
        rows.truncate(self.limit);
        let next = rows.last().filter(|_| more).map(|last| self.next(position(last)));
        (rows, next)
    }
}
