//! Tests of the install stage against the running kernel, with objects that clang makes; those with an arena are emitted
//! from IR.

mod arena;
mod load;
mod maps;
mod probe;
mod process;
mod reuse;
mod support;
mod tables;
mod tcx;
mod xdp;
