//! The code of one Lua function: its instructions one after another, over registers in arena memory.
//!
//! A block of bytecode becomes a block of IR with two parameters, the pointers to the frame and to register 0, so that it can be
//! entered from the block before it as well as from the dispatch of its unit. An instruction that may call a function or raise
//! an error writes its site's number into the frame first; where a call was made, execution goes on at that site.

use super::counts::Sites;
use super::known::Known;
use super::unit::Unit;
use moonhook_ir as ir;
use moonhook_ir::Builder;
use moonhook_ir::{BinaryOp, Block, CompareOp, Operand, Target, Terminator, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::Prototype;
use moonhook_snapshot::instruction::Instruction;
use std::collections::{HashMap, HashSet};

/// A function being compiled.
pub struct Body<'u, 'g, 'a> {
    pub unit: &'u mut Unit<'g, 'a>,
    /// The function's number.
    pub index: usize,
    pub prototype: &'a Prototype,
    pub pc: usize,
    /// Pointer to the running frame, in the current block.
    pub frame: Value,
    /// Pointer to register 0.
    pub base: Value,
    /// What is known of registers since the start of the block.
    pub known: HashMap<usize, Known>,
    /// Names of the methods that registers were given last.
    pub methods: HashMap<usize, Vec<u8>>,
    /// The last instructions of numeric loops that are surely loops over integers.
    pub integer_loops: HashSet<usize>,
    /// Registers that functions inside may assign.
    changing: HashSet<usize>,
    sites: Sites,
    blocks: HashMap<usize, (Block, Vec<Value>)>,
}

impl<'u, 'g, 'a> Body<'u, 'g, 'a> {
    /// Of a function whose blocks are made, with nothing in them yet.
    pub fn new(
        unit: &'u mut Unit<'g, 'a>,
        index: usize,
        blocks: HashMap<usize, (Block, Vec<Value>)>,
    ) -> Self {
        let prototype = unit.general.functions.get(index);
        let none = Value::NONE;
        let counts = unit.general.counts.get(&index).cloned().unwrap_or_default();
        let (sites, known, methods) = (Sites::new(counts), HashMap::new(), HashMap::new());
        let (pc, frame, base) = (0, none, none);
        let changing = unit.general.functions.assigned_inside(index);
        let changing = changing.iter().map(|(register, _)| *register).collect();
        let integer_loops = HashSet::new();
        Body {
            unit,
            index,
            prototype,
            pc,
            frame,
            base,
            known,
            methods,
            integer_loops,
            changing,
            sites,
            blocks,
        }
    }

    /// Where a block of bytecode starts, and what it is given.
    pub fn start_of(&self, block: usize) -> (Block, Vec<Value>) {
        self.blocks[&block].clone()
    }

    pub fn code(&mut self) -> &mut Builder {
        &mut self.unit.code
    }

    pub fn loc(&self) -> ir::Loc {
        if self.unit.general.functions.is_hidden(self.index) {
            return ir::Loc::default();
        }
        let source = self.prototype.source.map_or(0, |source| source.0 as u16);
        ir::Loc { source, line: self.prototype.lines.get(self.pc).copied().unwrap_or(0) }
    }

    /// Goes on in a block of the kind that can be resumed.
    pub fn enter(&mut self, (block, params): (Block, Vec<Value>)) {
        self.unit.code.block = block;
        (self.frame, self.base) = (params[0], params[1]);
    }

    /// Ends the block with a jump to an instruction. Backwards it takes a step of the budget.
    pub fn go_to(&mut self, pc: usize) {
        let block = self.path_to(pc);
        let args = [self.frame, self.base];
        self.code().jump(block, &args);
    }

