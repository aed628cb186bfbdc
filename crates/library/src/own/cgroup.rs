//! `require "cgroup"`: handlers of control groups.

use super::register::REGISTER;
use crate::{Found, Function, Library};

pub const CGROUP: Library = Library {
    name: "cgroup",
    found: Found::Module,
    constants: &[],
    functions: &[
        Function::load("cgroup.ingress"),
        Function::load("cgroup.egress"),
        Function::load("cgroup.connect"),
        Function::load("cgroup.detach"),
    ],
    instead: REGISTER,
};
