//! Values of packet time that are surely the same ([`moonhook_ir::words::Same`]): keys of shared tables are recognised by this.

use crate::state::State;
use crate::value::{Abs, Identity, Object, Str, Union, Word};
use moonhook_ir::words::Same;
use moonhook_schema::MAX_DEPTH;
use std::rc::Rc;

/// Notes that `value` is what `what` at `at` of the packet is now.
pub fn note_read(same: &mut Same, what: &str, at: Word, value: &Abs) {
    let tags: Vec<i64> = match value {
        Abs::Union(union) => union.variants.iter().map(|variant| variant.tag()).collect(),
        _ => vec![],
    };
    same.note_read(what, at, &tags, &words(value));
}

impl State {
    /// The identity of a key of a shared table.
    pub fn key_identity(&self, same: &Same, key: &Abs) -> Identity {
        self.nested_identity(same, key, MAX_DEPTH)
    }

    /// As [`State::key_identity`]; a table that more than `room` others are around is itself, for it may be one of them.
    fn nested_identity(&self, same: &Same, key: &Abs, room: usize) -> Identity {
        let made = match key {
            Abs::Object(Object::Made(made)) if room > 0 => self.tables.get(made),
            _ => None,
        };
        let Some(made) = made else { return vec![identity(same, key)] };
        let mut identity = vec![Abs::int(made.fields.len() as i64)];
        for (name, cell) in &made.fields {
            identity.push(name.value());
            let value = self.cells.get(cell);
            identity
                .extend(value.map(|value| self.nested_identity(same, value, room - 1)).unwrap_or_default());
        }
        identity
    }
}

fn identity(same: &Same, value: &Abs) -> Abs {
    let word = |word: Word| same.of(word);
    match value {
        Abs::Int(value) => Abs::Int(word(*value)),
        Abs::Bool(value) => Abs::Bool(word(*value)),
        Abs::Str(Str::Ipv4(value)) => Abs::Str(Str::Ipv4(word(*value))),
        Abs::Str(Str::Mac(value)) => Abs::Str(Str::Mac(word(*value))),
        Abs::Str(Str::Ipv6(high, low)) => Abs::Str(Str::Ipv6(word(*high), word(*low))),
        Abs::Str(Str::Slice { space, start, length }) => {
            Abs::Str(Str::Slice { space: *space, start: word(*start), length: word(*length) })
        }
        Abs::Str(Str::Cased { case, space, start, length }) => {
            let (start, length) = (word(*start), word(*length));
            Abs::Str(Str::Cased { case: *case, space: *space, start, length })
        }
        Abs::Union(union) => {
            let payload = union.payload.map(word);
            Abs::Union(Rc::new(Union { variants: union.variants.clone(), tag: word(union.tag), payload }))
        }
        other => other.clone(),
    }
}

fn words(value: &Abs) -> Vec<Word> {
    match value {
        Abs::Int(word) | Abs::Bool(word) | Abs::Str(Str::Ipv4(word) | Str::Mac(word)) => vec![*word],
        Abs::Str(Str::Ipv6(high, low)) => vec![*high, *low],
        Abs::Str(Str::Slice { start, length, .. } | Str::Cased { start, length, .. }) => {
            vec![*start, *length]
        }
        Abs::Union(union) => [&[union.tag], &union.payload[..]].concat(),
        _ => vec![],
    }
}
