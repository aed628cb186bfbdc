//! The time that functions of objects ask the kernel for, where whoever runs the program says what time it is: each call of the helper becomes a
//! call of a function that reads it.

use crate::clock::Clock;
use crate::context::Context;
use moonhook_ir::{self as ir, FunctionId, FunctionKind, Given, GivenReference, Loc};

/// A call; of a helper with that number if the source register is 0, else of a function (`BPF_JMP | BPF_CALL`, include/uapi/linux/bpf.h).
const CALL: u8 = 0x85;

/// `BPF_PSEUDO_CALL`, in the upper half of the registers' byte.
const OF_FUNCTION: u8 = 1 << 4;

/// The clocks of helpers (`enum bpf_func_id`): `ktime_get_ns`, `ktime_get_boot_ns`, `ktime_get_coarse_ns`, `ktime_get_tai_ns`.
const HELPERS: [(i32, Clock); 4] =
    [(5, Clock::Monotonic), (125, Clock::Monotonic), (160, Clock::Monotonic), (208, Clock::Tai)];

/// Has the words ask for the given time, if there is one.
pub fn give(context: &mut Context<'_>, words: &mut [[u8; 8]], references: &mut Vec<(usize, GivenReference)>) {
    if !context.options.given_time {
        return;
    }
    for (slot, word) in words.iter_mut().enumerate() {
        let [code, registers, _, _, number @ ..] = *word;
        let clock = HELPERS.iter().find(|(helper, _)| *helper == i32::from_le_bytes(number));
        let Some((_, clock)) = clock.filter(|_| code == CALL && registers == 0) else { continue };
        word[1] = OF_FUNCTION;
        references.push((slot, GivenReference::Call(function(context, *clock))));
    }
    references.sort_by_key(|(slot, _)| *slot);
}

/// A function that gives the time of a clock.
fn function(context: &mut Context<'_>, clock: Clock) -> FunctionId {
    let name = format!("given_time_{}", clock as u32);
    if let Some(known) = context.known_subprogram(&name) {
        return known;
    }
    // `r0 = ADDRESS ll; r0 = *(u64 *)(r0 + 0); exit`
    let words =
        [[0x18, 0, 0, 0, 0, 0, 0, 0], [0; 8], [0x79, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
    let kind = FunctionKind::Subprogram { global: false, context: None };
    let mut made = ir::Function::new(name, kind, 0);
    let references = vec![(0, GivenReference::Data(context.clock_section(), clock as u32))];
    made.given = Some(Given { words: words.into(), locs: [Loc::default(); 4].into(), references });
    context.place_subprogram(made)
}
