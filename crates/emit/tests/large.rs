//! Objects as large as whole scripts make them: functions of tens of thousands of instructions, and many functions.

mod common;

use common::build::{self, Build, program, subprogram};
use common::kernel;
use moonhook_emit::{Options, emit};
use moonhook_ir::*;
use std::time::{Duration, Instant};

fn arena() -> Map {
    Map { name: "memory".into(), kind: MapKind::Arena { pages: 16, image: vec![0; 64] } }
}

/// Like an instruction of a script: fetches an operand and its tag from the registers at `base`, adds if the tag is right,
/// calls a routine if not.
fn step(f: &mut Build, base: Value, n: i64, routine: FunctionId) {
    let address = f.binary(BinaryOp::Add, base, n as i32 % 100 * 16);
    let address = f.op(Op::Unary(UnaryOp::Arena, address));
    let tag = f.load(Size::B8, address, 0);
    let (fast, slow, next) = (f.block(), f.block(), f.block());
    f.f.block_mut(slow).cold = true;
    f.branch(Condition::new(CompareOp::Eq, tag, 3), (fast, &[]), (slow, &[]));
    f.at = fast;
    let payload = f.load(Size::B8, address, 8);
    let sum = f.binary(BinaryOp::Add, payload, n as i32);
    f.store(Size::B8, address, 24, sum);
    f.jump(next, &[]);
    f.at = slow;
    let number = f.constant(n);
    f.effect(Op::Call { function: routine, args: vec![base, number] });
    f.jump(next, &[]);
    f.at = next;
}

/// A function of so many steps; every 50 are a loop, and all are within one.
fn script(f: &mut Build, base: Value, steps: i64, routine: FunctionId) {
    let (outer, done) = (f.block(), f.block());
    f.jump(outer, &[]);
    f.at = outer;
    let body = f.block();
    f.may_goto(body, done);
    f.at = body;
    for first in (0..steps).step_by(50) {
        let (head, body, after) = (f.block(), f.block(), f.block());
        f.jump(head, &[]);
        f.at = head;
        f.may_goto(body, after);
        f.at = body;
        (first..first + 50).for_each(|n| step(f, base, n, routine));
        let address = f.op(Op::Unary(UnaryOp::Arena, base));
        let more = f.load(Size::B8, address, 0);
        f.branch(Condition::new(CompareOp::Ne, more, 0), (head, &[]), (after, &[]));
        f.at = after;
    }
    let address = f.op(Op::Unary(UnaryOp::Arena, base));
    let again = f.load(Size::B8, address, 8);
    f.branch(Condition::new(CompareOp::Ne, again, 0), (outer, &[]), (done, &[]));
    f.at = done;
    f.ret(0);
}

fn routine() -> Function {
    let mut f = subprogram("routine", true, 2);
    let (base, n) = (f.f.params[0], f.f.params[1]);
    let address = f.op(Op::Unary(UnaryOp::Arena, base));
    f.store(Size::B8, address, 16, n);
    f.ret(0);
    f.done()
}

/// A program that calls `functions` functions of so many steps each.
fn module(functions: usize, steps: i64) -> Module {
    let mut main = program("main");
    let base = main.constant(4096);
    let mut all = vec![];
    for n in 0..functions {
        let mut f = subprogram(&format!("f{n}"), true, 1);
        let base_param = f.f.params[0];
        script(&mut f, base_param, steps, FunctionId(1));
        main.effect(Op::Call { function: FunctionId(2 + n as u32), args: vec![base] });
        all.push(f.done());
    }
    main.ret(2);
    let functions = [main.done(), routine()].into_iter().chain(all).collect();
    build::module(functions, vec![arena()])
}

/// 36,000 instructions, with loops that end farther away than a short jump goes; and nearly as many functions as there may
/// be. Without optimisation, each takes a second or so.
#[test]
fn large_functions_and_many_functions() {
    let available = kernel::available();
    for (functions, steps, at_least) in [(1, 3000, 36_000), (200, 20, 50_000)] {
        let module = module(functions, steps);
        let start = Instant::now();
        let object = emit(&module, &Options::default()).unwrap();
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let instructions: usize = object.functions.iter().map(|function| function.instructions).sum();
        assert!(instructions > at_least, "{instructions}");
        // The verifier follows 8192 branches along one path: too few for the large function.
        if available && functions > 1 {
            kernel::load(&module);
        }
    }
}
