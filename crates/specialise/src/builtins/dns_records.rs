//! `pkt.dns:answers()` and the like: iterators over the records of a message (docs/packet.md, Records of DNS messages).
//!
//! In expanded code the iterator's state are cells of this packet, as that of `gmatch` ([`super::gmatch`]), and a record is a table whose
//! fields are known by their names; in general code the library's Lua makes such tables of what the parts give.

use super::call::{Call, Row, returns, row};
use crate::cells::ITERATOR;
use crate::context::{Context, Result};
use crate::field_values::arms;
use crate::fields::Key;
use crate::paths::Arm;
use crate::state::State;
use crate::value::{Abs, Object, Records, Space, Str, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_library::own::dns::{ADDITIONALS, ANSWERS, AUTHORITIES, HEADER, RECORD_PARTS};
use moonhook_packet::ValuePaths;
use moonhook_packet::protocols::{self, DnsRecord, DnsSection};
use std::rc::Rc;

pub const ROWS: &[Row] = &[
    row(ANSWERS, |context, call| records(context, call, DnsSection::Answers)),
    row(AUTHORITIES, |context, call| records(context, call, DnsSection::Authorities)),
    row(ADDITIONALS, |context, call| records(context, call, DnsSection::Additionals)),
];

/// In general code.
pub const PARTS: &[Row] =
    &[row(RECORD_PARTS[0], section), row(RECORD_PARTS[1], beginning), row(RECORD_PARTS[2], data)];

/// A field's value and its name.
type Field = (&'static str, Abs);

fn is_message(context: &mut Context<'_>, call: &Call) -> bool {
    let is = call.arg(1) == Abs::Object(Object::Header(HEADER));
    if !is {
        call.wrong_type(context, 1, HEADER);
    }
    is
}

fn records(context: &mut Context<'_>, call: &Call, section: DnsSection) -> Result<Vec<Arm>> {
    if !is_message(context, call) {
        return Ok(vec![]);
    }
    let start = section_start(context, section)?;
    let cells = [0, 1].map(|number| context.cell_number(ITERATOR - number));
    for (cell, value) in cells.into_iter().zip(start) {
        context.state.cells.insert(cell, Abs::Int(value));
    }
    context.only(Abs::Object(Object::Records(Rc::new(Records { cells }))))
}

/// Where the first record of a section is, and how many there are; none where one does not get there.
fn section_start(context: &mut Context<'_>, section: DnsSection) -> Result<[Word; 2]> {
    let paths = protocols::dns_section(context, section)?;
    let values = |words: Vec<Word>| match words[..] {
        [_, position, count] => vec![Abs::Int(position), Abs::Int(count)],
        _ => vec![Abs::int(0), Abs::int(0)],
    };
    let arms = paths.into_iter().map(|path| Arm { state: path.state, values: values(path.values) });
    Ok(match context.join(arms.collect())?.as_deref() {
        Some([Abs::Int(position), Abs::Int(count)]) => [*position, *count],
        _ => [Word::Imm(0); 2],
    })
}

/// A call of the iterator: the next record, or nil.
pub fn next_record(context: &mut Context<'_>, records: &Records) -> Result<Vec<Arm>> {
    let [position, left] = records.cells;
    let cell = |cell: u32| context.state.cells.get(&cell).cloned();
    let (Some(Abs::Int(at)), Some(Abs::Int(count))) = (cell(position), cell(left)) else {
        let help = "call `answers` where its records are taken";
        return context.unsupported("this iterator of DNS records", help, None);
    };
    let mut ended = Vec::new();
    let none = context.compare_apart(CompareOp::SLe, count, 0);
    context.leave_if(none, &mut ended);
    let mut all = Vec::new();
    if let Some(record) = protocols::dns_record(context, at, &mut ended)? {
        let fewer = context.sub(count, 1);
        context.state.cells.insert(position, Abs::Int(record.next));
        context.state.cells.insert(left, Abs::Int(fewer));
        let mut fields = first_fields(context, &record)?;
        fields.extend(data_fields(context, &record)?);
        let table = make_record(context, fields)?;
        all.push(Arm { state: context.take_state(), values: vec![table] });
    }
    context.enter(ended)?;
    all.push(Arm { state: context.take_state(), values: vec![Abs::Nil] });
    Ok(all)
}

fn make_record(context: &mut Context<'_>, fields: Vec<Field>) -> Result<Abs> {
    let table = context.make_table()?;
    for (name, value) in fields {
        match &table {
            Abs::Object(Object::Made(table)) => context.set_made_field(*table, Key::of_field(name), value),
            Abs::Object(Object::Stored(table)) => {
                context.write_stored(*table, &Abs::text(name), &value)?;
            }
            _ => {}
        }
    }
    Ok(table)
}

fn first_fields(context: &mut Context<'_>, record: &DnsRecord) -> Result<Vec<Field>> {
    let name = context.domain_name(record.name)?;
    let numbers = [("type", record.kind), ("class", record.class), ("ttl", record.ttl)];
    let numbers = numbers.into_iter().map(|(name, word)| (name, Abs::Int(word)));
    Ok([("name", name)].into_iter().chain(numbers).collect())
}

fn data_fields(context: &mut Context<'_>, record: &DnsRecord) -> Result<Vec<Field>> {
    let bytes = Str::Slice { space: Space::Packet, start: record.data, length: record.length };
    let address = protocols::dns_address(context, record)?;
    let address = joined(context, address)?;
    let preference = protocols::dns_preference(context, record)?;
    let preference = joined(context, preference)?;
    let mut others = Vec::new();
    let mut targets = Vec::new();
    if let Some(place) = protocols::dns_target(context, record, &mut others)? {
        let target = context.domain_name(place)?;
        targets.push(Arm { state: context.take_state(), values: vec![target] });
    }
    targets.extend(others.into_iter().map(|state| Arm { state, values: vec![Abs::Nil] }));
    let target = only(context.join(targets)?);
    let data = ("data", Abs::Str(bytes));
    Ok(vec![data, ("address", address), ("target", target), ("preference", preference)])
}

fn joined<'a>(context: &mut Context<'a>, paths: ValuePaths<Context<'a>>) -> Result<Abs> {
    let arms = arms(context, paths)?;
    Ok(only(context.join(arms)?))
}

fn only(values: Option<Vec<Abs>>) -> Abs {
    values.and_then(|values| values.into_iter().next()).unwrap_or(Abs::Nil)
}

/// `(message, number)`: where the first record of a section is, and how many there are.
fn section(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if !is_message(context, call) {
        return Ok(vec![]);
    }
    let number = call.integer(context, 2)?;
    let mut found = Vec::new();
    for section in [DnsSection::Answers, DnsSection::Authorities, DnsSection::Additionals] {
        let is = context.compare(CompareOp::Eq, number, section as i64);
        let (is, other) = context.split(is);
        context.state = is;
        if context.state.alive() {
            let start = section_start(context, section)?;
            found.push(Arm { state: context.take_state(), values: start.map(Abs::Int).into() });
        }
        context.state = other;
    }
    found.push(Arm { state: context.take_state(), values: vec![Abs::int(0), Abs::int(0)] });
    Ok(found)
}

/// `(message, position)`: where the next record is, and what the record begins with; nothing where it is not whole.
fn beginning(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    part(context, call, |context, record| {
        let fields = first_fields(context, record)?;
        let values = fields.into_iter().map(|(_, value)| value);
        Ok([Abs::Int(record.next)].into_iter().chain(values).collect())
    })
}

/// `(message, position)`: the record's data, and what that is.
fn data(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    part(context, call, |context, record| {
        Ok(data_fields(context, record)?.into_iter().map(|(_, value)| value).collect())
    })
}

type Part = fn(&mut Context<'_>, &DnsRecord) -> Result<Vec<Abs>>;

fn part(context: &mut Context<'_>, call: &Call, part: Part) -> Result<Vec<Arm>> {
    if !is_message(context, call) {
        return Ok(vec![]);
    }
    let position = call.integer(context, 2)?;
    let mut missing: Vec<State> = Vec::new();
    let mut all = Vec::new();
    if let Some(record) = protocols::dns_record(context, position, &mut missing)? {
        let values = part(context, &record)?;
        all.extend(each_alternative(context, values)?);
    }
    context.enter(missing)?;
    if context.state.alive() {
        all.extend(returns(context, vec![Abs::Nil])?);
    }
    Ok(all)
}

/// The arms in which all values have a type that is known.
fn each_alternative(context: &mut Context<'_>, values: Vec<Abs>) -> Result<Vec<Arm>> {
    let Some(index) = values.iter().position(|value| matches!(value, Abs::Union(_))) else {
        return returns(context, values);
    };
    let value = values[index].clone();
    context.arms_of_each(&value, &mut |context, known| {
        let mut values = values.clone();
        values[index] = known.clone();
        each_alternative(context, values)
    })
}
