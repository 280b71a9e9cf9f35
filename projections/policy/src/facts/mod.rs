//! What is shown of the facts, area by area: look-ups by id and by name, and lists in order of creation. Must not
//! decide anything.

mod access;
mod catalog;
mod objects;
mod people;
