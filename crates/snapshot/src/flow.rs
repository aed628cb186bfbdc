//! The control-flow graph of a prototype's bytecode.
//!
//! Reads code, adds blocks, their order, loop headers and live registers. Guarantees that in [`Flow::order`] every block
//! stands before its successors except along back edges, and that each loop's blocks are contiguous enough to be walked by
//! membership ([`Flow::loops`]).

use crate::Prototype;
use crate::instruction::{Instruction, Opcode};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// A set of registers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RegisterSet([u64; 4]);

impl RegisterSet {
    pub fn insert(&mut self, register: usize) {
        self.0[register >> 6 & 3] |= 1 << (register & 63);
    }
    pub fn remove(&mut self, register: usize) {
        self.0[register >> 6 & 3] &= !(1 << (register & 63));
    }
    /// Removes `first` and all registers above it.
    pub fn remove_from(&mut self, first: usize) {
        for (number, word) in self.0.iter_mut().enumerate() {
            let below = first.saturating_sub(number * 64);
            *word &= if below < 64 { (1 << below) - 1 } else { u64::MAX };
        }
    }
    pub fn contains(&self, register: usize) -> bool {
        self.0[register >> 6 & 3] >> (register & 63) & 1 == 1
    }
    /// Adds all of `other`; says whether that changed anything.
    pub fn union(&mut self, other: &RegisterSet) -> bool {
        let before = *self;
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine |= theirs);
        *self != before
    }
}

/// Instructions `start .. end` of the code, entered at the first and left after the last.
#[derive(Clone, Debug)]
pub struct BytecodeBlock {
    pub start: usize,
    pub end: usize,
    /// Block numbers. For a conditional jump: where the jump leads, then where the code goes on.
    pub successors: Vec<usize>,
    /// Registers whose values may be read in this block or later.
    pub live_in: RegisterSet,
}

#[derive(Clone, Debug)]
pub struct Flow {
    pub blocks: Vec<BytecodeBlock>,
    /// Reachable blocks in reverse postorder.
    pub order: Vec<usize>,
    /// For each block that is a loop's header: the blocks of the loop, header included.
    pub loops: Vec<Option<BTreeSet<usize>>>,
    /// A cycle is entered elsewhere than at its header: the instruction that does so, usually a `goto`.
    pub irreducible: Option<usize>,
    /// By block, its place in [`Flow::order`]; `usize::MAX` for what is not reached.
    position: Vec<usize>,
    /// By instruction, the registers whose values behind it are read later.
    live_after: OnceLock<Vec<RegisterSet>>,
}

/// Where control can go after the instruction at `pc`; a single entry that is `pc + 1` is no jump.
pub fn successors(code: &[u32], pc: usize) -> Vec<usize> {
    let instruction = Instruction(code[pc]);
    let relative = |base: usize, distance: i64| (base as i64 + distance).max(0) as usize;
    match instruction.opcode() {
        Some(op) if op.is_test() => {
            let jump = Instruction(code[pc + 1]);
            vec![relative(pc + 2, jump.sj()), pc + 2]
        }
        Some(Opcode::Jmp) => vec![relative(pc + 1, instruction.sj())],
        Some(Opcode::LFalseSkip) => vec![pc + 2],
        Some(Opcode::ForPrep) => vec![pc + 1, pc + instruction.bx() + 2],
        Some(Opcode::ForLoop | Opcode::TForLoop) => vec![(pc + 1).saturating_sub(instruction.bx()), pc + 1],
        Some(Opcode::TForPrep) => vec![pc + 1 + instruction.bx()],
        Some(Opcode::Return | Opcode::Return0 | Opcode::Return1 | Opcode::TailCall) | None => vec![],
        Some(_) => vec![pc + 1],
    }
}

impl Flow {
    /// `captured` gives the registers that a new closure of the prototype's n-th inner function captures.
    pub fn new(prototype: &Prototype, captured: &dyn Fn(usize) -> Vec<usize>) -> Flow {
        let code = &prototype.code;
        let mut starts = BTreeSet::from([0]);
        for pc in 0..code.len() {
            let targets = successors(code, pc);
            if targets != [pc + 1] {
                starts.extend(targets);
                starts.insert(pc + 1);
            }
        }
        let starts: Vec<usize> = starts.into_iter().filter(|start| *start < code.len()).collect();
        let number = |pc: usize| starts.binary_search(&pc).unwrap_or(0);
        let mut blocks = Vec::with_capacity(starts.len());
        for (index, &start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(code.len());
            let targets = successors(code, end - 1);
            let successors = targets.iter().filter(|t| **t < code.len()).map(|t| number(*t)).collect();
            blocks.push(BytecodeBlock { start, end, successors, live_in: RegisterSet::default() });
        }
        let mut flow = Flow {
            loops: vec![None; blocks.len()],
            blocks,
            order: Vec::new(),
            irreducible: None,
            position: Vec::new(),
            live_after: OnceLock::new(),
        };
        flow.find_order_and_loops();
        flow.find_live_registers(code, captured);
        flow
    }

