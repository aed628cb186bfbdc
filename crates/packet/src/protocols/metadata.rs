//! What the kernel keeps beside a packet: `pkt.mark` and its like, numbers of 32 bits, at hooks that have them.

use super::header::{Assignment, Headers, Protocol, RefusedBy, Values, Write};
use crate::assign::{Takes, word_of};
use crate::{Machine, Value};
use moonhook_hook::Metadata;
use moonhook_ir::Size;

/// All that some hook has.
pub fn protocols<M: Machine>() -> [Protocol<M>; 5] {
    [
        Protocol::number("ifindex", |machine| read(machine, "ifindex"), None),
        Protocol::number(
            "mark",
            |machine| read(machine, "mark"),
            assigned(|machine, value, refused| write(machine, "mark", value, refused)),
        ),
        Protocol::number(
            "priority",
            |machine| read(machine, "priority"),
            assigned(|machine, value, refused| write(machine, "priority", value, refused)),
        ),
        Protocol::number(
            "queue",
            |machine| read(machine, "queue"),
            assigned(|machine, value, refused| write(machine, "queue", value, refused)),
        ),
        Protocol::number("rxhash", |machine| read(machine, "rxhash"), None),
    ]
}

fn assigned<M: Machine>(write: Write<M>) -> Option<Assignment<M>> {
    Some(Assignment { takes: Takes::Number(32), write })
}

fn read<M: Machine>(machine: &mut M, name: &str) -> Values<M> {
    let Some(Metadata { at, .. }) = machine.hook().metadata(name) else {
        return machine.only(Value::Nothing);
    };
    let context = machine.program_context();
    let context = machine.value(context);
    let word = machine.load(context, *at, Size::B4, false);
    machine.only(Value::Number(word))
}

/// Where programs of the hook cannot change it, no state is left.
fn write<M: Machine>(
    machine: &mut M,
    name: &str,
    value: Value,
    refused: &mut RefusedBy<M>,
) -> Result<(), M::Stop> {
    let (Some(Metadata { at, is_written: true, .. }), Some(word)) =
        (machine.hook().metadata(name), word_of(value))
    else {
        refused.absent.push(machine.take_state());
        return Ok(());
    };
    let context = machine.program_context();
    let context = machine.value(context);
    machine.store(context, *at, Size::B4, word);
    Ok(())
}
