//! Records: instructions of interpreted functions, as they stand in the image.
//!
//! Eight words of 32 bits: the step, its site (0: it can neither fail nor call), three or four operands, and where to go on. Registers
//! are offsets from register 0. An operand that may be a constant as well is an offset, or the constant's address plus 1.

macro_rules! steps {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What a record does; `a`, `b`, `c`, `d` are its operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Step { $($(#[$doc])* $name),* }    };
}

steps!(
    /// Register a := operand b.
    Move,
    Jump,
    /// A jump backwards, which takes a step of the budget.
    Loop,
    /// Register a := the variable of upvalue b.
    GetUpvalue,
    /// A variable of load time, by its address.
    GetVariable,
    /// The same, and c is not 0: takes note of what was read, in order to add to it.
    ReadUpvalue,
    /// Upvalue b := register a.
    SetUpvalue,
    /// The same, of a variable that may be one of all packets.
    AssignUpvalue,
    /// Takes note of what was read of the variable at a into register b.
    NoteRead,
    /// The variable at a := operand b.
    Assign,
    /// Register a := a closure of the record at b.
    Closure,
    /// Register a := register b [operand c].
    Index,
    /// Register a := upvalue b [operand c].
    IndexUpvalue,
    /// As `Index`, with the name of a field that may be a variable: takes note of what was read.
    ReadField,
    /// The same of upvalue b.
    ReadUpvalueField,
    /// Register a [operand b] := operand c.
    SetIndex,
    /// The same, of a field that may be a variable.
    AssignField,
    /// Upvalue a [operand b] := operand c.
    SetUpvalueIndex,
    /// Register a := a table for b values and c entries.
    NewTable,
    /// The b - 1 values behind register a, or those up to the end of the open list, go into its table behind the first c.
    SetList,
    /// Register a := operand b, operation d, operand c.
    Arithmetic,
    /// Register a := not register b.
    Not,
    /// Register a := #register b.
    Length,
    /// Register a and those behind it, b together, are to be concatenated.
    BeginConcat,
    Concat,
    /// Goes to `then` if register a is true.
    Test,
    /// If register a has the tag b.
    HasTag,
    /// If operands a and b are the same without metamethods.
    Same,
    Equal,
    Less,
    LessEqual,
    /// If what a metamethod gave is true.
    Answer,
    /// Calls register a with b - 1 arguments or the open list, for c - 1 results.
    Call,
    TailCall,
    /// Gives back b - 1 values from register a on, or the open list.
    Return,
    /// Variables of all registers get places of their own.
    Detach,
    /// Closes variables from register a on.
    Close,
    MarkClosed,
    /// Extra arguments to registers from a on, b - 1 of them or all; those of the table in operand c.
    VarArg,
    /// Register a := the extra argument that register b says.
    OneVarArg,
    HideVarArgs,
    VarArgTable,
    /// Begins the loop of registers a to a + 2; goes to `then` if it has no turn.
    ForPrepare,
    ForLoop,
    /// Exchanges registers a and a + 1.
    Exchange,
    /// Begins the traversal of a shared table by the loop of registers from a on, if it is one.
    BeginTraversal,
    Traverse,
    /// The global variable whose refusal is operand b is defined already unless register a is nil.
    RefuseDefined,
);

/// Where execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// At the record behind this one.
    Behind,
    /// At an instruction of bytecode.
    Pc(usize),
    Record(usize),
}

#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub step: Step,
    pub site: u32,
    pub operands: [u32; 4],
    pub then: Goal,
    pub next: Goal,
}

pub const RECORD_SIZE: usize = 32;

/// Byte offsets of a record's words.
pub const STEP: i64 = 0;
pub const SITE: i64 = 4;
pub const A: i64 = 8;
pub const B: i64 = 12;
pub const C: i64 = 16;
pub const D: i64 = 20;
pub const THEN: i64 = 24;
pub const NEXT: i64 = 28;

impl Record {
    /// The record's bytes; `address` gives those of goals.
    pub fn bytes(&self, address: impl Fn(Goal) -> u32) -> [u8; RECORD_SIZE] {
        let [a, b, c, d] = self.operands;
        let words = [self.step as u32, self.site, a, b, c, d, address(self.then), address(self.next)];
        let mut bytes = [0; RECORD_SIZE];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// A register as an operand.
pub fn register(number: usize) -> u32 {
    16 * number as u32
}
