//! Parts of the language that a random program may use.
//!
//! A program uses some of those that are allowed, not all: what makes a fault visible is often what is *not* there.

use crate::random::Random;

/// A set of parts of the language. The empty one is integers, branches, loops and calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(u64);

macro_rules! features {
    ($($name:ident = $bit:literal: $text:literal,)*) => {
        impl Features {
            $(pub const $name: Features = Features(1 << $bit);)*

            /// Every part, with the name that [`Features::named`] knows it by.
            pub const NAMES: &[(&str, Features)] = &[$(($text, Features::$name),)*];
        }
    };
}

features! {
    TEXTS = 0: "texts",
    PATTERNS = 1: "patterns",
    FORMATS = 2: "formats",
    UTF8 = 3: "utf8",
    LISTS = 4: "lists",
    RECORDS = 5: "records",
    CLASSES = 6: "classes",
    METAMETHODS = 7: "metamethods",
    CLOSURES = 8: "closures",
    VARARGS = 9: "varargs",
    RECURSION = 10: "recursion",
    ERRORS = 11: "errors",
    GOTO = 12: "goto",
    CLOSING = 13: "closing",
    GLOBALS = 14: "globals",
    COERCIONS = 15: "coercions",
    ITERATORS = 16: "iterators",
    RANDOM = 17: "random",
    EXTREMES = 18: "extremes",
    PROTOCOLS = 19: "protocols",
    CAPTURES = 20: "captures",
    BUILDING = 21: "building",
    RULES = 22: "rules",
    TALLIES = 23: "tallies",
    CHAINS = 24: "chains",
    PLACES = 25: "places",
    REGISTRIES = 26: "registries",
    FACTORIES = 27: "factories",
    CHANGES = 28: "changes",
    NAMING = 29: "naming",
    WRITES = 30: "writes",
    FORWARDING = 31: "forwarding",
    LENGTHS = 32: "lengths",
    OFFSETS = 33: "offsets",
    ROWS = 34: "rows",
    FLOWS = 35: "flows",
    FLOATS = 36: "floats",
    COROUTINES = 37: "coroutines",
    KEPT = 38: "kept",
}

impl Features {
    /// Integers, branches, loops, calls of known functions.
    pub const PLAIN: Features = Features(0);

    pub const ALL: Features = Features(u64::MAX);

    /// Whether everything in `other` is in this set.
    pub fn has(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and those of another set.
    pub const fn with(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// These but for those of another set.
    pub const fn without(self, other: Features) -> Features {
        Features(self.0 & !other.0)
    }

    /// Those that are in another set, too.
    pub const fn among(self, other: Features) -> Features {
        Features(self.0 & other.0)
    }

    /// Whether most programs of these parts have expanded code.
    pub fn have_expanded_code(self) -> bool {
        Features::EXPANDED.has(self)
    }

    /// Those whose names stand in `text`, separated by commas or spaces; `all` is every one.
    ///
    /// # Errors
    /// The name that is none.
    pub fn named(text: &str) -> Result<Features, String> {
        let mut set = Features::PLAIN;
        for name in text.split([',', ' ']).filter(|name| !name.is_empty()) {
            let known = Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, feature)| *feature);
            let all = (name == "all").then_some(Features::ALL);
            let one = known.or(all).ok_or_else(|| format!("no part of the language is called '{name}'"))?;
            set = Features(set.0 | one.0);
        }
        Ok(set)
    }

    /// The parts most of which have expanded code.
    const EXPANDED: Features = Features(
        Features::TEXTS.0
            | Features::CLOSURES.0
            | Features::GOTO.0
            | Features::EXTREMES.0
            | Features::PROTOCOLS.0
            | Features::CAPTURES.0
            | Features::BUILDING.0
            | Features::RULES.0
            | Features::TALLIES.0
            | Features::CHAINS.0
            | Features::PLACES.0
            | Features::REGISTRIES.0
            | Features::FACTORIES.0
            | Features::CHANGES.0
            | Features::WRITES.0
            | Features::FORWARDING.0
            | Features::LENGTHS.0
            | Features::OFFSETS.0
            | Features::ROWS.0
            | Features::FLOWS.0
            | Features::FLOATS.0
            | Features::KEPT.0,
    );

    /// Some of them: all once in four times, half of them as often; otherwise some of those that have expanded code, as one construct that
    /// has none makes general code of all.
    pub fn some(self, random: &mut Random) -> Features {
        let mask = random.word();
        match random.below(4) {
            0 => self,
            1 => Features(self.0 & mask),
            _ => Features(self.0 & mask & Features::EXPANDED.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_name() {
        let names: Vec<&str> = Features::NAMES.iter().map(|(name, _)| *name).collect();
        let named = Features::NAMES.iter().fold(0, |all, (_, feature)| all | feature.0);
        assert_eq!(Features::named(&names.join(",")), Ok(Features(named)));
        assert_eq!(named.count_ones() as usize, names.len());
        assert_eq!(Features::named("texts goto"), Ok(Features(1 | 1 << 12)));
        assert_eq!(Features::named(""), Ok(Features::PLAIN));
        assert!(Features::named("threads").is_err());
    }
}
