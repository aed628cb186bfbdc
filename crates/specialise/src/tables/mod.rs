//! Reading tables of load time with keys that are known only at packet time.
//!
//! A few keys are compared one by one; many are found by a perfect hash in read-only data ([`crate::hashing`]); the array
//! part is indexed.

pub mod columns;
mod keys;
mod numbers;
mod words;

use self::keys::string_lookup;
use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::floats::Comparison;
use crate::literals;
use crate::paths::{Arm, Form};
use crate::shared::can_be_map;
use crate::value::{Abs, Closure, Object, Str, Word, float_of, integral};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};
use moonhook_snapshot::{Snapshot, Table, TableId, Value};

/// Up to so many keys are compared one by one.
const MAX_COMPARED: usize = 4;

/// `rawget(table, key)` at load time.
pub fn raw_get(snapshot: &Snapshot, table: TableId, key: &Value) -> Value {
    snapshot.table(table).get(key).cloned().unwrap_or(Value::Nil)
}

/// Refuses what real Lua answers with a metamethod (manual § 2.4) if the value is a table that has it.
pub fn refuse_metamethod(
    context: &mut Context<'_>,
    value: &Abs,
    event: &'static str,
    name: Option<&str>,
) -> Result<()> {
    let Abs::Object(object) = value else { return Ok(()) };
    let Some(metatable) = context.state.metatable_of(context.snapshot, object) else { return Ok(()) };
    match context.state.metafield(context.snapshot, &metatable, event) {
        Abs::Nil => Ok(()),
        _ => context.refuse(LowerErrorKind::Metamethod { event }, name),
    }
}

/// The metamethod of a value for an event, if it is a function of the script (manual § 2.4).
pub fn metamethod(context: &Context<'_>, value: &Abs, event: &'static str) -> Option<Abs> {
    let Abs::Object(object) = value else { return None };
    let metatable = context.state.metatable_of(context.snapshot, object)?;
    let function = context.state.metafield(context.snapshot, &metatable, event);
    matches!(function, Abs::Object(Object::Closure(_))).then_some(function)
}

/// Some entry that the table has at load time.
pub fn first_entry(snapshot: &Snapshot, table: TableId) -> Option<(Value, Value)> {
    let table = snapshot.table(table);
    let element = table.array.first().map(|value| (Value::Integer(1), value.clone()));
    element.or_else(|| table.entries.first().cloned())
}

/// `#table` (manual § 3.4.7): the border that the array part gives.
pub fn length(context: &mut Context<'_>, table: TableId) -> Result<Abs> {
    if context.known.shared.is_shared(context.snapshot, table) {
        return context.shared_length(table);
    }
    refuse_metamethod(context, &Abs::Object(Object::Table(table)), "__len", Some("#"))?;
    Ok(Abs::int(context.snapshot.table(table).array.len() as i64))
}

/// `rawget(table, key)` at packet time; `key` is no constant string.
pub fn lookup(context: &mut Context<'_>, table: TableId, key: &Abs) -> Result<Abs> {
    let arms = lookup_arms(context, table, key)?;
    Ok(context.join(arms)?.and_then(|values| values.into_iter().next()).unwrap_or(Abs::Nil))
}

