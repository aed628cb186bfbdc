//! Conversions of C's printf, as Lua's `string.format` has them (Lua manual § 6.5, `string.format`), applied to the
//! arguments of event records.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An argument of an event record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    Nil,
    Boolean(bool),
    Integer(i64),
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
            Argument::String(bytes) | Argument::CutString(bytes) => bytes.to_vec(),
            Argument::Ipv4(address) => address.to_string().into_bytes(),
            // The standard library writes RFC 5952.
            Argument::Ipv6(address) => address.to_string().into_bytes(),
            Argument::Mac(bytes) => bytes.map(|byte| format!("{byte:02x}")).join(":").into_bytes(),
        }
    }
}

/// `%`, flags, width, precision and a letter, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    letter: u8,
}

/// Lua allows two digits of width and of precision (`lstrlib.c`, `checkformat`).
const MAX_WIDTH: usize = 99;

/// Appends the argument as the conversion `spec` wants it. An argument that does not fit the letter, and a conversion
/// that is none, give the argument's plain text.
pub fn convert(spec: &str, argument: &Argument<'_>, to: &mut Vec<u8>) {
    let Some(conversion) = parse(spec) else { return to.extend(argument.text()) };
    let integer = match argument {
        Argument::Integer(value) => Some(*value),
        _ => None,
    };
    let body = match (conversion.letter, integer) {
        (b'd' | b'i', Some(value)) => {
            conversion.number(sign(&conversion, value), digits(value.unsigned_abs(), 10))
        }
        (b'u', Some(value)) => conversion.number("", digits(value as u64, 10)),
        // `#` asks for a first digit 0, also where precision 0 would leave no digit of the value 0.
        (b'o', Some(0)) if conversion.alternate => conversion.number("0", String::new()),
        (b'o', Some(value)) => {
            conversion.number(if conversion.alternate { "0" } else { "" }, digits(value as u64, 8))
        }
        (b'x', Some(value)) => {
            conversion.number(hex_prefix(&conversion, value, "0x"), digits(value as u64, 16))
        }
        (b'X', Some(value)) => {
            conversion.number(hex_prefix(&conversion, value, "0X"), digits(value as u64, 16).to_uppercase())
        }
        (b'c', Some(value)) => vec![value as u8],
        _ => conversion.cut(argument.text()),
    };
    conversion.pad(body, to);
}

fn parse(spec: &str) -> Option<Conversion> {
    let mut rest = spec.strip_prefix('%')?.as_bytes();
    let mut conversion = Conversion::default();
    while let [flag, after @ ..] = rest {
        match flag {
            b'-' => conversion.left = true,
            b'+' => conversion.plus = true,
            b' ' => conversion.space = true,
            b'#' => conversion.alternate = true,
            b'0' => conversion.zero = true,
            _ => break,
        }
        rest = after;
    }
    conversion.width = number(&mut rest).unwrap_or(0);
    if let [b'.', after @ ..] = rest {
        rest = after;
        conversion.precision = Some(number(&mut rest).unwrap_or(0));
    }
    match rest {
        [letter] if conversion.width <= MAX_WIDTH && conversion.precision.is_none_or(|p| p <= MAX_WIDTH) => {
            conversion.letter = *letter;
            Some(conversion)
        }
        _ => None,
    }
}

/// Takes decimal digits off the front of `rest`.
fn number(rest: &mut &[u8]) -> Option<usize> {
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, after) = rest.split_at(count);
    *rest = after;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn sign(conversion: &Conversion, value: i64) -> &'static str {
    match conversion {
        _ if value < 0 => "-",
        Conversion { plus: true, .. } => "+",
        Conversion { space: true, .. } => " ",
        _ => "",
    }
}

fn hex_prefix(conversion: &Conversion, value: i64, prefix: &'static str) -> &'static str {
    if conversion.alternate && value != 0 { prefix } else { "" }
}

fn digits(value: u64, base: u32) -> String {
    match base {
        8 => format!("{value:o}"),
        16 => format!("{value:x}"),
        _ => value.to_string(),
    }
}

impl Conversion {
    /// Sign or prefix, zeros, digits. A precision is the least number of digits and overrides the flag `0`; the value 0 with
    /// precision 0 has no digits (C11 § 7.21.6.1).
    fn number(&self, prefix: &str, digits: String) -> Vec<u8> {
        let digits = if self.precision == Some(0) && digits == "0" { String::new() } else { digits };
        // The 0 that `%#o` puts in front counts as a digit.
        let counted = if prefix == "0" { digits.len() + 1 } else { digits.len() };
        let least = match self.precision {
            Some(precision) => precision.saturating_sub(counted),
            None if self.zero && !self.left => self.width.saturating_sub(prefix.len() + digits.len()),
            None => 0,
        };
        format!("{prefix}{}{digits}", "0".repeat(least)).into_bytes()
    }

    fn cut(&self, mut text: Vec<u8>) -> Vec<u8> {
        if self.letter == b's' {
            text.truncate(self.precision.unwrap_or(usize::MAX));
        }
        text
    }

    fn pad(&self, body: Vec<u8>, to: &mut Vec<u8>) {
        let missing = self.width.saturating_sub(body.len());
        if self.left {
            to.extend(body);
            to.resize(to.len() + missing, b' ');
        } else {
            to.resize(to.len() + missing, b' ');
            to.extend(body);
        }
    }
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
