//! Tests of the install stage against the running kernel, with objects that clang makes.

mod load;
mod maps;
mod probe;
mod process;
mod support;
mod xdp;
