//! What is known of stored tables, and of keys that were looked up in them.

use crate::sites::LoopKey;
use crate::value::{Abs, Space, Variant, Word, integral};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A place in the script: the path of calls and turns of unrolled loops to it.
pub type Site = Vec<usize>;

/// The stored tables, and what is known of them.
#[derive(Debug, Default)]
pub struct Stored {
    pub(super) sites: HashMap<Site, Holds>,
    /// Where each table of this attempt was made.
    pub(super) tables: HashMap<u32, Site>,
    /// Loops with an unknown number of turns, which are not unrolled.
    pub(super) endless: HashSet<LoopKey>,
}

/// What a table was seen to hold.
#[derive(Debug, Default)]
pub struct Holds {
    /// The number of its place in the region.
    pub(super) number: usize,
    pub(super) keys: BTreeSet<KeyType>,
    pub(super) values: BTreeSet<Variant>,
}

/// What kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyType {
    Boolean,
    Integer,
    Text,
}

impl Stored {
    /// At how many places tables are made that are stored.
    pub fn count(&self) -> usize {
        self.sites.len()
    }

    /// Before a new attempt.
    pub fn start_over(&mut self) {
        self.tables.clear();
    }

    pub fn is_used(&self) -> bool {
        !self.sites.is_empty()
    }

    /// Whether some table may hold strings made at packet time.
    pub fn holds_strings(&self) -> bool {
        let made = Variant::Slice(Space::Scratch);
        self.sites.values().any(|holds| holds.keys.contains(&KeyType::Text) || holds.values.contains(&made))
    }
}

/// Where a key's entry of a stored table is, or belongs.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    pub table: u32,
    pub key: Abs,
    pub words: KeyWords,
    /// The region's offset.
    pub entry: Word,
    /// The table's stamp.
    pub stamp: Word,
}

/// A key in words.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyWords {
    pub code: Word,
    pub word: Word,
    pub hash: Word,
    /// Where the bytes of a longer string are, from offset `word & 0xffff_ffff` on, `word >> 32` of them.
    pub space: Space,
}

impl KeyType {
    /// The kind of a key that is neither nil nor of unknown type; `None` for what stored tables do not take as a key.
    pub(super) fn of(key: &Abs) -> Option<KeyType> {
        match key {
            Abs::Bool(_) => Some(KeyType::Boolean),
            Abs::Int(_) => Some(KeyType::Integer),
            Abs::Float(_) => key.known_float().and_then(integral).map(|_| KeyType::Integer),
            Abs::Str(_) => Some(KeyType::Text),
            _ => None,
        }
    }
}
