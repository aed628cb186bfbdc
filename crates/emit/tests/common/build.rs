//! A builder for functions, as short as tests want it.

use moonhook_ir::*;

pub struct Build {
    pub f: Function,
    /// Where operations go.
    pub at: Block,
    line: u32,
}

/// An XDP program; its context is value 0.
pub fn program(name: &str) -> Build {
    build(name, FunctionKind::Program { section: "xdp".into() }, 1)
}

pub fn subprogram(name: &str, global: bool, params: u32) -> Build {
    build(name, FunctionKind::Subprogram { global, context: None }, params)
}

fn build(name: &str, kind: FunctionKind, params: u32) -> Build {
    Build { f: Function::new(name, kind, params), at: Block(0), line: 0 }
}

pub fn module(functions: Vec<Function>, maps: Vec<Map>) -> Module {
    let text: String = (1..2000).map(|line| format!("local x{line} = {line}\n")).collect();
    let sources = vec![SourceFile { name: "test.lua".into(), text }];
    Module { sources, maps, functions, ..Module::default() }
}

/// A writable section of so many 8-byte words, named `.data.io`.
pub fn io(words: usize) -> Map {
    Map { name: "io".into(), kind: MapKind::Data(vec![0; words * 8]) }
}

pub const IO: MapId = MapId(0);

impl Build {
    pub fn done(self) -> Function {
        self.f
    }

    /// Every operation is from a line of its own.
    fn loc(&mut self) -> Loc {
        self.line += 1;
        Loc { source: 0, line: self.line }
    }

    pub fn op(&mut self, op: Op) -> Value {
        let loc = self.loc();
        self.f.push(self.at, op, loc).expect("an operation with a result")
    }

    pub fn effect(&mut self, op: Op) {
        let loc = self.loc();
        self.f.push(self.at, op, loc);
    }

    pub fn constant(&mut self, value: i64) -> Value {
        self.op(Op::Const(value))
    }

    pub fn binary(&mut self, op: BinaryOp, lhs: Value, rhs: impl Into<Operand>) -> Value {
        self.op(Op::Binary(op, lhs, rhs.into()))
    }

    pub fn compare(&mut self, op: CompareOp, lhs: Value, rhs: impl Into<Operand>) -> Value {
        self.op(Op::Compare(Condition::new(op, lhs, rhs)))
    }

    pub fn load(&mut self, size: Size, base: Value, disp: i16) -> Value {
        self.op(Op::Load { size, signed: false, base, disp })
    }

    pub fn store(&mut self, size: Size, base: Value, disp: i16, value: impl Into<Operand>) {
        self.effect(Op::Store { size, base, disp, value: value.into() });
    }

    /// The `n`th word of the `io` section.
    pub fn input(&mut self, n: u32) -> Value {
        let base = self.op(Op::DataAddress { map: IO, offset: n * 8 });
        self.load(Size::B8, base, 0)
    }

    pub fn output(&mut self, n: u32, value: impl Into<Operand>) {
        let base = self.op(Op::DataAddress { map: IO, offset: n * 8 });
        self.store(Size::B8, base, 0, value);
    }

    pub fn block(&mut self) -> Block {
        self.f.new_block()
    }

    fn end(&mut self, terminator: Terminator) {
        let loc = self.loc();
        self.f.block_mut(self.at).terminator = Some((terminator, loc));
    }

    pub fn jump(&mut self, to: Block, args: &[Value]) {
        self.end(Terminator::Jump(Target::new(to, args.to_vec())));
    }

    pub fn branch(&mut self, condition: Condition, then: (Block, &[Value]), otherwise: (Block, &[Value])) {
        self.end(Terminator::Branch {
            condition,
            then: Target::new(then.0, then.1.to_vec()),
            otherwise: Target::new(otherwise.0, otherwise.1.to_vec()),
        });
    }

    pub fn may_goto(&mut self, go: Block, stop: Block) {
        self.end(Terminator::MayGoto { go: Target::new(go, vec![]), stop: Target::new(stop, vec![]) });
    }

    pub fn ret(&mut self, value: impl Into<Operand>) {
        self.end(Terminator::Return(value.into()));
    }
}
