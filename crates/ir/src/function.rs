//! Functions: blocks of instructions over SSA values.
//!
//! All lists only grow while a function is built, so a builder can take a [`Checkpoint`] and go back to it.

use crate::{FunctionId, Given, GivenReference, MapId, Op, Prototype, Terminator};

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident $letter:literal),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub u32);
        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl crate::graph::Node for $name {
            fn number(self) -> usize {
                self.index()
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    )*};
}

index!(
    /// An SSA value: a 64-bit word.
    Value "v",
    /// A basic block; block 0 is the entry.
    Block "b",
    /// A part of the function's stack frame: [`Function::slots`].
    Slot "s"
);

impl Value {
    /// What takes the place of a result that there is none of, by a fault of a builder: [`crate::verify`] refuses a function that uses it.
    pub const NONE: Value = Value(u32::MAX);
}

/// Where in the script something comes from; line 0 is "nowhere".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Loc {
    /// Index into [`crate::Module::sources`].
    pub source: u16,
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Function {
    /// A C identifier, unique in the module.
    pub name: String,
    pub kind: FunctionKind,
    /// At most 5. A program has one: its context.
    pub params: Vec<Value>,
    pub blocks: Vec<BlockData>,
    /// How many values there are; their numbers are below this.
    pub value_count: u32,
    /// Sizes in bytes, multiples of 8.
    pub slots: Vec<u32>,
    /// What it writes is of use only to who has its result: a call whose result nobody needs can be left out.
    pub for_result: bool,
    /// It has many short ways round long ones, in loops: where they meet they are to leave the same in machine registers.
    pub alike: bool,
    /// The code, where another compiler has made it: then the only block is empty.
    pub given: Option<Given>,
    /// How programs in C call it: then the object has it as a function, whatever its kind is.
    pub prototype: Option<Prototype>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// An entry point in the ELF section of that name (`xdp`, `tc`, …), which tells libbpf the program type.
    Program { section: String },
    /// Called by programs; verified on its own when `global`. With `context`, the first parameter is the context of programs in that
    /// section, passed on by whoever calls; all others are numbers.
    Subprogram { global: bool, context: Option<String> },
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct BlockData {
    pub params: Vec<Value>,
    pub insts: Vec<Inst>,
    pub terminator: Option<(Terminator, Loc)>,
    /// Hardly ever reached (errors): placed after the other code.
    pub cold: bool,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Inst {
    pub op: Op,
    /// Present exactly if the operation has a result.
    pub result: Option<Value>,
    pub loc: Loc,
}

/// A position to which [`Function::rollback`] returns.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    blocks: usize,
    values: u32,
    slots: usize,
}

impl Function {
    /// An empty function with `params` parameters and an empty entry block.
    pub fn new(name: impl Into<String>, kind: FunctionKind, params: u32) -> Self {
        Function {
            name: name.into(),
            kind,
            params: (0..params).map(Value).collect(),
            blocks: vec![BlockData::default()],
            value_count: params,
            for_result: false,
            alike: false,
            slots: Vec::new(),
            given: None,
            prototype: None,
        }
    }

    /// The value that is the program's context, if the function has it.
    pub fn context(&self) -> Option<Value> {
        self.section().and_then(|_| self.params.first().copied())
    }

    /// The section of the programs whose context the function gets.
    pub fn section(&self) -> Option<&str> {
        match &self.kind {
            FunctionKind::Program { section } => Some(section),
            FunctionKind::Subprogram { context, .. } => context.as_deref(),
        }
    }

    /// Whether the kernel, or a program in C, begins with it.
    pub fn is_entry(&self) -> bool {
        matches!(self.kind, FunctionKind::Program { .. }) || self.prototype.is_some()
    }

    /// The functions that this one mentions, each as often as it does.
    pub fn callees(&self) -> impl Iterator<Item = FunctionId> {
        let insts = self.blocks.iter().flat_map(|block| &block.insts);
        let of_blocks = insts.filter_map(|inst| match inst.op {
            Op::Call { function, .. } | Op::FunctionReference(function) => Some(function),
            _ => None,
        });
        of_blocks.chain(self.given.iter().flat_map(Given::callees))
    }

    /// The maps that this function names, each as often as it does. An arena is named by none: the instructions that compute addresses mean it.
    pub fn maps(&self) -> impl Iterator<Item = MapId> {
        let insts = self.blocks.iter().flat_map(|block| &block.insts);
        let of_blocks = insts.filter_map(|inst| match inst.op {
            Op::DataAddress { map, .. } | Op::MapReference(map) => Some(map),
            _ => None,
        });
        of_blocks.chain(self.given.iter().flat_map(Given::maps))
    }

    /// Puts others in the places of the functions and maps that this one mentions.
    pub fn renumber(&mut self, mut function: impl FnMut(&mut FunctionId), mut map: impl FnMut(&mut MapId)) {
        for inst in self.blocks.iter_mut().flat_map(|block| &mut block.insts) {
            match &mut inst.op {
                Op::Call { function: id, .. } | Op::FunctionReference(id) => function(id),
                Op::DataAddress { map: id, .. } | Op::MapReference(id) => map(id),
                _ => {}
            }
        }
        for (_, reference) in self.given.iter_mut().flat_map(|given| &mut given.references) {
            match reference {
                GivenReference::Call(id) | GivenReference::Function(id) => function(id),
                GivenReference::Map(id) | GivenReference::Data(id, _) => map(id),
                GivenReference::Start => {}
            }
        }
    }

    pub fn new_value(&mut self) -> Value {
        self.value_count += 1;
        Value(self.value_count - 1)
    }

    pub fn new_block(&mut self) -> Block {
        self.blocks.push(BlockData::default());
        Block(self.blocks.len() as u32 - 1)
    }

    pub fn add_param(&mut self, block: Block) -> Value {
        let value = self.new_value();
        self.block_mut(block).params.push(value);
        value
    }

    /// Reserves `bytes` (rounded up to a multiple of 8) of stack.
    pub fn new_slot(&mut self, bytes: u32) -> Slot {
        self.slots.push(bytes.next_multiple_of(8));
        Slot(self.slots.len() as u32 - 1)
    }

    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block.index()]
    }

    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block.index()]
    }

    /// Appends an operation; gives its result, if it has one.
    pub fn push(&mut self, block: Block, op: Op, loc: Loc) -> Option<Value> {
        let result = op.has_result().then(|| self.new_value());
        self.block_mut(block).insts.push(Inst { op, result, loc });
        result
    }

    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { blocks: self.blocks.len(), values: self.value_count, slots: self.slots.len() }
    }

    /// Forgets all blocks, values and slots made since. Blocks that are older must not have been changed since.
    pub fn rollback(&mut self, to: &Checkpoint) {
        self.blocks.truncate(to.blocks);
        self.value_count = to.values;
        self.slots.truncate(to.slots);
    }
}
