//! What functions and maps of `bpf.object` call: functions of C objects, and their maps, by integers.

use super::call::{Call, Row, for_each_number, returns, row};
use crate::chains::filled;
use crate::context::{Context, Result};
use crate::linked::{self, KEY, load, look_up, store, zeroed};
use crate::paths::Arm;
use crate::value::{Abs, Object, Word};
use moonhook_ir as ir;
use moonhook_ir::helper::{MAP_DELETE_ELEM, MAP_UPDATE_ELEM};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{CompareOp, Op};
use moonhook_library::own::bpf::{CALL, DELETE, GET, SET};
use moonhook_snapshot::{Leaf, LoadedMap, Parameter};

pub const ROWS: &[Row] =
    &[row(CALL.name, call), row(GET.name, get), row(SET.name, set), row(DELETE.name, delete)];

/// Names the slots of memory for values.
const VALUE: u32 = 13;

fn call(context: &mut Context, call: &Call) -> Result<Vec<Arm>> {
    let snapshot = context.snapshot;
    for_each_number(context, call, snapshot.functions.len(), |context, index| {
        let function = &snapshot.functions[index];
        let mut next = 2;
        let (mut words, mut records) = (Vec::new(), Vec::new());
        for parameter in &function.parameters {
            words.push(match parameter {
                Parameter::Context(structure) => {
                    let packet = packet(context, call, next)?;
                    next += 1;
                    linked::check_context(context, function.program, structure)?;
                    packet
                }
                Parameter::Number(leaf) => {
                    let number = call.integer(context, next)?;
                    next += 1;
                    as_c(context, number, leaf)
                }
                Parameter::Record { bytes, leaves, .. } => {
                    let slot = context.code.function.new_slot(*bytes);
                    let place = zeroed(context, slot, *bytes);
                    for leaf in leaves {
                        let number = call.integer(context, next)?;
                        next += 1;
                        store(context, place, leaf, number);
                    }
                    records.push((place, parameter));
                    Word::Value(place)
                }
            });
            if !context.alive() {
                return Ok(vec![]);
            }
        }
        let answer = linked::call_function(context, function.program, &words)?;
        let result = match &function.result {
            Some(leaf) => as_c(context, answer, leaf),
            None => Word::Imm(0),
        };
        let mut values = vec![Abs::Int(result)];
        for (place, parameter) in records {
            if let Parameter::Record { leaves, is_constant: false, .. } = parameter {
                values.extend(leaves.iter().map(|leaf| Abs::Int(load(context, place, leaf))));
            }
        }
        returns(context, values)
    })
}

/// The packet, which that argument is.
fn packet(context: &mut Context<'_>, call: &Call, number: usize) -> Result<Word> {
    if call.is_in_memory(context, number) {
        context.packet_argument(number)?;
    } else if !matches!(call.arg(number), Abs::Object(Object::Packet)) {
        call.wrong_type(context, number, "packet");
    }
    Ok(Word::Value(context.code.function.params[0]))
}

fn get(context: &mut Context, call: &Call) -> Result<Vec<Arm>> {
    on_map(context, call, |context, index| {
        let (map, key) = key(context, call, index, 2)?;
        let found = look_up(context, map, key);
        let is_none = context.compare(CompareOp::Eq, found, 0);
        let (none, some) = context.split(is_none);
        context.state = none;
        let leaves = &context.snapshot.maps[index].value;
        let mut arms = Vec::new();
        if context.alive() {
            let mut values = vec![Abs::Bool(Word::Imm(0))];
            values.extend(leaves.iter().map(|_| Abs::int(0)));
            arms.extend(returns(context, values)?);
        }
        context.state = some;
        if context.alive() {
            let place = context.value(found);
            let mut values = vec![Abs::Bool(Word::Imm(1))];
            values.extend(leaves.iter().map(|leaf| Abs::Int(load(context, place, leaf))));
            arms.extend(returns(context, values)?);
        }
        Ok(arms)
    })
}

fn set(context: &mut Context, call: &Call) -> Result<Vec<Arm>> {
    on_map(context, call, |context, index| {
        let (map, key) = key(context, call, index, 2)?;
        let LoadedMap { object, map: number, key: parts, value } = &context.snapshot.maps[index];
        let bytes = context.snapshot.objects[*object].maps[*number].value.0;
        let slot = context.known.shared.slot(bytes << 1 | VALUE, bytes, &mut context.code.function);
        let place = zeroed(context, slot, bytes);
        for (position, leaf) in value.iter().enumerate() {
            let number = call.integer(context, 2 + parts.len() + position)?;
            store(context, place, leaf, number);
        }
        let map = context.emit(Op::MapReference(map));
        // Whether there is an entry or not (`BPF_ANY`).
        let flags = context.value(Word::Imm(0));
        let done = context.helper(MAP_UPDATE_ELEM, &[map, key, place, flags].map(Word::Value));
        done_if(context, done, &[0])
    })
}

fn delete(context: &mut Context, call: &Call) -> Result<Vec<Arm>> {
    /// Of an entry that is not there, `-ENOENT` (include/uapi/asm-generic/errno-base.h).
    const NONE: i64 = -2;
    on_map(context, call, |context, index| {
        let (map, key) = key(context, call, index, 2)?;
        let map = context.emit(Op::MapReference(map));
        let done = context.helper(MAP_DELETE_ELEM, &[map, key].map(Word::Value));
        done_if(context, done, &[0, NONE])
    })
}

/// Whether a helper's answer is one of these.
fn done_if(context: &mut Context<'_>, answer: Word, good: &[i64]) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    for number in good {
        let is_it = context.compare(CompareOp::Eq, answer, *number);
        let (it, other) = context.split(is_it);
        context.state = it;
        if context.alive() {
            arms.extend(returns(context, vec![Abs::Bool(Word::Imm(1))])?);
        }
        context.state = other;
    }
    if context.alive() {
        arms.extend(returns(context, vec![Abs::Bool(Word::Imm(0))])?);
    }
    Ok(arms)
}

/// The map, and the address of the key whose integers are the arguments from that number on.
fn key(context: &mut Context<'_>, call: &Call, index: usize, first: usize) -> Result<(ir::MapId, ir::Value)> {
    let LoadedMap { object, map, key, .. } = &context.snapshot.maps[index];
    let bytes = context.snapshot.objects[*object].maps[*map].key.0;
    let slot = context.known.shared.slot(bytes << 1 | KEY, bytes, &mut context.code.function);
    let place = zeroed(context, slot, bytes);
    for (position, leaf) in key.iter().enumerate() {
        let number = call.integer(context, first + position)?;
        store(context, place, leaf, number);
    }
    Ok((linked::map(context, *object, *map), place))
}

/// An integer as C has one of that type.
fn as_c(context: &mut Context<'_>, number: Word, leaf: &Leaf) -> Word {
    if !context.alive() {
        return Word::Imm(0);
    }
    filled(context, number, moonhook_eclat::ast::Type { bits: 8 * leaf.bytes, is_signed: leaf.is_signed })
}

fn on_map<'c>(
    context: &mut Context<'c>,
    call: &Call,
    body: impl FnMut(&mut Context<'c>, usize) -> Result<Vec<Arm>>,
) -> Result<Vec<Arm>> {
    for_each_number(context, call, context.snapshot.maps.len(), body)
}
