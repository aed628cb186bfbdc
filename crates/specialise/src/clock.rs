//! What time it is: the kernel says, or whoever runs the program.

use crate::context::Context;
use crate::value::Word;
use moonhook_ir::words::Words;
use moonhook_ir::{self as ir, Op, Size, helper};

/// A clock of the kernel, with nanoseconds, by its place in the data section `clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `CLOCK_MONOTONIC`.
    Monotonic = 0,
    /// `CLOCK_TAI`.
    Tai = 8,
}

/// The section's bytes.
const SIZE: usize = 16;

impl Clock {
    /// `bpf_ktime_get_ns`, `bpf_ktime_get_tai_ns` (`enum bpf_func_id`).
    fn helper(self) -> u32 {
        match self {
            Clock::Monotonic => helper::KTIME_GET_NS,
            Clock::Tai => helper::KTIME_GET_TAI_NS,
        }
    }
}

impl Context<'_> {
    /// The time of `CLOCK_MONOTONIC`.
    pub fn now(&mut self) -> Word {
        self.time(Clock::Monotonic)
    }

    pub fn time(&mut self, clock: Clock) -> Word {
        if !self.options.given_time {
            return self.helper(clock.helper(), &[]);
        }
        let map = self.clock_section();
        let base = self.emit(Op::DataAddress { map, offset: clock as u32 });
        self.load(base, 0, Size::B8, false)
    }

    /// The section with the time that whoever runs the program says.
    pub fn clock_section(&mut self) -> ir::MapId {
        self.output.map(ir::maps::CLOCK, || ir::MapKind::Data(vec![0; SIZE]))
    }
}
