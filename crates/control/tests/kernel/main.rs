//! Tests of control code against maps of the running kernel.

mod support;

mod exec;
mod proxies;
mod sweep;
mod tables;
mod turns;
mod variables;
