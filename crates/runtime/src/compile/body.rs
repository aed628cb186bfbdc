//! One function: its blocks, and the functions that are expanded into it.

use super::error::CompileError;
use super::registers::{StaticType, Word};
use super::sources::{Routine, find};
use super::{Host, intrinsics};
use crate::layout;
use moonhook_ir as ir;
use moonhook_ir::{BinaryOp, Block, CompareOp, Condition, Op, Operand, Size, Target, Terminator, Value};
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, Value as Constant};
use std::collections::HashMap;
use std::rc::Rc;

/// Functions that may be expanded into one another.
const MAX_DEPTH: usize = 12;

pub(super) type Result<T> = std::result::Result<T, CompileError>;

/// The subprogram under construction.
pub(super) struct Builder<'h> {
    pub function: ir::Function,
    pub block: Block,
    pub host: &'h mut dyn Host,
    /// A word of which the verifier knows nothing; 0.
    pub zero: Option<Value>,
    /// Returns when the kernel's limit for loops is used up.
    pub stop: Option<Block>,
    /// Values that are another value plus a constant.
    pub sums: HashMap<Value, (Value, i64)>,
    depth: usize,
}

/// A block of bytecode: its IR block and what its parameters are, once the first way to it is known.
#[derive(Clone)]
struct Entry {
    block: Block,
    registers: Vec<(usize, StaticType, Option<Value>)>,
}

/// A function being compiled, into its own subprogram or into its caller's.
pub(super) struct Body<'b, 'h> {
    pub(super) builder: &'b mut Builder<'h>,
    routine: &'static Routine,
    registers: Vec<Word>,
    entries: HashMap<usize, Entry>,
    pub(super) pc: usize,
    /// The register behind an open list of values, which the next instruction takes.
    open: usize,
    /// Where an expanded function goes on, with its results; `None` for the subprogram itself.
    returns: Option<Returns>,
}

struct Returns {
    block: Block,
    kinds: Option<Vec<StaticType>>,
    params: Vec<Value>,
}

pub(super) fn compile(name: &str, routine: &'static Routine, host: &mut dyn Host) -> Result<ir::Function> {
    let kind = ir::FunctionKind::Subprogram { global: true, context: None };
    let parameters = u32::from(routine.prototype.parameters);
    let function = ir::Function::new(name, kind, parameters);
    let arguments = function.params.iter().map(|value| Word::Integer(*value)).collect();
    let mut builder =
        Builder { function, block: Block(0), host, zero: None, stop: None, sums: HashMap::new(), depth: 0 };
    if needs_zero(routine, 0) {
        let address = builder.constant(layout::ADDR_NIL + 8);
        let address = builder.arena(address);
        builder.zero = Some(builder.load(address, 0, Size::B8));
    }
    Body::new(&mut builder, routine, arguments, None).run()?;
    Ok(builder.function)
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

impl Builder<'_> {
    pub fn emit(&mut self, op: Op) -> Value {
        // Only stores have no result, and their callers do not ask.
        self.function.push(self.block, op, ir::Loc::default()).unwrap_or(Value::NONE)
    }

    pub fn constant(&mut self, value: i64) -> Value {
        self.emit(Op::Const(value))
    }

    pub fn arena(&mut self, address: Value) -> Value {
        self.emit(Op::Unary(ir::UnaryOp::Arena, address))
    }

    pub fn load(&mut self, base: Value, disp: i16, size: Size) -> Value {
        self.emit(Op::Load { size, signed: false, base, disp })
    }

    pub fn value(&mut self, word: &Word) -> Value {
        match word {
            Word::Constant(value) => self.constant(*value),
            Word::Integer(value) | Word::Truth(value) => *value,
            Word::Name(_) | Word::Nothing => self.constant(0),
        }
    }

    /// An instruction's second operand: an immediate where it fits.
    pub fn operand(&mut self, word: &Word) -> Operand {
        match word {
            Word::Constant(value) => match i32::try_from(*value) {
                Ok(imm) => Operand::Imm(imm),
                Err(_) => Operand::Value(self.constant(*value)),
            },
            word => Operand::Value(self.value(word)),
        }
    }

    pub fn terminate(&mut self, terminator: Terminator) {
        let block = self.function.block_mut(self.block);
        if block.terminator.is_none() {
            block.terminator = Some((terminator, ir::Loc::default()));
        }
    }

    pub fn jump(&mut self, block: Block, args: Vec<Value>) {
        self.terminate(Terminator::Jump(Target::new(block, args)));
    }

    /// The block that a loop leaves for when the kernel stops it.
    pub fn stop(&mut self) -> Block {
        if let Some(block) = self.stop {
            return block;
        }
        let block = self.function.new_block();
        let data = self.function.block_mut(block);
        data.cold = true;
        data.terminator = Some((Terminator::Return(Operand::Imm(layout::FAIL as i32)), ir::Loc::default()));
        self.stop = Some(block);
        block
    }
}

