//! A program's entry: its part of arena memory, the handlers in order, the verdict.

use super::General;
use super::exported::put_arguments;
use super::memory::{self, Memory, PAGE, Reached};
use super::parts::Parts;
use super::program::Accessed;
use moonhook_hook::Hook;
use moonhook_ir as ir;
use moonhook_ir::Builder;
use moonhook_ir::{BinaryOp, CompareOp, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::TableId;
use moonhook_specialise::{LowerError, LowerErrorKind, exported, nesting};
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
        let stride = memory::NEEDED + own;
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
        let of_coroutines: &[&str] =
            if self.has_coroutines() { &["call_coroutine", "coroutine_ended"] } else { &[] };
        for name in named.iter().chain(of_coroutines) {
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

    /// The hook of the program whose code is being made.
    pub fn hook(&self) -> &'static Hook {
        self.functions.snapshot.points()[self.program].hook
    }

    /// The verdict after a run-time error.
    pub fn on_error(&self) -> i64 {
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
        let point = &self.functions.snapshot.points()[self.program];
        let section = point.section(self.options.frags);
        let parameters = 1 + exported::parameters(self.functions.snapshot, self.program) as u32;
        let kind = ir::FunctionKind::Program { section };
        let mut code = Builder::new(&self.program_name(), kind, parameters);
        code.function.prototype = exported::prototype(self.functions.snapshot, self.program);
        let reached = self.reach_memory(&mut code, statics, memory, parts);
        let Reached { state, address, .. } = reached;
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
        self.leave(&mut code, params[0], &reached, parts);
        code.function
    }

    /// Ends the program with a verdict.
    fn leave(&self, code: &mut Builder, verdict: Value, reached: &Reached, parts: &Parts) {
        if let Some(count) = parts.count {
            let address = code.load(reached.state, L_SELF);
            code.call(count, &[address, verdict]);
        }
        if let Some(level) = reached.level {
            nesting::give_back(code, level);
        }
        let hook = self.hook();
        let mut answer = verdict;
        if self.functions.snapshot.library.is_none() {
            if let Some(mask) = hook.mask() {
                answer = code.binary(BinaryOp::And, answer, ir::Operand::Imm(mask));
            }
            if hook.answer_shift() > 0 {
                answer = code.binary(BinaryOp::Shl, answer, ir::Operand::Imm(hook.answer_shift() as i32));
            }
        }
        code.ret(answer);
    }

    /// The name of the program's function. Subprograms are symbols of the same object.
    fn program_name(&self) -> String {
        let mut name = self.functions.snapshot.program_name(self.program);
        if self.functions.snapshot.library.is_some() {
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
