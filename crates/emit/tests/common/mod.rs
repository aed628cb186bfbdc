//! What the tests of this crate share: a builder for small functions, a reference evaluator of the IR, and the kernel.
#![allow(dead_code)] // Each test file uses a part.

pub mod build;
pub mod evaluate;
pub mod kernel;
pub mod random;
