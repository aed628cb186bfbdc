//! The program around the handlers: they run one after another, and their results become a verdict.

use crate::context::{Context, Result, Stop, TAIL};
use crate::error::{LowerError, LowerErrorKind};
use crate::events::Message;
use crate::knowledge::Knowledge;
use crate::memory::POOL_MASK;
use crate::programs::{empty, set_apart};
use crate::sites::Site;
use crate::value::{Abs, Object, Word};
use crate::{Options, shared::SharedTables};
use moonhook_hook::VERDICTS;
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Cond, WayState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Operand, Size};
use moonhook_packet::Scattered;
use moonhook_snapshot::Snapshot;
use std::collections::HashSet;

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

/// Walks until nothing new is learned of the script.
fn lower_until_known<'a>(
    snapshot: &'a Snapshot,
    options: &'a Options,
) -> std::result::Result<Context<'a>, (Box<LowerError>, Box<Knowledge>)> {
    let mut known = Knowledge::new(options.max_work);
    loop {
        known.start_over();
        let mut context = Context::new(snapshot, options, known);
        let outcome = context.attempt();
        context.known.log(outcome.is_ok());
        match outcome {
            Ok(()) => return Ok(context),
            // General code would only find out at packet time.
            Err(Stop::Error(error)) => {
                let misspelt = error.kind.has_general_form().then(|| context.misspelt()).flatten();
                return Err((misspelt.unwrap_or(error), context.known.into()));
            }
            Err(Stop::Restart) => known = context.known,
        }
    }
}

