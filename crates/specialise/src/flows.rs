//! Flow tables at packet time: how a flow is found in the memory that a process writes ([`moonhook_flows::FlowTable`]), and how its function,
//! which is a program of its own, handles the packet.
//!
//! A program goes on with another one by a tail call, which does not come back. From a function that the program calls, it comes back to
//! where that was called (`BPF_TAIL_CALL` and functions: Documentation/bpf/, kernel commit ebf7d1f508a7), so that the program decides what
//! comes of the verdict.

use crate::Options;
use crate::context::{Context, Result, Stop};
use crate::knowledge::{Knowledge, MOST_ATTEMPTS};
use crate::loops::Iteration;
use crate::region::STRINGS_START;
use crate::shared::Assigned;
use crate::state::State;
use crate::subprograms::of_program;
use crate::value::{Abs, Closure, Object, Word};
use moonhook_flows::{DIRECT, ENTRY_MASK, HEADER, Layout, MIX, MOST_KEYS, PROBES, most_functions};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, FunctionId, Op, Size, UnaryOp, helper};
use moonhook_library::own::flow::FUNCTION_FAILED;
use moonhook_packet::{Access, Machine};
use moonhook_snapshot::{ClosureId, Snapshot, TableId};
use std::collections::BTreeSet;

/// What the function that makes the tail call gives where there is no program: no verdict, which have 32 bits.
const NONE: i64 = 1 << 40;

/// Words of keys with which flows are found by a function of its own, at most: such a function takes five arguments, one of them the program's
/// context, and what calls it has one of its own to keep.
const MOST_ARGUMENTS: usize = 3;

/// The stack slot of the key with which the memory is looked up, by the name that [`crate::shared::known::SharedTables::slot`] takes.
pub const KEY_SLOT: u32 = 5;

/// A flow table in the program being made.
#[derive(Clone, Copy)]
pub struct Table {
    number: usize,
    layout: Layout,
    keys: ir::MapId,
    functions: ir::MapId,
}

impl Table {
    /// The table with that number in the snapshot.
    pub fn of(context: &mut Context<'_>, number: usize) -> Table {
        let table = &context.snapshot.flows[number];
        let layout = table.layout();
        let program = context.target.program;
        let keys = context.flow_keys(number, layout);
        let most = most_functions(layout.capacity);
        let programs = || {
            let map_type = ir::MapType::ProgramArray;
            ir::MapKind::Map(ir::MapDefinition {
                map_type,
                key_size: 4,
                value_size: 4,
                max_entries: most,
                flags: 0,
            })
        };
        let functions = context.output.map(&ir::maps::flow_functions(number, program), programs);
        Table { number, layout, keys, functions }
    }

    /// Has the function of the flow with that key handle the packet; gives the verdict, and the states in which there is no such flow. An error
    /// of the function's is one of the program's.
    pub fn call_function(self, context: &mut Context<'_>, key: &[Word]) -> Result<(Word, Vec<State>)> {
        if context.target.hook.can_write() {
            context.before_packet_write()?;
        }
        let mut without = Vec::new();
        let memory = context.flow_memory(self.number, self.layout);
        let entry = match context.stub.is_some() && key.len() <= MOST_ARGUMENTS {
            true => self.find_apart(context, key, &mut without)?,
            false => self.find(context, memory, key, &mut without)?,
        };
        if !context.alive() {
            return Ok((Word::Imm(0), without));
        }
        let says_headers = context.can_tell() && context.tell()?;
        self.note_call(context, says_headers);
        let entry = self.entry(context, memory, entry, &mut without);
        let load =
            |context: &mut Context<'_>, offset: usize, size| context.load(entry, offset as i16, size, false);
        let function = load(context, self.layout.function(), Size::B8);
        let now = context.load(memory, 0, Size::B4, false);
        context.store(entry, self.layout.seen() as i16, Size::B4, now);
        let one = context.value(Word::Imm(1));
        let disp = self.layout.packets() as i16;
        context.emit(Op::Atomic { op: ir::AtomicOp::Add, size: Size::B8, base: entry, disp, value: one });
        let caller = self.caller(context)?;
        let program = context.program_context();
        let answer = context.call_function(caller, &[program, function]);
        context.note_packet_moved();
        context.packet_written();
        context.shared_written();
        let none = context.compare(CompareOp::Eq, answer, NONE);
        let (none, answered) = context.split(none);
        without.push(none);
        context.state = answered;
        let verdict = verdict(context, answer);
        let failed = context.split_failed(verdict)?;
        let answered = std::mem::replace(&mut context.state, failed);
        self.fail(context, entry)?;
        context.state = answered;
        Ok((verdict, without))
    }

