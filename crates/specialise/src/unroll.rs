//! Loops that are executed turn by turn, so that what depends on the turn is known.

use crate::context::{Context, Result};
use crate::frame::Frame;
use crate::interpret::at_entry;
use crate::opcode::{Instruction, Opcode};
use crate::paths::Arm;
use crate::sites::Turn;
use crate::state::State;
use crate::value::{Abs, Object, Word};
use moonhook_ir::words::Branches;

/// Turns of one loop at most. A loop that needs more is no loop over a few known things.
const MAX_TURNS: usize = 64;

impl<'a> Context<'a> {
    /// Executes the loop at `header`, entered in the current state, turn by turn.
    pub fn unroll_loop(&mut self, frame: &mut Frame<'a>, header: usize, members: &[usize]) -> Result<()> {
        let key = frame.loop_key(header);
        if !has_known_turns(&self.state, frame, header, members) {
            return self.give_up_unrolling(key);
        }
        let blocks = members.iter().map(|block| &frame.flow.blocks[*block]);
        let start = blocks.clone().map(|block| block.start).min().unwrap_or(0);
        let end = blocks.map(|block| block.end).max().unwrap_or(0);
        self.execution.turns.push(Turn { number: 0, code: start..end, calls: self.execution.calls.len() });
        loop {
            self.set_pc(frame, frame.flow.blocks[header].start);
            self.spend_budget();
            let start = self.take_state();
            frame.pending.insert(header, vec![start]);
            self.run_blocks(frame, members, Some(header))?;
            let back = frame.pending.remove(&header).unwrap_or_default();
            let arms =
                back.into_iter().map(|state| Arm { state: at_entry(state, frame, header), values: vec![] });
            let arms = arms.collect();
            if self.join(arms)?.is_none() {
                break;
            }
            let turn = self.execution.turns.last_mut().map(|turn| &mut turn.number);
            if turn.is_some_and(|turn| std::mem::replace(turn, *turn + 1) >= MAX_TURNS) {
                return self.give_up_unrolling(key);
            }
        }
        self.execution.turns.pop();
        Ok(())
    }
}

/// Whether the number of turns of a `for` loop can be known when it is entered; `true` for other loops.
fn has_known_turns(state: &State, frame: &Frame<'_>, header: usize, members: &[usize]) -> bool {
    let code = &frame.prototype.code;
    let start = frame.flow.blocks[header].start;
    let first = Instruction(code[start]);
    if first.opcode() == Some(Opcode::TForCall) {
        let iterator = state.get(first.a());
        return !matches!(
            iterator,
            Abs::Object(Object::Matches(_) | Object::Records(_) | Object::Entries { .. })
        );
    }
    let ends = members.iter().map(|block| frame.flow.blocks[*block].end - 1);
    let mut numeric = ends.filter(|pc| {
        let last = Instruction(code[*pc]);
        last.opcode() == Some(Opcode::ForLoop) && (pc + 1).checked_sub(last.bx()) == Some(start)
    });
    match numeric.next() {
        Some(pc) => matches!(state.get(Instruction(code[pc]).a()), Abs::Int(Word::Imm(_))),
        None => true,
    }
}
