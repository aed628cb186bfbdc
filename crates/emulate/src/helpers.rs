//! Helpers by their numbers (include/uapi/linux/bpf.h): what the kernel does for a program, in user space.
//!
//! What tells others something is ignored; what asks the kernel for a route hears that there is none.

use crate::checksum;
use crate::execute::Machine;
use crate::fault::{Fault, FaultKind, MapError};
use crate::maps::Map;
use crate::memory::{Address, Region};

type Arguments = [u64; 5];
type Helper = fn(&mut Machine<'_>, Arguments) -> Result<u64, Fault>;

const HELPERS: &[(u32, Helper)] = &[
    (1, map_lookup_elem),
    (2, map_update_elem),
    (3, map_delete_elem),
    (5, now),
    (6, |machine, [text, size, ..]| ignored(machine, text, size)),
    (7, |machine, _| Ok(u64::from(machine.host.random()))),
    // bpf_get_smp_processor_id: there is one.
    (8, |_, _| Ok(0)),
    (23, redirect),
    (25, |machine, [_, _, _, data, size]| ignored(machine, data, size)),
    (28, csum_diff),
    (44, |machine, [context, delta, ..]| adjust(machine, (context, "bpf_xdp_adjust_head"), delta, true)),
    (65, |machine, [context, delta, ..]| adjust(machine, (context, "bpf_xdp_adjust_tail"), delta, false)),
    (69, fib_lookup),
    (125, now),
    (130, |machine, [_, data, size, ..]| ignored(machine, data, size)),
    (164, for_each_map_elem),
    (181, turns),
];

/// Errors (include/uapi/asm-generic/errno-base.h).
const E2BIG: i64 = 7;
const EINVAL: i64 = 22;

/// Results (include/uapi/linux/bpf.h).
const XDP_ABORTED: u64 = 0;
const XDP_REDIRECT: u64 = 4;
const BPF_FIB_LKUP_RET_NOT_FWDED: u64 = 4;

/// Bytes of `struct bpf_fib_lookup`.
const FIB_LOOKUP: usize = 64;
/// `BPF_MAX_LOOPS` (include/linux/bpf.h).
const MOST_TURNS: u32 = 8 << 20;

pub(crate) fn call(machine: &mut Machine<'_>, number: u32, arguments: Arguments) -> Result<u64, Fault> {
    let row = HELPERS.iter().find(|(row, _)| *row == number);
    let (_, helper) = row.ok_or(FaultKind::Helper(number))?;
    helper(machine, arguments)
}

fn error(number: i64) -> u64 {
    (-number).cast_unsigned()
}

fn wrong(helper: &'static str, problem: &'static str) -> Fault {
    FaultKind::Argument { helper, problem }.into()
}

fn now(machine: &mut Machine<'_>, _: Arguments) -> Result<u64, Fault> {
    Ok(machine.host.now())
}

/// Reads what nobody is told.
fn ignored(machine: &mut Machine<'_>, data: u64, size: u64) -> Result<u64, Fault> {
    bytes(machine, data, size as usize).map(|_| 0)
}

/// A copy of memory.
fn bytes(machine: &mut Machine<'_>, address: u64, size: usize) -> Result<Vec<u8>, Fault> {
    // It is there, and has been paid, before it is copied.
    machine.memory.slice(Address(address), size)?;
    machine.charge(size as u64 / 8)?;
    Ok(machine.memory.slice(Address(address), size)?.to_vec())
}

/// The map that an argument is, and its number.
fn map<'m>(machine: &'m mut Machine<'_>, address: u64) -> Result<(usize, &'m mut Map), Fault> {
    let Some(Region::Map(number)) = Address(address).region() else {
        return Err(wrong("bpf_map_…", "what is no map"));
    };
    let map = machine.maps.get_mut(number).ok_or_else(|| wrong("bpf_map_…", "what is no map"))?;
    map.check().map_err(|problem| unusable(map, &problem))?;
    Ok((number, map))
}

fn unusable(map: &Map, problem: &MapError) -> Fault {
    FaultKind::Map { name: map.definition.name.clone(), problem: problem.to_string() }.into()
}

/// The map with a key, whose search has been paid.
fn map_and_key(
    machine: &mut Machine<'_>,
    (address, key): (u64, u64),
) -> Result<(usize, Vec<u8>, usize), Fault> {
    let (number, map) = map(machine, address)?;
    let (length, value, steps) = (map.key, map.value, map.steps());
    machine.charge(steps)?;
    Ok((number, bytes(machine, key, length)?, value))
}

fn map_lookup_elem(machine: &mut Machine<'_>, [of, key, ..]: Arguments) -> Result<u64, Fault> {
    let (number, key, value) = map_and_key(machine, (of, key))?;
    // That much may have to be made.
    machine.charge(value as u64 / 64)?;
    let map = &mut machine.maps[number];
    let element = map.lookup(machine.memory.elements, &key).map_err(|problem| unusable(map, &problem))?;
    Ok(element.map_or(0, |element| Address::new(Region::Element(element), 0).0))
}