    /// The function of that entry has failed: so has the program.
    fn fail(self, context: &mut Context<'_>, entry: ir::Value) -> Result<()> {
        if !context.alive() {
            return Ok(());
        }
        let (one, disp) = (context.value(Word::Imm(1)), self.layout.errors() as i16);
        context.emit(Op::Atomic { op: ir::AtomicOp::Add, size: Size::B4, base: entry, disp, value: one });
        context.fail_again(FUNCTION_FAILED)
    }

    /// Notes that the program calls functions of the table.
    fn note_call(self, context: &mut Context<'_>, says_headers: bool) {
        let (table, program, is_undisturbed) = (self.number, context.target.program, context.can_tell());
        let leaves_region = context.leaves_region();
        let calls = &mut context.output.module.flows;
        match calls.iter_mut().find(|calls| (calls.table, calls.program) == (table, program)) {
            // All calls have to say so.
            Some(calls) => {
                calls.says_headers &= says_headers;
                calls.leaves_region &= leaves_region;
            }
            None => calls.push(ir::FlowCalls {
                table,
                program,
                keys: self.keys,
                functions: self.functions,
                is_undisturbed,
                says_headers,
                leaves_region,
            }),
        }
    }

    /// [`Table::find`] by a function of its own: from where it is called to the tail call there is little stack (`check_max_stack_depth_subprog`,
    /// kernel/bpf/verifier.c).
    fn find_apart(self, context: &mut Context<'_>, key: &[Word], without: &mut Vec<State>) -> Result<Word> {
        let name = format!("find_flow{}", self.number);
        let find = context.subprogram(&name, key.len() as u32, |context, key| {
            let mut without = Vec::new();
            let memory = context.flow_memory(self.number, self.layout);
            let entry = self.find(context, memory, key, &mut without)?;
            context.give(entry);
            context.enter(without)?;
            context.give(-1);
            Ok(())
        })?;
        let program = context.program_context();
        // `find` raises no errors, which would be entry 0 here.
        let entry = context.call_function(find, &[&[program], key].concat());
        let none = context.compare(CompareOp::SLt, entry, 0);
        context.leave_if(none, without);
        Ok(entry)
    }

    /// The number of the key's entry.
    fn find(
        self,
        context: &mut Context<'_>,
        memory: ir::Value,
        key: &[Word],
        without: &mut Vec<State>,
    ) -> Result<Word> {
        let mut hash = Word::Imm(0);
        for (number, word) in key.iter().enumerate().filter(|(_, word)| **word != Word::Imm(0)) {
            let factor = context.load(memory, 8 * (1 + number as i16), Size::B8, false);
            let product = context.binary(BinaryOp::Mul, factor, *word);
            hash = context.add(hash, product);
        }
        // As `HashKeys::hash` has it.
        let mixed = context.shr(hash, i64::from(MIX));
        let mixed = context.binary(BinaryOp::Xor, hash, mixed);
        let factor = context.load(memory, 8 * (1 + MOST_KEYS as i16), Size::B8, false);
        let hash = context.binary(BinaryOp::Mul, mixed, factor);
        let mask = self.layout.index_words() as i64 - 1;
        let first = context.shr(hash, i64::from(self.layout.first_bit()));
        let wanted = context.and(hash, !ENTRY_MASK as i64);
        let mut found = Vec::new();
        // Most flows are found at the first place.
        let others = self.look(context, memory, (first, wanted, key), &mut found, without);
        context.enter(others)?;
        if context.alive() {
            context.make_cold();
            let second = context.add(first, 1);
            let last = Word::Imm(PROBES as i64 - 1);
            let arms = context.repeat(&[second, last], &mut |context, variables| {
                let mut turn = Iteration::default();
                let (mut entries, mut ends) = (Vec::new(), Vec::new());
                let none = context.compare(CompareOp::Eq, variables[1], 0);
                context.leave_if(none, &mut ends);
                let place = context.and(variables[0], mask);
                let others = self.look(context, memory, (place, wanted, key), &mut entries, &mut ends);
                for (state, entry) in entries {
                    turn.leave_in(state, vec![Abs::Int(entry)]);
                }
                for state in ends {
                    turn.leave_in(state, vec![Abs::int(-1)]);
                }
                context.enter(others)?;
                let next = context.add(place, 1);
                let left = context.sub(variables[1], 1);
                turn.again(context, vec![next, left]);
                Ok(turn)
            })?;
            for arm in arms {
                if let Some(Abs::Int(entry)) = arm.values.first() {
                    match entry {
                        Word::Imm(_) => without.push(arm.state),
                        Word::Value(_) => found.push((arm.state, *entry)),
                    }
                }
            }
        }
        let arm = |(state, entry)| crate::paths::Arm { state, values: vec![Abs::Int(entry)] };
        context.join_word(found.into_iter().map(arm).collect())
    }

