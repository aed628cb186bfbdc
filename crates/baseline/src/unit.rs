//! A unit: the code of many Lua functions in one BPF subprogram, entered at the site of the running frame.
//!
//! A unit goes on until the handler has ended or the running function is in another unit, unless it has long functions: those leave it
//! to the program's loop to go on at another site. All its values live in memory, so the
//! verifier meets every block in one state only, and each call, return and loop may pass the dispatch.

use super::General;
use super::library::Direct;
use super::sites::Site;
use moonhook_ir as ir;
use moonhook_ir::Builder;
use moonhook_ir::{Block, CompareOp, Operand, Target, Terminator, Value};
use moonhook_runtime::layout::*;
use std::collections::HashMap;

pub struct Unit<'g, 'a> {
    pub general: &'g mut General<'a>,
    pub code: Builder,
    /// Pointer to the state.
    pub state: Value,
    /// Takes a status that is not 0.
    pub leave: Block,
    dispatch: Block,
    /// Enters the code of the site of a frame, to which its parameter points.
    enter: Block,
    /// The same for code of the unit.
    again: Block,
    /// Where the code of functions in this unit begins.
    entries: HashMap<usize, Block>,
    /// Blocks that many places of the unit have in common, by name.
    shared: HashMap<&'static str, Block>,
    /// It goes on by itself where only the frame has changed.
    looped: bool,
    /// Where execution can go on, by site.
    resumed: Vec<(i64, Block)>,
}

impl<'g, 'a> Unit<'g, 'a> {
    /// A subprogram without functions. It is `looped` if it goes on by itself where only the frame has changed.
    pub fn new(general: &'g mut General<'a>, name: &str, looped: bool) -> Self {
        let kind = general.with_context();
        let mut code = Builder::new(name, kind, 2);
        code.function.alike = true;
        let (dispatch, _) = code.new_block(0);
        let (enter, _) = code.new_block(1);
        let (again, _) = code.new_block(1);
        let (leave, _) = code.cold_block(1);
        let address = code.param(1);
        let state = code.arena(address);
        code.jump(dispatch, &[]);
        Unit {
            general,
            code,
            state,
            leave,
            dispatch,
            enter,
            again,
            entries: HashMap::new(),
            shared: HashMap::new(),
            looped,
            resumed: Vec::new(),
        }
    }

    /// The block with which a function begins that is to be in this unit.
    pub fn add_function(&mut self, function: usize) {
        let (block, _) = self.code.new_block(2);
        self.entries.insert(function, block);
    }

    /// Where a function begins, if the unit goes on there by itself.
    pub fn entry_of(&self, function: usize) -> Option<Block> {
        self.entries.get(&function).copied().filter(|_| self.looped)
    }

    /// Goes on in the function that has been entered, which is to be the running one: with its frame and registers at its first block.
    pub fn go_into(&mut self, function: Block, frame: Value, base: Value) {
        self.code.jump(function, &[frame, base]);
    }

    /// Goes on at the site of a frame, which is to be the running one.
    pub fn go_on_in(&mut self, frame: Value) {
        match self.looped {
            true => self.code.jump(self.again, &[frame]),
            false => self.code.ret(DISPATCH as i32),
        }
    }

    /// Goes on in a block that may have been entered before, which the verifier takes note of here: a single place for all that lead to the block, or
    /// it would follow each of them through all of the unit.
    pub fn may_go_to(&mut self, block: Block, args: Vec<Value>) {
        let (stop, _) = self.code.cold_block(0);
        self.code
            .terminate(Terminator::MayGoto { go: Target::new(block, args), stop: Target::new(stop, vec![]) });
        self.code.block = stop;
        self.code.ret(FAILED as i32);
    }

    /// The function; its first site has the number `first`.
    pub fn finish(mut self, first: i64) -> ir::Function {
        self.finish_leave();
        self.finish_dispatch(first);
        self.code.function
    }

    pub fn add_site(&mut self, site: Site, resume: Option<Block>) -> u32 {
        let number = self.general.sites.len();
        self.general.sites.push(site);
        if let Some(block) = resume {
            self.resumed.push((number as i64, block));
        }
        number as u32
    }

    /// The block of that name with so many parameters, which `make` fills where the unit has none yet.
    pub fn shared(
        &mut self,
        name: &'static str,
        params: usize,
        make: impl FnOnce(&mut Self, &[Value]),
    ) -> Block {
        if let Some(block) = self.shared.get(name) {
            return *block;
        }
        let (before, loc) = (self.code.block, self.code.loc);
        let (block, params) = self.code.new_block(params);
        self.shared.insert(name, block);
        self.code.block = block;
        self.code.loc = ir::Loc::default();
        make(self, &params);
        (self.code.block, self.code.loc) = (before, loc);
        block
    }

    /// A block that ends the function with the error of an exhausted budget.
    pub fn exhausted(&mut self) -> Block {
        self.shared("budget_error", 0, |unit, _| {
            let function = unit.general.routine("budget_error");
            let address = unit.code.load(unit.state, L_SELF);
            let status = unit.code.call(function, &[address]);
            unit.code.jump(unit.leave, &[status]);
        })
    }

    /// Calls a library function with `count` arguments at `base`.
    pub fn call_direct(&mut self, callee: Direct, base: Value, count: Value) -> Value {
        let address = self.code.load(self.state, L_SELF);
        match callee {
            Direct::Routine(function) => self.code.call(function, &[address, base, count]),
            Direct::Stub(function) => {
                let context = self.code.param(0);
                self.code.call(function, &[context, address, base, count])
            }
        }
    }

    /// Goes on where only the frame has changed; everything else is for the program's loop.
    fn finish_leave(&mut self) {
        self.code.loc = ir::Loc::default();
        self.code.block = self.leave;
        let status = self.code.function.block(self.leave).params[0];
        if !self.looped {
            return self.code.ret(Operand::Value(status));
        }
        let (dispatched, _) = self.code.new_block(0);
        let (other, _) = self.code.cold_block(0);
        self.code.branch(CompareOp::Eq, status, DISPATCH as i32, (dispatched, &[]), (other, &[]));
        self.code.block = other;
        self.code.ret(Operand::Value(status));
        self.code.block = dispatched;
        let frame = self.code.load(self.state, L_CI);
        let frame = self.code.arena(frame);
        self.code.jump(self.again, &[frame]);
        self.code.block = self.again;
        let frame = self.code.function.block(self.again).params[0];
        self.may_go_to(self.enter, vec![frame]);
    }

    /// Enters the block of the running frame's site, or gives up control where it belongs to another unit.
    fn finish_dispatch(&mut self, first: i64) {
        self.code.block = self.dispatch;
        let frame = self.code.load(self.state, L_CI);
        let frame = self.code.arena(frame);
        self.code.jump(self.enter, &[frame]);
        self.code.block = self.enter;
        let frame = self.code.function.block(self.enter).params[0];
        let base = self.code.load(frame, F_BASE);
        let base = self.code.arena(base);
        let site = self.code.load(frame, F_SITE);
        let (elsewhere, _) = self.code.cold_block(2);
        let targets = std::mem::take(&mut self.resumed);
        debug_assert!(targets.iter().all(|(site, _)| *site >= first));
        self.code.switch(site, &targets, elsewhere, &[frame, base]);
        self.code.block = elsewhere;
        self.code.ret(DISPATCH as i32);
    }
}
