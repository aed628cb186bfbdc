//! Passes stage: IR to better IR.
//!
//! Reads a module that [`moonhook_ir::verify`] accepts and leaves one that it accepts, with the same meaning and at least as
//! easy for the kernel's verifier: a value that a branch checks stays the value that is used, no `may_goto` is bypassed,
//! loads from writable data sections stay where they are (lowering uses them to make the verifier forget bounds; [`opaque`] knows
//! where it need not).
//! Knows SSA and eBPF's arithmetic; nothing of Lua, registers or encodings.

mod ahead;
mod apart;
mod around;
mod bound;
mod branch_facts;
pub mod combine;
mod converge;
mod dce;
mod fold;
mod gvn;
mod helpers;
mod implied;
mod interval;
pub mod library;
mod liveness;
mod opaque;
mod overwritten;
mod params;
mod paths;
pub mod per_cpu;
mod proofs;
mod reach;
mod rematerialise;
mod shallow;
mod simplify_cfg;
mod split;
mod stores;
mod thread;
mod unused_calls;
mod values;
pub mod without_arena;

pub use around::Around;
use moonhook_ir::kept::{self, Kept, References, Source};
use moonhook_ir::{Function, FunctionKind, Module, parallel};
use std::convert::Infallible;

/// A pass by its name: gives whether it changed anything.
pub struct Pass {
    pub name: &'static str,
    pub run: fn(&mut Function, &Around) -> bool,
}

/// All passes, in the order in which a round runs them.
pub const PASSES: &[Pass] = &[
    Pass { name: "simplify_cfg", run: simplify_cfg::run },
    Pass { name: "fold", run: fold::run },
    Pass { name: "gvn", run: gvn::run },
    Pass { name: "branch_facts", run: branch_facts::run },
    Pass { name: "ahead", run: ahead::run },
    Pass { name: "implied", run: implied::run },
    Pass { name: "opaque", run: opaque::run },
    Pass { name: "params", run: params::run },
    Pass { name: "stores", run: stores::run },
    Pass { name: "overwritten", run: overwritten::run },
    Pass { name: "dce", run: dce::run },
    Pass { name: "thread", run: thread::run },
];

/// What makes more of a function, and so is done where the others have settled.
pub const SPLIT: Pass = Pass { name: "split", run: split::run };

/// Places per function at which paths are split, at most.
const SPLITS: usize = 3;

/// Rounds per function at most; most functions settle after two or three.
const ROUNDS: usize = 6;

/// Frames of a library: the kernel has 8 (`MAX_CALL_FRAMES`), of which one is the program's in C.
const MOST_FRAMES: usize = 7;

/// Optimises every function, drops calls that turn out to be of no use, and combines functions of programs that have too many
/// ([`combine`]).
pub fn optimise(module: &mut Module) {
    optimise_each(module, |_| true);
    while let Some(changed) = unused_calls::run(module) {
        optimise_each(module, |index| changed[index]);
    }
    if module.is_library() {
        let changed = shallow::run(module, MOST_FRAMES);
        optimise_each(module, |index| changed[index]);
    }
    let has_arena = module.arena().is_some();
    let (functions, around) = Around::of(module);
    for function in functions.iter_mut().filter(|function| function.given.is_none()) {
        match (has_arena, around::context_of(function).is_some()) {
            (false, _) => spare_the_verifier(function, &around),
            (true, true) if is_of_chain(function) => spare_the_verifier(function, &around),
            (true, true) => spare(function, &around, &BOUND),
            (true, false) => {}
        }
    }
    combine::run(module);
}

/// The same in a fraction of the time, for code that is to run at once: passes that have something to do again mostly have little to do.
pub fn optimise_soon(module: &mut Module) {
    let (functions, around) = Around::of(module);
    for function in functions.iter_mut().filter(|function| function.given.is_none()) {
        for pass in (0..SOON).flat_map(|_| PASSES) {
            (pass.run)(function, &around);
            debug_assert_eq!(
                moonhook_ir::verify::verify(function),
                Ok(()),
                "after {}\n{function}",
                pass.name
            );
        }
        spare_the_verifier(function, &around);
    }
    unused_calls::run(module);
}

