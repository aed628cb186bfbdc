//! What library functions give, by their canonical names (Lua manual § 6; docs/packet.md, docs/language.md).

/// What all results of a function are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    Text,
    Integer,
    Boolean,
    /// Strings that it makes, and others.
    Mixed,
    /// What it is given, or what is in that.
    Given,
}

const FUNCTIONS: &[(Gives, &[&str])] = &[
    (
        Gives::Text,
        &[
            "data.getstring",
            "math.type",
            "string.char",
            "string.format",
            "string.lower",
            "string.match",
            "string.pack",
            "string.rep",
            "string.reverse",
            "string.sub",
            "string.upper",
            "table.concat",
            "tostring",
            "type",
            "utf8.char",
        ],
    ),
    (
        Gives::Integer,
        &[
            "data.getbyte",
            "data.getint16",
            "data.getint32",
            "data.getint64",
            "data.getint8",
            "data.getnumber",
            "data.getuint16",
            "data.getuint32",
            "data.getuint8",
            "linux.difftime",
            "linux.random",
            "linux.time",
            "math.abs",
            "math.ceil",
            "math.floor",
            "math.fmod",
            "math.max",
            "math.min",
            "math.random",
            "math.tointeger",
            "rawlen",
            "string.byte",
            "string.len",
            "string.packsize",
            "tonumber",
            "utf8.codepoint",
            "utf8.len",
            "utf8.offset",
        ],
    ),
    (Gives::Boolean, &["math.ult", "rawequal"]),
    (Gives::Mixed, &["string.find", "string.gmatch", "string.gsub", "string.unpack"]),
    (
        Gives::Given,
        &[
            "assert",
            "error",
            "getmetatable",
            "ipairs",
            "next",
            "pairs",
            "pcall",
            "rawget",
            "rawset",
            "select",
            "setmetatable",
            "table.insert",
            "table.move",
            "table.pack",
            "table.remove",
            "table.sort",
            "table.unpack",
            "xpcall",
        ],
    ),
];

/// The library whose functions all give integers.
const BYTE_ORDER: &str = "byteorder.";

/// Libraries whose functions are methods: of strings and of packets.
const METHODS: [&str; 2] = ["string.", "data."];

/// `None` for a function that is not listed: it may give anything.
pub fn of(name: &str) -> Option<Gives> {
    if name.starts_with(BYTE_ORDER) {
        return Some(Gives::Integer);
    }
    FUNCTIONS.iter().find(|(_, names)| names.contains(&name)).map(|(gives, _)| *gives)
}

/// The canonical name of the function that a string or a packet has as this method.
pub fn of_method(method: &str) -> Option<&'static str> {
    let is = |name: &&&str| METHODS.iter().any(|library| name.strip_prefix(library) == Some(method));
    FUNCTIONS.iter().flat_map(|(_, names)| names.iter()).find(is).copied()
}

/// Whether a function whose name ends so makes strings.
pub fn makes_text(last: &[u8]) -> bool {
    let makers = FUNCTIONS.iter().filter(|(gives, _)| matches!(gives, Gives::Text | Gives::Mixed));
    makers.flat_map(|(_, names)| names.iter()).any(|name| {
        let own = name.rsplit('.').next().unwrap_or(name);
        own.as_bytes() == last
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_with_the_same_last_part_are_told_apart() {
        assert_eq!((of("table.pack"), of("string.pack")), (Some(Gives::Given), Some(Gives::Text)));
        assert_eq!((of("table.unpack"), of("string.unpack")), (Some(Gives::Given), Some(Gives::Mixed)));
        assert_eq!((of("byteorder.be16toh"), of("print")), (Some(Gives::Integer), None));
        assert_eq!(
            (of_method("unpack"), of_method("getbyte")),
            (Some("string.unpack"), Some("data.getbyte"))
        );
        assert_eq!((of_method("concat"), makes_text(b"unpack"), makes_text(b"len")), (None, true, false));
    }

    #[test]
    fn every_listed_function_exists() {
        for name in FUNCTIONS.iter().flat_map(|(_, names)| names.iter()) {
            assert!(moonhook_specialise::is_library_function(name), "{name}");
        }
    }
}
