//! Programs of C in the kernel and in the emulator: over the same frames, results, packets, maps and variables are the same.

#[path = "../common/mod.rs"]
mod common;

mod arithmetic;
mod functions;
mod generator;
mod maps;
mod packets;
mod support;
