//! The arguments of event records: values one after another, in the form that [`moonhook_ir::ArgumentKind`] documents.
//!
//! Strings are cut where the record ends. Of what follows the name of an event, values and fields of records that have no
//! room are left out, from the first such one on.

use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::region::{RECORD_HEADER, RECORD_MAX, RECORD_SIZE};
use crate::strings::Slice;
use crate::value::{Abs, Object, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_ir::{ArgumentKind, CompareOp, Size};
use moonhook_schema::MAX_NESTED;

/// Where the next value of an event goes.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub at: Word,
    /// `at` is no more than this.
    most: i64,
}

impl End {
    pub const START: End = End { at: Word::Imm(RECORD_HEADER), most: RECORD_HEADER };
}

/// Room that there must be for another value of an event, whatever it is: what is left out first is also what all others
/// have no room for.
const MARGIN: i64 = 128;

/// Bytes of a kind and a word, and of a string before its text.
const HEADER: i64 = 16;

impl Context<'_> {
    /// Appends a value of an event, or a field of its record number `depth` from outside: if there is room for it.
    pub fn put_sent(&mut self, base: ir::Value, end: End, value: &Abs, depth: usize) -> Result<End> {
        match value {
            Abs::Union(_) => {
                let mut most = end.most;
                let after = self.dispatch(value, &mut |context, value| {
                    let end = context.put_sent(base, end, &value, depth)?;
                    most = most.max(end.most);
                    Ok(vec![Abs::Int(end.at)])
                })?;
                Ok(match after.first() {
                    Some(Abs::Int(at)) => End { at: self.unknown(*at), most },
                    _ => end,
                })
            }
            Abs::Entry { .. } | Abs::Object(Object::Made(_) | Object::Table(_)) if depth < MAX_NESTED => {
                self.put_sent_record(base, end, value, depth + 1)
            }
            Abs::Str(Str::Const(text)) | Abs::Object(Object::Text(text)) if constant_size(text) <= MARGIN => {
                self.with_room(end, constant_size(text), &mut |context, at| {
                    put_constant(context, base, at, text)
                })
            }
            Abs::Object(Object::Text(_))
            | Abs::Str(Str::Const(_) | Str::Slice { .. } | Str::Cased { .. }) => {
                let end =
                    self.with_room(end, HEADER, &mut |context, at| context.put_argument(base, at, value))?;
                Ok(End { most: end.most.max(RECORD_MAX), ..end })
            }
            value => self.with_room(end, 3 * 8, &mut |context, at| context.put_argument(base, at, value)),
        }
    }

    /// Appends a table: how many fields follow, then name and value of each.
    fn put_sent_record(&mut self, base: ir::Value, end: End, record: &Abs, depth: usize) -> Result<End> {
        let names = self.record_names(record)?;
        let mut end = self.with_room(end, HEADER, &mut |context, at| {
            let address = record_address(context, base, at)?;
            context.store(address.base, address.disp, Size::B8, ArgumentKind::Record as i64);
            context.store(address.base, address.disp + 8, Size::B8, names.len() as i64);
            Ok(context.add(at, HEADER))
        })?;
        for name in names {
            end = self.put_sent(base, end, &Abs::Str(Str::Const(name.clone())), depth)?;
            let mut most = end.most;
            let mut arms = Vec::new();
            for arm in self.record_field(record, &name)? {
                self.state = arm.state;
                if self.state.alive() {
                    let value = arm.values.first().cloned().unwrap_or(Abs::Nil);
                    let end = self.put_sent(base, end, &value, depth)?;
                    most = most.max(end.most);
                    arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(end.at)] });
                }
            }
            let Some(Abs::Int(at)) = self.join(arms)?.and_then(|values| values.into_iter().next()) else {
                return Ok(end);
            };
            end = End { at: self.unknown(at), most };
        }
        Ok(end)
    }

    /// Where there may be no room for `size` bytes, `body` is passed over if there is none.
    fn with_room(
        &mut self,
        end: End,
        size: i64,
        body: &mut dyn FnMut(&mut Self, Word) -> Result<Word>,
    ) -> Result<End> {
        if end.most + size <= RECORD_SIZE {
            let at = body(self, end.at)?;
            return Ok(End { at, most: end.most + size });
        }
        let full = self.compare(CompareOp::SGt, end.at, RECORD_MAX - MARGIN);
        let (full, room) = self.split(full);
        self.state = room;
        let after = if self.state.alive() { body(self, end.at)? } else { end.at };
        let room = self.take_state();
        let at = self.either(full, end.at, room, after)?;
        // From here on, all ask.
        Ok(End { at: self.unknown(at), most: RECORD_SIZE })
    }

    /// Appends one argument; gives the offset behind it.
    pub fn put_argument(&mut self, base: ir::Value, at: Word, argument: &Abs) -> Result<Word> {
        if let Abs::Union(_) = argument {
            let after = self.dispatch(argument, &mut |context, value| {
                let after = context.put_argument(base, at, &value)?;
                Ok(vec![Abs::Int(after)])
            })?;
            return Ok(match after.first() {
                Some(Abs::Int(word)) => self.unknown(*word),
                _ => at,
            });
        }
        let (kind, words): (ArgumentKind, Vec<Word>) = match argument {
            Abs::Nil => (ArgumentKind::Nil, vec![]),
            Abs::Bool(word) => (ArgumentKind::Boolean, vec![*word]),
            Abs::Int(word) => (ArgumentKind::Integer, vec![*word]),
            Abs::Float(word) => (ArgumentKind::Float, vec![*word]),
            Abs::Str(Str::Ipv4(word)) => (ArgumentKind::Ipv4, vec![*word]),
            Abs::Str(Str::Ipv6(high, low)) => (ArgumentKind::Ipv6, vec![*high, *low]),
            Abs::Str(Str::Mac(word)) => (ArgumentKind::Mac, vec![*word]),
            Abs::Str(text) => return self.put_string(base, at, text, RECORD_MAX),
            Abs::Object(Object::Text(text)) => {
                return self.put_string(base, at, &Str::Const(text.clone()), RECORD_MAX);
            }
            Abs::Entry { .. } => (ArgumentKind::Entry, vec![]),
            Abs::Object(_) | Abs::Structure { .. } | Abs::Union(_) => (ArgumentKind::Nil, vec![]),
        };
        let address = record_address(self, base, at)?;
        self.store(address.base, address.disp, Size::B8, kind as i64);
        for (index, word) in words.iter().enumerate() {
            let place = address.plus(8 * (index as i16 + 1));
            self.store(place.base, place.disp, Size::B8, *word);
        }
        Ok(self.add(at, 8 + 8 * words.len() as i64))
    }

    /// Appends a string's bytes, cut so that they end at offset `end` or before.
    pub fn put_string(&mut self, base: ir::Value, at: Word, text: &Str, end: i64) -> Result<Word> {
        let slice = self.view_of(text)?;
        let header = self.add(at, 16);
        let room = self.sub(end, header);
        let length = self.put_string_header(base, at, slice.length, room)?;
        self.copy_slice(Slice { length, ..slice }, &mut |context, offset| {
            let place = context.add(header, offset);
            record_address(context, base, place)
        })?;
        let padded = self.add(length, 7);
        let padded = self.and(padded, -8);
        let after = self.add(header, padded);
        Ok(self.unknown(after))
    }

    /// Appends a string's kind and length; gives how many bytes follow: `length`, or `room` if there is no more.
    pub fn put_string_header(&mut self, base: ir::Value, at: Word, length: Word, room: Word) -> Result<Word> {
        let too_long = self.compare(CompareOp::SGt, length, room);
        let kinds = |kind: ArgumentKind, length: Word| vec![Abs::int(kind as i64), Abs::Int(length)];
        let (cut, whole) = self.split(too_long);
        self.state = cut;
        let negative = self.compare(CompareOp::SLt, room, 0);
        let (none, some) = self.split(negative);
        let arms = [
            (none, kinds(ArgumentKind::CutString, Word::Imm(0))),
            (some, kinds(ArgumentKind::CutString, room)),
            (whole, kinds(ArgumentKind::String, length)),
        ];
        let joined =
            self.join(arms.into_iter().map(|(state, values)| crate::paths::Arm { state, values }).collect())?;
        let Some([Abs::Int(kind), Abs::Int(length)]) = joined.as_deref() else { return Ok(length) };
        let (kind, length) = (*kind, *length);
        let address = record_address(self, base, at)?;
        self.store(address.base, address.disp, Size::B8, kind);
        self.store(address.base, address.disp + 8, Size::B8, length);
        Ok(length)
    }
}

/// Appends a short text without a loop.
fn put_constant(words: &mut impl Words, base: ir::Value, at: Word, text: &[u8]) -> Result<Word> {
    let address = record_address(words, base, at)?;
    words.store(address.base, address.disp, Size::B8, ArgumentKind::String as i64);
    words.store(address.base, address.disp + 8, Size::B8, text.len() as i64);
    for (number, chunk) in text.chunks(8).enumerate() {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        let place = address.plus(HEADER as i16 + 8 * number as i16);
        words.store(place.base, place.disp, Size::B8, i64::from_ne_bytes(bytes));
    }
    Ok(words.add(at, constant_size(text)))
}

/// Where in the record offset `at` is.
pub fn record_address(words: &mut impl Words, base: ir::Value, at: Word) -> Result<Address> {
    match at {
        Word::Imm(offset) => Ok(Address { base, disp: offset as i16 }),
        at => Ok(words.masked(base, at, RECORD_SIZE - 1)),
    }
}

/// Bytes of a constant text with its kind and length.
fn constant_size(text: &[u8]) -> i64 {
    HEADER + text.len().next_multiple_of(8) as i64
}
