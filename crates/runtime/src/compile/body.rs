//! One function: its blocks, its registers, and how control goes from block to block.

use super::builder::Builder;
use super::calls::Returns;
use super::error::CompileError;
use super::registers::{StaticType, Word};
use super::sources::Routine;
use super::{Host, Result};
use moonhook_ir as ir;
use moonhook_ir::{Block, Condition, Target, Terminator, Value};
use moonhook_snapshot::Prototype;
use moonhook_snapshot::instruction::Instruction;
use std::collections::HashMap;

/// A block of bytecode: its IR block and what its parameters are, once the first path to it is known.
#[derive(Clone)]
struct Entry {
    block: Block,
    registers: Vec<(usize, StaticType, Option<Value>)>,
}

/// A function being compiled, into its own subprogram or into its caller's.
pub(super) struct Body<'b, 'h> {
    pub(super) builder: &'b mut Builder<'h>,
    pub(super) routine: &'static Routine,
    registers: Vec<Word>,
    entries: HashMap<usize, Entry>,
    pub(super) pc: usize,
    /// The register behind an open list of values, which the next instruction takes.
    pub(super) open: usize,
    /// Where an expanded function goes on, with its results; `None` for the subprogram itself.
    pub(super) returns: Option<Returns>,
}

/// Compiles a routine to a subprogram of its own.
pub(super) fn compile(name: &str, routine: &'static Routine, host: &mut dyn Host) -> Result<ir::Function> {
    let mut builder = Builder::new(name, routine, host);
    let arguments = builder.code.function.params.iter().map(|value| Word::Integer(*value)).collect();
    Body::new(&mut builder, routine, arguments, None).run()?;
    Ok(builder.code.function)
}

impl<'b, 'h> Body<'b, 'h> {
    pub(super) fn new(
        builder: &'b mut Builder<'h>,
        routine: &'static Routine,
        arguments: Vec<Word>,
        returns: Option<Returns>,
    ) -> Self {
        let mut registers = arguments;
        registers.resize(usize::from(routine.prototype.stack_size) + 2, Word::Nothing);
        Body { builder, routine, registers, entries: HashMap::new(), pc: 0, open: 0, returns }
    }

    pub(super) fn prototype(&self) -> &'static Prototype {
        &self.routine.prototype
    }

    /// Refuses the current instruction.
    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        let line = self.prototype().lines.get(self.pc).copied().unwrap_or(0);
        Err(CompileError { file: self.routine.file.into(), line, message: message.into() })
    }

    /// Compiles all blocks that can be reached.
    pub(super) fn run(&mut self) -> Result<()> {
        self.go_to(0)?;
        let flow = self.routine.flow();
        if flow.irreducible.is_some() {
            return self.fail("a loop is entered at two places");
        }
        for &number in &flow.order {
            let block = &flow.blocks[number];
            if let Some(entry) = self.entries.get(&block.start).cloned() {
                self.enter(number, &entry);
                self.instructions(block.start, block.end)?;
            }
        }
        Ok(())
    }

    /// Starts the code of a block of bytecode; a loop's header begins with the kernel's check.
    fn enter(&mut self, number: usize, entry: &Entry) {
        self.builder.code.block = entry.block;
        for word in &mut self.registers {
            *word = Word::Nothing;
        }
        for (register, kind, value) in &entry.registers {
            self.registers[*register] = match (kind, value) {
                (StaticType::Integer, Some(value)) => Word::Integer(*value),
                (StaticType::Truth, Some(value)) => Word::Truth(*value),
                (StaticType::Name(name), _) => Word::Name(name.clone()),
                _ => Word::Nothing,
            };
        }
        if self.routine.flow().loops[number].is_some() {
            let (go, _) = self.builder.code.new_block(0);
            let stop = self.builder.stop();
            self.builder.code.terminate(Terminator::MayGoto {
                go: Target::new(go, vec![]),
                stop: Target::new(stop, vec![]),
            });
            self.builder.code.block = go;
        }
    }

    /// Compiles the instructions of a block, from `start` to before `end`.
    fn instructions(&mut self, start: usize, end: usize) -> Result<()> {
        let mut pc = start;
        while pc < end {
            self.pc = pc;
            match self.instruction(Instruction(self.prototype().code[pc]))? {
                Some(next) => pc = next,
                None => return Ok(()),
            }
        }
        self.go_to(pc)
    }

    /// Ends the block with a jump to an instruction.
    pub(super) fn go_to(&mut self, pc: usize) -> Result<()> {
        let target = self.target(pc)?;
        self.builder.code.terminate(Terminator::Jump(target));
        Ok(())
    }

    /// Ends the block with a test: `taken` is next where its outcome is `jump_if`, `skipped` otherwise.
    pub(super) fn branch(
        &mut self,
        condition: Condition,
        jump_if: bool,
        taken: usize,
        skipped: usize,
    ) -> Result<()> {
        let (then, otherwise) = if jump_if { (taken, skipped) } else { (skipped, taken) };
        let then = self.target(then)?;
        let otherwise = self.target(otherwise)?;
        self.builder.code.terminate(Terminator::Branch { condition, then, otherwise });
        Ok(())
    }

    /// A jump to an instruction, with the registers that are live there as arguments.
    pub(super) fn target(&mut self, pc: usize) -> Result<Target> {
        let flow = self.routine.flow();
        let Some(number) = flow.blocks.iter().position(|block| block.start == pc) else {
            return self.fail("a jump into a block");
        };
        if !self.entries.contains_key(&pc) {
            let entry = self.new_entry(number);
            self.entries.insert(pc, entry);
        }
        let entry = self.entries[&pc].clone();
        let args = self.arguments(&entry, flow.loops[number].is_some())?;
        Ok(Target::new(entry.block, args))
    }

    /// The IR block of a block of bytecode. The registers that are live there are its parameters, with the types they have now.
    fn new_entry(&mut self, number: usize) -> Entry {
        let live_in = &self.routine.flow().blocks[number].live_in;
        let (block, _) = self.builder.code.new_block(0);
        let mut registers = Vec::new();
        for register in (0..self.registers.len()).filter(|register| live_in.contains(*register)) {
            let kind = self.registers[register].kind();
            let value = match kind {
                StaticType::Name(_) => None,
                _ => Some(self.builder.code.function.add_param(block)),
            };
            registers.push((register, kind, value));
        }
        Entry { block, registers }
    }

    /// What a jump to a block passes for its parameters; the verifier must know nothing of what a loop's header gets.
    fn arguments(&mut self, entry: &Entry, is_header: bool) -> Result<Vec<Value>> {
        let (mut args, mut words) = (Vec::new(), Vec::new());
        for (register, kind, _) in &entry.registers {
            let word = self.registers[*register].clone();
            if word.kind() != *kind && word != Word::Nothing {
                return self.fail(format!("register {register} is of two types"));
            }
            if !matches!(kind, StaticType::Name(_)) {
                let copies = is_header && words.contains(&word);
                let value = match is_header {
                    true => self.builder.launder(&word),
                    false => self.builder.value(&word),
                };
                // Registers with the same value would be linked.
                args.push(if copies { self.builder.unlinked(value) } else { value });
                words.push(word);
            }
        }
        Ok(args)
    }

    pub(super) fn get(&self, register: usize) -> Word {
        self.registers[register].clone()
    }

    pub(super) fn set(&mut self, register: usize, word: Word) {
        if register >= self.registers.len() {
            self.registers.resize(register + 1, Word::Nothing);
        }
        self.registers[register] = word;
    }
}
