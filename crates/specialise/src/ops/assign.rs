//! Assignments to fields, and table constructors (Lua manual § 3.3.3, § 3.4.9).

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::fields::Key;
use crate::first_sums::First;
use crate::frame::{Frame, Next};
use crate::message::Message;
use crate::names::{self, Name};
use crate::opcode::{Instruction, Opcode};
use crate::ops::comparison;
use crate::shared::held::STALE;
use crate::value::{Abs, Object, Str, Word, float_of};
use crate::variables::known::VariableId;
use crate::{field_writes, tables};
use moonhook_ir::words::Branches;
use moonhook_snapshot::{TableId, Value};
use std::sync::Arc;

pub fn execute<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    opcode: Opcode,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    match opcode {
        Opcode::NewTable => {
            let table = context.make_table()?;
            context.state.set(i.a(), table);
            Ok(Next::Continue)
        }
        Opcode::SetList => set_list(context, frame, i, pc),
        _ => assign(context, frame, opcode, i, pc),
    }
}

/// `R[A][C + n] := R[A + n]`: the elements of a constructor (manual § 3.4.9).
fn set_list<'a>(context: &mut Context<'a>, frame: &mut Frame<'a>, i: Instruction, pc: usize) -> Result<Next> {
    let extra = match frame.prototype.code.get(pc + 1) {
        Some(extra) if i.k() => Instruction(*extra).ax() << 10,
        _ => 0,
    };
    let values: Vec<Abs> = match (i.vb(), frame.open.take()) {
        (0, Some((base, open))) => {
            (i.a() + 1..base).map(|register| context.state.get(register)).chain(open).collect()
        }
        (count, _) => (1..=count).map(|number| context.state.get(i.a() + number)).collect(),
    };
    let table = context.state.get(i.a());
    let first = (i.vc() + extra + 1) as i64;
    for (index, value) in (first..).zip(values) {
        match &table {
            Abs::Object(Object::Made(table)) => context.set_made_field(*table, Key::Integer(index), value),
            Abs::Object(Object::Stored(table)) => context.write_stored(*table, &Abs::int(index), &value)?,
            _ => return context.refuse(LowerErrorKind::TableConstructor, Some("{")),
        }
    }
    Ok(Next::Continue)
}

fn assign<'a>(
    context: &mut Context<'a>,
    frame: &Frame<'a>,
    opcode: Opcode,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let value = context.register_or_constant(frame, i);
    let (object, name) = match opcode {
        Opcode::SetTabUp => (
            super::loads::read_upvalue(context, frame, i.a()),
            Some(names::of_upvalue(frame.prototype, i.a())),
        ),
        _ => (context.state.get(i.a()), context.execution.register_name(i.a())),
    };
    let key = match opcode {
        Opcode::SetTable => context.state.get(i.b()),
        Opcode::SetI => Abs::int(i.b() as i64),
        _ => frame.constant(context.snapshot, i.b()),
    };
    let first = context.execution.first_sums(frame.closure.prototype).get(&pc).cloned();
    if let Some(first) = &first {
        context.known.shared.first_fields.clone_from(&first.fields);
    }
    let assigned = assign_field(context, &object, &key, &value, &Target { name, first });
    context.known.shared.first_fields.clear();
    assigned?;
    Ok(Next::Continue)
}

/// What a table is called that is assigned to, and whether what is assigned may be a first count.
struct Target {
    name: Option<Name>,
    first: Option<First>,
}

fn assign_field(
    context: &mut Context<'_>,
    object: &Abs,
    key: &Abs,
    value: &Abs,
    target: &Target,
) -> Result<()> {
    let Target { name, first } = target;
    if let Some(handler) = newindex_of_empty(context, object) {
        let metamethod = Some(("metamethod", b"newindex".to_vec()));
        let args = vec![object.clone(), key.clone(), value.clone()];
        let arms = context.call(&handler, args, metamethod)?;
        return context.enter(arms.into_iter().map(|arm| arm.state).collect());
    }
    let title = names::text(name).filter(|name| *name != "?");
    match (object, key) {
        (Abs::Object(Object::Table(table)), _)
            if context.known.shared.is_shared(context.snapshot, *table) =>
        {
            let value = context.as_first_sum(first, object, key, value.clone())?;
            context.write_shared(*table, key, &value)
        }
        (Abs::Entry { path, base }, key) => {
            let value = context.as_first_sum(first, object, key, value.clone())?;
            context.write_entry(*path, *base, key, &value)
        }
        (stale, _) if *stale == STALE => context.refuse_stale(title),
        (Abs::Object(Object::Made(table)), _) => assign_made(context, *table, key, value, target),
        (Abs::Object(Object::Stored(table)), _) => context.write_stored(*table, key, value),
        (Abs::Object(Object::Table(table)), Abs::Str(Str::Const(field)))
            if has_newindex(context, &Object::Table(*table)) =>
        {
            let known = context.field_of_table(*table, field);
            let mut raw = |context: &mut Context<'_>| assign_variable(context, *table, field, value);
            assign_where_missing(context, (object, key, value), (known, target), &mut raw)
        }
        (Abs::Object(Object::Table(table)), Abs::Str(Str::Const(field))) => {
            assign_variable(context, *table, field, value)
        }
        (Abs::Object(Object::Table(table)), _) => {
            tables::refuse_metamethod(context, object, "__newindex", title)?;
            context.share(*table, title)?;
            context.write_shared(*table, key, value)
        }
        (Abs::Object(object @ (Object::Packet | Object::Argument | Object::Header(_))), key) => {
            field_writes::assign(context, object, key, value)
        }
        (Abs::Structure { .. }, _) => {
            context.fail(Message::new(field_writes::READ_ONLY));
            Ok(())
        }
        (Abs::Union(_), _) => {
            context.dispatch(object, &mut |context, object| {
                match object {
                    Abs::Nil | Abs::Bool(_) | Abs::Int(_) | Abs::Float(_) | Abs::Str(_) => {
                        not_indexable(context, &object, name, false)
                    }
                    object => assign_field(context, &object, key, value, target)?,
                }
                Ok(vec![])
            })?;
            Ok(())
        }
        (other, _) => {
            not_indexable(context, other, name, true);
            Ok(())
        }
    }
}

