//! Instructions, one after the other (RFC 9669 § 4 and 5, and the kernel's `may_goto`).

use crate::alu::{self, Operation};
use crate::code::{Code, Instruction, Program, Reference};
use crate::fault::{Fault, FaultKind};
use crate::helpers;
use crate::host::Host;
use crate::maps::Map;
use crate::memory::{Address, Memory};

/// Classes: the low three bits of the code.
mod class {
    pub const LD: u8 = 0x00;
    pub const LDX: u8 = 0x01;
    pub const ST: u8 = 0x02;
    pub const STX: u8 = 0x03;
    pub const ALU: u8 = 0x04;
    pub const JMP: u8 = 0x05;
    pub const JMP32: u8 = 0x06;
}

/// Modes of loads and stores: the high three bits.
const MODE_MEM: u8 = 0x60;
const MODE_MEMSX: u8 = 0x80;
const MODE_ATOMIC: u8 = 0xc0;
/// `imm` of an atomic operation that gives the old value, and of the one that compares it.
const FETCH: i32 = 0x01;
const COMPARE: i32 = 0xf1;

/// Whole codes of what is no family.
const LOAD_IMM64: u8 = 0x18;
const JUMP: u8 = 0x05;
const JUMP_FAR: u8 = 0x06;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const MAY_GOTO: u8 = 0xe5;

/// The second operand is a register.
const REGISTER: u8 = 0x08;
/// `src` of a call of a function of the object.
const OF_OBJECT: usize = 1;
/// Turns of loops with `may_goto`, for each function (`BPF_MAX_LOOPS`, include/linux/bpf.h).
pub(crate) const TURNS: u32 = 8 << 20;

/// A call from outside, with all that it reaches.
pub(crate) struct Machine<'a> {
    pub program: &'a Program,
    pub memory: Memory<'a>,
    pub maps: &'a mut [Map],
    pub host: &'a mut Host,
    /// How many instructions it can take, and how many of them are left.
    pub budget: u64,
    pub left: u64,
}

/// A function that is running.
struct State {
    registers: [u64; 11],
    /// The instruction that is executed, and the one behind it.
    slot: usize,
    next: usize,
    turns: u32,
}

impl State {
    fn register(&mut self, number: usize) -> Result<&mut u64, Fault> {
        self.registers.get_mut(number).ok_or_else(|| FaultKind::Instruction { code: number as u8 }.into())
    }

    fn jump(&mut self, distance: i64) -> Result<(), Fault> {
        let to = i64::try_from(self.next).ok().and_then(|next| next.checked_add(distance));
        self.next = to.and_then(|to| usize::try_from(to).ok()).ok_or(FaultKind::Outside)?;
        Ok(())
    }
}

/// The fault of an instruction that is none.
fn none(instruction: &Instruction) -> Fault {
    FaultKind::Instruction { code: instruction.code }.into()
}

impl<'a> Machine<'a> {
    /// Runs a function until it returns.
    pub fn run(&mut self, function: usize, arguments: [u64; 5]) -> Result<u64, Fault> {
        let program: &'a Program = self.program;
        let code = program.functions.get(function).ok_or(FaultKind::NoFunction)?;
        let frame = self.memory.enter()?;
        let mut state = State { registers: [0; 11], slot: 0, next: 0, turns: TURNS };
        state.registers[1..6].copy_from_slice(&arguments);
        state.registers[10] = frame.0;
        let result = loop {
            match self.step(code, &mut state) {
                Ok(None) => {}
                Ok(Some(value)) => break Ok(value),
                Err(fault) => break Err(fault.at(|| code.place(state.slot))),
            }
        };
        self.memory.leave();
        result
    }

    /// Takes steps off what is left.
    pub fn charge(&mut self, steps: u64) -> Result<(), Fault> {
        self.left = self.left.checked_sub(steps).ok_or(FaultKind::Budget(self.budget))?;
        Ok(())
    }

    /// One instruction; gives what the function returns, if it does.
    fn step(&mut self, code: &Code, state: &mut State) -> Result<Option<u64>, Fault> {
        self.charge(1)?;
        let instruction = code.instructions.get(state.next).ok_or(FaultKind::Outside)?;
        if instruction.dst > 10 || instruction.src > 10 {
            return Err(none(instruction));
        }
        (state.slot, state.next) = (state.next, state.next + 1);
        match instruction.code & 7 {
            class::LD => load_number(code, instruction, state)?,
            class::LDX => self.load(instruction, state)?,
            class::ST | class::STX => self.store(instruction, state)?,
            class::JMP | class::JMP32 => return self.jump(instruction, state),
            _ => compute(instruction, state)?,
        }
        Ok(None)
    }

    fn load(&mut self, instruction: &Instruction, state: &mut State) -> Result<(), Fault> {
        let size = size(instruction);
        let value = self.memory.load(address(state, instruction.src, instruction), size)?;
        let value = match (instruction.code & 0xe0, size) {
            (MODE_MEM, _) => value,
            (MODE_MEMSX, 1) => value as i8 as u64,
            (MODE_MEMSX, 2) => value as i16 as u64,
            (MODE_MEMSX, 4) => value as i32 as u64,
            _ => return Err(none(instruction)),
        };
        set(state, instruction, value)
    }

