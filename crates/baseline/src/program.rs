//! The programs around the functions: the code that each has of them, its handlers one after another, calls of library functions.
//!
//! Arena memory from the image on, for each CPU and each program: the state, frames, stack, heap.

use super::entry::{Outcome, Program};
use super::library;
use super::{General, LOOPED, UNIT, UNIT_SIZE, compact, functions};
use moonhook_ir as ir;
use moonhook_ir::Builder;
use moonhook_ir::{BinaryOp, Block, CompareOp, FunctionId, Target, Terminator, Value};
use moonhook_library::{Found, library_of};
use moonhook_runtime::layout::*;
use moonhook_runtime::{Function, find_function};
use moonhook_snapshot::{ClosureId, Value as Snapshot};
use moonhook_specialise::stubs::shared::Accesses;
use moonhook_specialise::{LowerError, of_program};

/// The subprograms for accesses to what is not a table in packet memory.
pub struct Accessed {
    /// To packet objects.
    pub read: Option<FunctionId>,
    pub assign: Option<FunctionId>,
    /// To shared tables, by their numbers.
    pub shared: Vec<(usize, Accesses)>,
}

/// What the code of functions is in.
#[derive(Default)]
struct Units {
    /// With the first site of each, and the unit of each program.
    units: Vec<(u32, Vec<FunctionId>)>,
    /// What interprets compact code in each program, where there is any; it is made when all of that is.
    interpreters: Option<Vec<FunctionId>>,
}

