//! Tests of the install stage against the running kernel, with objects that clang makes.

mod load;
mod support;