impl<'b, 'h> Body<'b, 'h> {
    fn new(
        builder: &'b mut Builder<'h>,
        routine: &'static Routine,
        arguments: Vec<Word>,
        returns: Option<Returns>,
    ) -> Self {
        let mut registers = arguments;
        registers.resize(usize::from(routine.prototype.stack_size) + 2, Word::Nothing);
        Body { builder, routine, registers, entries: HashMap::new(), pc: 0, open: 0, returns }
    }

    fn prototype(&self) -> &'static Prototype {
        &self.routine.prototype
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        let line = self.prototype().lines.get(self.pc).copied().unwrap_or(0);
        Err(CompileError { file: self.routine.file.into(), line, message: message.into() })
    }

    fn run(&mut self) -> Result<()> {
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
        self.builder.block = entry.block;
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
            let go = self.builder.function.new_block();
            let stop = self.builder.stop();
            self.builder.terminate(Terminator::MayGoto {
                go: Target::new(go, vec![]),
                stop: Target::new(stop, vec![]),
            });
            self.builder.block = go;
        }
    }

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
        self.builder.terminate(Terminator::Jump(target));
        Ok(())
    }

    /// A jump to an instruction, with the registers that are live there as arguments.
    pub(super) fn target(&mut self, pc: usize) -> Result<Target> {
        let flow = self.routine.flow();
        let Some(number) = flow.blocks.iter().position(|block| block.start == pc) else {
            return self.fail("a jump into a block");
        };
        let is_header = flow.loops[number].is_some();
        if !self.entries.contains_key(&pc) {
            let block = self.builder.function.new_block();
            let live = (0..self.registers.len()).filter(|r| flow.blocks[number].live_in.contains(*r));
            let mut registers = Vec::new();
            for register in live {
                let kind = self.registers[register].kind();
                let value = match kind {
                    StaticType::Name(_) => None,
                    _ => Some(self.builder.function.add_param(block)),
                };
                registers.push((register, kind, value));
            }
            self.entries.insert(pc, Entry { block, registers });
        }
        let entry = self.entries[&pc].clone();
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
        Ok(Target::new(entry.block, args))
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

    pub(super) fn constant(&mut self, index: usize) -> Result<Word> {
        match self.prototype().constants.get(index) {
            Some(Constant::Integer(value)) => Ok(Word::Constant(*value)),
            Some(Constant::String(text)) => Ok(Word::Constant(self.builder.host.text(text) as i64)),
            Some(Constant::Float(value)) => self.fail(format!("the float {value}")),
            _ => self.fail("a constant that is no integer or text"),
        }
    }

    fn name(&self, index: usize) -> String {
        match self.prototype().constants.get(index) {
            Some(Constant::String(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        }
    }

    /// Compiles one instruction; gives the next one, or `None` at the block's end.
    fn instruction(&mut self, i: Instruction) -> Result<Option<usize>> {
        use Opcode::*;
        let next = self.pc + 1;
        let Some(opcode) = i.opcode() else { return self.fail("no instruction") };
        match opcode {
            Move => self.set(i.a(), self.get(i.b())),
            LoadI => self.set(i.a(), Word::Constant(i.sbx())),
            LoadK => {
                let word = self.constant(i.bx())?;
                self.set(i.a(), word);
            }
            LoadNil => (i.a()..=i.a() + i.b()).for_each(|register| self.set(register, Word::Constant(0))),
            LoadFalse | LoadTrue => {
                let value = self.builder.constant(i64::from(opcode == LoadTrue));
                self.set(i.a(), Word::Truth(value));
            }
            LFalseSkip => {
                let value = self.builder.constant(0);
                self.set(i.a(), Word::Truth(value));
                return Ok(Some(next + 1));
            }
            GetUpval => {
                let name = format!("{}:{}", self.routine.file, self.prototype().upvalues[i.b()].name);
                self.set(i.a(), Word::Name(name.into()));
            }
            GetTabUp => {
                let word = self.global(&self.name(i.c()))?;
                self.set(i.a(), word);
            }
            GetField => match self.get(i.b()) {
                Word::Name(table) if &*table == "inline" => {
                    let name = format!("inline.{}", self.name(i.c()));
                    self.set(i.a(), Word::Name(name.into()));
                }
                _ => return self.fail("indexing anything but `inline`"),
            },
            MmBin | MmBinI | MmBinK | VarArgPrep => {}
            Not => {
                let Word::Truth(value) = self.get(i.b()) else { return self.fail("`not` of an integer") };
                let value = self.builder.emit(Op::Binary(BinaryOp::Xor, value, Operand::Imm(1)));
                self.set(i.a(), Word::Truth(value));
            }
            AddI | AddK | SubK | MulK | ModK | IDivK | BAndK | BOrK | BXorK | ShlI | ShrI | Add | Sub
            | Mul | Mod | IDiv | BAnd | BOr | BXor | Shl | Shr | Unm | BNot => self.arithmetic(opcode, i)?,
            Eq | Lt | Le | EqK | EqI | LtI | LeI | GtI | GeI | Test | TestSet => {
                self.test(opcode, i)?;
                return Ok(None);
            }
            Jmp => {
                self.go_to((next as i64 + i.sj()) as usize)?;
                return Ok(None);
            }
            Call => self.call(i)?,
            TailCall => {
                let results = self.called(i, None)?;
                self.give_back(results)?;
                return Ok(None);
            }
            Return | Return0 | Return1 => {
                let count = match opcode {
                    Return0 => 0,
                    Return1 => 1,
                    _ if i.b() == 0 => self.open - i.a(),
                    _ => i.b() - 1,
                };
                let results = (i.a()..i.a() + count).map(|register| self.get(register)).collect();
                self.give_back(results)?;
                return Ok(None);
            }
            ForPrep => {
                self.for_prepare(i)?;
                return Ok(None);
            }
            ForLoop => {
                self.for_loop(i)?;
                return Ok(None);
            }
            other => return self.fail(format!("the instruction {other:?}")),
        }
        Ok(Some(next))
    }

    /// A global name: a constant of the layout, a function, or `inline`.
    fn global(&mut self, name: &str) -> Result<Word> {
        if let Some(value) = layout::constant(name) {
            return Ok(Word::Constant(value));
        }
        // A function that has an inline form is always expanded.
        let expanded = format!("inline.{name}");
        if find(&expanded).is_some() {
            return Ok(Word::Name(expanded.into()));
        }
        if name == "inline" || intrinsics::exists(name) || find(name).is_some() {
            return Ok(Word::Name(Rc::from(name)));
        }
        self.fail(format!("the unknown name '{name}'"))
    }

    /// A comparison or test, and the jump that follows it.
    fn test(&mut self, opcode: Opcode, i: Instruction) -> Result<()> {
        use Opcode::*;
        let jump = Instruction(self.prototype().code[self.pc + 1]);
        let (taken, skipped) = ((self.pc as i64 + 2 + jump.sj()) as usize, self.pc + 2);
        let condition = match opcode {
            Test | TestSet => return self.test_truth(opcode, i, taken, skipped),
            Eq | Lt | Le => {
                let op = [CompareOp::Eq, CompareOp::SLt, CompareOp::SLe][opcode as usize - Eq as usize];
                let lhs = self.builder.value(&self.get(i.a()));
                Condition::new(op, lhs, self.builder.operand(&self.get(i.b())))
            }
            EqK => {
                let rhs = self.constant(i.b())?;
                let lhs = self.builder.value(&self.get(i.a()));
                Condition::new(CompareOp::Eq, lhs, self.builder.operand(&rhs))
            }
            _ => {
                use CompareOp::*;
                let op = [Eq, SLt, SLe, SGt, SGe][opcode as usize - EqI as usize];
                let lhs = self.builder.value(&self.get(i.a()));
                Condition::new(op, lhs, i.sb() as i32)
            }
        };
        self.branch(condition, i.k(), taken, skipped)
    }

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
        self.builder.terminate(Terminator::Branch { condition, then, otherwise });
        Ok(())
    }

    fn test_truth(&mut self, opcode: Opcode, i: Instruction, taken: usize, skipped: usize) -> Result<()> {
        let register = if opcode == Opcode::Test { i.a() } else { i.b() };
        let word = self.get(register);
        let Word::Truth(value) = word else {
            // Integers are true.
            if opcode == Opcode::TestSet && i.k() {
                self.set(i.a(), word);
            }
            return self.go_to(if i.k() { taken } else { skipped });
        };
        if opcode == Opcode::TestSet {
            // Set only on the way that jumps; the other one does not read it.
            self.set(i.a(), Word::Truth(value));
        }
        self.branch(Condition::new(CompareOp::Ne, value, 0), i.k(), taken, skipped)
    }

    fn call(&mut self, i: Instruction) -> Result<()> {
        let results = self.called(i, i.c().checked_sub(1))?;
        self.open = i.a() + results.len();
        for (n, word) in results.into_iter().enumerate() {
            self.set(i.a() + n, word);
        }
        Ok(())
    }

    /// Calls what register A names; gives as many results as wanted, or as many as there are.
    fn called(&mut self, i: Instruction, want: Option<usize>) -> Result<Vec<Word>> {
        let Word::Name(name) = self.get(i.a()) else { return self.fail("a call of no known function") };
        let end = if i.b() == 0 { self.open } else { i.a() + i.b() };
        let arguments: Vec<Word> = (i.a() + 1..end).map(|register| self.get(register)).collect();
        let mut results = if intrinsics::exists(&name) {
            match intrinsics::emit(self.builder, &name, &arguments) {
                Some(word) => vec![word],
                None => return self.fail(format!("{name} with {} arguments", arguments.len())),
            }
        } else if name.contains(['.', ':']) {
            self.expand(&name, arguments)?
        } else {
            let values: Vec<Value> = arguments.iter().map(|word| self.builder.value(word)).collect();
            let parameters = find(&name).map_or(0, |routine| usize::from(routine.prototype.parameters));
            if values.len() != parameters || parameters > 5 {
                return self.fail(format!("{name} with {} arguments", values.len()));
            }
            let function = self.builder.host.routine(&name);
            vec![Word::Integer(self.builder.emit(Op::Call { function, args: values }))]
        };
        if let Some(want) = want {
            results.resize(want, Word::Constant(0));
        }
        Ok(results)
    }

    /// Compiles another function in place of its call.
    fn expand(&mut self, name: &str, arguments: Vec<Word>) -> Result<Vec<Word>> {
        let Some(routine) = find(name) else { return self.fail(format!("the unknown function '{name}'")) };
        if self.builder.depth >= MAX_DEPTH {
            return self.fail(format!("'{name}' expands into itself"));
        }
        let block = self.builder.function.new_block();
        self.builder.depth += 1;
        let returns = Some(Returns { block, kinds: None, params: Vec::new() });
        let mut inner = Body::new(self.builder, routine, arguments, returns);
        inner.run()?;
        let Some(returns) = inner.returns.take() else { return Ok(Vec::new()) };
        self.builder.depth -= 1;
        self.builder.block = block;
        let kinds = returns.kinds.unwrap_or_default();
        let word = |(kind, value): (StaticType, Value)| match kind {
            StaticType::Truth => Word::Truth(value),
            _ => Word::Integer(value),
        };
        Ok(kinds.into_iter().zip(returns.params).map(word).collect())
    }

    fn give_back(&mut self, results: Vec<Word>) -> Result<()> {
        let values: Vec<Value> = results.iter().map(|word| self.builder.value(word)).collect();
        let Some(returns) = &mut self.returns else {
            let result = values.first().map_or(Operand::Imm(0), |value| Operand::Value(*value));
            self.builder.terminate(Terminator::Return(result));
            return Ok(());
        };
        if returns.kinds.is_none() {
            returns.kinds = Some(results.iter().map(Word::kind).collect());
            returns.params = results.iter().map(|_| self.builder.function.add_param(returns.block)).collect();
        }
        let (block, expected) = (returns.block, returns.params.len());
        // The implicit `return` at a function's end is dead code where every way returns before.
        let mut values = values;
        while values.len() < expected {
            values.push(self.builder.constant(0));
        }
        values.truncate(expected);
        self.builder.jump(block, values);
        Ok(())
    }
}
