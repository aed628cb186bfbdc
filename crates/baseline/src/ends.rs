//! The ends of handlers: their verdict, that of a function of C's which has ended the packet, or an error.

use super::General;
use super::parts::Parts;
use moonhook_ir as ir;
use moonhook_ir::Builder;
use moonhook_ir::{CompareOp, Value};
use moonhook_runtime::layout::*;

impl General<'_> {
    /// The handler has ended: its verdict, or the one for errors. Those of tracepoints have none.
    pub fn take_verdict(
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
            leave_decided(code, state, exit, Decided::Verdict { least: self.hook().least().into() });
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
}

/// What a program gives where a function of a C object, or one of a chain, has ended the packet.
pub enum Decided {
    /// The verdict, of a hook with that least one.
    Verdict {
        least: i64,
    },
    Number(i64),
}

/// Ends the program where a function has ended the packet ([`L_DECIDED`]).
pub fn leave_decided(code: &mut Builder, state: Value, exit: ir::Block, given: Decided) {
    let (decided, _) = code.cold_block(0);
    let verdict = code.load(state, L_DECIDED);
    code.leave_if(CompareOp::Ne, verdict, 0, decided, &[]);
    let undecided = std::mem::replace(&mut code.block, decided);
    code.store_constant(state, L_DECIDED, 0);
    let verdict = match given {
        Decided::Number(number) => code.constant(number),
        Decided::Verdict { least } => code.add(verdict, least - 1),
    };
    code.jump(exit, &[verdict]);
    code.block = undecided;
}
