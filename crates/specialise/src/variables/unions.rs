//! Variables that can be of several types.
//!
//! Such a value is a tag and a payload, which no CPU reads or writes both at once. So each type has a payload word of its own
//! (`Variant::place`): the payload is written before the tag, read behind it, and is always one that was assigned with that type, whatever
//! other CPUs do in between. What says all with its tag, like nil, leaves the payloads as they are.

use super::sums;
use crate::context::{Context, Result};
use crate::paths::{Arm, Form};
use crate::value::{Abs, Union, Variant, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{CompareOp, Size, UnaryOp};

impl Context<'_> {
    /// The words of a union of these variants at `base`.
    pub(super) fn load_union(&mut self, base: ir::Value, variants: &[Variant], count: usize) -> Vec<Word> {
        let tag = self.load(base, 0, Size::B8, false);
        let of = |word: usize| variants.iter().filter(move |variant| payload_word(**variant) == Some(word));
        let mut words = vec![tag];
        for word in 0..count - 1 {
            let (several, mut payload) = (of(word).count() > 1, Word::Imm(0));
            for variant in of(word) {
                let mut loaded = self.load(base, variant.place() as i16, Size::B8, false);
                if several {
                    let is = self.compare(CompareOp::Eq, tag, variant.tag());
                    let is = self.condition_word(is);
                    let mask = self.unary(UnaryOp::Neg, is);
                    loaded = self.and(loaded, mask);
                    payload = self.binary(ir::BinaryOp::Or, payload, loaded);
                } else {
                    payload = loaded;
                }
            }
            words.push(payload);
        }
        words
    }

    /// Assigns to a variable that can be one of several variants.
    pub(super) fn store_union(
        &mut self,
        index: usize,
        (base, form): (ir::Value, &Form),
        value: &Abs,
    ) -> Result<()> {
        let Abs::Union(union) = value else {
            self.store_variant(index, (base, form), value);
            return Ok(());
        };
        let rest = Union { variants: rest(union), ..(**union).clone() };
        let mut alternatives = self.split_off(union, &rest);
        let rest = match rest.variants.as_slice() {
            [only] => self.known.objects.concrete(union, *only),
            _ => Abs::Union(rest.into()),
        };
        alternatives.push((self.take_state(), rest));
        let mut arms = Vec::new();
        for (state, concrete) in alternatives {
            self.state = state;
            self.store_variant(index, (base, form), &concrete);
            arms.push(Arm { state: self.take_state(), values: vec![] });
        }
        self.join(arms)?;
        Ok(())
    }

    /// The same for a value of one variant, or one that is all in its tag.
    fn store_variant(&mut self, index: usize, (base, form): (ir::Value, &Form), value: &Abs) {
        let words = self.encode(value, form);
        if let Some(variant) = variant_of(form, words[0])
            && let Some(word) = payload_word(variant)
        {
            self.store(base, variant.place() as i16, Size::B8, words[1 + word]);
        }
        self.store(base, 0, Size::B8, words[0]);
        if *value == Abs::Nil && sums::is_nil_or_integer(form) {
            self.clear_sum(index, base);
        }
    }
}

impl Context<'_> {
    /// What a variable of these variants begins with.
    pub(super) fn initial_bytes(&mut self, value: &Abs, variants: &[Variant]) -> Vec<u8> {
        let (tag, payload) = self.encode_variants(value, variants);
        let mut bytes = vec![0; ir::Variable::SIZE as usize];
        let mut put = |at: u32, word: Word| {
            bytes[at as usize..at as usize + 8].copy_from_slice(&word.constant().unwrap_or(0).to_le_bytes());
        };
        put(0, tag);
        for variant in variants.iter().filter(|variant| tag == Word::Imm(variant.tag())) {
            let place = if variants.len() > 1 { variant.place() } else { ir::Variable::PAYLOAD };
            payload_word(*variant).into_iter().for_each(|word| put(place, payload[word]));
        }
        bytes
    }
}

/// The variant of a form with a tag that is known.
fn variant_of(form: &Form, tag: Word) -> Option<Variant> {
    let Form::Union(variants) = form else { return None };
    variants.iter().find(|variant| tag == Word::Imm(variant.tag())).copied()
}

/// The variants that are assigned by their tag alone; the last one where all have payloads.
fn rest(union: &Union) -> Vec<Variant> {
    let (with_payload, mut rest): (Vec<Variant>, Vec<Variant>) =
        union.variants.iter().partition(|variant| payload_word(**variant).is_some());
    if rest.is_empty() {
        rest.extend(with_payload.last());
    }
    rest
}

/// Which payload word a variant uses, of those that can be kept from packet to packet.
fn payload_word(variant: Variant) -> Option<usize> {
    match variant {
        Variant::Ipv4 => Some(1),
        variant if variant.words() > 0 => Some(0),
        _ => None,
    }
}

impl Variant {
    /// Where a variable of several types has the payload of this one, in bytes from its tag.
    pub fn place(self) -> u32 {
        match self {
            Variant::Ipv4 => 16,
            Variant::Bool => 24,
            Variant::Float => 32,
            Variant::Mac => 40,
            Variant::Int => ir::Variable::PAYLOAD,
            // All is in the tag, or it cannot be kept from packet to packet.
            Variant::Nil
            | Variant::Object(_)
            | Variant::Slice(_)
            | Variant::Cased(..)
            | Variant::Ipv6
            | Variant::Entry(_)
            | Variant::Structure(_) => ir::Variable::PAYLOAD,
        }
    }
}
