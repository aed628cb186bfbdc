//! Keys as bytes: on the stack if they are small, else in the region.

use crate::context::{Context, Result};
use crate::region::KEY_START;
use crate::state::State;
use crate::value::{Abs, Object, Str, Variant, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size, UnaryOp};
use moonhook_schema::{Datum, Schema, Type, WhenFull, encode_key};

/// The largest key or value that is made on the stack.
const SMALL: usize = 64;

/// Where a key or value that does not fit goes, and why it does not.
#[derive(Default)]
pub struct Unfit {
    /// A string is too long for the table.
    pub too_long: Vec<State>,
    /// Something has another type than the table takes: what was expected, and what there is.
    pub wrong: Vec<(State, String, &'static str)>,
}

impl Unfit {
    pub fn states(self) -> Vec<State> {
        self.too_long.into_iter().chain(self.wrong.into_iter().map(|(state, ..)| state)).collect()
    }
}

impl Context<'_> {
    /// Makes the bytes of a key (no union, or one of addresses); gives their address. The current state is dead
    /// afterwards if no such key fits.
    pub fn key_address(&mut self, ty: &Type, key: &Abs, unfit: &mut Unfit) -> Result<ir::Value> {
        let size = ty.key_size();
        let base = self.room(size, has_text(ty), KEY_START)?;
        let at = Address { base, disp: 0 };
        match (ty, key) {
            (Type::Record(fields), Abs::Object(Object::Made(made))) => {
                self.put_key_record(at, fields, *made, unfit)?;
            }
            _ => self.put(at, ty, key, unfit)?,
        }
        Ok(base)
    }

    /// The address of memory for the bytes of a key that are copied there.
    pub fn room_for_key(&mut self, schema: &Schema) -> Result<ir::Value> {
        self.room(schema.key_size(), has_text(&schema.key), KEY_START)
    }

    /// The address of memory for a key or value of `size` bytes. Strings are made in the region at `start`.
    pub(super) fn room(&mut self, size: usize, text: bool, start: i64) -> Result<ir::Value> {
        if text || size > SMALL {
            let region = self.region()?;
            return Ok(self.emit(Op::Binary(BinaryOp::Add, region, ir::Operand::Imm(start as i32))));
        }
        // A key and a value are there at the same time.
        let key = u32::from(start == KEY_START);
        let size = size.next_multiple_of(8) as u32;
        let slot = self.known.shared.slot(size << 1 | key, size, &mut self.code.function);
        Ok(self.emit(Op::SlotAddress(slot)))
    }

    /// Writes a value at a place.
    pub(super) fn put(&mut self, at: Address, ty: &Type, value: &Abs, unfit: &mut Unfit) -> Result<()> {
        match (ty, value) {
            (Type::Boolean, Abs::Bool(word))
            | (Type::Integer, Abs::Int(word))
            | (Type::Float, Abs::Float(word)) => put_word(self, at, 0, *word),
            (Type::Ipv4, Abs::Str(Str::Ipv4(word))) | (Type::Mac, Abs::Str(Str::Mac(word))) => {
                put_word(self, at, 0, *word);
            }
            (Type::Address, value) if put_address(self, at, value) => {}
            (Type::Ipv4 | Type::Mac, Abs::Str(Str::Const(text))) => {
                let known = match ty {
                    Type::Ipv4 => crate::literals::ipv4(text),
                    _ => crate::literals::mac(text),
                };
                match known {
                    Some(word) => put_word(self, at, 0, Word::Imm(word)),
                    None => self.wrong(ty, "string", unfit),
                }
            }
            (Type::Prefix4 | Type::Prefix6, value) if self.put_prefix(at, ty, value)? => {}
            (Type::Record(fields), Abs::Object(Object::Made(made))) => {
                self.put_record(at, fields, *made, unfit)?;
            }
            (Type::Mixed(mixed), value) => self.put_mixed(at, *mixed, value, unfit)?,
            (Type::Text { capacity }, Abs::Str(text)) => self.put_text(at, *capacity, text, unfit)?,
            (
                Type::Ipv4 | Type::Address | Type::Mac | Type::Prefix4 | Type::Prefix6,
                Abs::Str(Str::Slice { .. } | Str::Cased { .. }),
            ) if !self.around.parses_addresses() => return self.refuse_text_as_address(),
            (ty, value) => self.wrong(ty, value.type_name().unwrap_or("value"), unfit),
        }
        Ok(())
    }

    /// Only general code finds out which address a string made at packet time is.
    fn refuse_text_as_address<T>(&self) -> Result<T> {
        let help = "use addresses of packets (`pkt.ip.src`), or declare strings (`string:64`)";
        self.unsupported("a string made at packet time in the place of an address", help, None)
    }

    /// The current state leaves: a value of another type.
    pub(super) fn wrong(&mut self, ty: &Type, got: &'static str, unfit: &mut Unfit) {
        if self.state.alive() {
            unfit.wrong.push((self.take_state(), ty.to_string(), got));
        }
    }