    /// Depth-first search: postorder for [`Flow::order`]; an edge to a block that is still open is a back edge.
    fn find_order_and_loops(&mut self) {
        let mut state = vec![0u8; self.blocks.len()]; // 0 unseen, 1 open, 2 done
        let mut stack = vec![(0usize, 0usize)];
        let mut back_edges = Vec::new();
        state[0] = 1;
        while let Some((block, edge)) = stack.pop() {
            match self.blocks[block].successors.get(edge) {
                None => {
                    state[block] = 2;
                    self.order.push(block);
                }
                Some(&to) => {
                    stack.push((block, edge + 1));
                    match state[to] {
                        0 => {
                            state[to] = 1;
                            stack.push((to, 0));
                        }
                        1 => back_edges.push((block, to)),
                        _ => {}
                    }
                }
            }
        }
        self.order.reverse();
        self.position = vec![usize::MAX; self.blocks.len()];
        self.order.iter().enumerate().for_each(|(place, block)| self.position[*block] = place);
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for &block in &self.order {
            for &to in &self.blocks[block].successors {
                predecessors[to].push(block);
            }
        }
        for (from, header) in back_edges {
            let body = self.loops[header].get_or_insert_with(|| BTreeSet::from([header]));
            let mut work = vec![from];
            while let Some(block) = work.pop() {
                if body.insert(block) {
                    work.extend(&predecessors[block]);
                }
            }
        }
        self.find_irreducible(&predecessors);
    }

    /// A loop may be entered at its header only.
    fn find_irreducible(&mut self, predecessors: &[Vec<usize>]) {
        for header in 0..self.blocks.len() {
            let Some(body) = &self.loops[header] else { continue };
            // Of what leads to the back edge, only what the header leads to is the cycle.
            let cycle = self.reachable(header, body);
            let inner = cycle.iter().filter(|block| **block != header);
            let from = inner.flat_map(|block| &predecessors[*block]).find(|from| !cycle.contains(from));
            self.irreducible = from.map(|from| self.blocks[*from].end - 1);
            if self.irreducible.is_some() {
                return;
            }
        }
    }

    /// The blocks among `within` that `start` leads to through such blocks.
    fn reachable(&self, start: usize, within: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut work = vec![start];
        while let Some(block) = work.pop() {
            if within.contains(&block) && found.insert(block) {
                work.extend(&self.blocks[block].successors);
            }
        }
        found
    }

    /// Registers whose values outlive the instruction at `pc`: a call, or one that may call a metamethod or change the packet.
    pub fn live_across(
        &self,
        code: &[u32],
        captured: &dyn Fn(usize) -> Vec<usize>,
        pc: usize,
    ) -> RegisterSet {
        let mut live = self.live_after(code, captured, pc);
        registers_set(Instruction(code[pc]), &mut live);
        live
    }

    /// Registers whose values behind the instruction at `pc` are read later.
    pub fn live_after(&self, code: &[u32], captured: &dyn Fn(usize) -> Vec<usize>, pc: usize) -> RegisterSet {
        let all = self.live_after.get_or_init(|| self.find_live_after(code, captured));
        all.get(pc).copied().unwrap_or_default()
    }

    fn find_live_after(&self, code: &[u32], captured: &dyn Fn(usize) -> Vec<usize>) -> Vec<RegisterSet> {
        let mut all = vec![RegisterSet::default(); code.len()];
        for block in &self.blocks {
            let mut live = RegisterSet::default();
            for &to in &block.successors {
                live.union(&self.blocks[to].live_in);
            }
            for pc in (block.start..block.end).rev() {
                all[pc] = live;
                registers_read(code, captured, pc, &mut live);
            }
        }
        all
    }

    /// Those of `blocks`, which are in the order of [`Flow::order`], that belong to the loop at `header`.
    pub fn members(&self, header: usize, blocks: &[usize]) -> Vec<usize> {
        let place = |block: &usize| self.position[*block];
        let is_wanted = |block: &&usize| blocks.binary_search_by_key(&place(block), place).is_ok();
        let mut members: Vec<usize> =
            self.loops[header].iter().flatten().filter(is_wanted).copied().collect();
        members.sort_unstable_by_key(place);
        members
    }

    /// The block that starts at `pc`.
    pub fn block_at(&self, pc: usize) -> Option<usize> {
        self.blocks.binary_search_by_key(&pc, |block| block.start).ok()
    }

    fn find_live_registers(&mut self, code: &[u32], captured: &dyn Fn(usize) -> Vec<usize>) {
        let mut changed = true;
        while changed {
            changed = false;
            for &block in self.order.iter().rev() {
                let mut live = RegisterSet::default();
                for &to in &self.blocks[block].successors {
                    live.union(&self.blocks[to].live_in);
                }
                for pc in (self.blocks[block].start..self.blocks[block].end).rev() {
                    registers_read(code, captured, pc, &mut live);
                }
                changed |= self.blocks[block].live_in.union(&live);
            }
        }
    }
}

