//! Tests of control code against maps of the running kernel.

mod support;

mod exec;
mod proxies;
mod tables;
mod turns;
