//! Programs of a library: functions that programs in C call, with the context and integers.

pub mod keyed;
pub mod memory;

use crate::Options;
use crate::nesting::Parts;
use moonhook_hook::{Hook, Place, Point};
use moonhook_ir::{CType, Prototype};
use moonhook_snapshot::Snapshot;
use std::collections::HashMap;

/// What a function gives C after an error. Integers of Lua can be that, too, but none that count something.
pub const FAILED: i64 = i64::MIN;

/// What handlers at a hook give C after an error: a negative number that is none of its verdicts.
pub fn no_verdict(hook: &Hook) -> i64 {
    i64::from(hook.least().min(0)) - 1
}

/// Integers that a function can take besides the context: functions of programs have five parameters at most.
pub const MOST: usize = 4;

/// What parameters are called in the object.
const NAMES: [&str; MOST] = ["a", "b", "c", "d"];

/// How C calls the program with that number, if it is one of a library.
pub fn prototype(snapshot: &Snapshot, program: usize) -> Option<Prototype> {
    snapshot.library.as_ref()?;
    let point = snapshot.points().get(program)?;
    let context = ("ctx", CType::Context(point.hook.context.structure));
    let numbers = NAMES.iter().take(parameters(snapshot, program)).map(|name| (*name, CType::LongLong));
    let result = if is_function(point) { CType::LongLong } else { CType::Int };
    Some(Prototype {
        result,
        parameters: [context].into_iter().chain(numbers).collect(),
        is_hidden: false,
        is_weak: false,
    })
}

/// How many integers the program with that number takes: one less than the function has parameters, of which the first is the packet.
pub fn parameters(snapshot: &Snapshot, program: usize) -> usize {
    let point = snapshot.points().get(program).filter(|point| is_function(point));
    let handler = point.and_then(|_| snapshot.handlers_of(program).next());
    // What is made around a function of the script takes any number.
    handler.map_or(0, |(_, handler)| {
        let prototype = snapshot.closure(handler.written).prototype;
        usize::from(snapshot.prototype(prototype).parameters).saturating_sub(1).min(MOST)
    })
}

/// By program, the first one that has the same code of functions and the same memory: itself, but in a library, where one program at a time
/// calls functions of one hook, unless others can come in between. Those whose second argument C gives have other code.
pub fn representatives(snapshot: &Snapshot, options: &Options) -> Vec<usize> {
    let mut first = HashMap::new();
    let one = |(program, point): (usize, &Point)| match snapshot.library {
        Some(_) if point.hook.levels(options.clones) == 1 => {
            *first.entry((point.hook, point.place == Place::Called)).or_insert(program)
        }
        _ => program,
    };
    snapshot.points().iter().enumerate().map(one).collect()
}

/// Where the memory of the program with that number is.
pub fn memory(snapshot: &Snapshot, options: &Options, program: usize) -> Parts {
    let (points, representatives) = (snapshot.points(), representatives(snapshot, options));
    let own_memory: Vec<usize> = representatives
        .iter()
        .copied()
        .enumerate()
        .filter(|(program, first)| program == first)
        .map(|(program, _)| program)
        .collect();
    let hooks: Vec<&Hook> = own_memory.iter().map(|program| points[*program].hook).collect();
    let place = own_memory.iter().position(|other| *other == representatives[program]).unwrap_or_default();
    Parts::of(&hooks, place, options.clones)
}

/// Whether the program is a single function, and not a hook's handlers.
pub fn is_function(point: &Point) -> bool {
    matches!(point.place, Place::Function(_))
}

/// What the program gives after an error.
pub fn after_error(snapshot: &Snapshot, options: &Options, program: usize) -> i64 {
    match snapshot.points().get(program) {
        Some(point) if is_function(point) => FAILED,
        Some(point) if snapshot.library.is_some() => no_verdict(point.hook),
        Some(point) => options.on_error.verdict(point.hook).into(),
        None => 0,
    }
}
