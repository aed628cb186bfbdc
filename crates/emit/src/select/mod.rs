//! Instruction selection: a function of the IR becomes a [`MachineFunction`].
//!
//! This file: blocks, terminators and operands; [`operations`]: the IR's operations one by one.
//!
//! Folds constants into immediates, stack addresses into displacements and comparisons into branches; makes constants
//! and addresses anew where they are used instead of keeping them in registers; leaves out what nothing needs.

mod operations;

use crate::error::EmitError;
use crate::frame::SlotOffsets;
use crate::machine::*;
use crate::order::{self, DIRECT, Item, Layout, Order};
use crate::packet::Ends;
use crate::values::{self, Definition, Values};
use moonhook_ir::{Block, Function, FunctionKind, Loc, Module, Operand, Target, Terminator, Value};
use regalloc2::{Operand as Constraint, RegClass, VReg};

/// What the kernel passes in registers: r1 to r5.
const MAX_ARGUMENTS: usize = 5;

/// Addresses and wide constants made in the current block that a later use may share; a few, so that they do not
/// crowd out other values.
const SHARED: usize = 3;

struct Selector<'a> {
    module: &'a Module,
    function: &'a Function,
    slots: &'a SlotOffsets,
    values: Values,
    ends: Ends,
    out: MachineFunction,
    shared: Vec<(Definition, VReg)>,
    /// Calls in cold code leave registers as they are.
    rare_calls: bool,
    /// The current block is hardly ever reached.
    cold: bool,
    loc: Loc,
}

/// Selects instructions for `function`. With `rare_calls`, calls in cold code leave registers as they are.
pub fn select(
    module: &Module,
    function: &Function,
    slots: &SlotOffsets,
    layout: Layout,
    rare_calls: bool,
) -> Result<MachineFunction, EmitError> {
    let order = order::order(function, layout)?;
    if function.params.len() > MAX_ARGUMENTS {
        return Err(malformed(function, "more than 5 parameters"));
    }
    let rpo = function.reverse_postorder().map_err(|problem| malformed(function, &problem))?;
    let values = values::analyse(function, &rpo);
    let out = MachineFunction::new(function.value_count as usize);
    let (shared, cold, loc) = (Vec::new(), false, Loc::default());
    let ends = Ends::find(function);
    let mut selector = Selector { module, function, slots, values, ends, out, shared, rare_calls, cold, loc };
    for item in &order.items {
        selector.item(*item, &order)?;
    }
    selector.link_predecessors();
    Ok(selector.out)
}

fn malformed(function: &Function, problem: &str) -> EmitError {
    EmitError::Malformed { problem: format!("{}: {problem}", function.name) }
}

fn vreg(value: Value) -> VReg {
    VReg::new(value.index(), RegClass::Int)
}

