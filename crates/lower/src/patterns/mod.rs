//! Lua patterns (manual § 6.5.1) that are known before packets arrive, compiled to code for that pattern.
//!
//! [`parse`] reads a pattern, [`search`] finds literal text a machine word at a time, [`matcher`] makes the code.

pub mod matcher;
pub mod parse;
mod search;
