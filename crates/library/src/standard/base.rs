//! Basic functions and `require` (Lua manual § 6.2, § 6.4).

use crate::Gives::{
    Argument, Arguments, Boolean, Called, Element, Field, Given, Integer, Iterator, Key, Metatable, Nothing,
    Text,
};
use crate::{COMPUTED, Callback, Found, Function, Library, With};

pub const BASE: Library = Library {
    name: "_G",
    found: Found::Standard,
    constants: &["_VERSION"],
    functions: &[
        Function::both("assert", &[Arguments]),
        Function::both("collectgarbage", &[]),
        Function::load("dofile").instead(BEFORE),
        Function::both("error", &[Given]),
        Function::both("getmetatable", &[Metatable, Nothing]),
        Function::both("ipairs", &[Iterator(&NEXT_OF_LIST), Argument(0), Nothing]).instead(COUNT),
        Function::load("load").instead(BEFORE),
        Function::load("loadfile").instead(BEFORE),
        NEXT,
        Function::both("pairs", &[Iterator(&NEXT), Argument(0), Nothing]).reads_any_field().instead(COUNT),
        Function::general("pcall", &[Boolean, Called])
            .calls(&[Callback { argument: 0, with: With::Arguments(1) }])
            .instead(TEST),
        Function::both("print", &[]),
        Function::both("rawequal", &[Boolean]),
        Function::both("rawget", &[Field, Nothing]).reads_any_field().raw(),
        Function::both("rawlen", &[Integer]).raw(),
        Function::both("rawset", &[Argument(0), Nothing]).raw(),
        Function::load("require").instead(BEFORE),
        Function::both("select", &[Given]),
        Function::both("setmetatable", &[Argument(0), Nothing]),
        Function::both("tonumber", &[Integer]),
        Function::both("tostring", &[Text]),
        Function::both("type", &[Text]),
        Function::general("xpcall", &[Boolean, Called])
            .calls(&[
                Callback { argument: 0, with: With::Arguments(2) },
                Callback { argument: 1, with: With::Message },
            ])
            .instead(TEST),
    ],
    instead: COMPUTED,
};

const NEXT: Function =
    Function::both("next", &[Key, Element, Nothing]).reads_any_field().raw().instead(COUNT);

/// What `ipairs` gives.
pub const NEXT_OF_LIST: Function = Function::both("ipairs iterator", &[Integer, Element, Nothing]);

const BEFORE: &str = "do it at load time, outside the handler";
const COUNT: &str = "count with `for i = 1, #t do`, or look the key up";
const TEST: &str = "test beforehand what could fail, for example an offset against `#pkt`";
