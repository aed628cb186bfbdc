//! The loop of a program: its units run, and what they leave to it is seen to: calls, library functions, objects and shared tables.

use super::General;
use super::program::Accessed;
use moonhook_ir::Builder;
use moonhook_ir::{BinaryOp, Block, CompareOp, FunctionId, Target, Terminator, Value};
use moonhook_runtime::OF_FRAMES;
use moonhook_runtime::layout::*;
use moonhook_specialise::stubs::shared::Accesses;

impl General<'_> {
    /// The program's loop: units run until they leave with a status that is not theirs to see to. Ends with the status of the handler
    /// (`FINISHED` or `FAILED`) in a block of its own, which is given behind the loop's head (it takes the first status).
    ///
    /// Everything that takes many nested calls is done from here: the kernel allows 8 frames.
    pub(super) fn run_units(
        &mut self,
        code: &mut Builder,
        state: Value,
        units: &[(u32, FunctionId)],
        accesses: &Accessed,
    ) -> (Block, Block, Value) {
        let (head, params) = code.new_block(1);
        let status = params[0];
        let (ended, end) = code.new_block(1);
        code.block = head;
        Self::take_a_turn(code, ended);
        let block_for = |code: &mut Builder, op: CompareOp, value: i64| {
            let (block, _) = code.new_block(0);
            code.leave_if(op, status, value as i32, block, &[]);
            block
        };
        let dispatched = block_for(code, CompareOp::Eq, DISPATCH);
        // It is negative, and so is what `unwind` is for.
        let of_map = block_for(code, CompareOp::Eq, SHARED);
        let requested = block_for(code, CompareOp::Eq, REQUEST);
        let accessed = accesses.read.map(|read| (block_for(code, CompareOp::Eq, OBJECT), read));
        let assigned = accesses.assign.map(|assign| (block_for(code, CompareOp::Eq, ASSIGN_OBJECT), assign));
        let mut by_routine = vec![
            (block_for(code, CompareOp::SLt, 0), "unwind"),
            (block_for(code, CompareOp::Eq, SLOW), "arithmetic_slow"),
            (block_for(code, CompareOp::Eq, CLOSE), "close_more"),
            (block_for(code, CompareOp::Eq, HANDLED), "handler_returned"),
            (block_for(code, CompareOp::Eq, CAUGHT), "finish_marker"),
        ];
        if self.has_coroutines() {
            by_routine.push((block_for(code, CompareOp::Eq, ENDED), "coroutine_ended"));
        }
        code.jump(ended, &[status]);
        code.block = dispatched;
        self.dispatch(code, state, units, head, ended);
        code.block = requested;
        self.make_call(code, state, head);
        for (block, stub) in accessed.into_iter().chain(assigned) {
            let context = code.param(0);
            code.block = block;
            Self::see_to(code, (stub, Some(context)), state, head);
        }
        code.block = of_map;
        self.access_shared(code, state, &accesses.shared, head);
        for (block, name) in by_routine {
            if name == "unwind" {
                self.word_error(code, block, state);
            }
            let routine = self.routine(name);
            code.block = block;
            Self::see_to(code, (routine, None), state, head);
        }
        (head, ended, end[0])
    }

    /// Makes the error's text in `block`. From within `unwind` it would take a frame more than there are where a program in C calls this one.
    fn word_error(&mut self, code: &mut Builder, block: Block, state: Value) {
        code.block = block;
        let address = code.load(state, L_SELF);
        let finish = self.routine("finish_fault");
        code.call(finish, &[address]);
    }

    /// Goes on behind the present block, unless the kernel has the loop end: then with `FAILED` in `ended`.
    fn take_a_turn(code: &mut Builder, ended: Block) {
        let (turn, _) = code.new_block(0);
        let (stop, _) = code.cold_block(0);
        code.terminate(Terminator::MayGoto {
            go: Target::new(turn, vec![]),
            stop: Target::new(stop, vec![]),
        });
        code.block = stop;
        let failed = code.constant(FAILED);
        code.jump(ended, &[failed]);
        code.block = turn;
    }

    /// Has a function that takes the state, behind the context if it wants that, see to what the present block is for.
    fn see_to(
        code: &mut Builder,
        (function, context): (FunctionId, Option<Value>),
        state: Value,
        head: Block,
    ) {
        let address = code.load(state, L_SELF);
        let arguments: Vec<Value> = context.into_iter().chain([address]).collect();
        let status = code.call(function, &arguments);
        Self::go_on(code, status, head);
    }

    /// The access to a shared table, or a record in one, that `L_ACCESS_…` describe.
    fn access_shared(&mut self, code: &mut Builder, state: Value, all: &[(usize, Accesses)], head: Block) {
        let table = code.load(state, L_ACCESS_TABLE);
        let flags = code.arena(table);
        let flags = code.load(flags, T_FLAGS);
        let number = code.binary(BinaryOp::LShr, flags, FLAG_NUMBER as i32);
        let kind = code.load(state, L_ACCESS_KIND);
        let (missing, _) = code.cold_block(0);
        let (accessed, status) = code.new_block(1);
        let mut targets = Vec::new();
        let mut blocks = Vec::new();
        for (number, accesses) in all {
            let (block, _) = code.new_block(0);
            targets.push((*number as i64, block));
            blocks.push((block, accesses));
        }
        code.switch(number, &targets, missing, &[]);
        for (block, accesses) in blocks {
            code.block = block;
            let keep = accesses.iter().find(|(kind, _)| *kind == ACCESS_KEEP).map(|(_, keep)| *keep);
            let accesses: Vec<_> = accesses.iter().filter(|(kind, _)| *kind != ACCESS_KEEP).collect();
            let kinds: Vec<(i64, Block)> =
                accesses.iter().map(|(kind, _)| (*kind, code.new_block(0).0)).collect();
            code.switch(kind, &kinds, missing, &[]);
            for ((kind, function), (_, block)) in accesses.iter().zip(kinds) {
                code.block = block;
                if let Some(keep) = keep.filter(|_| *kind == ACCESS_WRITE) {
                    let status = Self::call_access(code, state, table, keep);
                    code.leave_if(CompareOp::SLt, status, 0, accessed, &[status]);
                }
                let status = Self::call_access(code, state, table, *function);
                code.jump(accessed, &[status]);
            }
        }
        code.block = missing;
        let failed = code.constant(FAIL);
        code.jump(head, &[failed]);
        code.block = accessed;
        self.finish_access(code, state, status[0], head);
    }

    fn call_access(code: &mut Builder, state: Value, table: Value, function: FunctionId) -> Value {
        let [address, key, place] =
            [L_SELF, L_ACCESS_KEY, L_ACCESS_PLACE].map(|field| code.load(state, field));
        code.call(function, &[address, table, key, place])
    }

    /// After an access to a shared table: gives the library function's results if there was a call of one.
    fn finish_access(&mut self, code: &mut Builder, state: Value, status: Value, head: Block) {
        let (called, _) = code.new_block(0);
        code.leave_if(CompareOp::SLt, status, 0, head, &[status]);
        let call = code.load(state, L_ACCESS_CALL);
        code.leave_if(CompareOp::Ne, call, 0, called, &[]);
        let dispatch = code.constant(DISPATCH);
        code.jump(head, &[dispatch]);
        code.block = called;
        let results = code.add(status, 1);
        self.deliver(code, state, results, head);
    }

    /// Goes on at the running frame's site if a status is 0, sees to it otherwise.
    fn go_on(code: &mut Builder, status: Value, head: Block) {
        let (done, _) = code.new_block(0);
        code.branch(CompareOp::Eq, status, 0, (done, &[]), (head, &[status]));
        code.block = done;
        let dispatch = code.constant(DISPATCH);
        code.jump(head, &[dispatch]);
    }

    /// Enters the unit of the running frame's site.
    fn dispatch(
        &mut self,
        code: &mut Builder,
        state: Value,
        units: &[(u32, FunctionId)],
        head: Block,
        ended: Block,
    ) {
        let frame = code.load(state, L_CI);
        let frame = code.arena(frame);
        let site = code.load(frame, F_SITE);
        for (first, unit) in units.iter().rev() {
            let (this, _) = code.new_block(0);
            let (other, _) = code.new_block(0);
            code.branch(CompareOp::UGe, site, *first as i32, (this, &[]), (other, &[]));
            code.block = this;
            let context = code.param(0);
            let address = code.load(state, L_SELF);
            let status = code.call(*unit, &[context, address]);
            code.jump(head, &[status]);
            code.block = other;
        }
        let failed = code.constant(FAILED);
        code.jump(ended, &[failed]);
    }

    /// The call that `L_CALL_…` describe.
    fn make_call(&mut self, code: &mut Builder, state: Value, head: Block) {
        let func = code.load(state, L_CALL_FUNC);
        let callee = code.arena(func);
        let tag = code.load(callee, 0);
        let (other, _) = code.new_block(0);
        code.leave_if(CompareOp::Ne, tag, TAG_BUILTIN as i32, other, &[]);
        let number = code.load(callee, 8);
        code.leave_if(CompareOp::ULe, number, BUILTIN_XPCALL as i32, other, &[]);
        let coroutine = self.has_coroutines().then(|| {
            let (block, _) = code.new_block(0);
            code.leave_if(CompareOp::ULe, number, BUILTIN_CLOSE as i32, block, &[]);
            (block, "call_coroutine")
        });
        code.store(state, L_BUILTIN, number);
        let extra = code.load(state, L_CALL_EXTRA);
        let extra = code.add(extra, 1);
        code.store(state, L_INDIRECT, extra);
        code.store(state, L_CALL_EXTRA, 0);
        let base = code.add(func, 16);
        let count = code.load(state, L_CALL_COUNT);
        let (context, address) = (code.param(0), code.load(state, L_SELF));
        let results = code.call(self.called_builtin(), &[context, address, base, count, number]);
        code.leave_if(CompareOp::SLt, results, 0, head, &[results]);
        self.deliver(code, state, results, head);
        for (block, name) in coroutine.into_iter().chain([(other, "call_requested")]) {
            let routine = self.routine(name);
            code.block = block;
            Self::see_to(code, (routine, None), state, head);
        }
    }

    /// Whether the script calls what changes coroutines.
    pub(super) fn has_coroutines(&self) -> bool {
        OF_FRAMES[BUILTIN_RESUME as usize..].iter().any(|name| self.builtins.contains_key(*name))
    }

    /// Hands the results of the library function that was called to the running frame.
    fn deliver(&mut self, code: &mut Builder, state: Value, results: Value, head: Block) {
        let deliver = self.routine("deliver");
        let address = code.load(state, L_SELF);
        let status = code.call(deliver, &[address, results]);
        Self::go_on(code, status, head);
    }
}