fn map_update_elem(machine: &mut Machine<'_>, [of, key, value, flags, _]: Arguments) -> Result<u64, Fault> {
    let (number, key, size) = map_and_key(machine, (of, key))?;
    let value = bytes(machine, value, size)?;
    let done = machine.maps[number].update(machine.memory.elements, (&key, value), flags);
    Ok(done.map_or_else(|problem| error(problem.errno()), |()| 0))
}

fn map_delete_elem(machine: &mut Machine<'_>, [of, key, ..]: Arguments) -> Result<u64, Fault> {
    let (number, key, _) = map_and_key(machine, (of, key))?;
    let done = machine.maps[number].delete(machine.memory.elements, &key);
    Ok(done.map_or_else(|problem| error(problem.errno()), |()| 0))
}

fn redirect(_: &mut Machine<'_>, [_, flags, ..]: Arguments) -> Result<u64, Fault> {
    Ok(if flags == 0 { XDP_REDIRECT } else { XDP_ABORTED })
}

fn csum_diff(
    machine: &mut Machine<'_>,
    [from, from_size, to, to_size, seed]: Arguments,
) -> Result<u64, Fault> {
    let (from, to) =
        (bytes(machine, from, from_size as u32 as usize)?, bytes(machine, to, to_size as u32 as usize)?);
    Ok(u64::from(checksum::difference(&from, &to, seed as u32)))
}

fn is_context(address: u64) -> bool {
    Address(address) == Address::new(Region::Context, 0)
}

fn adjust(
    machine: &mut Machine<'_>,
    (context, helper): (u64, &'static str),
    delta: u64,
    is_head: bool,
) -> Result<u64, Fault> {
    if !is_context(context) {
        return Err(wrong(helper, "what is no context"));
    }
    let (frame, delta) = (&mut machine.memory.frame, delta as u32 as i32);
    let is_done = if is_head { frame.adjust_head(delta) } else { frame.adjust_tail(delta) };
    Ok(if is_done { 0 } else { error(EINVAL) })
}

fn fib_lookup(machine: &mut Machine<'_>, [context, parameters, size, ..]: Arguments) -> Result<u64, Fault> {
    if !is_context(context) {
        return Err(wrong("bpf_fib_lookup", "what is no context"));
    }
    machine.memory.slice_mut(Address(parameters), size as u32 as usize)?;
    if (size as u32 as usize) < FIB_LOOKUP {
        return Ok(error(EINVAL));
    }
    Ok(BPF_FIB_LKUP_RET_NOT_FWDED)
}

/// The function that a callback is.
fn callback(address: u64) -> Result<usize, Fault> {
    match Address(address).region() {
        Some(Region::Function(number)) if Address(address).offset() == 0 => Ok(number),
        _ => Err(wrong("that calls back", "what is no function")),
    }
}

/// `bpf_for_each_map_elem`: calls back with the map, the key, the value and a number of the program's.
fn for_each_map_elem(
    machine: &mut Machine<'_>,
    [of, function, data, flags, _]: Arguments,
) -> Result<u64, Fault> {
    let (number, function) = (map(machine, of)?.0, callback(function)?);
    if flags != 0 {
        return Ok(error(EINVAL));
    }
    let (mut seen, mut key) = (0, machine.maps[number].next_key(None));
    while let Some(this) = key {
        let map = &mut machine.maps[number];
        let steps = map.steps() + map.value as u64 / 64;
        let element = map.shown(machine.memory.elements, &this).map_err(|problem| unusable(map, &problem))?;
        machine.charge(steps)?;
        if let Some(element) = element {
            let value = Address::new(Region::Element(element), 0).0;
            let shown = machine.memory.show(this.clone());
            let result = machine.run(function, [of, shown.0, value, data, 0]);
            machine.memory.hide();
            seen += 1;
            if result? != 0 {
                break;
            }
        }
        key = machine.maps[number].next_key(Some(&this));
    }
    Ok(seen)
}

/// `bpf_loop`: calls back with the turn and a number of the program's, until that returns another number than 0.
fn turns(machine: &mut Machine<'_>, [most, function, data, flags, _]: Arguments) -> Result<u64, Fault> {
    let function = callback(function)?;
    if flags != 0 {
        return Ok(error(EINVAL));
    }
    let most = most as u32;
    if most > MOST_TURNS {
        return Ok(error(E2BIG));
    }
    for turn in 0..most {
        if machine.run(function, [u64::from(turn), data, 0, 0, 0])? != 0 {
            return Ok(u64::from(turn) + 1);
        }
    }
    Ok(u64::from(most))
}
