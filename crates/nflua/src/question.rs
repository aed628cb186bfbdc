//! What a rule asks of a state, and how that is called in the file system of programs.

use crate::Generation;
use moonhook_hook::{MATCH, Place, Point};

/// What a match asks: a function, if it has a name, about some packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub function: String,
    /// How the function is called.
    pub generation: Generation,
    /// Of TCP packets with a payload only.
    pub has_payload: bool,
    /// Where it is not 0, only while one of these match bits is set.
    pub mask: u32,
}

/// What stands for CUJO's generation, and in front of a mask.
const CUJO: &str = "cujo";
const MASK: &str = "mask";

impl Question {
    /// Where the program of the question is; the name says all of it. The file system has no dots.
    pub fn point(&self) -> Point {
        let mut words = vec![if self.has_payload { "payload" } else { "all" }.to_string()];
        if self.generation == Generation::Cujo {
            words.push(CUJO.into());
        }
        if self.mask != 0 {
            words.push(format!("{MASK}{:x}", self.mask));
        }
        Point::at(&MATCH, Place::File(format!("{}-{}", words.join("_"), encoded(&self.function)).into()))
    }

    /// The question of a point.
    pub fn of(point: &Point) -> Option<Question> {
        let Place::File(name) = &point.place else { return None };
        let (words, function) = name.split_once('-')?;
        let mut question = Question {
            function: decoded(function),
            generation: Generation::Of2019,
            has_payload: false,
            mask: 0,
        };
        for word in words.split('_') {
            match word {
                "all" => {}
                "payload" => question.has_payload = true,
                CUJO => question.generation = Generation::Cujo,
                word => question.mask = u32::from_str_radix(word.strip_prefix(MASK)?, 16).ok()?,
            }
        }
        (question.point() == *point).then_some(question)
    }

    /// The question of a file that an earlier process has left.
    pub fn left(file: &str) -> Option<Question> {
        let name = file.strip_prefix(MATCH.name)?.strip_prefix('-')?;
        Question::of(&Point::at(&MATCH, Place::File(name.into())))
    }
}

/// A name as part of a file's: letters, digits and `_` as they are, other bytes as `%` and two hexadecimal digits.
pub fn encoded(name: &str) -> String {
    let part = |byte: u8| match byte {
        b'_' => "_".to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02x}"),
    };
    name.bytes().map(part).collect()
}

/// The name that [`encoded`] has made that of.
pub fn decoded(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.bytes().next() {
        let number = rest.get(1..3).filter(|_| first == b'%');
        match number.and_then(|number| u8::from_str_radix(number, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &rest[3..]).1,
            None => (bytes.push(first), rest = &rest[1..]).1,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_functions_become_names_of_files() {
        for (name, file) in
            [("f", "f"), ("a.b/c", "a%2eb%2fc"), ("100%", "100%25"), ("ä", "%c3%a4"), ("", "")]
        {
            assert_eq!(encoded(name), file);
            assert_eq!(decoded(file), name);
        }
    }

    #[test]
    fn files_say_what_is_asked() {
        use Generation::{Cujo, Of2019};
        for (generation, has_payload, mask, file) in [
            (Of2019, false, 0, "match-all-f"),
            (Of2019, true, 0, "match-payload-f"),
            (Cujo, true, 0x1f, "match-payload_cujo_mask1f-f"),
            (Cujo, false, 0, "match-all_cujo-f"),
        ] {
            let question = Question { function: "f".into(), generation, has_payload, mask };
            assert_eq!(Question::left(file), Some(question.clone()));
            assert_eq!(Question::of(&question.point()), Some(question));
        }
        for other in ["match-all-f~", "match-some-f", "match-all_cujo_all-f", "match-f", "all-f"] {
            assert_eq!(Question::left(other), None, "{other}");
        }
    }
}
