//! Values of stored tables: reading entries, and the words of what is assigned.

use super::{E_PAYLOAD, E_TAG, H_BORDER, KeyType};
use crate::context::{Context, Result};
use crate::interned::Objects;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::stored::probe::is_free;
use crate::stored::table_field;
use crate::value::{Abs, Object, Space, Str, Union, Variant, Word};
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{CompareOp, Size};
use std::rc::Rc;

impl Context<'_> {
    /// `table[key]`, with one arm where there is an entry and one where there is none.
    pub fn read_stored(&mut self, table: u32, key: &Abs) -> Result<Vec<Arm>> {
        if let Abs::Union(_) = key {
            return self.arms_of_each(key, &mut |context, key| context.read_stored(table, key));
        }
        if let Abs::Float(x @ Word::Value(_)) = key {
            return self.read_float_key(*x, &mut |context, key| context.read_stored(table, key));
        }
        let values = self.known.stored.holds(table).map(|holds| holds.values.clone()).unwrap_or_default();
        let held =
            |kind: KeyType| self.known.stored.holds(table).is_some_and(|holds| holds.keys.contains(&kind));
        match KeyType::of(key) {
            Some(kind) if held(kind) && !values.is_empty() => {}
            None if matches!(key, Abs::Object(_) | Abs::Entry { .. } | Abs::Structure { .. }) => {
                return self.refuse_stored("[");
            }
            // Nothing of that kind is ever in the table.
            _ => return self.only(Abs::Nil),
        }
        let found = self.find_entry(table, key)?;
        let place = self.entry_at(found.entry)?;
        let first = self.load_at(place, Size::B8, false);
        let free = is_free(self, first, found.stamp);
        let (free, taken) = self.split(free);
        self.state = taken;
        let value = self.entry_value(table, place, true);
        let state = self.take_state();
        Ok(vec![Arm { state, values: vec![value] }, Arm { state: free, values: vec![Abs::Nil] }])
    }

    /// The value of an entry that is taken; `maybe_nil` unless it is known not to be nil.
    pub(super) fn entry_value(&mut self, table: u32, place: Address, maybe_nil: bool) -> Abs {
        let values = self.known.stored.holds(table).map(|holds| holds.values.clone()).unwrap_or_default();
        let variants: Vec<Variant> =
            values.into_iter().filter(|variant| maybe_nil || *variant != Variant::Nil).collect();
        let words = variants.iter().map(|variant| variant.words()).max().unwrap_or(0);
        let mut payload = [Word::Imm(0); 2];
        for (number, word) in payload.iter_mut().enumerate().take(words) {
            *word = self.load(place.base, place.disp + E_PAYLOAD + 8 * number as i16, Size::B8, false);
        }
        match variants.as_slice() {
            [] => Abs::Nil,
            [Variant::Object(id)] => self.known.objects.value(*id),
            [variant] => variant.value(payload).unwrap_or(Abs::Nil),
            _ => {
                let tag = self.load(place.base, place.disp + E_TAG, Size::B8, false);
                Abs::Union(Rc::new(Union { variants, tag, payload }))
            }
        }
    }

    /// A value as stored tables keep it: strings in the region or the pool. `None` where they cannot keep it.
    pub(super) fn storable_value(&mut self, value: &Abs) -> Result<Option<Abs>> {
        Ok(match &self.with_cases_written(value)? {
            Abs::Str(Str::Const(text)) => {
                let start = Word::Imm(i64::from(self.output.pool.intern(text)));
                let length = Word::Imm(text.len() as i64);
                Some(Abs::Str(Str::Slice { space: Space::Pool, start, length }))
            }
            Abs::Str(text @ Str::Slice { space: Space::Packet, .. }) => {
                let text = self.copied(text.clone())?;
                Some(Abs::Str(text))
            }
            Abs::Entry { .. } | Abs::Structure { .. } | Abs::Union(_) => None,
            Abs::Object(object) => is_kept_object(object).then(|| value.clone()),
            value => Some(value.clone()),
        })
    }

    /// Whether there is an element with that index, as 0 or 1.
    fn has_element(&mut self, table: u32, index: Word) -> Result<Word> {
        let arms = self.read_stored(table, &Abs::Int(index))?;
        let mut found = Vec::new();
        for arm in arms {
            self.state = arm.state;
            let value = arm.values.into_iter().next().unwrap_or(Abs::Nil);
            for (state, value) in self.alternatives(&value)? {
                found.push(Arm { state, values: vec![Abs::int((value != Abs::Nil).into())] });
            }
        }
        self.join_word(found)
    }

    /// `#table`: a border (manual § 3.4.7), found from the last one on.
    pub fn stored_length(&mut self, table: u32) -> Result<Word> {
        let header = self.table_header(table)?;
        let hint = table_field(self, header, H_BORDER);
        let up = self.step_border(table, hint, 1)?;
        // Where the last border's element is gone, the next one below is a border.
        let border = self.step_border(table, up, -1)?;
        let header = self.table_header(table)?;
        self.store(header.base, header.disp + H_BORDER, Size::B8, border);
        Ok(border)
    }

    /// Moves up as long as the next element is there, or down as long as this one is not.
    fn step_border(&mut self, table: u32, from: Word, step: i64) -> Result<Word> {
        let arms = self.repeat(&[from], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let at = variables[0];
            if step < 0 {
                let none = context.compare(CompareOp::SLe, at, 0);
                let (none, some) = context.split(none);
                iteration.leave_in(none, vec![Abs::int(0)]);
                context.state = some;
            }
            let looked_at = if step > 0 { context.add(at, 1) } else { at };
            let there = context.has_element(table, looked_at)?;
            let leave = context.compare(if step > 0 { CompareOp::Eq } else { CompareOp::Ne }, there, 0);
            let (leave, more) = context.split(leave);
            iteration.leave_in(leave, vec![Abs::Int(at)]);
            context.state = more;
            let next = context.add(at, step);
            iteration.again(context, vec![next]);
            Ok(iteration)
        })?;
        self.join_word(arms)
    }
}

impl Objects {
    /// Whether a value of unknown type can be kept as it is.
    pub fn is_storable_union(&self, union: &Union) -> bool {
        union.variants.iter().all(|variant| match variant {
            Variant::Slice(Space::Packet)
            | Variant::Cased(..)
            | Variant::Entry(_)
            | Variant::Structure(_) => false,
            Variant::Object(id) => match self.get(*id) {
                Some(Object::Text(_)) | None => false,
                Some(object) => is_kept_object(object),
            },
            _ => true,
        })
    }
}

fn is_kept_object(object: &Object) -> bool {
    !object.has_cells()
        && matches!(object, Object::Table(_) | Object::Closure(_) | Object::Builtin(_) | Object::Opaque(..))
}
