//! A program's entry: its part of arena memory, the handlers in order, the verdict.

use super::General;
use super::exported::put_arguments;
use super::program::Accessed;
use super::random;
use moonhook_hook::Hook;
use moonhook_ir as ir;
use moonhook_ir::Builder;
use moonhook_ir::helper;
use moonhook_ir::{BinaryOp, CompareOp, Op, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::TableId;
use moonhook_specialise::{LowerError, LowerErrorKind, exported, nesting, of_program};
use std::collections::BTreeSet;

/// A program to be.
pub struct Program {
    /// The closures of its handlers.
    pub handlers: Vec<u64>,
    /// The functions with its code, each with its first site.
    pub units: Vec<(u32, ir::FunctionId)>,
    /// Accesses to objects of the packet, and to shared tables.
    pub accesses: Accessed,
}

/// Where memory is: all programs have the image, and what follows it is parts of the same size, for each CPU one of each program.
#[derive(Clone, Copy)]
struct Memory {
    image_end: i64,
    stride: i64,
}

/// Subprograms of the program's own.
pub struct Parts {
    report: Option<ir::FunctionId>,
    prepare: Option<ir::FunctionId>,
    count: Option<ir::FunctionId>,
    no_memory: Option<ir::FunctionId>,
    /// Taking a level, and giving it back, at hooks whose programs can be interrupted.
    levels: Option<[ir::FunctionId; 2]>,
}

/// Bytes of each CPU's state (notes of reads and scratch memory of routines included), frames and stack.
const STATE: i64 = 8192 + NOTES_SIZE;
const FRAMES: i64 = 512 << 10;
const STACK: i64 = 512 << 10;
const FRAMES_START: i64 = STATE + PATTERNS_SIZE;
const STACK_START: i64 = FRAMES_START + FRAMES;
const PAGE: i64 = 4096;

/// What comes of a script.
pub enum Outcome {
    Module(Box<ir::Module>),
    /// These tables cannot be maps, and do not have to be: they can be taken to be constant. There is one at least.
    Unfit(BTreeSet<TableId>),
}

impl General<'_> {
    /// Adds the routines, the programs and the arena, and puts the module together.
    pub fn finish_programs(
        mut self,
        programs: &[Program],
        statics: &[(i64, u64)],
    ) -> Result<Outcome, LowerError> {
        let lists: Vec<u64> = programs.iter().map(|program| self.image.words(&program.handlers)).collect();
        let own = i64::from(self.options.memory.next_multiple_of(PAGE as u32));
        let stride = STATE + PATTERNS_SIZE + FRAMES + STACK + own;
        // Routines can still add texts to the image, so they come before its end is known.
        let named = [
            "arithmetic_slow",
            "call_requested",
            "close_more",
            "deliver",
            "error_text",
            "finish_fault",
            "finish_marker",
            "handler_returned",
            "handler_verdict",
            "start_handler",
            "unwind",
        ];
        for name in named {
            self.routine(name);
        }
        let called = self.called();
        let parts: Vec<Parts> = (0..programs.len()).map(|program| self.parts(program)).collect();
        if let Err(error) = self.add_routines() {
            return Err(self.internal(error.to_string()));
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if !self.unfit.is_empty() {
            return Ok(Outcome::Unfit(self.unfit));
        }
        self.module.variables = self.described_variables();
        let image = std::mem::replace(&mut self.image, super::image::Image::new()).finish();
        let memory = Memory { image_end: image.len() as i64, stride };
        for (number, (program, parts)) in programs.iter().zip(&parts).enumerate() {
            self.program = number;
            let function = self.entry((lists[number], program), called[number], statics, memory, parts);
            self.place(ir::FunctionId(number as u32), function);
        }
        let all = i64::from(self.options.cpus) * i64::from(self.memories().all);
        let pages = (memory.image_end + stride * all) / PAGE;
        let arena =
            ir::Map { name: ir::maps::ARENA.into(), kind: ir::MapKind::Arena { pages: pages as u32, image } };
        self.module.maps.push(arena);
        self.module.functions = self.functions_made.into_iter().flatten().collect();
        name_maps_apart(&mut self.module);
        moonhook_specialise::stubs::finish(&mut self.module);
        Ok(Outcome::Module(Box::new(self.module)))
    }

    fn parts(&mut self, program: usize) -> Parts {
        self.program = program;
        let count = if self.options.count_verdicts { self.count_verdict() } else { None };
        let levels = self.levels();
        self.program = self.representative(program);
        Parts {
            report: self.report(),
            prepare: self.packet_preparation(),
            count,
            no_memory: self.no_memory(),
            levels,
        }
    }

    /// Where the memory of the program is whose code is being made.
    fn memories(&self) -> nesting::Parts {
        exported::memory(self.functions.snapshot, self.options, self.program)
    }

    fn levels(&mut self) -> Option<[ir::FunctionId; 2]> {
        let (hook, program, cpus) = (self.hook(), self.program, self.options.cpus);
        if hook.levels(self.options.clones) == 1 {
            return None;
        }
        let known = self.module.maps.iter().position(|map| map.name == ir::maps::TAKEN);
        let index = known.unwrap_or_else(|| {
            let kind = nesting::taken(self.programs(), cpus);
            self.module.maps.push(ir::Map { name: ir::maps::TAKEN.into(), kind });
            self.module.maps.len() - 1
        });
        let section = (ir::MapId(index as u32), cpus);
        let take = nesting::take(&of_program("take_level", program), hook, program, section);
        let give = nesting::give_back(&of_program("give_back_level", program), hook, program, section);
        Some([take, give].map(|function| {
            let id = self.reserve();
            self.place(id, function);
            id
        }))
    }

    /// The hook of the program whose code is being made.
    pub fn hook(&self) -> &'static Hook {
        self.functions.snapshot.hooks()[self.program]
    }

    /// The verdict after a run-time error.
    fn on_error(&self) -> i64 {
        exported::after_error(self.functions.snapshot, self.options, self.program)
    }

    /// Notes what can only be a fault of the compiler: there will be no program.
    pub fn fail_internally(&mut self, message: &str) {
        let error = self.internal(message.to_string());
        self.failure.get_or_insert(error);
    }

    /// A fault of Moonhook's own.
    fn internal(&self, message: String) -> LowerError {
        let place = moonhook_diagnostic::Place {
            file: self.functions.snapshot.script.clone(),
            line: 1,
            text: String::new(),
            name: None,
        };
        LowerError { kind: LowerErrorKind::Internal { message }, place: Box::new(place) }
    }

    /// The program: the handlers of the list (address and number) one after another, until one has a verdict other than `PASS`.
    fn entry(
        &mut self,
        (list, program): (u64, &Program),
        called: Option<u64>,
        statics: &[(i64, u64)],
        memory: Memory,
        parts: &Parts,
    ) -> ir::Function {
        let hook = self.hook();
        let point = self.functions.snapshot.points().swap_remove(self.program);
        let section = point.section(self.options.frags);
        let parameters = 1 + exported::parameters(self.functions.snapshot, self.program) as u32;
        let kind = ir::FunctionKind::Program { section };
        let mut code = Builder::new(&self.program_name(), kind, parameters);
        code.function.prototype = exported::prototype(self.functions.snapshot, self.options, self.program);
        let processor = code.emit(Op::Helper { id: helper::GET_SMP_PROCESSOR_ID, args: vec![] });
        let level = parts.levels.map(|[take, _]| code.call(take, &[processor]));
        self.leave_without_memory(&mut code, (processor, level), parts);
        let memories = self.memories();
        let each = code.number(memory.stride * i64::from(memories.all));
        let part = code.binary(BinaryOp::Mul, processor, each);
        let mut address = code.add(part, memory.image_end + memory.stride * i64::from(memories.first));
        if let Some(level) = level {
            let stride = code.number(memory.stride);
            let offset = code.binary(BinaryOp::Mul, level, stride);
            address = code.binary(BinaryOp::Add, address, offset);
        }
        let state = code.arena(address);
        self.prepare(&mut code, state, address, statics, memory);
        if let Some(level) = level {
            code.store(state, L_LEVEL, level);
        }
        code.store_constant(state, L_BUDGET, self.options.budget.into());
        code.store(state, L_HANDLER, 0);
        let (exit, params) = code.new_block(1);
        self.prepare_packet(&mut code, (state, address), exit, parts);
        let (next, _) = code.new_block(0);
        let (start, _) = code.new_block(0);
        code.jump(next, &[]);
        let (head, ended, status) = self.run_units(&mut code, state, &program.units, &program.accesses);
        code.block = next;
        let number = code.load(state, L_HANDLER);
        let pass = code.constant(hook.default.into());
        let handlers = code.number(program.handlers.len() as i64);
        code.leave_if(CompareOp::UGe, number, handlers, exit, &[pass]);
        code.terminate(ir::Terminator::MayGoto {
            go: ir::Target::new(start, vec![]),
            stop: ir::Target::new(exit, vec![pass]),
        });
        code.block = start;
        self.start_handler(&mut code, state, (list, called.is_some()), head);
        code.block = ended;
        match called {
            Some(called) => self.take_result(&mut code, state, status, (called, exit), parts),
            None => self.take_verdict(&mut code, state, status, (next, exit), parts),
        }
        code.block = exit;
        if let Some(count) = parts.count {
            let address = code.load(state, L_SELF);
            code.call(count, &[address, params[0]]);
        }
        if let (Some([_, give_back]), Some(level)) = (parts.levels, level) {
            code.call(give_back, &[processor, level]);
        }
        if self.options.library {
            code.ret(params[0]);
            return code.function;
        }
        let mut answer = match hook.mask() {
            Some(mask) => code.binary(BinaryOp::And, params[0], ir::Operand::Imm(mask)),
            None => params[0],
        };
        if hook.answer_shift() > 0 {
            answer = code.binary(BinaryOp::Shl, answer, ir::Operand::Imm(hook.answer_shift() as i32));
        }
        code.ret(answer);
        code.function
    }

    /// The name of the program's function. Subprograms are symbols of the same object.
    fn program_name(&self) -> String {
        let mut name = moonhook_specialise::program_name(self.functions.snapshot, self.program);
        if self.options.library {
            // The others get other names later.
            return name;
        }
        let taken = |name: &str| {
            self.functions_made.iter().flatten().any(|function| function.name == name)
                || self.module.maps.iter().any(|map| map.name == name)
        };
        moonhook_specialise::set_apart(&mut name, taken);
        name
    }

    /// Has the packet put where it can be read, where that takes something.
    fn prepare_packet(
        &mut self,
        code: &mut Builder,
        (state, address): (Value, Value),
        exit: ir::Block,
        parts: &Parts,
    ) {
        let Some(prepare) = parts.prepare else { return };
        let context = code.param(0);
        let status = code.call(prepare, &[context, address]);
        let (failed, _) = code.cold_block(0);
        code.leave_if(CompareOp::Ne, status, 0, failed, &[]);
        let prepared = std::mem::replace(&mut code.block, failed);
        self.report_failure(code, state, exit, parts);
        code.block = prepared;
    }

    /// Ends the program on a CPU beyond those that it has memory for, and where all of it is taken.
    fn leave_without_memory(
        &self,
        code: &mut Builder,
        (processor, level): (Value, Option<Value>),
        parts: &Parts,
    ) {
        let (beyond, _) = code.cold_block(0);
        let cpus = code.number(self.options.cpus.into());
        code.leave_if(CompareOp::UGe, processor, cpus, beyond, &[]);
        if let Some(level) = level {
            let levels = code.number(self.hook().levels(self.options.clones).into());
            code.leave_if(CompareOp::UGe, level, levels, beyond, &[]);
        }
        let start = std::mem::replace(&mut code.block, beyond);
        if let Some(no_memory) = parts.no_memory {
            let context = code.param(0);
            code.call(no_memory, &[context, processor]);
        }
        let shift = if self.options.library { 0 } else { self.hook().answer_shift() };
        let answer = code.number(self.on_error() << shift);
        code.ret(answer);
        code.block = start;
    }

    /// Starts the next handler of the list, with the integers that the program is given if it is a function.
    fn start_handler(
        &mut self,
        code: &mut Builder,
        state: Value,
        (list, is_function): (u64, bool),
        head: ir::Block,
    ) {
        let number = code.load(state, L_HANDLER);
        let following = code.add(number, 1);
        code.store(state, L_HANDLER, following);
        let offset = code.binary(BinaryOp::Shl, number, 3);
        let place = code.add(offset, list as i64);
        let place = code.arena(place);
        let closure = code.load(place, 0);
        let start = self.routine("start_handler");
        let address = code.load(state, L_SELF);
        let object = code.constant(if self.hook().is_trace() { OBJECT_EVENT } else { OBJECT_PACKET });
        let numbers = put_arguments(code, state);
        let count = if is_function { 1 + numbers } else { 0 };
        let count = code.constant(count);
        let status = code.call(start, &[address, closure, object, count]);
        code.jump(head, &[status]);
    }

    /// The handler has ended: its verdict, or the one for errors. Those of tracepoints have none.
    fn take_verdict(
        &mut self,
        code: &mut Builder,
        state: Value,
        status: Value,
        (next, exit): (ir::Block, ir::Block),
        parts: &Parts,
    ) {
        let (failed, _) = code.cold_block(0);
        code.leave_if(CompareOp::Ne, status, FINISHED as i32, failed, &[]);
        if self.functions.snapshot.has_deciders() {
            leave_decided(code, state, exit, None);
        }
        match self.hook().is_trace() {
            true => code.jump(next, &[]),
            false => self.check_verdict(code, state, (next, exit, failed)),
        }
        code.block = failed;
        self.report_failure(code, state, exit, parts);
    }

    /// Ends the program with the handler's verdict, unless that is left to the next one, or is none.
    fn check_verdict(
        &mut self,
        code: &mut Builder,
        state: Value,
        (next, exit, failed): (ir::Block, ir::Block, ir::Block),
    ) {
        let routine = self.routine("handler_verdict");
        let address = code.load(state, L_SELF);
        let hook = self.hook();
        let verdicts =
            [hook.default.into(), hook.least().into(), hook.bits().into(), hook.takes_booleans().into()];
        let [pass, least, bits, booleans] = verdicts.map(|number: i64| code.constant(number));
        let verdict = code.call(routine, &[address, pass, least, bits, booleans]);
        code.leave_if(CompareOp::Eq, verdict, NO_VERDICT as i32, failed, &[]);
        let (other, _) = code.new_block(0);
        code.branch(CompareOp::Eq, verdict, hook.default, (next, &[]), (other, &[]));
        code.block = other;
        code.jump(exit, &[verdict]);
    }

    /// Ends the program with the error that was raised.
    pub fn report_failure(&mut self, code: &mut Builder, state: Value, exit: ir::Block, parts: &Parts) {
        let routine = self.routine("error_text");
        let address = code.load(state, L_SELF);
        code.call(routine, &[address]);
        if let Some(report) = parts.report {
            let (context, address) = (code.param(0), code.load(state, L_SELF));
            code.call(report, &[context, address]);
        }
        let verdict = code.constant(self.on_error());
        code.jump(exit, &[verdict]);
    }

    /// Fills in the parts of the state that never change, on the CPU's first packet.
    fn prepare(
        &mut self,
        code: &mut Builder,
        state: Value,
        address: Value,
        statics: &[(i64, u64)],
        memory: Memory,
    ) {
        let (first, _) = code.cold_block(0);
        let (ready, _) = code.new_block(0);
        let known = code.load(state, L_SELF);
        code.branch(CompareOp::Eq, known, 0, (first, &[]), (ready, &[]));
        code.block = first;
        code.store(state, L_SELF, address);
        let relative = [
            (L_SCRATCH, STATE - SCRATCH_SIZE),
            (L_PATTERNS, STATE),
            (L_FRAMES, FRAMES_START),
            (L_FRAMES_END, FRAMES_START + FRAMES / FRAME_SIZE * FRAME_SIZE),
            (L_STACK, STACK_START),
            (L_STACK_END, STACK_START + STACK - PAGE),
            (L_HEAP_START, STACK_START + STACK),
            (L_HEAP_END, memory.stride),
            (L_MEMORY_END, memory.stride),
        ];
        for (field, offset) in relative {
            let place = code.add(address, offset);
            code.store(state, field, place);
        }
        code.store_constant(state, L_IMAGE_END, memory.image_end);
        for (field, word) in statics {
            code.store_constant(state, *field, *word as i64);
        }
        random::prepare(code, state, self.options.seed);
        code.jump(ready, &[]);
        code.block = ready;
    }
}

