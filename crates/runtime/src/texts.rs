//! The texts of routines: they stand first in the image, at the same places in every program, so that a routine that mentions one is the
//! same code in all of them.

use crate::image::TEXTS;
use crate::sources::TEXTS_OF_ROUTINES;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The bytes from [`TEXTS`] on, and the texts in them.
pub struct Texts {
    pub bytes: Vec<u8>,
    /// With their payload words: address and length.
    pub payloads: HashMap<Vec<u8>, u64>,
}

static ALL: LazyLock<Texts> = LazyLock::new(|| {
    let mut all = Texts { bytes: Vec::new(), payloads: HashMap::new() };
    for text in TEXTS_OF_ROUTINES {
        let address = TEXTS + all.bytes.len();
        all.bytes.extend(*text);
        all.bytes.resize(all.bytes.len().next_multiple_of(8), 0);
        all.payloads.insert(text.to_vec(), address as u64 | (text.len() as u64) << 32);
    }
    all
});

/// All texts of routines.
pub fn all() -> &'static Texts {
    &ALL
}

/// The payload word of a text of routines.
pub fn payload(text: &[u8]) -> Option<u64> {
    ALL.payloads.get(text).copied()
}

#[cfg(test)]
mod tests {
    use crate::{Host, compile, routine_names};
    use moonhook_ir::FunctionId;

    /// Counts texts without a place of their own.
    struct Elsewhere(Vec<String>);

    impl Host for Elsewhere {
        fn text(&mut self, text: &[u8]) -> u64 {
            super::payload(text).unwrap_or_else(|| {
                self.0.push(String::from_utf8_lossy(text).into_owned());
                0
            })
        }

        fn routine(&mut self, _: &str) -> FunctionId {
            FunctionId(0)
        }
    }

    #[test]
    fn each_text_of_a_routine_has_its_place() {
        let mut host = Elsewhere(Vec::new());
        for name in routine_names() {
            compile(name, &mut host).unwrap_or_else(|error| panic!("{error}"));
        }
        assert_eq!(host.0, Vec::<String>::new());
    }
}