    /// `struct bpf_lpm_trie_key_u8` of an address, which is a prefix of full length, or of a constant; says whether it is one. Where
    /// strings made at packet time are read, they are known to be texts of prefixes.
    fn put_prefix(&mut self, at: Address, ty: &Type, value: &Abs) -> Result<bool> {
        let halves = |context: &mut Self, word: Word| {
            let high = context.shr(word, 32);
            [high, word].map(|half| context.unary(UnaryOp::Swap32, half))
        };
        let words = match (ty, value) {
            (Type::Prefix4, Abs::Str(Str::Ipv4(word))) => {
                vec![Word::Imm(32), self.unary(UnaryOp::Swap32, *word), Word::Imm(0)]
            }
            (Type::Prefix6, Abs::Str(Str::Ipv6(high, low))) => {
                let (high, low) = (halves(self, *high), halves(self, *low));
                [Word::Imm(128)].into_iter().chain(high).chain(low).collect()
            }
            (_, Abs::Str(Str::Const(text))) => match prefix(ty, text) {
                Some(bytes) => bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|word| i64::from(i32::from_le_bytes(*word)).into())
                    .collect(),
                None => return Ok(false),
            },
            (_, Abs::Str(text @ (Str::Slice { .. } | Str::Cased { .. }))) => {
                let Some([length, first, second]) = self.around.prefix_of_text(self, ty, text)? else {
                    return Ok(false);
                };
                match ty {
                    Type::Prefix4 => vec![length, self.unary(UnaryOp::Swap32, first), Word::Imm(0)],
                    _ => {
                        let (high, low) = (halves(self, first), halves(self, second));
                        [length].into_iter().chain(high).chain(low).collect()
                    }
                }
            }
            _ => return Ok(false),
        };
        for (number, word) in words.into_iter().enumerate() {
            self.store(at.base, at.disp + 4 * number as i16, Size::B4, word);
        }
        Ok(true)
    }

    /// Length, bytes, zeros.
    fn put_text(&mut self, at: Address, capacity: u16, text: &Str, unfit: &mut Unfit) -> Result<()> {
        let size = Type::Text { capacity }.size();
        if let Str::Const(bytes) = text {
            if bytes.len() > usize::from(capacity) {
                unfit.too_long.push(self.take_state());
                return Ok(());
            }
            let mut all = (bytes.len() as u32).to_le_bytes().to_vec();
            all.extend_from_slice(bytes);
            all.resize(size, 0);
            for (number, word) in all.as_chunks().0.iter().enumerate() {
                put_word(self, at, 8 * number as i16, Word::Imm(i64::from_le_bytes(*word)));
            }
            return Ok(());
        }
        let slice = self.view_of(text)?;
        let too_long = self.compare(CompareOp::UGt, slice.length, i64::from(capacity));
        self.leave_if(too_long, &mut unfit.too_long);
        self.put_slice(at, usize::from(capacity), slice)
    }
}

fn put_word(words: &mut impl Words, at: Address, offset: i16, word: Word) {
    words.store(at.base, at.disp + offset, Size::B8, word);
}

/// An address of either family; says whether it is one.
fn put_address(words: &mut impl Words, at: Address, value: &Abs) -> bool {
    let address = match value {
        Abs::Str(Str::Ipv4(word)) => [Word::Imm(4), Word::Imm(0), *word],
        Abs::Str(Str::Ipv6(high, low)) => [Word::Imm(6), *high, *low],
        Abs::Str(Str::Const(text)) => match (crate::literals::ipv4(text), crate::literals::ipv6(text)) {
            (Some(word), _) => [4, 0, word].map(Word::Imm),
            (_, Some([high, low])) => [6, high, low].map(Word::Imm),
            _ => return false,
        },
        Abs::Union(union) if is_address(value) => {
            // The family is 4 or 6.
            let twice = words.shl(union.tag, 1);
            let [high, low] = union.payload;
            [words.add(twice, 4 - 2 * Variant::Ipv4.tag()), high, low]
        }
        _ => return false,
    };
    for (number, word) in address.into_iter().enumerate() {
        put_word(words, at, 8 * number as i16, word);
    }
    true
}

/// The key of a prefix that a constant is the text of.
fn prefix(ty: &Type, text: &[u8]) -> Option<Vec<u8>> {
    let schema = Schema {
        key: ty.clone(),
        value: Type::Integer,
        capacity: 1,
        when_full: WhenFull::Error,
        lifetime: None,
        per_cpu: false,
    };
    encode_key(&schema, &Datum::Text(text.to_vec())).ok()
}

/// Whether the value is surely an address of one family or the other.
pub(super) fn is_address(value: &Abs) -> bool {
    match value {
        Abs::Union(union) => {
            union.variants.iter().all(|schema| matches!(schema, Variant::Ipv4 | Variant::Ipv6))
        }
        Abs::Str(Str::Ipv4(_) | Str::Ipv6(..)) => true,
        _ => false,
    }
}

/// Whether strings are part of a type.
pub(super) fn has_text(ty: &Type) -> bool {
    match ty {
        Type::Text { .. } => true,
        Type::Mixed(mixed) => mixed.text.is_some(),
        Type::Record(fields) => fields.iter().any(|field| has_text(&field.ty)),
        _ => false,
    }
}