/// Rounds of passes for code that is to run at once.
const SOON: usize = 2;

/// Passes for the kernel's verifier, in their order: what they add, others would take for superfluous. In general code it has
/// little to follow: only chains, which are lines of a script there as well, and offsets of packets behind loops.
pub const LAST: &[Pass] = &[
    Pass { name: "rematerialise", run: rematerialise::run },
    Pass { name: "converge", run: converge::run },
    BOUND,
    Pass { name: "apart", run: apart::run },
];

const BOUND: Pass = Pass { name: "bound", run: bound::run };

fn spare_the_verifier(function: &mut Function, around: &Around) {
    LAST.iter().for_each(|pass| spare(function, around, pass));
}

fn spare(function: &mut Function, around: &Around, pass: &Pass) {
    (pass.run)(function, around);
    debug_assert_eq!(moonhook_ir::verify::verify(function), Ok(()), "after {}\n{function}", pass.name);
}

/// Whether a function of general code that has the packet was made of lines of a script.
fn is_of_chain(function: &Function) -> bool {
    matches!(function.kind, FunctionKind::Subprogram { .. }) && !kept::is_kept(function)
}

/// Runs all passes until none changes anything, but a bounded number of rounds, and again wherever paths can then be split. A malformed
/// function is left as it is.
pub fn optimise_function(function: &mut Function, around: &Around) {
    settle(function, around);
    for _ in 0..SPLITS {
        if !(SPLIT.run)(function, around) {
            break;
        }
        settle(function, around);
    }
}

/// Optimises the functions with these numbers, but not what another compiler has made.
fn optimise_each(module: &mut Module, is_meant: impl Fn(usize) -> bool) {
    let has_arena = module.arena().is_some();
    let (functions, around) = Around::of(module);
    let optimise = |function: &mut Function| match has_arena && kept::is_kept(function) {
        true => optimise_kept(function, &around),
        false => optimise_function(function, &around),
    };
    let functions = functions.iter_mut().enumerate().filter(|(index, _)| is_meant(*index)).map(|(_, f)| f);
    let meant: Vec<&mut Function> = functions.filter(|function| function.given.is_none()).collect();
    parallel::map(meant.into_iter(), || (), |_, function| optimise(function));
}

/// What functions of general code were and what came of them.
static KEPT: Kept<Function> = Kept::new();

/// The same as [`optimise_function`], once for equal functions.
fn optimise_kept(function: &mut Function, around: &Around) {
    let references = References::detach(function);
    match references.maps_of(around.maps) {
        Some(maps) => {
            let source = Source::of(function, maps, 0);
            let optimised = KEPT.get(source, |source| {
                let mut function = source.function.clone();
                optimise_function(&mut function, &Around { maps: &source.maps });
                Ok::<_, Infallible>(function)
            });
            *function = optimised.unwrap_or_else(|never| match never {});
            references.attach(function);
        }
        None => {
            references.attach(function);
            optimise_function(function, around);
        }
    }
}

fn settle(function: &mut Function, around: &Around) {
    // Passes in a row that changed nothing: once those are all, each has seen the function as it is.
    let mut idle = 0;
    for (number, pass) in (0..ROUNDS).flat_map(|_| PASSES).enumerate() {
        let changed = (pass.run)(function, around);
        tracing::trace!(target: "passes", function = function.name, number, pass = pass.name, changed);
        idle = if changed { 0 } else { idle + 1 };
        debug_assert_eq!(moonhook_ir::verify::verify(function), Ok(()), "after {}\n{function}", pass.name);
        if idle == PASSES.len() {
            return;
        }
    }
    simplify_cfg::run(function, around);
}

/// The pass of that name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().chain([&SPLIT]).chain(LAST).find(|pass| pass.name == name)
}
