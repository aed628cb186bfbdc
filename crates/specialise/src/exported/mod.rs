//! Programs of a library: functions that programs in C call, with the context and integers.

pub mod keyed;
pub mod memory;

use crate::Options;
use crate::nesting::Parts;
use moonhook_hook::{Hook, Place, Point};
use moonhook_ir::{CType, Prototype};
use moonhook_snapshot::Snapshot;

/// What a function gives C after an error. Integers of Lua can be that, too, but none that count something.
pub const FAILED: i64 = i64::MIN;

/// What handlers give C after an error. It is no verdict.
pub const NO_VERDICT: i64 = -1;

/// Integers that a function can take besides the context: functions of programs have five parameters at most.
pub const MOST: usize = 4;

/// What parameters are called in the object.
const NAMES: [&str; MOST] = ["a", "b", "c", "d"];

/// How C calls the program with that number, if it is one of a library.
pub fn prototype(snapshot: &Snapshot, options: &Options, program: usize) -> Option<Prototype> {
    if !options.library {
        return None;
    }
    let point = snapshot.points().into_iter().nth(program)?;
    let context = ("ctx", CType::Context(point.hook.context.structure));
    let numbers = NAMES.iter().take(parameters(snapshot, program)).map(|name| (*name, CType::LongLong));
    let result = if is_function(&point) { CType::LongLong } else { CType::Int };
    Some(Prototype { result, parameters: [context].into_iter().chain(numbers).collect(), is_hidden: false })
}

/// How many integers the program with that number takes: one less than the function has parameters, of which the first is the packet.
pub fn parameters(snapshot: &Snapshot, program: usize) -> usize {
    let is_its = |point: &Point| is_function(point);
    let point = snapshot.points().into_iter().nth(program).filter(is_its);
    let handler = point.and_then(|_| snapshot.handlers_of(program).next());
    handler.map_or(0, |(_, handler)| {
        let closure = snapshot.closure(handler.closure);
        usize::from(snapshot.prototype(closure.prototype).parameters).saturating_sub(1).min(MOST)
    })
}

/// The first program that has the same code of functions and the same memory: itself, but in a library, where one program at a time calls
/// functions of one hook, unless others can come in between. Those whose second argument C gives have other code.
pub fn representative(snapshot: &Snapshot, options: &Options, program: usize) -> usize {
    let points = snapshot.points();
    let kind = |point: &Point| (point.hook, point.place == Place::Called);
    match points.get(program) {
        Some(point) if options.library && point.hook.levels(options.clones) == 1 => {
            points.iter().position(|other| kind(other) == kind(point)).unwrap_or(program)
        }
        _ => program,
    }
}

/// Where the memory of the program with that number is.
pub fn memory(snapshot: &Snapshot, options: &Options, program: usize) -> Parts {
    let hooks = snapshot.hooks();
    let own = representative(snapshot, options, program);
    let own_memory: Vec<usize> =
        (0..hooks.len()).filter(|other| representative(snapshot, options, *other) == *other).collect();
    let hooks: Vec<&Hook> = own_memory.iter().map(|program| hooks[*program]).collect();
    let place = own_memory.iter().position(|program| *program == own).unwrap_or_default();
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
        Some(_) if options.library => NO_VERDICT,
        Some(point) => options.on_error.verdict(point.hook).into(),
        None => 0,
    }
}
