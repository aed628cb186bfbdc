//! What the kernel keeps beside a packet: `pkt.mark` and its like, numbers of 32 bits, and times, at hooks that have them.

use super::header::{Assignment, Headers, Protocol, RefusedBy, Values, Write};
use crate::assign::{Takes, word_of};
use crate::{Machine, Value};
use moonhook_hook::{Path, Source};
use moonhook_ir::words::Word;
use moonhook_ir::{BinaryOp, CompareOp, KernelField, Size, Value as Place};

/// All that some hook has.
pub fn protocols<M: Machine>() -> [Protocol<M>; 7] {
    [
        Protocol::number("ifindex", |machine| read(machine, "ifindex"), None),
        Protocol::number(
            "mark",
            |machine| read(machine, "mark"),
            assigned(32, |machine, value, refused| write(machine, "mark", value, refused)),
        ),
        Protocol::number(
            "priority",
            |machine| read(machine, "priority"),
            assigned(32, |machine, value, refused| write(machine, "priority", value, refused)),
        ),
        Protocol::number(
            "queue",
            |machine| read(machine, "queue"),
            assigned(32, |machine, value, refused| write(machine, "queue", value, refused)),
        ),
        Protocol::number("rxhash", |machine| read(machine, "rxhash"), None),
        Protocol::number("hwtimestamp", |machine| read(machine, "hwtimestamp"), None),
        Protocol::number(
            "timestamp",
            |machine| read(machine, "timestamp"),
            assigned(TIME_BITS, |machine, value, refused| write(machine, "timestamp", value, refused)),
        ),
    ]
}

/// The kernel keeps times in ns as signed numbers (`ktime_t`).
const TIME_BITS: u32 = 63;

fn assigned<M: Machine>(bits: u32, write: Write<M>) -> Option<Assignment<M>> {
    Some(Assignment { takes: Takes::Number(bits), write })
}

fn read<M: Machine>(machine: &mut M, name: &str) -> Values<M> {
    match number(machine, name) {
        Some(word) => machine.only(Value::Number(word)),
        None => machine.only(Value::Nothing),
    }
}

/// What the kernel keeps under that name; `None` at hooks that do not have it.
pub fn number<M: Machine>(machine: &mut M, name: &str) -> Option<Word> {
    let metadata = machine.hook().metadata(name)?;
    let context = machine.program_context();
    let context = machine.value(context);
    Some(match metadata.source {
        Source::Word { at, bits, .. } => machine.load(context, at, size(bits), false),
        Source::Structures(paths) => {
            let mut found = Word::Imm(0);
            for path in paths.iter().rev() {
                let number = follow(machine, context, path);
                // Where the number is 0, all bits of the other one are kept, else none.
                let is_zero = machine.compare(CompareOp::Eq, number, 0);
                let is_zero = machine.condition_word(is_zero);
                let mask = machine.sub(0, is_zero);
                let other = machine.and(found, mask);
                found = machine.binary(BinaryOp::Or, number, other);
            }
            found
        }
    })
}

fn size(bits: u32) -> Size {
    if bits > 32 { Size::B8 } else { Size::B4 }
}

/// The number at the end of a path. What lies behind an address that is 0 is 0.
fn follow<M: Machine>(machine: &mut M, context: Place, path: &Path) -> Word {
    let mut found = machine.load(context, path.at, Size::B8, false);
    for field in path.fields.iter().filter_map(|field| KernelField::named(field)) {
        let base = machine.value(found);
        found = machine.kernel_field(base, field);
    }
    found
}

/// Where programs of the hook cannot change it, no state is left.
fn write<M: Machine>(
    machine: &mut M,
    name: &str,
    value: Value,
    refused: &mut RefusedBy<M>,
) -> Result<(), M::Stop> {
    let source = machine.hook().metadata(name).map(|metadata| metadata.source);
    let (Some(Source::Word { at, bits, is_written: true }), Some(word)) = (source, word_of(value)) else {
        refused.absent.push(machine.take_state());
        return Ok(());
    };
    let context = machine.program_context();
    let context = machine.value(context);
    machine.store(context, at, size(bits), word);
    Ok(())
}
