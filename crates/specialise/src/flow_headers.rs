//! What a program tells the function of a flow, and what it is told: where the IP header is, which it has found already; and whether the
//! function has failed.
//!
//! It lies in memory of the CPU, since the function is a program of its own, which has nothing in common with the one that calls it but the
//! packet and maps. Where the header is, is only told where no other packet can come between: at hooks whose programs are not interrupted.
//! That a function has failed is said by the address of its context, which no other packet has at that time, so that it is said at all hooks.

use crate::context::{Context, Result};
use crate::flows::KEY_SLOT;
use crate::shared::map_calls::lookup;
use crate::state::State;
use crate::value::Word;
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, Op, Size};
use moonhook_packet::{Key, Machine};

/// No place in a packet where a header is exceeds this: eight extension headers of 2,048 bytes behind the fixed ones.
const PLACE: i64 = 0x7fff;

/// The header whose place is told, and what its words do not exceed (`network.rs` of the crate `packet`).
const HEADER: &str = "ip";
const MOST: [i64; 7] = [0xf, PLACE, PLACE, 0xff, 0xffff, 1, PLACE];

/// Where the context of the packet is whose function has failed, behind the words of the header.
const FAILED: i16 = 8 * MOST.len() as i16;

/// Bytes in all.
const SIZE: u32 = 64;

/// What the function of a flow may count on, of the program that calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// No other program comes between it and the function on the same CPU.
    pub is_undisturbed: bool,
    /// It says where the IP header is, and what follows it.
    pub says_headers: bool,
}

impl Context<'_> {
    /// Whether a program can tell something to functions of flows.
    pub fn can_tell(&self) -> bool {
        let hook = self.target.hook;
        hook.levels(self.options.clones) == 1
            && hook.copied().is_none()
            && !self.options.frags
            && !hook.is_trace()
    }

    /// Tells the function of a flow where the IP header is, if that is known; gives whether it is.
    pub fn tell(&mut self) -> Result<bool> {
        let key = Key { name: HEADER, is_inner: false };
        let words = self.state.facts.packet.parsed(key).map(<[Word]>::to_vec).unwrap_or_default();
        if words.len() != MOST.len() {
            return Ok(false);
        }
        let mut without = Vec::new();
        let told = self.told_memory(&mut without);
        for (at, word) in (0..FAILED).step_by(8).zip(words) {
            self.store(told, at, Size::B8, word);
        }
        // There is memory for each CPU: the other side is never taken.
        without.push(self.take_state());
        self.enter(without)?;
        Ok(true)
    }

    /// Takes note of what the program has told that calls this one.
    pub fn take_told(&mut self) -> Result<()> {
        let Some(caller) = self.caller().filter(|caller| caller.says_headers) else { return Ok(()) };
        debug_assert!(caller.is_undisturbed);
        let mut without = Vec::new();
        let told = self.told_memory(&mut without);
        let mut words = Vec::new();
        for (at, most) in (0..FAILED).step_by(8).zip(MOST) {
            let word = self.load(told, at, Size::B8, false);
            words.push(self.and(word, most));
        }
        self.state.facts.packet.parsed.push((Key { name: HEADER, is_inner: false }, words));
        for state in without {
            let goes_on = std::mem::replace(&mut self.state, state);
            self.give_up();
            self.state = goes_on;
        }
        Ok(())
    }

    /// Tells the program that calls this one, if that is the function of a flow, that it has failed.
    pub fn tell_failure(&mut self) -> Result<()> {
        if self.caller().is_none() || !self.state.alive() {
            return Ok(());
        }
        let mut others = Vec::new();
        let told = self.told_memory(&mut others);
        let packet = self.program_context();
        self.store(told, FAILED, Size::B8, packet);
        others.push(self.take_state());
        self.enter(others)
    }

    /// The state in which the function that was called last has failed, which gave that verdict; goes on in the others.
    pub fn split_failed(&mut self, verdict: Word) -> Result<State> {
        let on_error = i64::from(self.options.on_error.verdict(self.target.hook));
        let may_have = self.compare(CompareOp::Eq, verdict, on_error);
        let (may_have, others) = self.split(may_have);
        self.state = may_have;
        let mut without = vec![];
        let told = self.told_memory(&mut without);
        let failed = self.load(told, FAILED, Size::B8, false);
        let packet = self.program_context();
        let has_failed = self.compare(CompareOp::Eq, failed, packet);
        let (failed, passed) = self.split(has_failed);
        self.state = failed;
        self.make_cold();
        self.store(told, FAILED, Size::B8, 0);
        let failed = self.take_state();
        without.extend([others, passed]);
        self.enter(without)?;
        Ok(failed)
    }

    fn caller(&self) -> Option<Caller> {
        self.options.of_flow.as_ref()?.callers.get(self.target.program).copied()
    }

    /// The address of what is told on this CPU.
    fn told_memory(&mut self, without: &mut Vec<State>) -> ir::Value {
        let definition = ir::MapDefinition {
            map_type: ir::MapType::PerCpuArray,
            key_size: 4,
            value_size: SIZE,
            max_entries: 1,
            flags: 0,
        };
        let name = ir::maps::flow_told(self.target.program);
        let map = self.output.map(&name, || ir::MapKind::Map(definition));
        let slot = self.known.shared.slot(KEY_SLOT, 8, &mut self.code.function);
        let key = self.emit(Op::SlotAddress(slot));
        self.store(key, 0, Size::B4, 0);
        let told = lookup(self, map, key);
        let missing = self.compare(CompareOp::Eq, told, 0);
        self.leave_if(missing, without);
        told
    }

    /// Ends a path that is never taken.
    fn give_up(&mut self) {
        if self.state.alive() {
            let verdict = self.value(Word::Imm(self.target.hook.default.into()));
            let target = ir::Target::new(self.target.exit_block, vec![verdict]);
            self.terminate(ir::Terminator::Jump(target));
        }
    }
}
