//! Value numbering: which values are surely the same, because they are read of the packet twice, with nothing written between, or are
//! computed from the same values.
//!
//! Says nothing of where a value is available, so it never replaces one by the other.

use super::Word;
use crate::{BinaryOp, Value};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Values by what they are.
#[derive(Debug, Default)]
pub struct Same {
    /// For a value the first one that is the same.
    first: BTreeMap<Value, Value>,
    computed: FxHashMap<Computed, Value>,
    read: FxHashMap<Rc<Read>, Value>,
    /// Keys of `computed` and `read` by their values.
    keys: BTreeMap<Value, Keys>,
    /// Counts what may change the packet between two reads.
    epoch: u32,
}

type Computed = (BinaryOp, Word, Word);

#[derive(Debug, Default)]
struct Keys {
    computed: Vec<Computed>,
    read: Vec<Rc<Read>>,
    /// Values with lower numbers of which this is the first that is the same.
    earlier: Vec<Value>,
}

/// A word of something that is read of the packet.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Read {
    what: String,
    at: Word,
    tags: Vec<i64>,
    word: usize,
    epoch: u32,
}

/// Removes what is kept for values from `count` on, as a rollback takes them away.
pub fn forget_values<T>(map: &mut BTreeMap<Value, T>, count: u32, mut removed: impl FnMut(T)) {
    while let Some(last) = map.last_entry().filter(|last| last.key().0 >= count) {
        removed(last.remove());
    }
}

impl Same {
    /// What is read from now on may be something else.
    pub fn packet_may_change(&mut self) {
        self.epoch += 1;
    }

    /// Forgets values from `count` on.
    pub fn forget(&mut self, count: u32) {
        forget_values(&mut self.first, count, drop);
        forget_values(&mut self.keys, count, |keys| {
            for key in &keys.computed {
                self.computed.remove(key);
            }
            for key in &keys.read {
                self.read.remove(key);
            }
            for value in &keys.earlier {
                self.first.remove(value);
            }
        });
    }

    /// The first word that is the same.
    pub fn of(&self, word: Word) -> Word {
        match word {
            Word::Value(value) => Word::Value(self.first.get(&value).copied().unwrap_or(value)),
            imm => imm,
        }
    }

    pub fn note_binary(&mut self, op: BinaryOp, a: Word, b: Word, value: Value) {
        let key = (op, self.of(a), self.of(b));
        let first = *self.computed.entry(key).or_insert_with(|| {
            self.keys.entry(value).or_default().computed.push(key);
            value
        });
        self.set_first(value, first);
    }

    /// Notes that `words` are what `what` at `at` of the packet is now; `tags` tell types apart that have as many words.
    pub fn note_read(&mut self, what: &str, at: Word, tags: &[i64], words: &[Word]) {
        let at = self.of(at);
        for (word, value) in words.iter().enumerate() {
            let Word::Value(value) = *value else { continue };
            let read = Read { what: what.to_string(), at, tags: tags.to_vec(), word, epoch: self.epoch };
            let read = Rc::new(read);
            let first = *self.read.entry(read.clone()).or_insert_with(|| {
                self.keys.entry(value).or_default().read.push(read);
                value
            });
            self.set_first(value, first);
        }
    }

    fn set_first(&mut self, value: Value, first: Value) {
        if first > value {
            self.keys.entry(first).or_default().earlier.push(value);
        }
        self.first.insert(value, first);
    }
}