/// [`lookup`], with one arm for each way of finding something or nothing.
pub fn lookup_arms(context: &mut Context<'_>, table: TableId, key: &Abs) -> Result<Vec<Arm>> {
    if context.known.shared.is_shared(context.snapshot, table) {
        return context.read_shared(table, key);
    }
    if context.known.variables.any_field_of(table) && matches!(key, Abs::Str(_)) {
        // Names that were constant so far are not all there are.
        if can_be_map(context.snapshot, table) {
            context.share(table, None)?;
        }
        let what = "indexing a table whose fields the handler changes, by a name that is not constant";
        return context.unsupported(
            what,
            "write the field's name, or keep the fields in local variables",
            None,
        );
    }
    match key {
        Abs::Union(_) => context.arms_of_each(key, &mut |context, key| lookup_arms(context, table, key)),
        Abs::Str(Str::Const(text)) => found(context, table, &Value::String(text.clone())),
        Abs::Int(Word::Imm(index)) => found(context, table, &Value::Integer(*index)),
        Abs::Int(word) => integer_lookup(context, table, *word),
        Abs::Str(text) => string_lookup(context, table, text),
        Abs::Bool(word) => {
            let yes = raw_get(context.snapshot, table, &Value::Boolean(true));
            let no = raw_get(context.snapshot, table, &Value::Boolean(false));
            let cond = context.compare(CompareOp::Ne, *word, 0);
            let (then, otherwise) = context.split(cond);
            Ok(vec![
                Arm { state: then, values: vec![Abs::of_load_time(context.snapshot, &yes)] },
                Arm { state: otherwise, values: vec![Abs::of_load_time(context.snapshot, &no)] },
            ])
        }
        Abs::Float(Word::Imm(bits)) => {
            let key = float_of(*bits);
            found(context, table, &integral(key).map_or(Value::Float(key), Value::Integer))
        }
        Abs::Float(x) => float_lookup(context, table, *x),
        Abs::Object(object) => {
            let key = object_key(context, table, object)?.unwrap_or(Value::Nil);
            found(context, table, &key)
        }
        Abs::Nil | Abs::Entry { .. } | Abs::Structure { .. } => context.only(Abs::Nil),
    }
}

/// The value of a key that is known now.
fn found(context: &mut Context<'_>, table: TableId, key: &Value) -> Result<Vec<Arm>> {
    let value = raw_get(context.snapshot, table, key);
    let value = Abs::of_load_time(context.snapshot, &value);
    context.only(value)
}

/// The key of a table of load time that the object is, if it can be one.
fn object_key(context: &Context<'_>, table: TableId, object: &Object) -> Result<Option<Value>> {
    Ok(match object {
        Object::Table(id) => Some(Value::Table(*id)),
        Object::Builtin(name) => Some(Value::Builtin(name)),
        Object::Opaque(name, number) => Some(Value::Opaque(name, *number)),
        Object::Text(text) => Some(Value::String(text.clone())),
        Object::Closure(closure) => function_key(context, table, closure)?,
        _ => None,
    })
}

fn function_key(context: &Context<'_>, table: TableId, closure: &Closure) -> Result<Option<Value>> {
    let entries = &context.snapshot.table(table).entries;
    let mut keys = entries.iter().map(|(key, _)| key);
    let is_like = |key: &&Value| matches!(key, Value::Closure(id) if Closure::of_load_time(context.snapshot, *id) == *closure);
    let Some(key) = keys.find(is_like) else { return Ok(None) };
    if !closure.is_only_one(context.snapshot) {
        return context.refuse_identity();
    }
    Ok(Some(key.clone()))
}

fn first_of(context: &mut Context<'_>, arms: Vec<Arm>) -> Result<Abs> {
    Ok(context.join(arms)?.and_then(|values| values.into_iter().next()).unwrap_or(Abs::Nil))
}

/// Constants laid out so that an index finds them.
struct Values {
    form: Form,
    /// Address of the first row, if the form takes words.
    rows: Option<ir::MapId>,
    words: usize,
    count: usize,
}

/// One of several values, which are constants, by its number, which is below theirs.
pub fn row_of(context: &mut Context<'_>, values: Vec<Abs>, number: Word) -> Result<Abs> {
    lay_out_values(context, values)?.read(context, number)
}

/// Lays out values; equal ones need nothing but their form.
fn lay_out(context: &mut Context<'_>, values: &[Value]) -> Result<Values> {
    let values = values.iter().map(|value| Abs::of_load_time(context.snapshot, value)).collect();
    lay_out_values(context, values)
}

