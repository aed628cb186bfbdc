//! The program around the handlers: they run one after another, and their results become a verdict.

use crate::context::{Context, Result, Stop};
use crate::error::{LowerError, LowerErrorKind};
use crate::events::Message;
use crate::flows;
use crate::knowledge::Knowledge;
use crate::programs::{empty, set_apart};
use crate::value::{Abs, Closure, Object, Word};
use crate::{Options, shared::SharedTables};
use moonhook_hook::VERDICTS;
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Cond, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Operand, Size, helper};
use moonhook_packet::Scattered;
use moonhook_snapshot::Snapshot;
use std::collections::BTreeSet;

/// What can be learned of shared tables from code that may have no expanded form.
pub fn learn(snapshot: &Snapshot, options: &Options) -> SharedTables {
    match lower_until_known(snapshot, options) {
        Ok(mut context) => std::mem::take(&mut context.known.shared),
        Err((_, known)) => known.shared,
    }
}

/// The program, if all of it has an expanded form, and what was learned of shared tables in any case.
pub fn lower(
    snapshot: &Snapshot,
    options: &Options,
) -> (std::result::Result<ir::Module, LowerError>, SharedTables) {
    match lower_until_known(snapshot, options) {
        Ok(mut context) => {
            let shared = std::mem::take(&mut context.known.shared);
            (context.finish(), shared)
        }
        Err((error, known)) => (Err(*error), known.shared),
    }
}

/// Makes attempts until nothing new is learned of the script.
fn lower_until_known<'a>(
    snapshot: &'a Snapshot,
    options: &'a Options,
) -> std::result::Result<Context<'a>, (Box<LowerError>, Box<Knowledge>)> {
    let mut known = Knowledge::new(options.max_work);
    if let Some(script) = &options.of_flow {
        known.add_given(script);
    }
    if !snapshot.flows.is_empty() {
        known = flows::learn(snapshot, options, known);
    }
    loop {
        known.start_over();
        let mut context = Context::new(snapshot, options, known);
        let outcome = context.attempt();
        context.known.log(outcome.is_ok());
        match outcome {
            Ok(()) => return Ok(context),
            // General code would only find out at packet time.
            Err(Stop::Error(error)) => {
                let misspelt = error.kind.has_general_form().then(|| context.findings.misspelt()).flatten();
                return Err((misspelt.unwrap_or(error), context.known.into()));
            }
            Err(Stop::Restart) => known = context.known,
        }
    }
}

