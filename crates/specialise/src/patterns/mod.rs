//! Lua patterns (manual § 6.5.1) that are known before packets arrive, compiled to code for that pattern.
//!
//! [`parse`] reads a pattern, [`search`] finds literal text a machine word at a time, [`matcher`] makes the
//! code, with [`repetition`] and [`lazy`] for what matches more than once and [`sets`] for tests of bytes.

mod items;
mod lazy;
pub mod matcher;
pub mod parse;
mod repetition;
mod search;
mod sets;
mod text;
