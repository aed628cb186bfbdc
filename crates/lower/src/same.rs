//! Which values are surely the same: what is read of the packet twice, with nothing written between, and what is computed from
//! the same values. Keys of shared tables are recognised by this.
//!
//! Says nothing of where a value is available, so it never replaces one by the other.

use crate::context::Context;
use crate::value::{Abs, Object, Shape, Str, Union, Word};
use moonhook_ir as ir;
use moonhook_ir::BinaryOp;
use moonhook_shape::MAX_DEPTH;
use std::collections::HashMap;
use std::rc::Rc;

/// Values by what they are.
#[derive(Debug, Default)]
pub struct Same {
    /// For a value the first one that is the same.
    first: HashMap<ir::Value, ir::Value>,
    computed: HashMap<(BinaryOp, Word, Word), ir::Value>,
    read: HashMap<Read, ir::Value>,
    /// Counts what may change the packet between two reads.
    epoch: u32,
}

/// A word of something that is read of the packet.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Read {
    what: String,
    at: Word,
    shapes: Vec<Shape>,
    word: usize,
    epoch: u32,
}

impl Same {
    /// What is read from now on may be something else.
    pub fn packet_may_change(&mut self) {
        self.epoch += 1;
    }

    /// Forgets values from `count` on.
    pub fn forget(&mut self, count: u32) {
        self.first.retain(|value, first| value.0 < count && first.0 < count);
        self.computed.retain(|_, value| value.0 < count);
        self.read.retain(|_, value| value.0 < count);
    }

    fn of(&self, word: Word) -> Word {
        match word {
            Word::Value(value) => Word::Value(self.first.get(&value).copied().unwrap_or(value)),
            imm => imm,
        }
    }

    pub fn note_binary(&mut self, op: BinaryOp, a: Word, b: Word, value: ir::Value) {
        let first = *self.computed.entry((op, self.of(a), self.of(b))).or_insert(value);
        self.first.insert(value, first);
    }
}

/// A value with each word replaced by the first that is the same: equal for values that are the same. Of a table made at packet
/// time, its fields as they are now.
pub type Identity = Vec<Abs>;

impl Context<'_> {
    /// The identity of a key of a shared table.
    pub fn key_identity(&self, key: &Abs) -> Identity {
        self.nested_identity(key, MAX_DEPTH)
    }

    /// As [`Context::key_identity`]; a table that more than `room` others are around is itself, for it may be one of them.
    fn nested_identity(&self, key: &Abs, room: usize) -> Identity {
        let made = match key {
            Abs::Object(Object::Made(made)) if room > 0 => self.state.tables.get(made),
            _ => None,
        };
        let Some(made) = made else { return vec![self.identity(key)] };
        let mut identity = vec![Abs::int(made.fields.len() as i64)];
        for (name, cell) in &made.fields {
            identity.push(name.value());
            let value = self.state.cells.get(cell);
            identity.extend(value.map(|value| self.nested_identity(value, room - 1)).unwrap_or_default());
        }
        identity
    }

    /// Notes that `value` is what `what` at `at` of the packet is now.
    pub fn note_read(&mut self, what: &str, at: Word, value: &Abs) {
        let shapes = match value {
            Abs::Union(union) => union.shapes.clone(),
            _ => vec![],
        };
        let at = self.same.of(at);
        for (word, value) in words(value).into_iter().enumerate() {
            let Word::Value(value) = value else { continue };
            let read =
                Read { what: what.to_string(), at, shapes: shapes.clone(), word, epoch: self.same.epoch };
            let first = *self.same.read.entry(read).or_insert(value);
            self.same.first.insert(value, first);
        }
    }

    fn identity(&self, value: &Abs) -> Abs {
        let word = |word: Word| self.same.of(word);
        match value {
            Abs::Int(value) => Abs::Int(word(*value)),
            Abs::Bool(value) => Abs::Bool(word(*value)),
            Abs::Str(Str::Ipv4(value)) => Abs::Str(Str::Ipv4(word(*value))),
            Abs::Str(Str::Mac(value)) => Abs::Str(Str::Mac(word(*value))),
            Abs::Str(Str::Ipv6(high, low)) => Abs::Str(Str::Ipv6(word(*high), word(*low))),
            Abs::Str(Str::Slice { space, start, length }) => {
                Abs::Str(Str::Slice { space: *space, start: word(*start), length: word(*length) })
            }
            Abs::Union(union) => {
                let payload = union.payload.map(word);
                Abs::Union(Rc::new(Union { shapes: union.shapes.clone(), tag: word(union.tag), payload }))
            }
            other => other.clone(),
        }
    }
}

fn words(value: &Abs) -> Vec<Word> {
    match value {
        Abs::Int(word) | Abs::Bool(word) | Abs::Str(Str::Ipv4(word) | Str::Mac(word)) => vec![*word],
        Abs::Str(Str::Ipv6(high, low)) => vec![*high, *low],
        Abs::Str(Str::Slice { start, length, .. }) => vec![*start, *length],
        Abs::Union(union) => [&[union.tag], &union.payload[..]].concat(),
        _ => vec![],
    }
}
