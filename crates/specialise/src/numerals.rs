//! Numerals in strings that are known now (Lua manual § 3.4.3; `l_str2int` and `l_str2d` in lobject.c).

use crate::strings::parse_integer;

/// What a string is the numeral of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Numeral {
    Integer(i64),
    Float(f64),
    /// A float in hexadecimal.
    HexFloat,
}

impl Numeral {
    /// `None` for what Lua does not convert to a number.
    pub fn of(text: &[u8]) -> Option<Numeral> {
        if let Some(integer) = parse_integer(text) {
            return Some(Numeral::Integer(integer));
        }
        let text = trim_spaces(std::str::from_utf8(text).ok()?);
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        match unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
            Some(hex) => is_hex_float(hex).then_some(Numeral::HexFloat),
            None => text.parse().ok().map(Numeral::Float),
        }
    }
}

/// What follows `0x` in a float.
fn is_hex_float(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let digits = mantissa.replacen('.', "", 1);
    !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_hexdigit()) && is_exponent(exponent)
}

/// Digits, as many as there are, with a sign.
fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
}

/// Without what Lua takes for spaces around numerals (`lisspace`: `\v` is one).
fn trim_spaces(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals_are_those_of_lua() {
        for (text, expected) in [
            ("10", Some(Numeral::Integer(10))),
            ("  -0x10\n", Some(Numeral::Integer(-16))),
            ("1.5", Some(Numeral::Float(1.5))),
            ("\t-.5e1 ", Some(Numeral::Float(-5.0))),
            ("3.", Some(Numeral::Float(3.0))),
            ("9223372036854775808", Some(Numeral::Float(9_223_372_036_854_775_808.0))),
            ("0x1p4", Some(Numeral::HexFloat)),
            ("0x.8", Some(Numeral::HexFloat)),
            ("inf", None),
            ("nan", None),
            ("1e", None),
            ("0x1p", None),
            ("1 2", None),
            ("", None),
        ] {
            assert_eq!(Numeral::of(text.as_bytes()), expected, "{text:?}");
        }
    }
}
