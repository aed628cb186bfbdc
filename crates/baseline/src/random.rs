//! What pseudo-random numbers of a CPU begin with: the state of xoshiro256**, with which `math.random` goes on (`runtime/lua/random.lua`).

use moonhook_ir::{BinaryOp, Builder, Op, Value, helper};
use moonhook_runtime::layout::{L_RANDOM0, L_RANDOM1, L_RANDOM2, L_RANDOM3};

const WORDS: [i64; 4] = [L_RANDOM0, L_RANDOM1, L_RANDOM2, L_RANDOM3];

/// Fills in the state, from a seed or from the kernel's random numbers.
pub fn prepare(code: &mut Builder, state: Value, seed: Option<i64>) {
    match seed {
        Some(seed) => {
            for (field, word) in WORDS.into_iter().zip(seeded(seed)) {
                code.store_constant(state, field, word as i64);
            }
        }
        None => {
            for field in WORDS {
                let high = code.emit(Op::Helper { id: helper::GET_PRANDOM_U32, args: vec![] });
                let high = code.binary(BinaryOp::Shl, high, 32);
                let low = code.emit(Op::Helper { id: helper::GET_PRANDOM_U32, args: vec![] });
                let word = code.binary(BinaryOp::Or, high, low);
                code.store(state, field, word);
            }
        }
    }
}

/// The state behind `math.randomseed(seed)`, which passes over the first numbers (`setseed`, lmathlib.c).
fn seeded(seed: i64) -> [u64; 4] {
    const PASSED_OVER: usize = 16;
    let mut state = [seed as u64, 0xff, 0, 0];
    for _ in 0..PASSED_OVER {
        let [a, b, c, d] = state;
        let (c, d) = (c ^ a, d ^ b);
        state = [a ^ d, b ^ c, c ^ b << 17, d.rotate_left(45)];
    }
    state
}