impl Selector<'_> {
    fn item(&mut self, item: Item, order: &Order) -> Result<(), EmitError> {
        let first = self.out.insts.len() as u32;
        self.out.blocks.push(MachineBlock { first, ..Default::default() });
        self.shared.clear();
        match item {
            Item::Entry => {
                self.params();
                self.jump(order.blocks[0], Vec::new());
            }
            Item::Block(block) => self.block(block, order)?,
            Item::Edge(from, n) => {
                let Some((terminator, loc)) = &self.function.block(from).terminator else {
                    return Err(malformed(self.function, "a block without terminator"));
                };
                self.loc = *loc;
                self.pass(terminator.targets()[n], order)?;
            }
        }
        self.current().end = self.out.insts.len() as u32;
        Ok(())
    }

    fn block(&mut self, block: Block, order: &Order) -> Result<(), EmitError> {
        let function = self.function;
        let data = function.block(block);
        self.current().params = data.params.iter().copied().map(vreg).collect();
        self.cold = order.cold[block.index()];
        let starts_here = order.blocks[0] == 0;
        if block.index() == 0 && starts_here {
            self.params();
        }
        for inst in &data.insts {
            self.loc = inst.loc;
            self.inst(inst)?;
        }
        let Some((terminator, loc)) = &data.terminator else {
            return Err(malformed(function, "a block without terminator"));
        };
        self.loc = *loc;
        self.terminator(block, terminator, order)
    }

    fn current(&mut self) -> &mut MachineBlock {
        let last = self.out.blocks.len() - 1;
        &mut self.out.blocks[last]
    }

    fn params(&mut self) {
        let operands: Vec<Constraint> = (self.function.params.iter().enumerate())
            .map(|(index, param)| Constraint::reg_fixed_def(vreg(*param), physical(index + 1)))
            .collect();
        self.push(Machine::Params, &operands);
        // Only a program that mentions the arena's map may use the arena, be it in a function that it calls.
        if let (Some(arena), FunctionKind::Program { .. }) = (self.module.arena(), &self.function.kind) {
            let unused = self.out.new_vreg();
            self.push(Machine::Map(arena), &[Constraint::reg_def(unused)]);
        }
    }

    fn push(&mut self, op: Machine, operands: &[Constraint]) {
        self.out.push(op, operands, self.loc);
    }

    fn link_predecessors(&mut self) {
        for from in 0..self.out.blocks.len() {
            for n in 0..self.out.blocks[from].successors.len() {
                let to = self.out.blocks[from].successors[n].index();
                self.out.blocks[to].predecessors.push(regalloc2::Block::new(from));
            }
        }
    }

    /// A register with the value. A constant or address is made here, or shared with an earlier use in the block.
    fn register(&mut self, value: Value) -> Result<VReg, EmitError> {
        let definition = self.values.definition(value);
        if let Some((_, vreg)) = self.shared.iter().find(|(shared, _)| *shared == definition) {
            return Ok(*vreg);
        }
        let register = self.fresh(value)?;
        let wide = match definition {
            Definition::Const(constant) => i32::try_from(constant).is_err(),
            Definition::Data(..) => true,
            _ => false,
        };
        if wide {
            self.shared.truncate(SHARED - 1);
            self.shared.insert(0, (definition, register));
        }
        Ok(register)
    }

    /// As [`Self::register`], for a use that overwrites or moves the register anyway: nothing is shared.
    fn fresh(&mut self, value: Value) -> Result<VReg, EmitError> {
        let op = match self.values.definition(value) {
            Definition::Computed | Definition::Compared(_) => return Ok(vreg(value)),
            Definition::Const(constant) => Machine::Imm(constant),
            Definition::Data(map, offset) => Machine::Data { map, offset },
            Definition::Map(map) => Machine::Map(map),
            Definition::Function(function) => Machine::Function(function),
            Definition::Frame(slot, offset) => Machine::FrameAddress(self.slots.offset(slot)? + offset),
        };
        if let Machine::Data { map, .. } | Machine::Map(map) = op {
            let data = matches!(op, Machine::Data { .. });
            let map = self.module.maps.get(map.0 as usize);
            if map.is_none_or(|map| map.kind.data_size().is_some() != data) {
                return Err(malformed(self.function, "no such map, or not of that kind"));
            }
        }
        if let Machine::Function(function) = op {
            let called = self.module.functions.get(function.0 as usize).map(|function| &function.kind);
            if !matches!(called, Some(FunctionKind::Subprogram { global: false, .. })) {
                return Err(malformed(self.function, "a reference to a function that helpers cannot call"));
            }
        }
        let register = self.out.new_vreg();
        self.push(op, &[Constraint::reg_def(register)]);
        Ok(register)
    }

    /// The address `base + disp` for a memory access, and the register operand it takes.
    fn base(&mut self, base: Value, disp: i16) -> Result<(Base, Option<Constraint>), EmitError> {
        if let Definition::Frame(slot, offset) = self.values.definition(base) {
            let sum = self.slots.offset(slot)? + offset + i32::from(disp);
            if let Ok(sum) = i16::try_from(sum) {
                return Ok((Base::Frame(sum), None));
            }
        }
        let register = self.register(base)?;
        Ok((Base::Register(disp), Some(Constraint::reg_use(register))))
    }

    /// A second operand, with the register it takes.
    fn rhs(&mut self, operand: Operand) -> Result<(Rhs, Option<VReg>), EmitError> {
        match self.values.operand(operand) {
            Operand::Imm(imm) => Ok((Rhs::Imm(imm), None)),
            Operand::Value(value) => Ok((Rhs::Register, Some(self.register(value)?))),
        }
    }

    fn terminator(&mut self, block: Block, terminator: &Terminator, order: &Order) -> Result<(), EmitError> {
        let edge = |n: usize, target: &Target| match order.edges[block.index()][n] {
            DIRECT => order.blocks[target.block.index()],
            edge => edge,
        };
        match terminator {
            Terminator::Jump(target) => self.pass(target, order)?,
            Terminator::Branch { condition, then, otherwise } => {
                let (condition, opposite) = self.values.branch_condition(block, *condition);
                let mut lhs = self.register(condition.lhs)?;
                let (rhs, mut register) = self.rhs(condition.rhs)?;
                if self.ends.copies_left(&condition) {
                    lhs = self.copy(lhs);
                }
                if self.ends.copies_right(&condition) {
                    register = register.map(|register| self.copy(register));
                }
                let operands: Vec<Constraint> =
                    std::iter::once(lhs).chain(register).map(Constraint::reg_use).collect();
                self.push(Machine::Branch(condition.op, rhs), &operands);
                let mut successors = [edge(0, then), edge(1, otherwise)];
                if opposite {
                    successors.reverse();
                }
                self.current().successors = successors.map(|b| regalloc2::Block::new(b as usize)).into();
            }
            Terminator::MayGoto { go, stop } => {
                self.push(Machine::MayGoto, &[]);
                let successors = [edge(0, go), edge(1, stop)];
                self.current().successors = successors.map(|b| regalloc2::Block::new(b as usize)).into();
            }
            Terminator::Return(operand) => {
                let register = match self.values.operand(*operand) {
                    Operand::Value(value) => self.fresh(value)?,
                    Operand::Imm(imm) => {
                        let register = self.out.new_vreg();
                        self.push(Machine::Imm(imm.into()), &[Constraint::reg_def(register)]);
                        register
                    }
                };
                self.push(Machine::Return, &[Constraint::reg_fixed_use(register, physical(0))]);
            }
        }
        Ok(())
    }

    fn copy(&mut self, register: VReg) -> VReg {
        let copy = self.out.new_vreg();
        let operands = [Constraint::reg_def(copy), Constraint::reg_use(register)];
        self.push(Machine::Convert(Conversion::Copy), &operands);
        copy
    }

    /// Jumps to a target with its arguments.
    fn pass(&mut self, target: &Target, order: &Order) -> Result<(), EmitError> {
        let args = target.args.iter().map(|arg| self.fresh(*arg)).collect::<Result<_, _>>()?;
        self.jump(order.blocks[target.block.index()], args);
        Ok(())
    }

    fn jump(&mut self, to: u32, args: Vec<VReg>) {
        self.push(Machine::Jump, &[]);
        let block = self.current();
        block.successors = vec![regalloc2::Block::new(to as usize)];
        block.args = args;
    }
}
