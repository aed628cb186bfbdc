//! A field of one of several tables of load time: found in data by which of them it is, not by telling them apart one after another.
//!
//! `servers[number].mac` takes the same time for three servers and for three thousand, and there is no branch that a processor has to
//! guess.

use super::{raw_get, row_of};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Object, Str, Union, Variant, Word};
use crate::variables::VariableId;
use moonhook_ir::words::{Branches, Words};
use moonhook_snapshot::{TableId, Value};
use std::sync::Arc;

/// Fewer tables are told apart.
const FEW: usize = 3;
/// Rows for each table at most: objects that are none of the tables have numbers between theirs.
const SPARSE: usize = 4;

/// `object.key`, if the object may be one of several tables of load time that have a constant there. What else it may be is left to
/// `other`.
pub fn index(
    context: &mut Context<'_>,
    object: &Abs,
    key: &Abs,
    other: &mut dyn FnMut(&mut Context<'_>, &Abs) -> Result<Vec<Arm>>,
) -> Result<Option<Vec<Arm>>> {
    let (Abs::Union(union), Abs::Str(Str::Const(name))) = (object, key) else { return Ok(None) };
    let Some(constants) = constants(context, union, name) else { return Ok(None) };
    let Some((first, rows)) = rows(&constants) else { return Ok(None) };
    let variants = constants.into_iter().map(|(variant, _)| variant).collect();
    let tables = Union { variants, ..(**union).clone() };
    let mut arms = Vec::new();
    let others = context.split_off(union, &tables);
    let here = context.take_state();
    for (state, value) in others {
        context.state = state;
        arms.extend(other(context, &value)?);
    }
    context.state = here;
    let row = context.sub(tables.tag, first);
    let value = row_of(context, rows, row)?;
    arms.push(Arm { state: context.take_state(), values: vec![value] });
    Ok(Some(arms))
}

/// What all objects that the value may be have under that name, if they are tables of load time and have no other values there than
/// constants that handlers leave as they are.
fn constants(context: &Context<'_>, union: &Union, name: &Arc<[u8]>) -> Option<Vec<(Variant, Abs)>> {
    let objects = union.variants.iter().filter_map(|variant| match variant {
        Variant::Object(id) => Some((*variant, *id)),
        _ => None,
    });
    let constant = |(variant, id)| match context.known.objects.get(id) {
        Some(Object::Table(table)) => Some((variant, constant_of(context, *table, name)?)),
        _ => None,
    };
    let constants: Vec<(Variant, Abs)> = objects.map(constant).collect::<Option<_>>()?;
    let is_entry = |variant: &Variant| matches!(variant, Variant::Entry(_));
    (constants.len() >= FEW && !union.variants.iter().any(is_entry)).then_some(constants)
}

fn constant_of(context: &Context<'_>, table: TableId, name: &Arc<[u8]>) -> Option<Abs> {
    let variables = &context.known.variables;
    if context.known.shared.is_shared(context.snapshot, table)
        || variables.is_assigned(&VariableId::Field(table, name.clone()))
    {
        return None;
    }
    let value = raw_get(context.snapshot, table, &Value::String(name.clone()));
    let is_inherited = value == Value::Nil && context.snapshot.table(table).metatable.is_some();
    let is_data = match value {
        Value::Nil | Value::Boolean(_) | Value::Integer(_) | Value::String(_) => !is_inherited,
        Value::Table(inner) => context.snapshot.table(inner).metatable.is_none(),
        Value::Float(_) | Value::Closure(_) | Value::Builtin(_) | Value::Opaque(..) => false,
    };
    is_data.then(|| Abs::of_load_time(context.snapshot, &value))
}

/// The tag of the first row, and the rows; `None` if too many of them would belong to no table.
fn rows(constants: &[(Variant, Abs)]) -> Option<(Word, Vec<Abs>)> {
    let tags = || constants.iter().map(|(variant, _)| variant.tag());
    let (first, last) = (tags().min()?, tags().max()?);
    let count = usize::try_from(last - first).ok()? + 1;
    if count > constants.len() * SPARSE {
        return None;
    }
    let mut rows = vec![constants.first()?.1.clone(); count];
    for (variant, value) in constants {
        rows[(variant.tag() - first) as usize] = value.clone();
    }
    Some((Word::Imm(first), rows))
}
