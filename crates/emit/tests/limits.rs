//! The kernel's limits of stack, calls and functions.

mod common;

use common::build::{self, program, subprogram};
use common::kernel;
use moonhook_emit::{EmitError, Options, emit};
use moonhook_ir::*;

#[test]
fn too_much_stack_is_refused() {
    let mut f = program("big");
    f.f.new_slot(520);
    f.ret(0);
    let module = build::module(vec![f.done()], vec![]);
    let error = emit(&module, &Options::default()).unwrap_err();
    assert_eq!(error, EmitError::StackTooLarge { function: "big".into(), bytes: 520, limit: 512 });
    assert_eq!(error.diagnostic().code, "MH0401");
}

#[test]
fn frames_of_a_call_chain_add_up() {
    let chain = |slot: u32| {
        let mut f = program("outer");
        f.f.new_slot(slot);
        let result = f.op(Op::Call { function: FunctionId(1), args: vec![] });
        f.ret(result);
        let mut inner = subprogram("inner", false, 0);
        inner.f.new_slot(256);
        inner.ret(0);
        emit(&build::module(vec![f.done(), inner.done()], vec![]), &Options::default())
    };
    assert!(chain(256).is_ok());
    let error = chain(264).unwrap_err();
    let names = vec!["outer".to_string(), "inner".to_string()];
    assert_eq!(error, EmitError::ChainTooLarge { chain: names, bytes: 544, limit: 512 });
    assert_eq!(error.diagnostic().code, "MH0408");
    assert_eq!(error.to_string(), "the calls `outer` → `inner` need 544 bytes of stack, 512 are available");
}

#[test]
fn less_than_256_bytes_lie_above_a_tail_call() {
    let chain = |slot: u32| {
        let mut f = program("outer");
        f.f.new_slot(slot);
        let result = f.op(Op::Call { function: FunctionId(1), args: vec![] });
        f.ret(result);
        let mut middle = subprogram("middle", false, 0);
        middle.f.new_slot(32);
        let result = middle.op(Op::Call { function: FunctionId(2), args: vec![] });
        middle.ret(result);
        let mut inner = subprogram("inner", false, 0);
        inner.f.new_slot(200);
        let zero = inner.op(Op::Const(0));
        inner.effect(Op::Helper { id: helper::TAIL_CALL, args: vec![zero, zero, zero] });
        inner.ret(0);
        emit(&build::module(vec![f.done(), middle.done(), inner.done()], vec![]), &Options::default())
    };
    let error = chain(224).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the calls `outer` → `middle` → `inner` need 256 bytes of stack, 255 are available"
    );
    assert!(chain(208).is_ok());
}

/// A chain of global functions below the program, each with a frame of `slot` bytes.
fn chain(functions: u32, slot: u32) -> Module {
    let arena = Map { name: "memory".into(), kind: MapKind::Arena { pages: 1, image: vec![] } };
    let mut all = vec![];
    for n in 0..=functions {
        let mut f = match n {
            0 => program("f0"),
            n => subprogram(&format!("f{n}"), true, 0),
        };
        if slot > 0 {
            let slot = f.f.new_slot(slot);
            let address = f.op(Op::SlotAddress(slot));
            f.store(Size::B8, address, 0, 1);
        }
        if n < functions {
            f.effect(Op::Call { function: FunctionId(n + 1), args: vec![] });
        }
        f.ret(0);
        all.push(f.done());
    }
    build::module(all, vec![arena])
}

/// What is just allowed is what the kernel just takes: 8 frames; 512 bytes, each frame being a multiple of 16 (the last
/// chain has 4 of 128).
#[test]
fn chains_up_to_the_kernels_limits() {
    let available = kernel::available();
    for (functions, slot) in [(7, 0), (7, 64), (7, 56), (3, 128), (3, 120)] {
        let module = chain(functions, slot);
        emit(&module, &Options::default()).unwrap();
        if available {
            kernel::load(&module);
        }
    }
    let error = |functions, slot| emit(&chain(functions, slot), &Options::default()).unwrap_err();
    assert_eq!(error(8, 0).code(), "MH0403");
    assert!(error(8, 0).to_string().ends_with("`f6` → `f7` → `f8`"));
    assert_eq!(error(7, 72).code(), "MH0408");
    assert_eq!(error(3, 136).code(), "MH0408");
}

#[test]
fn programs_of_256_functions_and_no_more() {
    let calls = |functions: u32| {
        let mut f = program("main");
        (1..functions).for_each(|n| f.effect(Op::Call { function: FunctionId(n), args: vec![] }));
        f.ret(0);
        let small = |n| {
            let mut f = subprogram(&format!("f{n}"), n % 2 == 0, 0);
            f.ret(0);
            f.done()
        };
        build::module(std::iter::once(f.done()).chain((1..functions).map(small)).collect(), vec![])
    };
    if kernel::available() {
        kernel::load(&calls(256));
    }
    assert!(emit(&calls(256), &Options::default()).is_ok());
    let error = emit(&calls(257), &Options::default()).unwrap_err();
    assert_eq!(error.code(), "MH0407");
    assert_eq!(error.to_string(), "`main` has 257 functions, the limit is 256");
}

#[test]
fn recursion_is_refused() {
    let mut f = program("first");
    let result = f.op(Op::Call { function: FunctionId(1), args: vec![] });
    f.ret(result);
    let mut again = subprogram("again", false, 0);
    let result = again.op(Op::Call { function: FunctionId(1), args: vec![] });
    again.ret(result);
    let module = build::module(vec![f.done(), again.done()], vec![]);
    let error = emit(&module, &Options::default()).unwrap_err();
    assert_eq!(error.code(), "MH0403");
}

/// Code without effect and blocks that nothing jumps to leave no trace.
#[test]
fn nothing_unneeded_is_emitted() {
    let mut f = program("small");
    let a = f.input(0);
    f.binary(BinaryOp::Mul, a, 3);
    let island = f.block();
    let exit = f.block();
    f.jump(exit, &[]);
    f.at = island;
    f.output(0, 1);
    f.jump(exit, &[]);
    f.at = exit;
    f.ret(2);
    let module = build::module(vec![f.done()], vec![build::io(1)]);
    let texts: Vec<String> = emit(&module, &Options::default()).unwrap().functions[0]
        .listing
        .iter()
        .map(|at| at.text.clone())
        .collect();
    assert_eq!(texts, ["r0 = 2", "exit"]);
}