    /// Looks at a place of the index: where the entry there has the key, with its number, goes to `found`; where nothing is there, nor further on,
    /// to `without`. Gives the states in which something else is there.
    fn look(
        self,
        context: &mut Context<'_>,
        memory: ir::Value,
        (place, wanted, key): (Word, Word, &[Word]),
        found: &mut Vec<(State, Word)>,
        without: &mut Vec<State>,
    ) -> Vec<State> {
        let mut others = Vec::new();
        let offset = context.shl(place, 3);
        let at = context.value(offset);
        let at = context.emit(Op::Binary(BinaryOp::Add, memory, at.into()));
        let word = context.load(at, HEADER as i16, Size::B8, false);
        let free = context.compare(CompareOp::Eq, word, 0);
        context.leave_if(free, without);
        let entry = context.binary(BinaryOp::Xor, word, wanted);
        let entry = context.sub(entry, 1);
        let entry_at = self.entry(context, memory, entry, &mut others);
        for (number, word) in key.iter().enumerate() {
            let there = context.load(entry_at, 8 * number as i16, Size::B8, false);
            let differs = context.compare(CompareOp::Ne, there, *word);
            context.leave_if(differs, &mut others);
        }
        found.push((context.take_state(), entry));
        others
    }

    /// The address of the entry with that number; where there is none, to `others`.
    fn entry(
        self,
        context: &mut Context<'_>,
        memory: ir::Value,
        number: Word,
        others: &mut Vec<State>,
    ) -> ir::Value {
        let beyond = context.compare(CompareOp::UGe, number, i64::from(self.layout.entry_count()));
        context.leave_if(beyond, others);
        let offset = context.binary(BinaryOp::Mul, number, self.layout.stride() as i64);
        let offset = context.add(offset, self.layout.entries() as i64);
        let offset = context.value(offset);
        context.emit(Op::Binary(BinaryOp::Add, memory, offset.into()))
    }

    /// `(ctx, function) -> answer`: goes on with the program that has that number, and comes back with what that one returns.
    fn caller(self, context: &mut Context<'_>) -> Result<FunctionId> {
        let program = context.target.program;
        let name = of_program(&format!("call_flow{}", self.number), program);
        if let Some(known) = context.known_subprogram(&name) {
            return Ok(known);
        }
        let kind = ir::FunctionKind::Subprogram {
            global: true,
            context: Some(context.target.hook.section.to_string()),
        };
        let mut code = ir::Builder::new(&name, kind, 2);
        let (packet, function) = (code.param(0), code.param(1));
        let (others, _) = code.new_block(0);
        let blocks: Vec<_> = (1..=DIRECT).map(|number| (i64::from(number), code.new_block(0).0)).collect();
        code.switch(function, &blocks, others, &[]);
        // A number that stands in the code makes the call a jump, which takes half of the time of one that goes by a table.
        for (number, block) in blocks {
            code.block = block;
            let number = code.constant(number);
            self.go_on(&mut code, packet, number);
        }
        code.block = others;
        self.go_on(&mut code, packet, function);
        Ok(context.place_subprogram(code.function))
    }
}

