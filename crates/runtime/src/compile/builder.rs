//! The subprogram under construction, shared by a function and those that are expanded into it.

use super::Host;
use super::registers::Word;
use super::sources::{Routine, find};
use crate::layout;
use moonhook_ir as ir;
use moonhook_ir::{Block, Operand, Terminator, Value};
use moonhook_snapshot::Value as Constant;
use std::collections::HashMap;

/// Functions that may be expanded into one another.
pub(super) const MAX_DEPTH: usize = 12;

/// The code of a subprogram, and what the compiler remembers of it.
pub(super) struct Builder<'h> {
    pub code: ir::Builder,
    pub host: &'h mut dyn Host,
    /// A word of which the verifier knows nothing; 0.
    pub zero: Option<Value>,
    /// Returns when the kernel's limit for loops is used up.
    stop: Option<Block>,
    /// Values that are another value plus a constant.
    pub sums: HashMap<Value, (Value, i64)>,
    /// How many functions around the current one are being expanded.
    pub depth: usize,
}

impl<'h> Builder<'h> {
    /// A subprogram for the routine; where it has loops, it begins with the load of the unknown zero.
    pub fn new(name: &str, routine: &Routine, host: &'h mut dyn Host) -> Self {
        let kind = ir::FunctionKind::Subprogram { global: true, context: None };
        let mut code = ir::Builder::new(name, kind, u32::from(routine.prototype.parameters));
        let zero = needs_zero(routine, 0).then(|| {
            let address = code.constant(layout::ADDR_NIL + 8);
            let address = code.arena(address);
            code.load(address, 0)
        });
        Builder { code, host, zero, stop: None, sums: HashMap::new(), depth: 0 }
    }

    /// The value of a word. What is known at compile time only has none at run time and is 0.
    pub fn value(&mut self, word: &Word) -> Value {
        match word {
            Word::Constant(value) => self.code.constant(*value),
            Word::Integer(value) | Word::Truth(value) => *value,
            Word::Name(_) | Word::Nothing => self.code.constant(0),
        }
    }

    /// An instruction's second operand: an immediate where it fits.
    pub fn operand(&mut self, word: &Word) -> Operand {
        match word {
            Word::Constant(value) => self.code.number(*value),
            word => Operand::Value(self.value(word)),
        }
    }

    /// The block that a loop leaves for when the kernel stops it.
    pub fn stop(&mut self) -> Block {
        if let Some(block) = self.stop {
            return block;
        }
        let (block, _) = self.code.cold_block(0);
        let failure = Terminator::Return(Operand::Imm(layout::FAIL as i32));
        self.code.function.block_mut(block).terminator = Some((failure, self.code.loc));
        self.stop = Some(block);
        block
    }
}

/// Whether there are loops in the function or in those expanded into it.
fn needs_zero(routine: &Routine, depth: usize) -> bool {
    let has_loop = routine.flow().loops.iter().any(Option::is_some);
    let names = routine.prototype.constants.iter().filter_map(|constant| match constant {
        Constant::String(text) => std::str::from_utf8(text).ok(),
        _ => None,
    });
    let inner = names.map(|name| format!("inline.{name}"));
    let locals =
        routine.prototype.upvalues.iter().map(|upvalue| format!("{}:{}", routine.file, upvalue.name));
    has_loop
        || depth < MAX_DEPTH
            && inner
                .chain(locals)
                .filter_map(|name| find(&name))
                .any(|routine| needs_zero(routine, depth + 1))
}