impl Context<'_> {
    /// Walks through all handlers; `Restart` if what was learned on the way is to be known from the start.
    fn attempt(&mut self) -> Result<()> {
        let outcome = self.lower_programs();
        match (outcome, self.deferred.take()) {
            _ if self.stale => Err(Stop::Restart),
            (Ok(()) | Err(Stop::Error(_)), Some(refusal)) => Err(Stop::Error(refusal)),
            (outcome, _) => outcome,
        }
    }

    /// One program for each hook, the current one being the first.
    fn lower_programs(&mut self) -> Result<()> {
        for number in 0..self.snapshot.hooks().len() {
            if number > 0 {
                let (hook, function) = empty(self.snapshot, self.options, number);
                let done = self.change_function(function, (hook, number));
                self.programs.push(done);
            }
            self.state.heap = self.tables_heap();
            self.lower_program()?;
        }
        self.check_typed()
    }

    fn lower_program(&mut self) -> Result<()> {
        self.pull_packet()?;
        if let Some(buffers) = self.takes_scattered() {
            let scattered = self.split_scattered(buffers);
            self.run_handlers()?;
            self.state = scattered;
            self.copy_frame(buffers)?;
        }
        self.run_handlers()?;
        self.check_copies()?;
        self.finish_fail_block()?;
        self.finish_exit_block();
        Ok(())
    }

    /// All handlers of the program, from the current state to the verdict.
    fn run_handlers(&mut self) -> Result<()> {
        for (number, handler) in self.snapshot.handlers_of(self.hook) {
            if !self.state.alive() {
                break;
            }
            self.handler = number;
            let closure = self.closure_of(handler.closure).into();
            let args = vec![Abs::Object(Object::Packet), Abs::Object(Object::Argument)];
            let arms = self.run_closure(closure, args, "handler".to_string())?;
            self.code.loc = ir::Loc::default();
            let mut passed = Vec::new();
            for arm in arms {
                self.state = arm.state;
                self.end_with(arm.values.first().unwrap_or(&Abs::Nil), &mut passed)?;
            }
            self.enter(passed)?;
        }
        self.exit(Word::Imm(self.hook.pass.into()));
        Ok(())
    }

    /// A handler's result: `PASS` goes on (to `passed`) with the next handler, any other verdict ends the program.
    fn end_with(&mut self, result: &Abs, passed: &mut Vec<crate::state::State>) -> Result<()> {
        for (state, value) in self.alternatives(result)? {
            self.state = state;
            match value {
                Abs::Nil => passed.push(self.take_state()),
                Abs::Int(verdict) => {
                    self.check_verdict(verdict)?;
                    if !self.state.alive() {
                        continue;
                    }
                    if self.snapshot.handlers_of(self.hook).count() == 1 {
                        self.exit(verdict);
                        continue;
                    }
                    let pass = self.compare(CompareOp::Eq, verdict, i64::from(self.hook.pass));
                    let (pass, other) = self.split(pass);
                    passed.push(pass);
                    self.state = other;
                    self.exit(verdict);
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

    /// Goes on where a handler's result is one of the hook's verdicts.
    fn check_verdict(&mut self, verdict: Word) -> Result<()> {
        let (least, greatest) = (i64::from(self.hook.least()), i64::from(self.hook.greatest()));
        let number = self.sub(verdict, least);
        let beyond = self.compare(CompareOp::UGt, number, greatest - least);
        self.refuse_verdict(beyond, verdict)?;
        let bits = self.hook.bits();
        if i64::from(bits.count_ones()) > greatest - least {
            return Ok(());
        }
        // Of those in between, a bit each says whether there is one.
        let number = self.and(number, i64::from(VERDICTS) - 1);
        let bit = self.binary(BinaryOp::LShr, i64::from(bits), number);
        let bit = self.and(bit, 1);
        let none = self.compare(CompareOp::Eq, bit, 0);
        self.refuse_verdict(none, verdict)
    }

    fn refuse_verdict(&mut self, wrong: Cond, verdict: Word) -> Result<()> {
        let (wrong, right) = self.split(wrong);
        self.state = wrong;
        if self.state.alive() {
            let message = Message {
                pieces: vec![
                    ir::Piece::Text(b"handler returned ".to_vec()),
                    ir::Piece::Argument("%d".into()),
                    ir::Piece::Text(b", expected a verdict".to_vec()),
                ],
                positioned: false,
            };
            self.fail_with(message, &[Abs::Int(verdict)])?;
        }
        self.state = right;
        Ok(())
    }

    fn exit(&mut self, verdict: Word) {
        if self.state.alive() {
            let verdict = self.value(verdict);
            self.terminate(ir::Terminator::Jump(ir::Target::new(self.exit_block, vec![verdict])));
        }
    }

    fn finish_exit_block(&mut self) {
        let verdict = self.code.function.block(self.exit_block).params[0];
        self.state.block = Some(self.exit_block);
        if self.options.count_verdicts {
            self.count_verdict(verdict.into());
        }
        self.terminate(ir::Terminator::Return(Operand::Value(verdict)));
    }

    /// Counts a verdict of the program's hook, in the part of the section that belongs to the program.
    pub fn count_verdict(&mut self, verdict: Word) {
        let slots = self.snapshot.hooks().len() * VERDICTS as usize;
        let map = self.map("verdicts", || ir::MapKind::Data(vec![0; slots * 8]));
        let offset = self.program as u32 * VERDICTS * 8;
        let base = self.emit(Op::DataAddress { map, offset });
        let number = self.sub(verdict, i64::from(self.hook.least()));
        let index = self.and(number, i64::from(VERDICTS) - 1);
        let offset = self.shl(index, 3);
        let offset = self.value(offset);
        let place = self.emit(Op::Binary(ir::BinaryOp::Add, base, offset.into()));
        let one = self.value(Word::Imm(1));
        self.emit(Op::Atomic { op: ir::AtomicOp::Add, size: Size::B8, base: place, disp: 0, value: one });
    }

    /// Gives the pool its size and the offsets into it, of which the verifier knows nothing else, their mask. From any
    /// offset on [`crate::context::Pool::reach`] bytes may be read.
    fn finish_pool(&mut self) {
        let mut bytes = std::mem::take(&mut self.pool.bytes);
        let size = bytes.len().next_power_of_two();
        let offsets: Vec<_> = self.programs.iter().map(|f| offsets_into(f, self.pool_map)).collect();
        let is_constant = offsets.iter().all(HashSet::is_empty);
        let end = if is_constant { bytes.len() } else { size };
        bytes.resize(end + self.pool.reach.max(TAIL as u32) as usize, 0);
        self.module.maps[self.pool_map.0 as usize].kind = ir::MapKind::ReadOnlyData(bytes);
        let programs = self.programs.iter_mut().zip(&offsets);
        for (inst, offsets) in programs.flat_map(|(f, offsets)| insts_mut(f).map(move |inst| (inst, offsets)))
        {
            // What is added to a constant's address has a mask of its own (`shared/texts.rs`).
            if let (Some(result), Op::Binary(ir::BinaryOp::And, _, mask)) = (inst.result, &mut inst.op)
                && *mask == POOL_MASK
                && offsets.contains(&result)
            {
                *mask = Operand::Imm((size - 1) as i32);
            }
        }
    }

    /// Puts the module together, unless a field that the code names is certainly missing.
    fn finish(mut self) -> std::result::Result<ir::Module, LowerError> {
        let certain = std::mem::take(&mut self.certain);
        let is_certain = |site: &Option<Site>| site.is_none_or(|site| !self.passed.contains(&site));
        for (_, error) in certain.into_iter().filter(|(site, _)| is_certain(site)) {
            if matches!(error.kind, LowerErrorKind::NoSuchField { .. }) {
                return Err(error);
            }
            let warning = error.diagnostic();
            // The instruction can have been expanded at several places.
            if !self.module.warnings.contains(&warning) {
                self.module.warnings.push(warning);
            }
        }
        crate::events::finish_counters(&mut self.module);
        self.finish_variables();
        let nothing = ir::FunctionKind::Subprogram { global: false, context: None };
        let last = std::mem::replace(&mut self.code.function, ir::Function::new("", nothing, 0));
        self.programs.push(last);
        self.finish_pool();
        let (opaque, subprograms) = (self.code.opaque_map, std::mem::take(&mut self.subprograms));
        for mut function in std::mem::take(&mut self.programs) {
            let taken = |name: &str| {
                self.module.maps.iter().any(|map| map.name == name)
                    || self.module.functions.iter().chain(&subprograms).any(|function| function.name == name)
            };
            set_apart(&mut function.name, taken);
            crate::invariants::make_unknown(&mut function, opaque);
            self.module.functions.push(function);
        }
        self.module.functions.extend(subprograms);
        Ok(self.module)
    }
}

fn insts_mut(function: &mut ir::Function) -> impl Iterator<Item = &mut ir::Inst> {
    function.blocks.iter_mut().flat_map(|block| &mut block.insts)
}

/// The values that are added to the address of `section`.
fn offsets_into(function: &ir::Function, section: ir::MapId) -> HashSet<ir::Value> {
    let insts = || function.blocks.iter().flat_map(|block| &block.insts);
    let base = |inst: &ir::Inst| match inst.op {
        Op::DataAddress { map, .. } if map == section => inst.result,
        _ => None,
    };
    let bases: HashSet<ir::Value> = insts().filter_map(base).collect();
    let offset = |inst: &ir::Inst| match inst.op {
        Op::Binary(ir::BinaryOp::Add, base, Operand::Value(offset)) if bases.contains(&base) => Some(offset),
        _ => None,
    };
    insts().filter_map(offset).collect()
}