/// Ends the program with the verdict by which a function of a C object has ended the packet, if one has; or with `instead`.
pub fn leave_decided(code: &mut Builder, state: Value, exit: ir::Block, instead: Option<i64>) {
    let (decided, _) = code.cold_block(0);
    let verdict = code.load(state, L_DECIDED);
    code.leave_if(CompareOp::Ne, verdict, 0, decided, &[]);
    let undecided = std::mem::replace(&mut code.block, decided);
    code.store_constant(state, L_DECIDED, 0);
    let verdict = match instead {
        Some(number) => code.constant(number),
        None => code.add(verdict, -1),
    };
    code.jump(exit, &[verdict]);
    code.block = undecided;
}

/// Maps and functions are symbols of one object. The runtime's functions keep their names: what a shared table is called for
/// people stands elsewhere.
fn name_maps_apart(module: &mut ir::Module) {
    const MOST: usize = 15;
    for index in module.tables.iter().map(|table| table.map.0 as usize) {
        let taken = |name: &str| {
            module.functions.iter().any(|function| function.name == name)
                || module.maps.iter().enumerate().any(|(other, map)| other != index && map.name == name)
        };
        let stem = module.maps[index].name.clone();
        let numbered = |number: usize| {
            let end = if number == 0 { String::new() } else { format!("_{number}") };
            stem[..stem.len().min(MOST - end.len())].to_string() + &end
        };
        let free = (0..).map(numbered).find(|name| !taken(name));
        module.maps[index].name = free.unwrap_or_default();
    }
}
