//! Functions of the kernel: programs at them get the processor's registers (`struct pt_regs`), as they are when one is called and when it
//! returns. Which of them has which argument is the machine's calling convention, and which machine it is the structure's fields say.

use crate::event::{Argument, Event, Place};
use crate::reader::{Kind, TypeId, Types};

const REGISTERS: &str = "pt_regs";

/// What the value that a function returns is called.
const RESULT: &str = "ret";

/// Bytes of a register.
const WORD: u32 = 8;

/// The names of all functions that are described.
pub fn functions(types: &Types) -> impl Iterator<Item = &str> {
    types.all().filter(|id| matches!(types.kind(*id), Kind::Function(_))).map(|id| types.name(id))
}

/// How functions are given arguments on a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Convention {
    machine: Machine,
    /// Where registers for arguments are in the structure, in the arguments' order.
    arguments: Vec<u32>,
    /// Where the register is that has a result.
    result: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Machine {
    /// System V ABI, AMD64 supplement, § 3.2.3.
    X86,
    /// Procedure call standard for the Arm 64-bit architecture, § 6.8.2.
    Arm,
}

impl Convention {
    /// That of the kernel with these types; `None` for machines that are not known.
    pub fn of(types: &Types) -> Option<Convention> {
        let registers = types.structure(REGISTERS)?;
        let offset = |name: &str| types.field(registers, name).map(|field| field.offset);
        let x86 = ["di", "si", "dx", "cx", "r8", "r9"].map(offset);
        if let (Some(result), Some(arguments)) = (offset("ax"), x86.into_iter().collect()) {
            return Some(Convention { machine: Machine::X86, arguments, result });
        }
        let regs = types.field(registers, "regs").filter(|_| offset("pstate").is_some())?;
        let arguments = (0..8).map(|number| regs.offset + WORD * number).collect();
        Some(Convention { machine: Machine::Arm, arguments, result: regs.offset })
    }

    /// What a call of the function of that name hands over: the arguments that are in registers. `None` where there is none.
    pub fn call(&self, types: &Types, name: &str) -> Option<Event> {
        let prototype = prototype(types, name)?;
        let mut left = Registers { offsets: &self.arguments, next: 0 };
        // A result that is long is written where the caller says, before all arguments.
        if self.machine == Machine::X86 && types.size(result(types, prototype)) > 2 * WORD {
            left.take(1);
        }
        let mut arguments = Vec::new();
        for (number, parameter) in types.members(prototype).into_iter().enumerate() {
            let Some(offset) = self.place(types, parameter.type_id, &mut left) else { continue };
            let name = match parameter.name {
                "" => format!("arg{number}").into(),
                name => name.into(),
            };
            let content = types.content(parameter.type_id);
            arguments.push(Argument { name, content, place: Place::Word(offset) });
        }
        Some(Event { structure: None, arguments })
    }

    /// What is handed over when the function of that name returns: `ret`, if it returns something. `None` where there is none.
    pub fn return_of(&self, types: &Types, name: &str) -> Option<Event> {
        let returned = result(types, prototype(types, name)?);
        let content = types.content(returned);
        let result = Argument { name: RESULT.into(), content, place: Place::Word(self.result) };
        let is_there = types.size(returned) > 0;
        Some(Event { structure: None, arguments: is_there.then_some(result).into_iter().collect() })
    }

    /// Where the first register is that has an argument of the type; `None` if it is elsewhere.
    fn place(&self, types: &Types, type_id: TypeId, left: &mut Registers<'_>) -> Option<u32> {
        let bytes = types.size(type_id);
        let is_structure = matches!(types.kind(types.resolved(type_id)), Kind::Structure { .. });
        match (self.machine, bytes) {
            // Nothing, or, behind `...`, what has no type.
            (_, 0) => None,
            (_, 1..=8) => self.taken(left, 1),
            (Machine::X86, 9..=16) => self.taken(left, 2),
            (Machine::X86, _) => None,
            (Machine::Arm, 9..=16) => {
                // A number of two registers begins with an even one.
                if !is_structure && left.next % 2 == 1 {
                    left.next += 1;
                }
                self.taken(left, 2)
            }
            // The address of a copy.
            (Machine::Arm, _) => self.taken(left, 1),
        }
    }

    /// The first of so many registers. Where there are not as many, an argument is on the stack; x86 looks further for a register for the
    /// next one.
    fn taken(&self, left: &mut Registers<'_>, count: usize) -> Option<u32> {
        let first = left.take(count);
        if first.is_none() && self.machine == Machine::Arm {
            left.next = left.offsets.len();
        }
        first
    }
}

/// Registers for arguments that have none yet.
struct Registers<'a> {
    offsets: &'a [u32],
    next: usize,
}

impl Registers<'_> {
    fn take(&mut self, count: usize) -> Option<u32> {
        let first = self.offsets.get(self.next..self.next + count)?.first().copied();
        self.next += count;
        first
    }
}

fn prototype(types: &Types, name: &str) -> Option<TypeId> {
    let id = types.find(name, |kind| matches!(kind, Kind::Function(_)))?;
    match types.kind(id) {
        Kind::Function(prototype) => Some(prototype),
        _ => None,
    }
}

/// What a function with the prototype returns.
fn result(types: &Types, prototype: TypeId) -> TypeId {
    match types.kind(prototype) {
        Kind::Prototype(result) => result,
        _ => prototype,
    }
}