fn lay_out_values(context: &mut Context<'_>, mut values: Vec<Abs>) -> Result<Values> {
    literals::keep_addresses_as_numbers(&mut values);
    let form = context.form_of(&values.iter().collect::<Vec<_>>(), false)?;
    let (words, count) = (form.words(), values.len());
    if words == 0 {
        return Ok(Values { form, rows: None, words, count });
    }
    let mut bytes = Vec::with_capacity(count * words * 8);
    for value in &values {
        for word in context.encode_as(value, &form, words) {
            bytes.extend(word.constant().unwrap_or(0).to_le_bytes());
        }
    }
    bytes.resize(count.next_power_of_two() * words * 8, 0);
    let rows = Some(context.output.add_rows("values", bytes, words * 8));
    Ok(Values { form, rows, words, count })
}

impl Values {
    /// The value in row `index`, which is below the number of rows.
    fn read(&self, context: &mut Context<'_>, index: Word) -> Result<Abs> {
        let Some(map) = self.rows else { return Ok(self.form.value(&[])) };
        let base = context.emit(Op::DataAddress { map, offset: 0 });
        let size = self.words as i64 * 8;
        let bounded = bounded(context, index, self.count);
        let offset = context.binary(BinaryOp::Mul, bounded, size);
        let offset = context.value(offset);
        let row = context.emit(Op::Binary(BinaryOp::Add, base, offset.into()));
        let words: Vec<Word> =
            (0..self.words).map(|word| context.load(row, word as i16 * 8, Size::B8, false)).collect();
        Ok(self.form.value(&words))
    }
}

/// The same word, with the verifier told that it is below `count` rounded up to a power of two (which it is).
pub fn bounded(words: &mut impl Words, word: Word, count: usize) -> Word {
    let mask = count.next_power_of_two() as i64 - 1;
    words.kept_within(word, mask)
}

fn integer_lookup(context: &mut Context<'_>, id: TableId, key: Word) -> Result<Vec<Arm>> {
    let table: &Table = context.snapshot.table(id);
    let mut arms = Vec::new();
    if !table.array.is_empty() {
        let count = table.array.len();
        let index = context.sub(key, 1);
        let within = context.compare(CompareOp::ULt, index, count as i64);
        let (within, outside) = context.split(within);
        context.state = within;
        arms.push(read_numbered(context, &table.array, index)?);
        context.state = outside;
    }
    let entries = table.entries.iter().filter_map(|(key, value)| match key {
        Value::Integer(key) => Some((*key, value.clone())),
        _ => None,
    });
    arms.extend(numbers::look_up(context, key, entries.collect())?);
    let state = context.take_state();
    arms.push(Arm { state, values: vec![Abs::Nil] });
    Ok(arms)
}

/// A float as the integer that it equals (manual § 2.1), or compared with keys that equal none.
fn float_lookup(context: &mut Context<'_>, id: TableId, key: Word) -> Result<Vec<Arm>> {
    let fractions: Vec<(f64, Value)> = {
        let entries = &context.snapshot.table(id).entries;
        let fraction = |(key, value): &(Value, Value)| match key {
            Value::Float(key) => Some((*key, value.clone())),
            _ => None,
        };
        entries.iter().filter_map(fraction).collect()
    };
    let mut arms = Vec::new();
    for (fraction, value) in fractions {
        let bits = Word::Imm(fraction.to_bits() as i64);
        let same = context.compare_floats(Comparison::Equal, key, bits)?;
        let (same, other) = context.split(same);
        context.state = same;
        let value = Abs::of_load_time(context.snapshot, &value);
        arms.push(Arm { state: context.take_state(), values: vec![value] });
        context.state = other;
    }
    let rest = context.read_float_key(key, &mut |context, key| lookup_arms(context, id, key))?;
    arms.extend(rest);
    Ok(arms)
}

/// The value with a number that is known to be one of theirs.
fn read_numbered(context: &mut Context<'_>, values: &[Value], number: Word) -> Result<Arm> {
    let value = lay_out(context, values)?.read(context, number)?;
    Ok(Arm { state: context.take_state(), values: vec![value] })
}
