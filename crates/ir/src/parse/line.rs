//! One line of the text form: a cursor that takes words, numbers, punctuation and strings from it.

use crate::{Loc, Value};
use std::str::FromStr;

pub(super) struct Line<'a> {
    rest: &'a str,
    loc: Option<Loc>,
}

impl<'a> Line<'a> {
    /// Takes the comment off; fails if it is a malformed `; @source:line`.
    pub fn new(raw: &'a str) -> Result<Self, String> {
        let mut quoted = false;
        let mut escaped = false;
        let comment = raw.find(|c| {
            quoted ^= c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            !quoted && (c == ';' || c == '#')
        });
        let Some(at) = comment else { return Ok(Line { rest: raw.trim(), loc: None }) };
        let loc = match raw[at + 1..].trim().strip_prefix('@') {
            None => None,
            Some("-") => Some(Loc::default()),
            Some(place) => Some(read_place(place).ok_or_else(|| format!("malformed place `@{place}`"))?),
        };
        Ok(Line { rest: raw[..at].trim(), loc })
    }

    /// The place that the comment names.
    pub fn loc(&self) -> Option<Loc> {
        self.loc
    }

    pub fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn end(&self) -> Result<(), String> {
        if self.at_end() { Ok(()) } else { Err(format!("unexpected `{}`", self.rest)) }
    }

    pub fn peek_word(&self) -> Option<&'a str> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        Some(&self.rest[..end]).filter(|word| !word.is_empty())
    }

    pub fn word(&mut self) -> Result<&'a str, String> {
        let word = self.peek_word().ok_or_else(|| format!("expected a word before `{}`", self.rest))?;
        self.advance(word.len());
        Ok(word)
    }

    pub fn keyword(&mut self, expected: &str) -> Result<(), String> {
        match self.word()? {
            word if word == expected => Ok(()),
            word => Err(format!("expected `{expected}`, found `{word}`")),
        }
    }

    /// Takes `c` if it is next.
    pub fn skip(&mut self, c: char) -> bool {
        let found = self.rest.starts_with(c);
        if found {
            self.advance(c.len_utf8());
        }
        found
    }

    pub fn punctuation(&mut self, c: char) -> Result<(), String> {
        if self.skip(c) { Ok(()) } else { Err(format!("expected `{c}` before `{}`", self.rest)) }
    }

    /// A decimal number, with a sign or without.
    pub fn number<T: FromStr>(&mut self) -> Result<T, String> {
        let signed = self.rest.starts_with(['+', '-']) as usize;
        let digits = self.rest[signed..].find(|c: char| !c.is_ascii_digit());
        let end = digits.map_or(self.rest.len(), |digits| digits + signed);
        let text = &self.rest[..end];
        let number =
            text.parse().map_err(|_| format!("expected a number that fits, found `{}`", self.rest))?;
        self.advance(end);
        Ok(number)
    }

    /// A letter and a number, like `v12`.
    pub fn index(&mut self, letter: &str) -> Result<u32, String> {
        let word = self.word()?;
        let number = word.strip_prefix(letter).and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| format!("expected `{letter}` and a number, found `{word}`"))
    }

    pub fn value(&mut self) -> Result<Value, String> {
        self.index("v").map(Value)
    }

    /// `(v1, v2)`.
    pub fn values(&mut self) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        self.punctuation('(')?;
        while !self.skip(')') {
            if !values.is_empty() {
                self.punctuation(',')?;
            }
            values.push(self.value()?);
        }
        Ok(values)
    }

    /// What stands between two quotes, escapes and all.
    pub fn raw_string(&mut self) -> Result<&'a str, String> {
        self.punctuation('"')?;
        let mut escaped = false;
        let end = self.rest.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let end = end.ok_or("a string without its end")?;
        let text = &self.rest[..end];
        self.advance(end + 1);
        Ok(text)
    }

    pub fn bytes(&mut self) -> Result<Vec<u8>, String> {
        unescape(self.raw_string()?)
    }

    pub fn string(&mut self) -> Result<String, String> {
        String::from_utf8(self.bytes()?).map_err(|_| "a string that is not UTF-8".into())
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }
}

fn read_place(text: &str) -> Option<Loc> {
    let (source, line) = text.split_once(':')?;
    Some(Loc { source: source.parse().ok()?, line: line.parse().ok()? })
}

/// Whether `word` is that letter and digits.
pub(super) fn is_indexed(word: &str, letter: &str) -> bool {
    let digits = word.strip_prefix(letter);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// The inverse of [`u8::escape_ascii`].
pub(super) fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let [kind, tail @ ..] = rest else { return Err("a `\\` at the end of a string".into()) };
        rest = tail;
        bytes.push(match kind {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'\\' | b'"' | b'\'' => *kind,
            b'x' => {
                let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                rest = rest.get(2..).unwrap_or_default();
                byte.ok_or("`\\x` without two hexadecimal digits")?
            }
            other => return Err(format!("unknown escape `\\{}`", *other as char)),
        });
    }
    Ok(bytes)
}
