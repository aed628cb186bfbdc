//! Text that a pattern asks for: bytes, some of which are letters in either case (`[Uu]`).

use super::parse::{Item, Repeat, Set};
use crate::cases::LETTER_CASE;

/// Bytes of text.
#[derive(Clone, Default, Debug)]
pub struct Text {
    /// Letters that may be in either case are in lower case.
    pub bytes: Vec<u8>,
    /// Which bytes are such letters.
    pub either: Vec<bool>,
}

impl Text {
    /// The text that items start with.
    pub fn at_start_of(items: &[Item]) -> Text {
        let letters = items.iter().map_while(|item| match item {
            Item::Single(set, Repeat::Once) => letter(set),
            _ => None,
        });
        let (bytes, either) = letters.unzip();
        Text { bytes, either }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// The only byte of a set, or the letter that is all of it in lower and upper case; and whether it is the latter.
fn letter(set: &Set) -> Option<(u8, bool)> {
    if let Some(byte) = set.single() {
        return Some((byte, false));
    }
    let runs = set.runs();
    let [(upper, last), (lower, end)] = runs.as_slice() else { return None };
    let is_letter =
        upper.is_ascii_uppercase() && *lower == upper | LETTER_CASE && last == upper && end == lower;
    is_letter.then_some((*lower, true))
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    #[test]
    fn letters_in_either_case_are_text() {
        let text = |pattern: &str| {
            let text = Text::at_start_of(&parse(pattern.as_bytes()).unwrap().items);
            (String::from_utf8(text.bytes).unwrap(), text.either)
        };
        assert_eq!(text("[Aa]%-[zZ].b"), ("a-z".to_string(), vec![true, false, true]));
        for other in ["[ab]", "[A-B]", "[aB]", "[@`]", "[aAb]", "[Aa]*", "."] {
            assert_eq!(text(other), (String::new(), vec![]), "{other}");
        }
    }
}
