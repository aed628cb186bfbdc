//! Programs of a library, which programs in C call as functions: their arguments, what they give, and what they share.

use super::General;
use super::ends::{Decided, leave_decided};
use super::parts::Parts;
use moonhook_hook::Place;
use moonhook_ir as ir;
use moonhook_ir::{Builder, CompareOp, Value};
use moonhook_runtime::layout::*;
use moonhook_specialise::exported;

impl General<'_> {
    /// The program whose functions are also those of the one with that number.
    pub fn representative(&self, program: usize) -> usize {
        self.representatives[program]
    }

    /// By program, the text with which errors about its result begin, if it is a function of a library.
    pub fn called(&mut self) -> Vec<Option<u64>> {
        let points = self.functions.snapshot.points().iter();
        let texts: Vec<Option<u64>> = points
            .map(|point| match &point.place {
                Place::Function(name) => {
                    Some(self.image.text(format!("function '{name}' returned a ").as_bytes()))
                }
                _ => None,
            })
            .collect();
        if texts.iter().any(Option::is_some) {
            self.routine("exported_result");
        }
        texts
    }

    /// A function of a library has ended: its result, or what says that there is none.
    pub fn take_result(
        &mut self,
        code: &mut Builder,
        state: Value,
        status: Value,
        (called, exit): (u64, ir::Block),
        parts: &Parts,
    ) {
        let (failed, _) = code.cold_block(0);
        code.leave_if(CompareOp::Ne, status, FINISHED as i32, failed, &[]);
        if self.functions.snapshot.has_deciders() {
            leave_decided(code, state, exit, Decided::Number(exported::FAILED));
        }
        let called = code.constant(called as i64);
        let (address, routine) = (code.load(state, L_SELF), self.routine("exported_result"));
        let status = code.call(routine, &[address, called]);
        code.leave_if(CompareOp::Ne, status, 0, failed, &[]);
        let stack = code.load(state, L_STACK);
        let stack = code.arena(stack);
        let number = code.load(stack, 8);
        code.jump(exit, &[number]);
        code.block = failed;
        self.report_failure(code, state, exit, parts);
    }
}

/// Puts the integers that the program gets behind its context to where the function that it starts has its arguments, behind the packet; gives
/// how many there are.
pub fn put_arguments(code: &mut Builder, state: Value) -> i64 {
    let numbers: Vec<Value> = code.function.params[1..].to_vec();
    if numbers.is_empty() {
        return 0;
    }
    let stack = code.load(state, L_STACK);
    let stack = code.arena(stack);
    for (index, number) in numbers.iter().enumerate() {
        let place = 32 + 16 * index as i64;
        code.store_constant(stack, place, TAG_INT);
        code.store(stack, place + 8, *number);
    }
    numbers.len() as i64
}