/// [`registers_before`], with what a new closure captures.
fn registers_read(code: &[u32], captured: &dyn Fn(usize) -> Vec<usize>, pc: usize, live: &mut RegisterSet) {
    registers_before(code, pc, live);
    let instruction = Instruction(code[pc]);
    if instruction.opcode() == Some(Opcode::Closure) {
        captured(instruction.bx()).into_iter().for_each(|register| live.insert(register));
    }
}

/// Removes the registers whose values do not outlive the instruction.
fn registers_set(i: Instruction, live: &mut RegisterSet) {
    use Opcode::*;
    let Some(op) = i.opcode() else { return };
    let (a, b) = (i.a(), i.b());
    match op {
        // What lies above a call's or vararg's base is garbage afterwards.
        Call | TailCall | VarArg => live.remove_from(a),
        TForCall => live.remove_from(a + 3),
        LoadNil => (a..=a + b).for_each(|register| live.remove(register)),
        Self_ => [a, a + 1].into_iter().for_each(|register| live.remove(register)),
        // `VarArgPrep` counts as setting register A (lopcodes.c), but leaves the parameters alone.
        TestSet | ForLoop | ForPrep | VarArgPrep => {}
        _ if op.sets_a() => live.remove(a),
        _ => {}
    }
}

/// Turns the registers live after the instruction into those live before it. Errs on the side of liveness where the
/// number of registers read is known at run time only.
fn registers_before(code: &[u32], pc: usize, live: &mut RegisterSet) {
    use Opcode::*;
    let i = Instruction(code[pc]);
    let Some(op) = i.opcode() else { return };
    let (a, b, c) = (i.a(), i.b(), i.c());
    registers_set(i, live);
    let mut read = |registers: &mut dyn Iterator<Item = usize>| registers.for_each(|r| live.insert(r));
    match op {
        Move | Unm | BNot | Not | Len | GetI | GetField | AddI | AddK | SubK | MulK | ModK | PowK | DivK
        | IDivK | BAndK | BOrK | BXorK | ShlI | ShrI => read(&mut [b].into_iter()),
        Self_ => read(&mut [b].into_iter()),
        GetTable | Add | Sub | Mul | Mod | Pow | Div | IDiv | BAnd | BOr | BXor | Shl | Shr | GetVArg => {
            read(&mut [b, c].into_iter())
        }
        SetUpval | EqK | EqI | LtI | LeI | GtI | GeI | Test | Return1 | ErrNNil | Tbc | SetI | SetField
        | MmBinI | MmBinK => {
            read(&mut [a].into_iter());
            if matches!(op, SetI | SetField) && !i.k() {
                live.insert(c);
            }
        }
        SetTabUp if !i.k() => read(&mut [c].into_iter()),
        SetTable => {
            read(&mut [a, b].into_iter());
            if !i.k() {
                live.insert(c);
            }
        }
        Eq | Lt | Le | MmBin => read(&mut [a, b].into_iter()),
        TestSet => read(&mut [b].into_iter()),
        Concat => read(&mut (a..a + b)),
        Call | TailCall => read(&mut (a..if b == 0 { 256 } else { a + b })),
        Return => read(&mut (a..if b == 0 { 256 } else { a + b - 1 })),
        ForLoop | ForPrep => read(&mut (a..a + 3)),
        TForPrep => read(&mut (a..a + 4)),
        TForCall => read(&mut (a..a + 4)),
        TForLoop => read(&mut [a + 3].into_iter()),
        SetList => read(&mut (a..if b & 0x3f == 0 { 256 } else { a + (b & 0x3f) + 1 })),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(code: &[u32]) -> Flow {
        Flow::new(&Prototype { code: code.to_vec(), ..Prototype::default() }, &|_| vec![])
    }

    fn jmp(distance: i64) -> u32 {
        Opcode::Jmp as u32 | ((distance + 0xff_ffff) as u32) << 7
    }

    fn test(register: u32) -> u32 {
        Opcode::Test as u32 | register << 7
    }

    #[test]
    fn a_captured_register_is_live_before_the_closure_is_made() {
        let code = vec![test(1), jmp(0), Opcode::Closure as u32 | 1 << 7, RETURN];
        let flow = Flow::new(&Prototype { code, ..Prototype::default() }, &|_| vec![5]);
        assert!(flow.blocks[0].live_in.contains(5));
    }

    const RETURN: u32 = Opcode::Return0 as u32;

    #[test]
    fn a_while_loop_has_its_test_as_header() {
        let flow = flow(&[Opcode::LoadTrue as u32, test(0), jmp(1), jmp(-3), RETURN]);
        let header = flow.blocks.iter().position(|b| b.start == 1).unwrap();
        assert_eq!(flow.loops[header].as_ref().map(|l| l.len()), Some(2));
        assert_eq!(flow.irreducible, None);
        assert!(flow.blocks[header].live_in.contains(0));
    }

    #[test]
    fn a_cycle_with_two_entries_is_found() {
        // The first test leads to 2 and to 3, which are both in the loop 2 … 5.
        let flow = flow(&[
            test(0),
            jmp(1),
            Opcode::LoadTrue as u32,
            Opcode::LoadTrue as u32,
            test(1),
            jmp(-4),
            RETURN,
        ]);
        assert!(flow.irreducible.is_some());
    }
}
