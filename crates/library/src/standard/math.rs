//! Mathematical functions (Lua manual § 6.8).

use crate::Gives::{Boolean, Float, Integer, Number, Text};
use crate::{COMPUTED, Found, Function, Library};

pub const MATH: Library = Library {
    name: "math",
    found: Found::Standard,
    constants: &["huge", "maxinteger", "mininteger", "pi"],
    functions: &[
        Function::both("math.abs", &[Number]),
        Function::general("math.acos", &[Float]),
        Function::general("math.asin", &[Float]),
        Function::general("math.atan", &[Float]),
        Function::both("math.ceil", &[Integer]),
        Function::general("math.cos", &[Float]),
        Function::both("math.deg", &[Float]),
        Function::general("math.exp", &[Float]),
        Function::both("math.floor", &[Integer]),
        Function::both("math.fmod", &[Number]),
        Function::general("math.frexp", &[Float, Integer]),
        Function::general("math.ldexp", &[Float]),
        Function::general("math.log", &[Float]),
        Function::both("math.max", &[Number]),
        Function::both("math.min", &[Number]),
        Function::both("math.modf", &[Number, Float]),
        Function::both("math.rad", &[Float]),
        Function::general("math.random", &[Integer]),
        Function::general("math.randomseed", &[]),
        Function::general("math.sin", &[Float]),
        Function::both("math.sqrt", &[Float]),
        Function::general("math.tan", &[Float]),
        Function::both("math.tointeger", &[Integer]),
        Function::both("math.type", &[Text]),
        Function::both("math.ult", &[Boolean]),
    ],
    instead: COMPUTED,
};
