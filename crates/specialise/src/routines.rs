//! Routines of the runtime in expanded code: those that need nothing of general code are subprograms of the module, each there once.

use crate::context::{Context, Result};
use crate::output::Output;
use moonhook_ir as ir;
use moonhook_ir::{FunctionId, MapId, Op, UnaryOp};
use moonhook_runtime::{Host, layout};

impl Context<'_> {
    /// The number of the routine's function, which is made, with those that it calls, unless it is there.
    ///
    /// # Errors
    /// `Internal` for a routine that mentions texts or reads the arena, which are general code's.
    pub fn expanded_routine(&mut self, name: &str) -> Result<FunctionId> {
        let first = self.snapshot.points().len();
        let opaque = self.code.opaque_map;
        let mut routines = Routines { output: &mut self.output, first, opaque, failure: None };
        let function = routines.place(name);
        match (function, routines.failure) {
            (Some(function), None) => Ok(function),
            (_, failure) => {
                let why = failure.unwrap_or_default();
                self.internal_fault(format!("the routine {name} in expanded code: {why}"))
            }
        }
    }
}

/// The module's functions, as the compiler of routines sees them.
struct Routines<'a> {
    output: &'a mut Output,
    /// The number of the first subprogram.
    first: usize,
    /// The writable zero.
    opaque: MapId,
    failure: Option<String>,
}

impl Routines<'_> {
    fn place(&mut self, name: &str) -> Option<FunctionId> {
        let known = self.output.subprograms.iter().position(|function| function.name == name);
        if let Some(known) = known {
            return Some(self.number(known));
        }
        match moonhook_runtime::compile(name, self) {
            Ok(mut function) => {
                self.take_zero_elsewhere(&mut function);
                Some(self.add(function))
            }
            Err(error) => {
                self.failure.get_or_insert(error.to_string());
                None
            }
        }
    }

    fn add(&mut self, function: ir::Function) -> FunctionId {
        self.output.subprograms.push(function);
        self.number(self.output.subprograms.len() - 1)
    }

    /// The zero that the verifier does not know, with which routines hide their loops' variables, is in the arena: here it is where expanded
    /// code has it.
    fn take_zero_elsewhere(&mut self, function: &mut ir::Function) {
        let insts = || function.blocks.iter().flat_map(|block| &block.insts);
        let zero_of_arena = |inst: &&ir::Inst| inst.op == Op::Const(layout::ADDR_NIL + 8);
        let zeros: Vec<ir::Value> = insts().filter(zero_of_arena).filter_map(|inst| inst.result).collect();
        for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
            if let Op::Unary(UnaryOp::Arena, address) = inst.op {
                if !zeros.contains(&address) {
                    self.failure.get_or_insert("it reads the arena".to_string());
                }
                inst.op = Op::DataAddress { map: self.opaque, offset: 0 };
            }
        }
    }

    fn number(&self, index: usize) -> FunctionId {
        FunctionId((self.first + index) as u32)
    }
}

impl Host for Routines<'_> {
    fn text(&mut self, text: &[u8]) -> u64 {
        let text = String::from_utf8_lossy(text);
        self.failure.get_or_insert(format!("it mentions the text '{text}'"));
        0
    }

    fn routine(&mut self, name: &str) -> FunctionId {
        self.place(name).unwrap_or(FunctionId(0))
    }
}