/// What is called for each assignment to a table of load time in which there is nothing: its metamethod, where that is a function of the
/// script (manual § 2.4).
fn newindex_of_empty(context: &mut Context<'_>, object: &Abs) -> Option<Abs> {
    let Abs::Object(Object::Table(id)) = object else { return None };
    let table = context.snapshot.table(*id);
    let is_empty = table.array.is_empty() && table.entries.is_empty();
    if !is_empty || table.metatable.is_none() || context.known.shared.is_shared(context.snapshot, *id) {
        return None;
    }
    let is_assigned = context.known.variables.any_field_of(*id);
    tables::metamethod(context, object, "__newindex").filter(|_| !is_assigned)
}

/// Whether assigning a field that is not there would do something else (manual § 2.4).
fn has_newindex(context: &Context<'_>, table: &Object) -> bool {
    let metatable = context.state.metatable_of(context.snapshot, table);
    metatable.is_some_and(|metatable| {
        context.state.metafield(context.snapshot, &metatable, "__newindex") != Abs::Nil
    })
}

/// A field of a table of load time, by a constant name.
fn assign_variable(context: &mut Context<'_>, table: TableId, field: &Arc<[u8]>, value: &Abs) -> Result<()> {
    let initial = tables::raw_get(context.snapshot, table, &Value::String(field.clone()));
    let name = String::from_utf8_lossy(field).into_owned();
    context.assign(VariableId::Field(table, field.clone()), &initial, value, &name)
}

/// Assigns to a table with `__newindex` by a key under which it has `known`: that metamethod is called, or its table assigned to, where there is nothing
/// (manual § 2.4), and elsewhere `raw` assigns.
fn assign_where_missing<'c>(
    context: &mut Context<'c>,
    (object, key, value): (&Abs, &Abs, &Abs),
    (known, target): (Abs, &Target),
    raw: &mut dyn FnMut(&mut Context<'c>) -> Result<()>,
) -> Result<()> {
    let Abs::Object(table) = object else { return Ok(()) };
    let Some(metatable) = context.state.metatable_of(context.snapshot, table) else { return raw(context) };
    let handler = context.state.metafield(context.snapshot, &metatable, "__newindex");
    let missing = comparison::equal(context, &known, &Abs::Nil)?;
    let (missing, found) = context.split_truth(&missing);
    let mut after = Vec::new();
    for state in found {
        context.state = state;
        raw(context)?;
        after.push(context.take_state());
    }
    for state in missing {
        context.state = state;
        match &handler {
            Abs::Object(Object::Closure(_)) => {
                let metamethod = Some(("metamethod", b"newindex".to_vec()));
                let args = vec![object.clone(), key.clone(), value.clone()];
                let arms = context.call(&handler, args, metamethod)?;
                after.extend(arms.into_iter().map(|arm| arm.state));
            }
            Abs::Object(Object::Made(next)) if Object::Made(*next) != *table => {
                assign_field(context, &handler, key, value, target)?;
                after.push(context.take_state());
            }
            _ => return context.refuse(LowerErrorKind::Metamethod { event: "__newindex" }, None),
        }
    }
    context.enter(after)
}

/// A field of a table made at packet time.
fn assign_made(context: &mut Context<'_>, table: u32, key: &Abs, value: &Abs, target: &Target) -> Result<()> {
    let object = Abs::Object(Object::Made(table));
    if matches!(key, Abs::Union(_)) {
        context.dispatch(key, &mut |context, key| {
            assign_made(context, table, &key, value, target)?;
            Ok(vec![])
        })?;
        return Ok(());
    }
    let Some(known) = Key::of(key) else {
        tables::refuse_metamethod(context, &object, "__newindex", None)?;
        return match key {
            Abs::Nil => {
                context.certain_error("table index is nil", None, "use a key that is not nil");
                Ok(())
            }
            Abs::Object(_) => context.needs_memory("["),
            Abs::Float(Word::Imm(bits)) if float_of(*bits).is_nan() => {
                context.certain_error("table index is NaN", None, "use a key that is a number");
                Ok(())
            }
            Abs::Float(_) => context.refuse(LowerErrorKind::TableConstructor, Some("[")),
            _ => context.needs_entries(table, Some(key), "["),
        };
    };
    let mut raw = |context: &mut Context<'_>| {
        context.set_made_field(table, known.clone(), value.clone());
        Ok(())
    };
    if !has_newindex(context, &Object::Made(table)) {
        return raw(context);
    }
    let present = context.state.made_field(table, &known);
    assign_where_missing(context, (&object, key, value), (present, target), &mut raw)
}

fn not_indexable(context: &mut Context<'_>, object: &Abs, name: &Option<Name>, certain: bool) {
    let type_name = object.message_name();
    let message = names::named(format!("attempt to index a {type_name} value"), name);
    context.type_error(message, certain, names::text(name));
}
