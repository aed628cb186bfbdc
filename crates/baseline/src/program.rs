//! The programs around the functions: the code that each has of them, its handlers one after another, calls of library functions.
//!
//! Arena memory from the image on, for each CPU and each program: the state, frames, stack, heap.

use super::entry::{Outcome, Program};
use super::library;
use super::{General, LOOPED, UNIT, UNIT_SIZE, compact, functions};
use moonhook_ir as ir;
use moonhook_ir::Builder;
use moonhook_ir::{Block, FunctionId, Value};
use moonhook_library::{Found, library_of};
use moonhook_runtime::layout::*;
use moonhook_runtime::{Function, OF_FRAMES, find_function};
use moonhook_snapshot::instruction::{Instruction, Opcode};
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
            (0..snapshot.points().len()).map(|program| self.handlers(program)).collect();
        let string_meta = self.string_metatable();
        self.start_module();
        self.put_packet_methods();
        if !snapshot.flows.is_empty() {
            let optional = self.optional_tables().clone();
            self.stub(|stubs| stubs.make_declared_tables(&optional));
        }
        let Units { units, interpreters } = self.make_units();
        let mut programs = Vec::new();
        for (program, handlers) in handlers.into_iter().enumerate() {
            self.program = self.representative(program);
            if let Some(ids) = interpreters.as_ref().filter(|_| self.program == program) {
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
            match self.representative(program) == program {
                true => self.make_builtin(),
                false => self.make_no_builtin(),
            }
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
            self.find_inner_functions();
            let first = self.sites.len() as u32;
            if let Some(function) = self.uncompiled.pop_if(|function| self.interpreted.contains(function)) {
                let ids: &Vec<FunctionId> =
                    made.interpreters.get_or_insert_with(|| self.reserve_for_programs());
                made.units.push((first, ids.clone()));
                entries.push((function, compact::encode(self, function)));
                continue;
            }
            let batch = self.next_batch();
            if batch.is_empty() {
                if !self.uncompiled.is_empty() {
                    self.fail_internally("functions are left without code");
                }
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

    /// Functions that others make are best in the same unit: makes their records before.
    fn find_inner_functions(&mut self) {
        let mut outer = self.uncompiled.clone();
        while let Some(function) = outer.pop() {
            for word in self.functions.get(function).code.clone() {
                let instruction = Instruction(word);
                if instruction.opcode() != Some(Opcode::Closure) {
                    continue;
                }
                let inner = self.functions.inner(function, instruction.bx());
                if !self.records.contains_key(&inner) {
                    self.prototype_record(inner);
                    outer.push(inner);
                }
            }
        }
    }

    /// A unit of these functions for each program, and the sites at which they begin.
    fn make_unit(&mut self, name: &str, functions: &[usize]) -> (Vec<FunctionId>, Vec<u32>) {
        let first = self.sites.len();
        let (mut ids, mut sites) = (Vec::new(), Vec::new());
        for program in 0..self.programs() {
            if self.representative(program) != program {
                ids.push(ids[self.representative(program)]);
                continue;
            }
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
            sources.map(|s| ir::SourceFile { name: s.name.clone(), text: s.text().to_string() }).collect();
        moonhook_specialise::object_maps::add_maps(self.functions.snapshot, &mut self.module);
    }

    /// Of a function that takes the program's context.
    pub fn with_context(&self) -> ir::FunctionKind {
        ir::FunctionKind::Subprogram { global: true, context: Some(self.hook().section.to_string()) }
    }

    /// A function for each program, which one that has another's functions shares with that.
    fn reserve_for_programs(&mut self) -> Vec<FunctionId> {
        let mut ids = Vec::new();
        for program in 0..self.programs() {
            let id = match self.representative(program) {
                own if own == program => self.reserve(),
                other => ids[other],
            };
            ids.push(id);
        }
        ids
    }

    /// The function for library functions that the program's code calls.
    pub(super) fn called_builtin(&self) -> FunctionId {
        FunctionId((self.programs() + self.representative(self.program)) as u32)
    }

    /// In the place of what [`General::make_builtin`] makes, where nothing calls it.
    fn make_no_builtin(&mut self) {
        let mut code = Builder::new(&of_program("builtin", self.program), self.with_context(), 5);
        code.ret(FAIL as i32);
        self.place(self.call_builtin(), code.function);
    }

    /// `(context, state, base, count, number) -> results`: calls the library function with that number.
    fn make_builtin(&mut self) {
        let mut code = Builder::new(&of_program("builtin", self.program), self.with_context(), 5);
        let args: Vec<Value> = (0..5).map(|index| code.param(index)).collect();
        let (missing, _) = code.cold_block(0);
        let mut targets: Vec<(i64, Block)> = Vec::new();
        let mut blocks = Vec::new();
        // Routines can use library functions that nothing else does: their numbers do not change any more.
        for (number, name) in self.builtin_names.clone().into_iter().enumerate().skip(OF_FRAMES.len()) {
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
}
