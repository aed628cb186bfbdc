//! The routines in the kernel: that the verifier takes them, at what cost, and that they do what they do in the simulator.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod cost;
mod differential;
#[path = "../common/floats.rs"]
mod floats;
mod machine;
mod operations;