    fn store(&mut self, instruction: &Instruction, state: &mut State) -> Result<(), Fault> {
        let (size, to) = (size(instruction), address(state, instruction.dst, instruction));
        let value = match instruction.code & 7 {
            class::ST => instruction.imm as i64 as u64,
            _ => state.registers[instruction.src],
        };
        match (instruction.code & 0xe0, instruction.code & 7) {
            (MODE_MEM, _) => self.memory.store(to, size, value),
            (MODE_ATOMIC, class::STX) if size >= 4 => self.atomic(instruction, state, (to, size)),
            _ => Err(none(instruction)),
        }
    }

    fn atomic(
        &mut self,
        instruction: &Instruction,
        state: &mut State,
        (to, size): (Address, usize),
    ) -> Result<(), Fault> {
        let old = self.memory.load(to, size)?;
        let cut = |number: u64| if size == 4 { number & 0xffff_ffff } else { number };
        let (by, compared) = (cut(state.registers[instruction.src]), cut(state.registers[0]));
        let new = alu::atomic(instruction.imm, old, by, compared).ok_or_else(|| none(instruction))?;
        self.memory.store(to, size, new)?;
        match instruction.imm {
            COMPARE => *state.register(0)? = old,
            imm if imm & FETCH != 0 => {
                if instruction.src == 10 {
                    return Err(none(instruction));
                }
                *state.register(instruction.src)? = old;
            }
            _ => {}
        }
        Ok(())
    }

    fn jump(&mut self, instruction: &Instruction, state: &mut State) -> Result<Option<u64>, Fault> {
        let off = i64::from(instruction.off);
        match instruction.code {
            EXIT => return Ok(Some(state.registers[0])),
            CALL => self.call(instruction, state)?,
            JUMP => state.jump(off)?,
            JUMP_FAR => state.jump(i64::from(instruction.imm))?,
            MAY_GOTO if instruction.src == 0 => match state.turns {
                0 => state.jump(off)?,
                _ => state.turns -= 1,
            },
            _ => {
                let is_wide = instruction.code & 7 == class::JMP;
                let (a, b) = (state.registers[instruction.dst], second(instruction, state));
                let holds = operation(instruction).holds(a, b, is_wide);
                if holds.ok_or_else(|| none(instruction))? {
                    state.jump(off)?;
                }
            }
        }
        Ok(None)
    }

    fn call(&mut self, instruction: &Instruction, state: &mut State) -> Result<(), Fault> {
        let mut arguments = [0; 5];
        arguments.copy_from_slice(&state.registers[1..6]);
        let value = match (instruction.src, &instruction.reference) {
            (OF_OBJECT, Some(Reference::Call(function))) => self.run(*function, arguments)?,
            (OF_OBJECT, Some(Reference::Missing(name))) => {
                return Err(FaultKind::Missing { name: name.clone(), second: arguments[1] }.into());
            }
            (0, _) => helpers::call(self, instruction.imm.cast_unsigned(), arguments)?,
            _ => return Err(none(instruction)),
        };
        // What a call leaves in the registers of arguments, nobody may read.
        state.registers[1..6].fill(0);
        state.registers[0] = value;
        Ok(())
    }
}

/// Arithmetic.
fn compute(instruction: &Instruction, state: &mut State) -> Result<(), Fault> {
    let (a, b) = (state.registers[instruction.dst], second(instruction, state));
    let operation = operation(instruction);
    let value = match instruction.code & 7 {
        class::ALU => operation.narrow(a, b),
        _ => operation.wide(a, b),
    };
    set(state, instruction, value.ok_or_else(|| none(instruction))?)
}

/// A load of 64 bits, which takes two slots: the number, or the address of what it refers to.
fn load_number(code: &Code, instruction: &Instruction, state: &mut State) -> Result<(), Fault> {
    let second = code.instructions.get(state.next).ok_or(FaultKind::Outside)?;
    if instruction.code != LOAD_IMM64 || second.code != 0 {
        return Err(none(instruction));
    }
    let low = u64::from(instruction.imm.cast_unsigned());
    let value = match (&instruction.reference, instruction.src) {
        (Some(Reference::Address(address)), _) => address.0,
        (None, 0) => u64::from(second.imm.cast_unsigned()) << 32 | low,
        _ => return Err(none(instruction)),
    };
    state.next += 1;
    set(state, instruction, value)
}

/// Nothing writes the frame pointer.
fn set(state: &mut State, instruction: &Instruction, value: u64) -> Result<(), Fault> {
    match instruction.dst {
        10 => Err(none(instruction)),
        dst => {
            *state.register(dst)? = value;
            Ok(())
        }
    }
}

fn operation(instruction: &Instruction) -> Operation {
    Operation { code: instruction.code, off: instruction.off, imm: instruction.imm }
}

fn second(instruction: &Instruction, state: &State) -> u64 {
    match instruction.code & REGISTER {
        0 => instruction.imm as i64 as u64,
        _ => state.registers[instruction.src],
    }
}

fn address(state: &State, register: usize, instruction: &Instruction) -> Address {
    Address(state.registers[register].wrapping_add_signed(i64::from(instruction.off)))
}

fn size(instruction: &Instruction) -> usize {
    match instruction.code & 0x18 {
        0x00 => 4,
        0x08 => 2,
        0x10 => 1,
        _ => 8,
    }
}
