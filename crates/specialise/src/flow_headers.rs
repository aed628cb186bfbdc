//! What a program tells the function of a flow: where the IP header is, which it has found already, and which entry of the flow table it is.
//!
//! It lies in memory of the CPU, since the function is a program of its own, which has nothing in common with the one that calls it but the
//! packet and maps. So it is only told where no other packet can come between: at hooks whose programs are not interrupted.

use crate::context::{Context, Result};
use crate::flows::KEY_SLOT;
use crate::shared::map_calls::lookup;
use crate::value::Word;
use moonhook_flows::Layout;
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};
use moonhook_packet::Key;

/// No place in a packet where a header is exceeds this: eight extension headers of 2,048 bytes behind the fixed ones.
const PLACE: i64 = 0x7fff;

/// The header whose place is told, and what its words do not exceed (`network.rs` of the crate `packet`).
const HEADER: &str = "ip";
const MOST: [i64; 7] = [0xf, PLACE, PLACE, 0xff, 0xffff, 1, PLACE];

/// Where the entry's number is, behind the words of the header.
const ENTRY: i16 = 8 * MOST.len() as i16;

/// Bytes in all.
const SIZE: u32 = 64;

/// What the function of a flow may count on, of the program that calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The number of the flow table.
    pub table: usize,
    pub layout: Layout,
    /// It says which entry it is.
    pub says_entry: bool,
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

    /// Tells the function of a flow which entry of the table it has, and where the IP header is; gives whether it says the latter.
    pub fn tell(&mut self, entry: Word) -> Result<bool> {
        let mut without = Vec::new();
        let told = self.told_memory(&mut without);
        self.store(told, ENTRY, Size::B8, entry);
        let key = Key { name: HEADER, is_inner: false };
        let words = self.state.facts.packet.parsed(key).map(<[Word]>::to_vec).unwrap_or_default();
        let says_headers = words.len() == MOST.len();
        for (at, word) in (0..ENTRY).step_by(8).zip(words) {
            self.store(told, at, Size::B8, word);
        }
        // There is memory for each CPU: the other side is never taken.
        without.push(self.take_state());
        self.enter(without)?;
        Ok(says_headers)
    }

    /// Takes note of what the program has told that calls this one.
    pub fn take_told(&mut self) -> Result<()> {
        let Some(caller) = self.caller().filter(|caller| caller.says_headers) else { return Ok(()) };
        debug_assert!(caller.says_entry);
        let mut without = Vec::new();
        let told = self.told_memory(&mut without);
        let mut words = Vec::new();
        for (at, most) in (0..ENTRY).step_by(8).zip(MOST) {
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

    /// Counts an error of the flow whose function this is.
    pub fn count_flow_error(&mut self) {
        let Some(caller) = self.caller().filter(|caller| caller.says_entry) else { return };
        if !self.state.alive() {
            return;
        }
        let (mut others, layout) = (Vec::new(), caller.layout);
        let told = self.told_memory(&mut others);
        let entry = self.load(told, ENTRY, Size::B8, false);
        let table = self.flow_memory(caller.table, layout);
        let beyond = self.compare(CompareOp::UGe, entry, i64::from(layout.entry_count()));
        self.leave_if(beyond, &mut others);
        let offset = self.binary(BinaryOp::Mul, entry, layout.stride() as i64);
        let offset = self.add(offset, layout.entries() as i64);
        let offset = self.value(offset);
        let base = self.emit(Op::Binary(BinaryOp::Add, table, offset.into()));
        let (value, disp) = (self.value(Word::Imm(1)), layout.errors() as i16);
        self.emit(Op::Atomic { op: ir::AtomicOp::Add, size: Size::B4, base, disp, value });
        others.push(self.take_state());
        // Paths that carry nothing meet without fail.
        let _ = self.enter(others);
    }

    fn caller(&self) -> Option<Caller> {
        self.options.of_flow.as_ref()?.callers.get(self.target.program).copied()
    }

    /// The address of what is told on this CPU.
    fn told_memory(&mut self, without: &mut Vec<crate::state::State>) -> ir::Value {
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
