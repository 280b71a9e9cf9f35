//! Read models in tables: rows and checkpoints, generations, pages, operations.

mod changing;
mod generations;
mod listing;
mod operations;
mod samples;

use super::{Case, cases};

cases! {
    TABLE_CASES:
    "a new generation is empty, at offset 0, and not read" => changing::begins_empty,
    "every value survives in a row" => changing::every_value,
    "rows and checkpoint move together" => changing::together,
    "changes from another checkpoint change nothing" => changing::compares_and_sets,
    "of several workers at one checkpoint one wins" => changing::one_worker_wins,
    "a row no database takes is told as such, and nothing of its call is kept" => changing::refuses_rows,
    "changes of a table that is not there are refused" => changing::refuses_no_table,
    "a large call is kept whole" => changing::large,
    "random changes of rows agree with a naive model" => changing::random_changes,
    "generations are numbered, and no number comes again" => generations::numbered,
    "a generation that is gone takes and tells nothing" => generations::gone,
    "one generation is read, and readers never go back" => generations::activated,
    "a generation is retired though it is read, and then nothing is" => generations::retired,
    "tables of another version are not read" => generations::another_version,
    "further indexes are made once" => generations::indexed,
    "a fault is noted and cleared" => generations::faults,
    "digests tell rows apart, not their order" => generations::digests,
    "a reader sees one generation at one checkpoint, while rows change and generations switch" => generations::never_a_mixture,
    "a search means what it says" => listing::search_means_what_it_says,
    "rows are named by very many ids" => listing::one_of,
    "a column that is not there is refused" => listing::refuses_strangers,
    "a page has its limit" => listing::limits,
    "random questions agree with filtering and sorting a list" => listing::agrees_with_a_list,
    "operations are told, newest first" => operations::told,
    "an operation is begun unless another runs that was not seen" => operations::begun,
    "of operations begun at once one is kept" => operations::one_is_begun,
    "an operation moves from a state once" => operations::moved_once,
    "progress does not undo an end" => operations::progress_undoes_nothing,
    "of ended operations the newest are kept" => operations::kept,
    "an operation over its limits is refused" => operations::refused,
}
