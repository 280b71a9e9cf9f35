//! Whether a resource fits a filter, and by what it is sorted. Owns what each comparison means.
//!
//! An attribute with several values fits when one of them does; `ne` is that none equals; what is absent equals
//! nothing and lies on no side of anything.

use super::filter::{Elements, Field, Filter, Op, Shape, Wanted};
use charter_events::Timestamp;
use std::{borrow::Cow, cmp::Ordering};

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fact<'a> {
    Text(Cow<'a, str>),
    Bool(bool),
    Time(Timestamp),
}

impl<'a> Fact<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }
}

/// Something that has values.
pub(super) trait Facts {
    /// The values of a field.
    fn facts(&self, field: Field) -> Vec<Fact<'_>>;

    /// Whether one element of a list fits.
    fn has(&self, elements: Elements, of: &Filter) -> bool;
}

/// Whether it fits.
pub(super) fn fits(filter: &Filter, of: &dyn Facts) -> bool {
    match filter {
        Filter::And(one, other) => fits(one, of) && fits(other, of),
        Filter::Or(one, other) => fits(one, of) || fits(other, of),
        Filter::Not(inner) => !fits(inner, of),
        Filter::Present(field) => !of.facts(*field).is_empty(),
        Filter::Has(elements, inner) => of.has(*elements, inner),
        Filter::Compare(field, op, Wanted::Nothing) => of.facts(*field).is_empty() == (*op == Op::Eq),
        Filter::Compare(field, Op::Ne, wanted) => !any(of, *field, Op::Eq, wanted),
        Filter::Compare(field, op, wanted) => any(of, *field, *op, wanted),
    }
}

fn any(of: &dyn Facts, field: Field, op: Op, wanted: &Wanted) -> bool {
    of.facts(field).iter().any(|fact| match (fact, wanted) {
        (Fact::Text(text), Wanted::Text(wanted)) => compare(&folded(field, text), op, wanted),
        (Fact::Bool(value), Wanted::Bool(wanted)) => op == Op::Eq && value == wanted,
        (Fact::Time(time), Wanted::Time(wanted)) => on_side(time.cmp(wanted), op),
        _ => false,
    })
}

/// A text as its field compares it.
fn folded<'a>(field: Field, text: &'a str) -> Cow<'a, str> {
    match field.shape() {
        Shape::Folded => text.to_lowercase().into(),
        Shape::Exact | Shape::Bool | Shape::Time => text.into(),
    }
}

fn compare(text: &str, op: Op, wanted: &str) -> bool {
    match op {
        Op::Co => text.contains(wanted),
        Op::Sw => text.starts_with(wanted),
        Op::Ew => text.ends_with(wanted),
        Op::Eq | Op::Ne | Op::Gt | Op::Ge | Op::Lt | Op::Le => on_side(text.cmp(wanted), op),
    }
}

const fn on_side(order: Ordering, op: Op) -> bool {
    match op {
        Op::Eq => order.is_eq(),
        Op::Ne => order.is_ne(),
        Op::Gt => order.is_gt(),
        Op::Ge => order.is_ge(),
        Op::Lt => order.is_lt(),
        Op::Le => order.is_le(),
        Op::Co | Op::Sw | Op::Ew => false,
    }
}

/// What something is sorted by: the first value of a field. What has none comes after all others.
pub(super) fn place(of: &dyn Facts, field: Field) -> (bool, String) {
    let first = of.facts(field).into_iter().next().map(|fact| match fact {
        Fact::Text(text) => folded(field, &text).into_owned(),
        Fact::Bool(value) => value.to_string(),
        Fact::Time(time) => time.to_string(),
    });
    (first.is_none(), first.unwrap_or_default())
}