impl General<'_> {
    pub(super) fn build(mut self) -> Result<Outcome, LowerError> {
        let snapshot = self.functions.snapshot;
        let handlers: Vec<Vec<u64>> =
            (0..snapshot.hooks().len()).map(|program| self.handlers(program)).collect();
        let string_meta = self.string_metatable();
        self.start_module();
        self.put_packet_methods();
        let Units { units, interpreters } = self.make_units();
        let mut programs = Vec::new();
        for (program, handlers) in handlers.into_iter().enumerate() {
            self.program = program;
            if let Some(ids) = &interpreters {
                let id = ids[program];
                let function = compact::make_interpreter(&mut self);
                self.place(id, function);
            }
            let accesses = Accessed {
                read: self.object_access(),
                assign: self.object_assignment(),
                shared: self.shared_accesses().unwrap_or_default(),
            };
            let units = units.iter().map(|(first, ids)| (*first, ids[program])).collect();
            programs.push(Program { handlers, units, accesses });
        }
        for program in 0..self.programs() {
            self.program = program;
            self.make_builtin();
        }
        let statics = self.finish_statics(string_meta);
        self.finish_objects();
        self.finish_programs(&programs, &statics)
    }

    /// Methods of packets that are written in Lua are functions like those of the script: packets refer to them where nothing is compiled any
    /// more.
    fn put_packet_methods(&mut self) {
        let names: Vec<String> = self.reach.builtins.iter().cloned().collect();
        for name in names {
            let of_packets = library_of(&name).is_some_and(|library| library.found == Found::Methods);
            if of_packets && find_function(&name) == Some(Function::Lua) {
                self.builtin(&name);
            }
        }
    }

    /// Makes code of all functions that can be reached, and notes in their records where it begins.
    fn make_units(&mut self) -> Units {
        let mut made = Units::default();
        let mut entries: Vec<(usize, u32)> = Vec::new();
        // Making code and writing objects can make more functions reachable.
        loop {
            self.finish_objects();
            let first = self.sites.len() as u32;
            if let Some(function) = self.uncompiled.pop_if(|function| self.interpreted.contains(function)) {
                let reserve = || (0..self.programs()).map(|_| self.reserve()).collect();
                let ids: &Vec<FunctionId> = made.interpreters.get_or_insert_with(reserve);
                made.units.push((first, ids.clone()));
                entries.push((function, compact::encode(self, function)));
                continue;
            }
            let batch = self.next_batch();
            if batch.is_empty() {
                break;
            }
            let (ids, sites) = self.make_unit(&format!("{UNIT}{}", made.units.len()), &batch);
            made.units.push((first, ids));
            entries.extend(batch.into_iter().zip(sites));
        }
        for (function, site) in entries {
            let record = self.records[&function];
            self.image.put(record + P_ENTRY as u64, site.into());
        }
        made
    }

    /// A unit of these functions for each program, and the sites at which they begin.
    fn make_unit(&mut self, name: &str, functions: &[usize]) -> (Vec<FunctionId>, Vec<u32>) {
        let first = self.sites.len();
        let (mut ids, mut sites) = (Vec::new(), Vec::new());
        for program in 0..self.programs() {
            self.program = program;
            // The code of each program goes on at the same sites.
            self.sites.truncate(first);
            let id = self.reserve();
            let (function, own_sites) = functions::compile(self, &of_program(name, program), functions);
            if program > 0 && own_sites != sites {
                self.fail_internally("the programs' code has different sites");
            }
            sites = own_sites;
            self.place(id, function);
            ids.push(id);
        }
        (ids, sites)
    }

    /// The closures of the program's handlers.
    fn handlers(&mut self, program: usize) -> Vec<u64> {
        let closures = self.functions.snapshot.handlers_of(program).map(|(_, handler)| handler.closure);
        let closures: Vec<ClosureId> = closures.collect();
        closures.into_iter().map(|closure| self.constant(&Snapshot::Closure(closure)).1).collect()
    }

    /// Functions for the next unit: short ones, or long ones, which no other function has to wait for.
    fn next_batch(&mut self) -> Vec<usize> {
        let Some(last) = self.uncompiled.last().copied() else { return Vec::new() };
        let long = self.is_long(last);
        let (mut size, mut batch) = (0, Vec::new());
        let mut others = Vec::new();
        while let Some(function) = self.uncompiled.pop() {
            let length = self.functions.get(function).code.len();
            let fits = batch.is_empty() || size + length <= UNIT_SIZE;
            if fits && self.is_long(function) == long && !self.interpreted.contains(&function) {
                size += length;
                batch.push(function);
            } else {
                others.push(function);
            }
        }
        self.uncompiled.extend(others.into_iter().rev());
        batch
    }

    fn is_long(&self, function: usize) -> bool {
        self.functions.get(function).code.len() > LOOPED
    }

    fn start_module(&mut self) {
        let sources = self.functions.snapshot.sources.iter();
        self.module.sources =
            sources.map(|s| ir::SourceFile { name: s.name.clone(), text: s.text.clone() }).collect();
    }

    /// Of a function that takes the program's context.
    pub fn with_context(&self) -> ir::FunctionKind {
        ir::FunctionKind::Subprogram { global: true, context: Some(self.hook().section.to_string()) }
    }

    /// `(context, state, base, count, number) -> results`: calls the library function with that number.
    fn make_builtin(&mut self) {
        let mut code = Builder::new(&of_program("builtin", self.program), self.with_context(), 5);
        let args: Vec<Value> = (0..5).map(|index| code.param(index)).collect();
        let (missing, _) = code.cold_block(0);
        let mut targets: Vec<(i64, Block)> = Vec::new();
        let mut blocks = Vec::new();
        // Routines can use library functions that nothing else does: their numbers do not change any more.
        for (number, name) in self.builtin_names.clone().into_iter().enumerate().skip(2) {
            let (block, _) = code.new_block(0);
            targets.push((number as i64, block));
            blocks.push((block, name));
        }
        code.switch(args[4], &targets, missing, &[]);
        for (block, name) in blocks {
            code.block = block;
            let results = match self.direct(&name) {
                Some(library::Direct::Routine(id)) => code.call(id, &args[1..4]),
                Some(library::Direct::Stub(id)) => code.call(id, &args[..4]),
                None => {
                    let text = format!("'{name}' cannot be called at packet time");
                    let text = self.image.text(text.as_bytes());
                    let text = code.constant(text as i64);
                    let raise = self.routine("raise");
                    code.call(raise, &[args[1], text])
                }
            };
            code.ret(results);
        }
        code.block = missing;
        code.ret(FAIL as i32);
        self.place(self.call_builtin(), code.function);
    }

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
        let by_routine = [
            (block_for(code, CompareOp::SLt, 0), "unwind"),
            (block_for(code, CompareOp::Eq, SLOW), "arithmetic_slow"),
            (block_for(code, CompareOp::Eq, CLOSE), "close_more"),
            (block_for(code, CompareOp::Eq, HANDLED), "handler_returned"),
            (block_for(code, CompareOp::Eq, CAUGHT), "finish_marker"),
        ];
        code.jump(ended, &[status]);
        code.block = dispatched;
        self.dispatch(code, state, units, head, ended);
        code.block = requested;
        self.make_call(code, state, head);
        for (block, stub) in accessed.into_iter().chain(assigned) {
            let context = code.param(0);
            Self::see_to(code, block, (stub, Some(context)), state, head);
        }
        code.block = of_map;
        self.access_shared(code, state, &accesses.shared, head);
        for (block, name) in by_routine {
            let routine = self.routine(name);
            Self::see_to(code, block, (routine, None), state, head);
        }
        (head, ended, end[0])
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

    /// Has a function that takes the state, behind the context if it wants that, see to what `block` is for.
    fn see_to(
        code: &mut Builder,
        block: Block,
        (function, context): (FunctionId, Option<Value>),
        state: Value,
        head: Block,
    ) {
        code.block = block;
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
        code.store(state, L_BUILTIN, number);
        let extra = code.load(state, L_CALL_EXTRA);
        let extra = code.add(extra, 1);
        code.store(state, L_INDIRECT, extra);
        code.store(state, L_CALL_EXTRA, 0);
        let base = code.add(func, 16);
        let count = code.load(state, L_CALL_COUNT);
        let (context, address) = (code.param(0), code.load(state, L_SELF));
        let results = code.call(self.call_builtin(), &[context, address, base, count, number]);
        code.leave_if(CompareOp::SLt, results, 0, head, &[results]);
        self.deliver(code, state, results, head);
        code.block = other;
        let requested = self.routine("call_requested");
        let address = code.load(state, L_SELF);
        let status = code.call(requested, &[address]);
        Self::go_on(code, status, head);
    }
    /// Hands the results of the library function that was called to the running frame.
    fn deliver(&mut self, code: &mut Builder, state: Value, results: Value, head: Block) {
        let deliver = self.routine("deliver");
        let address = code.load(state, L_SELF);
        let status = code.call(deliver, &[address, results]);
        Self::go_on(code, status, head);
    }
}