    /// The block to jump to for going on at an instruction, with frame and registers as arguments.
    pub fn path_to(&mut self, pc: usize) -> Block {
        let target = self.blocks[&pc].0;
        if pc > self.pc {
            return target;
        }
        let back = self.unit.code.block;
        let (frame, base, known) = (self.frame, self.base, std::mem::take(&mut self.known));
        let step = self.unit.code.new_block(2);
        self.enter(step.clone());
        let state = self.unit.state;
        let budget = self.code().load(state, L_BUDGET);
        let budget = self.code().add(budget, -1);
        self.code().store(state, L_BUDGET, budget);
        let site = self.new_site(None);
        self.set_site(site);
        let exhausted = self.unit.exhausted();
        self.code().leave_if(CompareOp::SLt, budget, 0, exhausted, &[]);
        let args = vec![self.frame, self.base];
        self.code().terminate(Terminator::MayGoto {
            go: Target::new(target, args),
            stop: Target::new(exhausted, vec![]),
        });
        self.unit.code.block = back;
        (self.frame, self.base, self.known) = (frame, base, known);
        step.0
    }

    /// The target of a jump that follows a test.
    pub fn jump_after(&self) -> usize {
        let jump = Instruction(self.prototype.code[self.pc + 1]);
        (self.pc as i64 + 2 + jump.sj()) as usize
    }

    /// Registers a site at the current instruction; execution can go on at `resume`.
    pub fn new_site(&mut self, resume: Option<Block>) -> u32 {
        let site = self.sites.make(self.unit.general, self.index, self.pc);
        self.unit.add_site(site, resume)
    }

    /// Whether the current instruction reads what a later one assigns a sum with.
    pub fn is_read_of_sum(&self) -> bool {
        self.sites.is_read(self.pc)
    }

    pub fn set_site(&mut self, site: u32) {
        let frame = self.frame;
        self.code().store(frame, F_SITE, site as i32);
    }

    /// Announces an instruction that may raise an error but calls nothing.
    pub fn may_fail(&mut self) {
        let site = self.new_site(None);
        self.set_site(site);
    }

    /// Announces an instruction that may call a function; gives the block where execution goes on.
    pub fn may_call(&mut self) -> (Block, Vec<Value>) {
        let next = self.code().new_block(2);
        let site = self.new_site(Some(next.0));
        self.set_site(site);
        next
    }

    /// The site of an instruction that may call a function, which is announced where it does; and the block where execution goes on.
    pub fn site_of_call(&mut self) -> (u32, (Block, Vec<Value>)) {
        let next = self.code().new_block(2);
        (self.new_site(Some(next.0)), next)
    }

    /// Announces an instruction that may call functions one after another: after each it goes on where it was, in the block that is
    /// entered here.
    pub fn may_call_repeatedly(&mut self) {
        let again = self.code().new_block(2);
        let args = [self.frame, self.base];
        self.code().jump(again.0, &args);
        self.enter(again.clone());
        let site = self.new_site(Some(again.0));
        self.set_site(site);
    }

    /// Goes on in a block that nothing leads to: what the script has there is never reached.
    pub fn enter_dead(&mut self) {
        let dead = self.code().new_block(2);
        self.enter(dead);
    }

    /// Goes on if a routine's status is 0, leaves otherwise.
    pub fn check(&mut self, status: Value) {
        let leave = self.unit.leave;
        self.code().leave_if(CompareOp::Ne, status, 0, leave, &[status]);
    }

    /// As [`Body::check`], after [`Body::may_call`].
    pub fn check_call(&mut self, status: Value, next: (Block, Vec<Value>)) {
        let leave = self.unit.leave;
        let args = [self.frame, self.base];
        self.code().branch(CompareOp::Eq, status, 0, (next.0, &args), (leave, &[status]));
        self.enter(next);
    }

    /// The state's address as a number, for routines.
    pub fn state_address(&mut self) -> Value {
        let state = self.unit.state;
        self.code().load(state, L_SELF)
    }

    /// The address of a register as a number, for routines.
    pub fn address(&mut self, register: usize) -> Value {
        let frame = self.frame;
        let base = self.code().load(frame, F_BASE);
        self.code().add(base, 16 * register as i64)
    }

    /// Calls a routine with the state and more arguments.
    pub fn routine(&mut self, name: &str, args: &[Value]) -> Value {
        let function = self.unit.general.routine(name);
        let mut all = vec![self.state_address()];
        all.extend(args);
        self.code().call(function, &all)
    }

