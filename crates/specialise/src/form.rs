//! Forms of values beyond a join: which one fits, and how values are encoded into a form's words and decoded from them.

use crate::context::{self, Context};
use crate::error::LowerErrorKind;
use crate::interned::Objects;
use crate::paths::{Form, MAX_TEXTS};
use crate::pool::Pool;
use crate::value::{Abs, Object, Space, Str, Union, Variant, Word};
use moonhook_ir as ir;
use moonhook_ir::words::Words;
use std::collections::BTreeSet;

impl Context<'_> {
    /// [`Objects::form_of`], or a refusal at the current line.
    pub fn form_of(&mut self, values: &[&Abs], varying: bool) -> context::Result<Form> {
        let form = self.known.objects.form_of(values, varying);
        self.or_refuse(form)
    }

    /// Encodes `value` into the words of `form`, which takes it. Appends to the current block.
    pub fn encode(&mut self, value: &Abs, form: &Form) -> Vec<Word> {
        self.encode_as(value, form, form.words())
    }

    /// [`Context::encode`] into a form that is known to have `count` words. To count them all its variants are looked at, of which there
    /// can be as many as there are values to encode.
    pub fn encode_as(&mut self, value: &Abs, form: &Form, count: usize) -> Vec<Word> {
        match form {
            Form::Same(_) => vec![],
            Form::One(variant) => {
                let (_, payload) = self.encode_variants(value, std::slice::from_ref(variant));
                payload[..count].to_vec()
            }
            Form::Union(variants) => {
                let (tag, payload) = self.encode_variants(value, variants);
                let mut words = vec![tag];
                words.extend(&payload[..count - 1]);
                words
            }
        }
    }

    /// Tag and payload of a value among `variants`, which are sorted.
    pub fn encode_variants(&mut self, value: &Abs, variants: &[Variant]) -> (Word, [Word; 2]) {
        let none = Word::Imm(0);
        let (variant, payload) = match value {
            Abs::Nil => (Variant::Nil, [none; 2]),
            Abs::Bool(word) => (Variant::Bool, [*word, none]),
            Abs::Int(word) => (Variant::Int, [*word, none]),
            Abs::Float(word) => (Variant::Float, [*word, none]),
            Abs::Str(Str::Slice { space, start, length }) => (Variant::Slice(*space), [*start, *length]),
            Abs::Str(Str::Cased { case, space, start, length }) => {
                (Variant::Cased(*case, *space), [*start, *length])
            }
            Abs::Str(Str::Ipv4(word)) => (Variant::Ipv4, [none, *word]),
            Abs::Str(Str::Ipv6(high, low)) => (Variant::Ipv6, [*high, *low]),
            Abs::Str(Str::Mac(word)) => (Variant::Mac, [*word, none]),
            Abs::Str(Str::Const(text)) => {
                let object = Variant::Object(self.known.objects.intern(&Object::Text(text.clone())));
                if variants.binary_search(&object).is_ok() {
                    (object, [none; 2])
                } else {
                    let (slice, start) = self.output.pool.slice_of_text(text, variants);
                    (slice, [Word::Imm(start), Word::Imm(text.len() as i64)])
                }
            }
            Abs::Object(object) => (Variant::Object(self.known.objects.intern(object)), [none; 2]),
            Abs::Entry { path, base } => (Variant::Entry(*path), [*base, none]),
            Abs::Structure { type_id, address } => (Variant::Structure(*type_id), [*address, none]),
            Abs::Union(union) => return self.encode_union(&union.clone(), variants),
        };
        (Word::Imm(variant.tag()), payload)
    }

    /// A union into a wider one: only constant strings may have to change their variant.
    fn encode_union(&mut self, union: &Union, variants: &[Variant]) -> (Word, [Word; 2]) {
        let missing: Vec<Variant> =
            union.variants.iter().filter(|s| !variants.contains(s)).copied().collect();
        let (mut tag, mut payload) = (union.tag, union.payload);
        for variant in missing {
            let Variant::Object(id) = variant else { continue };
            let Some(Object::Text(text)) = self.known.objects.get(id).cloned() else {
                continue;
            };
            let (slice, start) = self.output.pool.slice_of_text(&text, variants);
            // Branch-free: mask is all ones exactly if the tag is this text's.
            let is = self.compare(ir::CompareOp::Eq, tag, variant.tag());
            let is = self.condition_word(is);
            let mask = self.unary(ir::UnaryOp::Neg, is);
            let choose = |context: &mut Self, old: Word, new: i64| {
                let change = context.binary(ir::BinaryOp::Xor, old, new);
                let change = context.and(change, mask);
                context.binary(ir::BinaryOp::Xor, old, change)
            };
            payload[0] = choose(self, payload[0], start);
            payload[1] = choose(self, payload[1], text.len() as i64);
            tag = choose(self, tag, slice.tag());
        }
        (tag, payload)
    }
}

