//! What handlers of flow tables call (`require "flow"`): finds the flow of a packet and has its function handle the packet.

use super::call::{Call, Row, row};
use super::mac;
use crate::context::{Context, Result};
use crate::flows::Table;
use crate::given::given;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Str, Word};
use moonhook_flows::{FieldKind, KeyKind, KeyValue, MOST_VALUES};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Words};
use moonhook_library::own::flow::CALL;
use moonhook_packet::{Takes, Value};

pub const ROWS: &[Row] = &[row(CALL.name, emit)];

/// Arguments before the values of the key: the table, the packet and what else handlers are given.
const BEFORE: usize = 3;

/// The first 80 bits of an IPv6 address into which an IPv4 address is mapped are 0, 16 bits of 1 follow (RFC 4291 § 2.5.5.2).
const MAPPED: i64 = 0xffff << 32;

fn emit(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let number = call.integer(context, 1)?;
    let mut arms = Vec::new();
    for index in 0..context.snapshot.flows.len() {
        let is_it = context.compare(CompareOp::Eq, number, index as i64);
        let (it, other) = context.split(is_it);
        context.state = it;
        if context.alive() {
            arms.extend(of_table(context, call, index)?);
        }
        context.state = other;
    }
    // There is no other number: only handlers of flow tables call this.
    if context.alive() {
        arms.push(Arm { state: context.take_state(), values: vec![Abs::bool(false)] });
    }
    Ok(arms)
}

fn of_table(context: &mut Context<'_>, call: &Call, number: usize) -> Result<Vec<Arm>> {
    let kind = context.snapshot.flows[number].key.clone();
    let words = match &kind {
        KeyKind::Fields(_) => words_of_fields(context, call, &kind)?,
        KeyKind::Values => words_of_values(context, call)?,
    };
    if !context.alive() {
        return Ok(vec![]);
    }
    let table = Table::of(context, number);
    let (verdict, without) = table.call_function(context, &words)?;
    let found = Arm { state: context.take_state(), values: vec![Abs::bool(true), Abs::Int(verdict)] };
    context.enter(without)?;
    let none = Arm { state: context.take_state(), values: vec![Abs::bool(false)] };
    Ok(vec![found, none])
}

fn words_of_fields(context: &mut Context<'_>, call: &Call, kind: &KeyKind) -> Result<Vec<Word>> {
    let mut words = Vec::new();
    for (number, kind) in (BEFORE + 1..).zip(kind.arguments()) {
        match kind {
            FieldKind::Address => {
                let (found, others) = call.address(context, number)?;
                let address = address(context, found)?;
                words.extend(address);
                context.fail_in(others, |context| {
                    call.argument_error(context, number, "IP address expected");
                    Ok(())
                })?;
            }
            FieldKind::Mac => words.push(mac_argument(context, call, number)?),
            FieldKind::Number(_) => words.push(call.integer(context, number)?),
        }
    }
    Ok(words)
}

/// The two words of an address on all paths where there is one, which meet.
fn address(context: &mut Context<'_>, found: Vec<(State, Value)>) -> Result<[Word; 2]> {
    let mut arms = Vec::new();
    for (state, value) in found {
        context.state = state;
        let words = match value {
            Value::Ipv4(address) => {
                [Word::Imm(0), context.binary(moonhook_ir::BinaryOp::Or, address, MAPPED)]
            }
            Value::Ipv6(high, low) => [high, low],
            _ => continue,
        };
        arms.push(Arm { state: context.take_state(), values: words.map(Abs::Int).to_vec() });
    }
    let joined = context.join(arms)?;
    Ok(match joined.as_deref() {
        Some([Abs::Int(high), Abs::Int(low)]) => [*high, *low],
        _ => [Word::Imm(0); 2],
    })
}

fn mac_argument(context: &mut Context<'_>, call: &Call, number: usize) -> Result<Word> {
    if !call.is_in_memory(context, number) {
        return Ok(match given(context, Takes::Mac, &call.arg(number))? {
            Some(Value::Mac(address)) => address,
            _ => {
                call.argument_error(context, number, "MAC address expected");
                Word::Imm(0)
            }
        });
    }
    let Some(text) = call.string(context, number)? else { return Ok(Word::Imm(0)) };
    let mut found = Vec::new();
    for arm in mac::parsed(context, text)? {
        context.state = arm.state;
        match arm.values.first() {
            Some(Abs::Str(Str::Mac(address))) => {
                found.push(Arm { state: context.take_state(), values: vec![Abs::Int(*address)] });
            }
            _ => call.argument_error(context, number, "MAC address expected"),
        }
    }
    context.join_word(found)
}

/// A word of types, then two words of each value; behind the first value that is nil there is none.
fn words_of_values(context: &mut Context<'_>, call: &Call) -> Result<Vec<Word>> {
    let mut words = vec![Word::Imm(0)];
    for value in 0..MOST_VALUES {
        let number = BEFORE + 1 + value;
        let mut arms = Vec::new();
        for state in split_nil(context, call, number) {
            arms.push(Arm { state, values: vec![Abs::int(0); 3] });
        }
        if context.alive() {
            arms.extend(value_arms(context, call, number)?);
        }
        let joined = context.join(arms)?;
        let Some([Abs::Int(code), Abs::Int(high), Abs::Int(low)]) = joined.as_deref() else {
            return Ok(words);
        };
        let code = context.shl(*code, 4 * value as i64);
        words[0] = context.binary(moonhook_ir::BinaryOp::Or, words[0], code);
        words.extend([*high, *low]);
    }
    Ok(words)
}

/// The states in which an argument is nil, or missing; goes on in the others.
fn split_nil(context: &mut Context<'_>, call: &Call, number: usize) -> Vec<State> {
    if call.is_in_memory(context, number) {
        return context.split_nil_argument(number);
    }
    if call.is_none_or_nil(number) { vec![context.take_state()] } else { vec![] }
}

/// Type and words of a value, on each path.
fn value_arms(context: &mut Context<'_>, call: &Call, number: usize) -> Result<Vec<Arm>> {
    if let Abs::Str(Str::Mac(address)) = call.arg(number) {
        let values = [Word::Imm(KeyValue::MAC as i64), Word::Imm(0), address];
        return Ok(vec![Arm { state: context.take_state(), values: values.map(Abs::Int).to_vec() }]);
    }
    let (found, others) = call.address(context, number)?;
    let [high, low] = address(context, found)?;
    let values = [Word::Imm(KeyValue::ADDRESS as i64), high, low];
    let mut arms = vec![Arm { state: context.take_state(), values: values.map(Abs::Int).to_vec() }];
    context.enter(others)?;
    if context.alive() {
        let integer = call.integer(context, number)?;
        let values = [Word::Imm(KeyValue::INTEGER as i64), Word::Imm(0), integer];
        arms.push(Arm { state: context.take_state(), values: values.map(Abs::Int).to_vec() });
    }
    Ok(arms)
}