impl Context<'_> {
    /// Executes all handlers; `Restart` if what was learned on the way is to be known from the start.
    fn attempt(&mut self) -> Result<()> {
        let outcome = self.lower_programs();
        match (outcome, self.findings.deferred.take()) {
            _ if self.findings.stale => Err(Stop::Restart),
            (Ok(()) | Err(Stop::Error(_)), Some(refusal)) => Err(Stop::Error(refusal)),
            (outcome, _) => outcome,
        }
    }

    /// One program for each hook, the current one being the first.
    fn lower_programs(&mut self) -> Result<()> {
        for number in 0..self.snapshot.points().len() {
            if number > 0 {
                let (hook, function) = empty(self.snapshot, self.options, number);
                let done = self.change_function(function, (hook, number));
                self.output.programs.push(done);
            }
            self.state.heap = self.known.stored.tables_heap(self.options);
            self.lower_program()?;
        }
        self.make_declared_tables(&BTreeSet::new())?;
        self.check_typed()
    }

    fn lower_program(&mut self) -> Result<()> {
        self.take_level()?;
        self.keep_note()?;
        self.pull_packet()?;
        self.take_told()?;
        if let Some(reader) = self.target.hook.copied() {
            self.copy_frame(reader, !self.known.copies_whole)?;
        }
        if let Some(buffers) = self.target.takes_scattered(self.options) {
            let scattered = self.split_scattered(buffers)?;
            self.run_handlers()?;
            self.state = scattered;
            self.copy_frame(buffers.reader, false)?;
        }
        self.run_handlers()?;
        self.check_copies()?;
        self.finish_fail_block()?;
        self.finish_exit_block();
        Ok(())
    }

    /// All handlers of the program, from the current state to the verdict.
    fn run_handlers(&mut self) -> Result<()> {
        if self.run_exported()? {
            return Ok(());
        }
        for (number, handler) in self.snapshot.handlers_of(self.target.program) {
            if !self.state.alive() {
                break;
            }
            self.execution.handler = number;
            let closure = Closure::of_load_time(self.snapshot, handler.closure).into();
            let mut args = vec![Abs::Object(Object::Packet), Abs::Object(Object::Argument)];
            if self.target.hook.is_trace() {
                args.truncate(1);
            }
            let arms = self.run_closure(closure, args, "handler".to_string())?;
            self.code.loc = ir::Loc::default();
            let mut passed = Vec::new();
            for arm in arms {
                self.state = arm.state;
                self.end_with(arm.values.first().unwrap_or(&Abs::Nil), &mut passed)?;
            }
            self.enter(passed)?;
        }
        self.exit(Word::Imm(self.target.hook.default.into()));
        Ok(())
    }

    /// A handler's result: `PASS` goes on (to `passed`) with the next handler, any other verdict ends the program. Those of tracepoints
    /// have none.
    fn end_with(&mut self, result: &Abs, passed: &mut Vec<crate::state::State>) -> Result<()> {
        if self.target.hook.is_trace() {
            passed.push(self.take_state());
            return Ok(());
        }
        for (state, value) in self.alternatives(result)? {
            self.state = state;
            match value {
                Abs::Nil => passed.push(self.take_state()),
                Abs::Int(verdict) => {
                    let message = Message {
                        pieces: vec![
                            ir::Piece::Text(b"handler returned ".to_vec()),
                            ir::Piece::Argument("%d".into()),
                            ir::Piece::Text(b", expected a verdict".to_vec()),
                        ],
                        positioned: false,
                    };
                    self.check_verdict(verdict, &message)?;
                    self.end_with_verdict(verdict, passed);
                }
                Abs::Bool(chosen) if self.target.hook.takes_booleans() => {
                    let chosen = self.value(chosen);
                    self.end_with_verdict(chosen.into(), passed);
                }
                other => {
                    let message =
                        format!("handler returned a {} value, expected a verdict", other.message_name());
                    self.fail(Message::bare(message));
                }
            }
        }
        Ok(())
    }

    /// The same of a verdict that the hook has.
    fn end_with_verdict(&mut self, verdict: Word, passed: &mut Vec<crate::state::State>) {
        if !self.state.alive() {
            return;
        }
        if self.snapshot.handlers_of(self.target.program).count() > 1 {
            let pass = self.compare(CompareOp::Eq, verdict, i64::from(self.target.hook.default));
            let (pass, other) = self.split(pass);
            passed.push(pass);
            self.state = other;
        }
        self.exit(verdict);
    }

    /// Goes on where a number is one of the hook's verdicts; elsewhere the message is raised, with the number as its argument.
    pub fn check_verdict(&mut self, verdict: Word, message: &Message) -> Result<()> {
        let (least, greatest) = (i64::from(self.target.hook.least()), i64::from(self.target.hook.greatest()));
        let number = self.sub(verdict, least);
        let beyond = self.compare(CompareOp::UGt, number, greatest - least);
        self.refuse_verdict(beyond, verdict, message)?;
        let bits = self.target.hook.bits();
        if i64::from(bits.count_ones()) > greatest - least {
            return Ok(());
        }
        // Of those in between, a bit each says whether there is one.
        let number = self.and(number, i64::from(VERDICTS) - 1);
        let bit = self.binary(BinaryOp::LShr, i64::from(bits), number);
        let bit = self.and(bit, 1);
        let none = self.compare(CompareOp::Eq, bit, 0);
        self.refuse_verdict(none, verdict, message)
    }

    fn refuse_verdict(&mut self, wrong: Cond, verdict: Word, message: &Message) -> Result<()> {
        let (wrong, right) = self.split(wrong);
        self.state = wrong;
        if self.state.alive() {
            self.fail_with(message.clone(), &[Abs::Int(verdict)])?;
        }
        self.state = right;
        Ok(())
    }

    pub fn exit(&mut self, verdict: Word) {
        if self.state.alive() {
            let verdict = self.value(verdict);
            self.terminate(ir::Terminator::Jump(ir::Target::new(self.target.exit_block, vec![verdict])));
        }
    }

    fn finish_exit_block(&mut self) {
        let verdict = self.code.function.block(self.target.exit_block).params[0];
        self.state.block = Some(self.target.exit_block);
        if self.options.count_verdicts {
            self.count_verdict(verdict.into());
        }
        self.give_back_level();
        let verdict = match self.target.hook.mask().filter(|_| self.snapshot.library.is_none()) {
            Some(mask) => self.emit(Op::Binary(BinaryOp::And, verdict, Operand::Imm(mask))),
            None => verdict,
        };
        let shift = if self.snapshot.library.is_some() { 0 } else { self.target.hook.answer_shift() };
        let answer = self.shl(verdict, i64::from(shift));
        let answer = self.value(answer);
        self.terminate(ir::Terminator::Return(Operand::Value(answer)));
    }

    /// Counts a verdict of the program's hook, in the part of the section that belongs to this CPU and in that to the program: CPUs that
    /// count in one place wait for one another.
    pub fn count_verdict(&mut self, verdict: Word) {
        let own = self.snapshot.points().len() as i64 * i64::from(VERDICTS) * 8;
        let cpus = i64::from(self.options.cpus.next_power_of_two());
        let map = self.output.map(ir::maps::VERDICTS, || ir::MapKind::Data(vec![0; (cpus * own) as usize]));
        let cpu = self.helper(helper::GET_SMP_PROCESSOR_ID, &[]);
        let cpu = self.and(cpu, cpus - 1);
        let cpu = self.binary(BinaryOp::Mul, cpu, own);
        let base = self.emit(Op::DataAddress { map, offset: self.target.program as u32 * VERDICTS * 8 });
        let number = self.sub(verdict, i64::from(self.target.hook.least()));
        let index = self.and(number, i64::from(VERDICTS) - 1);
        let offset = self.shl(index, 3);
        let offset = self.add(offset, cpu);
        let offset = self.value(offset);
        let place = self.emit(Op::Binary(BinaryOp::Add, base, offset.into()));
        if self.target.hook.is_interrupted {
            let one = self.value(Word::Imm(1));
            self.emit(Op::Atomic { op: ir::AtomicOp::Add, size: Size::B8, base: place, disp: 0, value: one });
        } else {
            let count = self.load(place, 0, Size::B8, false);
            let count = self.add(count, 1);
            self.store(place, 0, Size::B8, count);
        }
    }

    /// Puts the module together, unless a field that the code names is certainly missing.
    fn finish(mut self) -> std::result::Result<ir::Module, LowerError> {
        for error in self.findings.errors_of_failing() {
            if matches!(error.kind, LowerErrorKind::NoSuchField { .. }) {
                return Err(error);
            }
            let warning = error.diagnostic();
            // The instruction can have been expanded at several places.
            if !self.output.module.warnings.contains(&warning) {
                self.output.module.warnings.push(warning);
            }
        }
        crate::events::finish_counters(&mut self.output.module);
        self.finish_variables();
        let nothing = ir::FunctionKind::Subprogram { global: false, context: None };
        let last = std::mem::replace(&mut self.code.function, ir::Function::new("", nothing, 0));
        self.output.programs.push(last);
        self.output.finish_pool();
        let (opaque, subprograms) = (self.code.opaque_map, std::mem::take(&mut self.output.subprograms));
        for mut function in std::mem::take(&mut self.output.programs) {
            let taken = |name: &str| {
                self.output.module.maps.iter().any(|map| map.name == name)
                    || self
                        .output
                        .module
                        .functions
                        .iter()
                        .chain(&subprograms)
                        .any(|function| function.name == name)
            };
            // Other symbols of a library get other names later.
            if function.prototype.is_none() {
                set_apart(&mut function.name, taken);
            }
            crate::invariants::make_unknown(&mut function, opaque);
            self.output.module.functions.push(function);
        }
        self.output.module.functions.extend(subprograms);
        Ok(self.output.module)
    }
}