impl Pool {
    /// Where a constant string that has no variant of its own among `variants` is, as a slice.
    pub fn slice_of_text(&mut self, text: &[u8], variants: &[Variant]) -> (Variant, i64) {
        let slice = variants.iter().find(|variant| matches!(variant, Variant::Slice(_)));
        match slice {
            Some(slice) if text.is_empty() => (*slice, 0),
            _ => (Variant::Slice(Space::Pool), i64::from(self.intern(text))),
        }
    }
}

impl Objects {
    /// The form that all of `values` fit into. `varying` asks for a form that can take another value of the same variant.
    pub fn form_of(&mut self, values: &[&Abs], varying: bool) -> Result<Form, LowerErrorKind> {
        let Some(first) = values.first() else { return Ok(Form::Same(Abs::Nil)) };
        if !varying && values.iter().all(|value| value == first) {
            return Ok(Form::Same((*first).clone()));
        }
        let mut variants = BTreeSet::new();
        for value in values {
            variants.extend(self.variants(value));
        }
        check_entries(&variants)?;
        Ok(self.form_of_variants(variants))
    }

    /// The form that takes what both take.
    pub fn widen(&mut self, a: &Form, b: &Form) -> Result<Form, LowerErrorKind> {
        if a == b {
            return Ok(a.clone());
        }
        let mut variants = BTreeSet::new();
        for form in [a, b] {
            match form {
                Form::Same(value) => {
                    // Two different constants of one variant: the variant varies.
                    if let Form::One(variant) = self.form_of(&[value], true)? {
                        variants.insert(variant);
                    } else {
                        variants.extend(self.variants(value));
                    }
                }
                Form::One(variant) => {
                    variants.insert(*variant);
                }
                Form::Union(more) => variants.extend(more.iter().copied()),
            }
        }
        check_entries(&variants)?;
        Ok(self.form_of_variants(variants))
    }

    /// The variants a value may have.
    pub fn variants(&mut self, value: &Abs) -> Vec<Variant> {
        match value {
            Abs::Nil => vec![Variant::Nil],
            Abs::Bool(_) => vec![Variant::Bool],
            Abs::Int(_) => vec![Variant::Int],
            Abs::Float(_) => vec![Variant::Float],
            Abs::Str(Str::Const(text)) => vec![Variant::Object(self.intern(&Object::Text(text.clone())))],
            Abs::Str(Str::Slice { space, .. }) => vec![Variant::Slice(*space)],
            Abs::Str(Str::Cased { case, space, .. }) => vec![Variant::Cased(*case, *space)],
            Abs::Str(Str::Ipv4(_)) => vec![Variant::Ipv4],
            Abs::Str(Str::Ipv6(..)) => vec![Variant::Ipv6],
            Abs::Str(Str::Mac(_)) => vec![Variant::Mac],
            Abs::Object(object) => vec![Variant::Object(self.intern(object))],
            Abs::Entry { path, .. } => vec![Variant::Entry(*path)],
            Abs::Structure { type_id, .. } => vec![Variant::Structure(*type_id)],
            Abs::Union(union) => union.variants.clone(),
        }
    }

    pub fn is_text(&self, variant: &Variant) -> bool {
        matches!(variant, Variant::Object(id) if matches!(self.get(*id), Some(Object::Text(_))))
    }

