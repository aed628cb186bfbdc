//! Conversions of C's printf, as Lua's `string.format` has them (Lua manual § 6.5, `string.format`), applied to the
//! arguments of event records.

use moonhook_library::conversion::{Conversion, FLAGS};
use moonhook_library::float_text;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An argument of an event record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    Nil,
    Boolean(bool),
    Integer(i64),
    /// Its bits.
    Float(u64),
    String(&'a [u8]),
    /// The beginning of a string.
    CutString(&'a [u8]),
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
    Mac([u8; 6]),
}

impl Argument<'_> {
    /// What `tostring` makes of it.
    pub fn text(&self) -> Vec<u8> {
        match self {
            Argument::Nil => b"nil".to_vec(),
            Argument::Boolean(value) => value.to_string().into_bytes(),
            Argument::Integer(value) => value.to_string().into_bytes(),
            Argument::Float(bits) => float_text(f64::from_bits(*bits)).into_bytes(),
            Argument::String(bytes) | Argument::CutString(bytes) => bytes.to_vec(),
            Argument::Ipv4(address) => address.to_string().into_bytes(),
            // The standard library writes RFC 5952.
            Argument::Ipv6(address) => address.to_string().into_bytes(),
            Argument::Mac(bytes) => bytes.map(|byte| format!("{byte:02x}")).join(":").into_bytes(),
        }
    }
}

/// Appends the argument as the conversion `spec` wants it. An argument that does not fit the letter, and a conversion
/// that is none, give the argument's plain text.
pub fn convert(spec: &str, argument: &Argument<'_>, to: &mut Vec<u8>) {
    let written = spec.strip_prefix('%').unwrap_or_default().as_bytes();
    let Some(conversion) = Conversion::parse(written, FLAGS, true) else { return to.extend(argument.text()) };
    to.extend(match (conversion.letter, argument) {
        (b'd' | b'i' | b'u' | b'o' | b'x' | b'X', Argument::Integer(value)) => conversion.integer(*value),
        (b'c', Argument::Integer(value)) => conversion.padded(vec![*value as u8]),
        (b'a' | b'A' | b'e' | b'E' | b'f' | b'g' | b'G', Argument::Float(bits)) => {
            conversion.float(f64::from_bits(*bits))
        }
        (b's', argument) => conversion.text(&argument.text()),
        (_, argument) => conversion.padded(argument.text()),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(spec: &str, argument: Argument<'_>) -> String {
        let mut to = Vec::new();
        convert(spec, &argument, &mut to);
        String::from_utf8(to).unwrap()
    }

    /// Real Lua is the judge.
    #[test]
    fn floats_are_written_as_lua_does() {
        let lua = mlua::Lua::new();
        let format: mlua::Function = lua.load("return string.format").eval().unwrap();
        let to_string: mlua::Function = lua.load("return tostring").eval().unwrap();
        let values = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            0.1,
            1.0 / 3.0,
            100.0,
            1e15,
            1e16,
            123456789.125,
            0.5,
            2.5,
            1e-4,
            1e-5,
            1e100,
            -1e300,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            1e-310,
            f64::INFINITY,
            -f64::INFINITY,
            9.995,
            999999.5,
            0.00012345,
            9_007_199_254_740_993.0,
            0.1 + 0.2,
            f64::NAN,
            -f64::NAN,
        ];
        for value in values {
            let expected: mlua::LuaString = to_string.call(value).unwrap();
            assert_eq!(float_text(value), expected.to_string_lossy(), "{value:?}");
        }
        let flags = ["", "-", "+", " ", "0", "#", "-+", "+0", " 0", "#0"];
        let sizes = ["", "1", "12", ".0", ".1", ".3", "8.3", "30.20", ".99", "25"];
        for letter in ["a", "A", "e", "E", "f", "g", "G"] {
            for spec in
                flags.iter().flat_map(|flag| sizes.iter().map(move |size| format!("%{flag}{size}{letter}")))
            {
                for value in values {
                    // glibc forgets the zeros of `#` where rounding adds a digit.
                    if value == 999999.5 && spec.contains('#') {
                        continue;
                    }
                    // Lua refuses some of what is longer than its buffer.
                    let Ok(expected) = format.call::<mlua::LuaString>((spec.as_str(), value)) else {
                        continue;
                    };
                    let found = converted(&spec, Argument::Float(value.to_bits()));
                    assert_eq!(found, expected.to_string_lossy(), "{spec} of {value:?}");
                }
            }
        }
    }

    /// Real Lua is the judge.
    #[test]
    fn integers_are_formatted_as_lua_does() {
        let lua = mlua::Lua::new();
        let format: mlua::Function = lua.load("return string.format").eval().unwrap();
        let flags = ["", "-", "+", " ", "0", "-+", "+0", " 0"];
        let sizes = ["", "1", "5", "12", ".0", ".3", "8.3", "3.8", "20.", "25"];
        let values = [0, 1, -1, 7, 42, -42, 255, 1234567, i64::MAX, i64::MIN];
        let mut compared = 0;
        for letter in ["d", "i", "o", "x", "X", "c"] {
            for flag in flags.iter().chain(&["#", "#0", "-#"]) {
                for size in sizes {
                    for value in values {
                        let spec = format!("%{flag}{size}{letter}");
                        // Lua refuses what C leaves open, such as `%#d`.
                        let Ok(expected) = format.call::<mlua::LuaString>((spec.as_str(), value)) else {
                            continue;
                        };
                        let mut to = Vec::new();
                        convert(&spec, &Argument::Integer(value), &mut to);
                        assert_eq!(to, &*expected.as_bytes(), "{spec} of {value}");
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 2000, "{compared}");
    }

    #[test]
    fn strings_are_formatted_as_lua_does() {
        let lua = mlua::Lua::new();
        let format: mlua::Function = lua.load("return string.format").eval().unwrap();
        for spec in ["%s", "%10s", "%-10s", "%.2s", "%6.2s", "%-6.2s|", "%.0s", "%.s"] {
            for value in ["", "a", "abc", "a longer text than the width"] {
                let spec = spec.trim_end_matches('|');
                let expected: String = format.call((spec, value)).unwrap();
                assert_eq!(
                    converted(spec, Argument::String(value.as_bytes())),
                    expected,
                    "{spec} of {value}"
                );
            }
        }
    }

    #[test]
    fn addresses_are_text() {
        for (argument, expected) in [
            (Argument::Ipv4(Ipv4Addr::new(192, 0, 2, 7)), "192.0.2.7"),
            (Argument::Ipv6("2001:db8:0:0:1:0:0:1".parse().unwrap()), "2001:db8::1:0:0:1"),
            (Argument::Ipv6("::ffff:1.2.3.4".parse().unwrap()), "::ffff:1.2.3.4"),
            (Argument::Mac([0x52, 0x54, 0, 0xab, 0, 1]), "52:54:00:ab:00:01"),
            (Argument::Nil, "nil"),
            (Argument::Boolean(true), "true"),
        ] {
            assert_eq!(converted("%s", argument.clone()), expected);
            assert_eq!(converted("%20s", argument), format!("{expected:>20}"));
        }
    }

    #[test]
    fn what_is_no_conversion_gives_plain_text() {
        for spec in ["", "%", "d", "%5", "%500d", "%dd"] {
            assert_eq!(converted(spec, Argument::Integer(3)), "3", "{spec:?}");
        }
    }
}