    pub fn tag(&mut self, register: usize) -> Value {
        let base = self.base;
        self.code().load(base, 16 * register as i64)
    }

    pub fn payload(&mut self, register: usize) -> Value {
        let base = self.base;
        self.code().load(base, 16 * register as i64 + 8)
    }

    /// Sets a register to what is computed at packet time.
    pub fn set(&mut self, register: usize, tag: impl Into<Operand>, payload: impl Into<Operand>) {
        let base = self.base;
        self.code().store(base, 16 * register as i64, tag);
        self.code().store(base, 16 * register as i64 + 8, payload);
        self.known.remove(&register);
    }

    /// Sets a register to a constant.
    pub fn set_constant(&mut self, register: usize, (tag, payload): (i64, u64)) {
        let base = self.base;
        self.code().store(base, 16 * register as i64, tag as i32);
        self.code().store_constant(base, 16 * register as i64 + 8, payload as i64);
        self.known.remove(&register);
    }

    /// The number of values from a register to the end of the last open list.
    pub fn open_count(&mut self, from: usize) -> Value {
        let first = self.address(from);
        let frame = self.frame;
        let top = self.code().load(frame, F_TOP);
        let bytes = self.code().binary(BinaryOp::Sub, top, first);
        self.code().binary(BinaryOp::AShr, bytes, 4)
    }

    /// `field - 1` as a value, or, for 0, the length of the open list from `first` on.
    pub fn count(&mut self, field: usize, first: usize) -> Value {
        match field {
            0 => self.open_count(first),
            field => self.code().constant(field as i64 - 1),
        }
    }

    /// Notes what a register holds, unless a function inside may change it whenever something is called.
    pub fn learn(&mut self, register: usize, known: Known) {
        if !self.changing.contains(&register) {
            self.known.insert(register, known);
        }
    }

    /// Forgets what was known of registers from `first` on.
    pub fn forget_from(&mut self, first: usize) {
        self.known.retain(|register, _| *register < first);
    }

    pub fn is_integer(&self, register: usize) -> bool {
        matches!(self.known.get(&register), Some(Known::Integer))
    }

    /// Whether an upvalue is surely a variable of the packet's own.
    pub fn is_of_packet(&self, upvalue: usize) -> bool {
        self.unit.general.is_of_packet(self.index, upvalue)
    }

    /// Whether an upvalue is surely a variable of load time.
    pub fn is_shared(&self, upvalue: usize) -> bool {
        self.unit.general.is_shared(self.index, upvalue)
    }

    /// What an upvalue holds, if that is known.
    pub fn known_upvalue(&self, upvalue: usize) -> Option<Known> {
        self.unit.general.known_upvalue(self.index, upvalue)
    }

    /// `object[name]`, where that is a load-time value that cannot change.
    pub fn known_field(&self, object: Option<&Known>, name: &[u8]) -> Option<Known> {
        self.unit.general.known_field(object, name)
    }

    /// The name of the library function in a register.
    pub fn known_builtin(&self, register: usize) -> Option<String> {
        match self.known.get(&register)? {
            Known::Builtin(name) => Some(name.clone()),
            Known::Value(moonhook_snapshot::Value::Builtin(name)) => Some(name.to_string()),
            _ => None,
        }
    }

    /// The constant string of an operand.
    pub fn constant_text(&self, index: usize) -> Option<&[u8]> {
        match self.prototype.constants.get(index) {
            Some(moonhook_snapshot::Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The constant that an instruction has for a name. The compiler of Lua lets it be nothing but a string.
    pub fn constant_name(&mut self, index: usize) -> Vec<u8> {
        let text = self.constant_text(index).map(<[u8]>::to_vec);
        if text.is_none() {
            self.unit.general.fail_internally("an instruction without its name");
        }
        text.unwrap_or_default()
    }

    pub fn instruction(&self, pc: usize) -> Instruction {
        Instruction(self.prototype.code.get(pc).copied().unwrap_or(0))
    }
}
