//! Mathematical functions (Lua manual § 6.8).

use crate::Gives::{Boolean, Integer, Text};
use crate::{COMPUTED, Found, Function, Library};

pub const MATH: Library = Library {
    name: "math",
    found: Found::Standard,
    constants: &["huge", "maxinteger", "mininteger", "pi"],
    functions: &[
        Function::both("math.abs", &[Integer]),
        Function::load("math.acos"),
        Function::load("math.asin"),
        Function::load("math.atan"),
        Function::both("math.ceil", &[Integer]),
        Function::load("math.cos"),
        Function::load("math.deg"),
        Function::load("math.exp"),
        Function::both("math.floor", &[Integer]),
        Function::general("math.fmod", &[Integer]),
        Function::load("math.frexp"),
        Function::load("math.ldexp"),
        Function::load("math.log"),
        Function::both("math.max", &[Integer]),
        Function::both("math.min", &[Integer]),
        Function::load("math.modf"),
        Function::load("math.rad"),
        Function::general("math.random", &[Integer]),
        Function::general("math.randomseed", &[]),
        Function::load("math.sin"),
        Function::load("math.sqrt"),
        Function::load("math.tan"),
        Function::both("math.tointeger", &[Integer]),
        Function::both("math.type", &[Text]),
        Function::both("math.ult", &[Boolean]),
    ],
    instead: COMPUTED,
};