/// What is known of the script once the functions were executed that load time has set for flows: which variables they assign, and what they
/// do with tables. What is wrong with them is found when they are made.
pub fn learn(snapshot: &Snapshot, options: &Options, mut known: Knowledge) -> Knowledge {
    let mut functions: Vec<ClosureId> =
        snapshot.flows.iter().flat_map(|table| table.functions.iter().copied()).collect();
    functions.dedup();
    let programs = 0..snapshot.points().len();
    let all = programs.flat_map(|program| functions.iter().map(move |function| (program, *function)));
    for (program, function) in all.filter(|_| options.of_flow.is_none()) {
        loop {
            known.start_over();
            let mut context = Context::new(snapshot, options, known);
            let outcome = context.learn_of(program, function);
            let again = context.findings.stale || matches!(outcome, Err(Stop::Restart));
            known = context.known;
            if !again || known.attempts > MOST_ATTEMPTS {
                break;
            }
        }
    }
    known
}

impl Table {
    /// Goes on with a program, or gives [`NONE`] where there is none.
    fn go_on(self, code: &mut ir::Builder, packet: ir::Value, number: ir::Value) {
        let map = code.emit(Op::MapReference(self.functions));
        code.emit(Op::Helper { id: helper::TAIL_CALL, args: vec![packet, map, number] });
        let none = code.constant(NONE);
        code.ret(none);
    }
}

impl Context<'_> {
    /// The data section that is a flow table's memory: code has its address, where a map would have to be asked for it.
    fn flow_keys(&mut self, table: usize, layout: Layout) -> ir::MapId {
        let size = layout.bytes().next_multiple_of(8) as u32;
        self.output.map(&ir::maps::flow_keys(table), || ir::MapKind::Zeros(size))
    }

    /// The address of a flow table's memory.
    pub fn flow_memory(&mut self, table: usize, layout: Layout) -> ir::Value {
        let keys = self.flow_keys(table, layout);
        self.emit(Op::DataAddress { map: keys, offset: 0 })
    }

    /// Makes the maps of all tables whose types are known, or declared, and of all variables: functions of flows that come later have them. Those
    /// of the function of a flow are there. Those in `optional` may be no maps after all: only functions assign them that packet code is not known to call.
    pub fn make_declared_tables(&mut self, optional: &BTreeSet<TableId>) -> Result<()> {
        if self.snapshot.flows.is_empty() || self.options.of_flow.is_some() {
            return Ok(());
        }
        for number in 0..self.snapshot.tables.len() as u32 {
            let declaration = self.snapshot.table(TableId(number)).declaration.as_ref();
            if declaration.is_some_and(|declared| declared.key.is_some() && declared.value.is_some()) {
                self.settled_map(TableId(number))?;
            }
        }
        // A function that is called where nothing can interrupt it has the region of the program that calls it.
        self.region_map();
        // Functions of load time may be the only ones that assign a variable, or a table.
        if self.known.variables.any() {
            self.output.state_map();
        }
        for table in self.known.shared.tables().filter(|table| !optional.contains(table)).collect::<Vec<_>>()
        {
            self.shared_map(table)?;
        }
        Ok(())
    }

    /// Whether nothing is in the region that is needed when another program has used it: no strings, no tables.
    fn leaves_region(&self) -> bool {
        self.state.scratch == Word::Imm(STRINGS_START) && !self.known.stored.is_used()
    }

    /// Another program may have written whatever it has in common with this one.
    fn shared_written(&mut self) {
        self.state.facts.absent.clear();
        for table in self.known.shared.tables().collect::<Vec<_>>() {
            self.forget_words(table, Assigned::All);
            self.entries_change(table);
        }
        self.known.variables.forget_all_loads();
        self.around.shared_written(self);
    }

    /// Executes a function as the only handler of a program, whose code is of no use.
    fn learn_of(&mut self, program: usize, function: ClosureId) -> Result<()> {
        if program > 0 {
            let (hook, code) = crate::programs::empty(self.snapshot, self.options, program);
            self.change_function(code, (hook, program));
        }
        self.state.heap = self.known.stored.tables_heap(self.options);
        let closure = Closure::of_load_time(self.snapshot, function).into();
        let args = vec![Abs::Object(Object::Packet), Abs::Object(Object::Argument)];
        self.run_closure(closure, args, "handler".to_string())?;
        Ok(())
    }
}

/// The verdict that a program's answer stands for.
fn verdict(context: &mut Context<'_>, answer: Word) -> Word {
    let shift = i64::from(context.target.hook.answer_shift());
    let bits = context.and(answer, 0xffff_ffff);
    match shift {
        0 => context.unary(UnaryOp::SignExtend32, bits),
        shift => context.shr(bits, shift),
    }
}