    /// The empty string, which is an empty slice of any space.
    pub fn is_empty_text(&self, variant: &Variant) -> bool {
        matches!(variant, Variant::Object(id) if matches!(self.get(*id), Some(Object::Text(text)) if text.is_empty()))
    }

    pub fn form_of_variants(&self, mut variants: BTreeSet<Variant>) -> Form {
        if variants.iter().any(|variant| matches!(variant, Variant::Slice(_))) {
            variants.retain(|variant| !self.is_empty_text(variant));
        }
        let texts = variants.iter().filter(|variant| self.is_text(variant)).count();
        let pool = Variant::Slice(Space::Pool);
        if texts > MAX_TEXTS || (texts > 0 && variants.contains(&pool)) {
            variants.retain(|variant| !self.is_text(variant));
            variants.insert(pool);
        }
        let variants: Vec<Variant> = variants.into_iter().collect();
        match variants.as_slice() {
            [variant] => match variant {
                Variant::Nil => Form::Same(Abs::Nil),
                Variant::Object(id) => Form::Same(self.value(*id)),
                variant => Form::One(*variant),
            },
            _ => Form::Union(variants),
        }
    }

    /// Whether a value fits a form without widening it.
    pub fn fits(&mut self, value: &Abs, form: &Form) -> bool {
        match form {
            Form::Same(same) => value == same,
            Form::One(_) | Form::Union(_) => {
                let accepted: &[Variant] = match form {
                    Form::One(variant) => std::slice::from_ref(variant),
                    Form::Union(variants) => variants,
                    Form::Same(_) => &[],
                };
                let pool = accepted.contains(&Variant::Slice(Space::Pool));
                let slice = accepted.iter().any(|variant| matches!(variant, Variant::Slice(_)));
                let fits = |objects: &Self, variant: &Variant| {
                    let as_slice =
                        (pool && objects.is_text(variant)) || (slice && objects.is_empty_text(variant));
                    accepted.contains(variant) || as_slice
                };
                let variants = self.variants(value);
                variants.iter().all(|variant| fits(self, variant))
            }
        }
    }
}

/// An entry stands alone, or with what takes no words.
fn check_entries(variants: &BTreeSet<Variant>) -> Result<(), LowerErrorKind> {
    let entries = variants.iter().filter(|variant| matches!(variant, Variant::Entry(_))).count();
    let words = variants
        .iter()
        .filter(|variant| !matches!(variant, Variant::Entry(_)) && variant.words() > 0)
        .count();
    if entries > 1 || entries == 1 && words > 0 {
        return Err(LowerErrorKind::unsupported(
            "a variable that holds an entry of a shared table or something else",
            "use a variable for each",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(count: u8) -> Vec<Abs> {
        (0..count).map(|number| Abs::Str(Str::Const([number].as_slice().into()))).collect()
    }

    #[test]
    fn few_texts_are_kept_apart_and_many_become_slices_of_the_pool() {
        let mut objects = Objects::default();
        let mut form_of = |values: &[Abs]| objects.form_of(&values.iter().collect::<Vec<_>>(), false);
        let few = form_of(&texts(MAX_TEXTS as u8)).expect("a form");
        assert!(matches!(few, Form::Union(variants) if variants.len() == MAX_TEXTS));
        assert_eq!(form_of(&texts(MAX_TEXTS as u8 + 1)), Ok(Form::One(Variant::Slice(Space::Pool))));
    }

    #[test]
    fn equal_values_stay_known_and_others_of_one_type_vary() {
        let mut objects = Objects::default();
        assert_eq!(objects.form_of(&[&Abs::int(7), &Abs::int(7)], false), Ok(Form::Same(Abs::int(7))));
        assert_eq!(objects.form_of(&[&Abs::int(7), &Abs::int(8)], false), Ok(Form::One(Variant::Int)));
        let mixed = objects.form_of(&[&Abs::int(7), &Abs::float(0.5)], false);
        assert_eq!(mixed, Ok(Form::Union(vec![Variant::Int, Variant::Float])));
    }
}
