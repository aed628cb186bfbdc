//! What a script finds among its globals: the allow list of the standard library.
//!
//! Reads the libraries as Lua made them and the replacements of `prelude.lua`. Guarantees that nothing that is not listed
//! here is reachable from a script, and that each function has one canonical name.

/// A library of Lua: a table of functions and constants.
pub(crate) struct Library {
    /// The table's name; `_G` for the globals themselves.
    pub name: &'static str,
    /// Canonical names of the functions.
    pub functions: &'static [&'static str],
    /// Keys of the values that are not functions.
    pub constants: &'static [&'static str],
}

/// Lua manual § 6.2 and 6.4–6.10, without what starts processes, writes files, loads code that is not text, or looks
/// into running functions. `warn`, and what scripts see of `collectgarbage`, are in [`crate::globals`].
pub(crate) const LIBRARIES: &[Library] = &[
    Library {
        name: "_G",
        functions: &[
            "assert",
            "collectgarbage",
            "dofile",
            "error",
            "getmetatable",
            "ipairs",
            "load",
            "loadfile",
            "next",
            "pairs",
            "pcall",
            "print",
            "rawequal",
            "rawget",
            "rawlen",
            "rawset",
            "require",
            "select",
            "setmetatable",
            "tonumber",
            "tostring",
            "type",
            "xpcall",
        ],
        constants: &["_VERSION"],
    },
    Library {
        name: "coroutine",
        functions: &[
            "coroutine.close",
            "coroutine.create",
            "coroutine.isyieldable",
            "coroutine.resume",
            "coroutine.running",
            "coroutine.status",
            "coroutine.wrap",
            "coroutine.yield",
        ],
        constants: &[],
    },
    Library { name: "io", functions: &["io.close", "io.lines", "io.open", "io.type"], constants: &[] },
    Library {
        name: "math",
        functions: &[
            "math.abs",
            "math.acos",
            "math.asin",
            "math.atan",
            "math.ceil",
            "math.cos",
            "math.deg",
            "math.exp",
            "math.floor",
            "math.fmod",
            "math.frexp",
            "math.ldexp",
            "math.log",
            "math.max",
            "math.min",
            "math.modf",
            "math.rad",
            "math.random",
            "math.randomseed",
            "math.sin",
            "math.sqrt",
            "math.tan",
            "math.tointeger",
            "math.type",
            "math.ult",
        ],
        constants: &["huge", "maxinteger", "mininteger", "pi"],
    },
    Library { name: "os", functions: &["os.clock", "os.date", "os.time"], constants: &[] },
    Library {
        name: "string",
        functions: &[
            "string.byte",
            "string.char",
            "string.dump",
            "string.find",
            "string.format",
            "string.gmatch",
            "string.gsub",
            "string.len",
            "string.lower",
            "string.match",
            "string.pack",
            "string.packsize",
            "string.rep",
            "string.reverse",
            "string.sub",
            "string.unpack",
            "string.upper",
        ],
        constants: &[],
    },
    Library {
        name: "table",
        functions: &[
            "table.concat",
            "table.create",
            "table.insert",
            "table.move",
            "table.pack",
            "table.remove",
            "table.sort",
            "table.unpack",
        ],
        constants: &[],
    },
    Library {
        name: "utf8",
        functions: &["utf8.char", "utf8.codepoint", "utf8.codes", "utf8.len", "utf8.offset"],
        constants: &["charpattern"],
    },
];

/// The part of a canonical name that is the key in its table.
pub(crate) fn key(canonical: &str) -> &str {
    canonical.rsplit('.').next().unwrap_or(canonical)
}

/// How many functions a library has.
pub(crate) fn count_of(name: &str) -> usize {
    LIBRARIES.iter().filter(|library| library.name == name).map(|library| library.functions.len()).sum()
}
