//! Values of several plain types in one table: kind, word, string ([`moonhook_schema::mixed`]).

use super::keys::Unfit;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::shared::map_calls::zero;
use crate::value::{Abs, Union, Variant, Word};
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{CompareOp, Size};
use moonhook_schema::mixed::{KIND_MASK, STRING, WORD};
use moonhook_schema::{Mixed, Type};

impl Context<'_> {
    /// The value at a place, with one arm for each type that it may have, and one for none, which other CPUs' values may be.
    pub(super) fn mixed_arms(&mut self, at: Address, mixed: Mixed) -> Result<Vec<Arm>> {
        let kind = self.word_of_entry(at);
        let kind = self.and(kind, KIND_MASK as i64);
        let word = self.word_of_entry(at.plus(WORD as i16));
        let mut arms = Vec::new();
        for (number, ty) in mixed.types() {
            let is = self.compare(CompareOp::Eq, kind, number as i64);
            let (is, other) = self.split(is);
            self.state = is;
            match ty {
                Type::Text { .. } => arms.extend(self.value_arms(at.plus(STRING as i16), &ty)?),
                ty => {
                    let value = self.plain_value(word, &ty);
                    arms.extend(self.only(value)?);
                }
            }
            self.state = other;
        }
        arms.extend(self.only(Abs::Nil)?);
        Ok(arms)
    }

    fn plain_value(&mut self, word: Word, ty: &Type) -> Abs {
        match ty {
            Type::Boolean => Abs::Bool(self.and(word, 1)),
            Type::Float => Abs::Float(word),
            _ => Abs::Int(word),
        }
    }

    /// Writes a value at a place, one of several types too.
    pub(super) fn put_mixed(
        &mut self,
        at: Address,
        mixed: Mixed,
        value: &Abs,
        unfit: &mut Unfit,
    ) -> Result<()> {
        self.dispatch(value, &mut |context, value| {
            context.put_one_of(at, mixed, &value, unfit)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    fn put_one_of(&mut self, at: Address, mixed: Mixed, value: &Abs, unfit: &mut Unfit) -> Result<()> {
        let fits = |ty: &Type| {
            matches!(
                (ty, value),
                (Type::Boolean, Abs::Bool(_))
                    | (Type::Integer, Abs::Int(_))
                    | (Type::Float, Abs::Float(_))
                    | (Type::Text { .. }, Abs::Str(_))
            )
        };
        let Some((kind, ty)) = mixed.types().find(|(_, ty)| fits(ty)) else {
            self.wrong(&Type::Mixed(mixed), value.type_name().unwrap_or("value"), unfit);
            return Ok(());
        };
        self.store(at.base, at.disp, Size::B8, Word::Imm(kind as i64));
        let (word, string) = (at.plus(WORD as i16), at.plus(STRING as i16));
        if let Type::Text { .. } = ty {
            self.store(word.base, word.disp, Size::B8, Word::Imm(0));
            return self.put(string, &ty, value, unfit);
        }
        self.put(word, &ty, value, unfit)?;
        zero(self, string, mixed.size() - STRING);
        Ok(())
    }
}

/// Whether a value, of several types, is put as it is where values are of such types: not if it may be nil, which deletes.
pub(super) fn is_put_whole(ty: &Type, union: &Union) -> bool {
    let is_plain =
        |variant: &Variant| !matches!(variant, Variant::Nil | Variant::Entry(_) | Variant::Structure(_));
    matches!(ty, Type::Mixed(_)) && union.variants.iter().all(is_plain)
}
