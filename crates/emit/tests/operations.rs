//! Every operation of the IR with boundary operands: what the kernel computes against the reference evaluator.

mod common;

use common::build::{self, IO, program};
use common::evaluate::Evaluator;
use common::kernel;
use moonhook_ir::*;

const BINARY: [BinaryOp; 13] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::UDiv,
    BinaryOp::UMod,
    BinaryOp::SDiv,
    BinaryOp::SMod,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::LShr,
    BinaryOp::AShr,
];
const UNARY: [UnaryOp; 9] = [
    UnaryOp::Neg,
    UnaryOp::Swap16,
    UnaryOp::Swap32,
    UnaryOp::Swap64,
    UnaryOp::SignExtend8,
    UnaryOp::SignExtend16,
    UnaryOp::SignExtend32,
    UnaryOp::ZeroExtend32,
    UnaryOp::Unlink,
];
const COMPARE: [CompareOp; 11] = [
    CompareOp::Eq,
    CompareOp::Ne,
    CompareOp::ULt,
    CompareOp::ULe,
    CompareOp::UGt,
    CompareOp::UGe,
    CompareOp::SLt,
    CompareOp::SLe,
    CompareOp::SGt,
    CompareOp::SGe,
    CompareOp::Test,
];
const SIZES: [Size; 4] = [Size::B1, Size::B2, Size::B4, Size::B8];
const WORDS: [u64; 18] = [
    0,
    1,
    2,
    7,
    63,
    64,
    65,
    0x7f,
    0x80,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x1122_3344_5566_7788,
    -1i64 as u64,
    -7i64 as u64,
];

/// Runs the module's first function with the given words in `io` in the kernel and in the evaluator, and compares the
/// section and the result.
fn compare(module: &Module, loaded: &mut kernel::Loaded, inputs: &[u64]) {
    let bytes: Vec<u8> = inputs.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut evaluator = Evaluator::new(module);
    evaluator.regions[0][..bytes.len()].copy_from_slice(&bytes);
    let expected = evaluator.call(&module.functions[0], &[0]) as u32;
    loaded.set_data(".data.io", &bytes);
    let (result, _) = loaded.run(&[0; 64]);
    let found = loaded.data(".data.io");
    for (n, (want, got)) in evaluator.regions[0].chunks(8).zip(found.chunks(8)).enumerate() {
        assert_eq!(want, got, "word {n} of io with {inputs:x?}\n{module}");
    }
    assert_eq!(expected, result, "with {inputs:x?}\n{module}");
}

/// All pairs of boundary words through a program that is built by `body` over two inputs.
fn compare_pairs(outputs: usize, body: impl FnOnce(&mut build::Build, Value, Value)) {
    let mut f = program("prog");
    let (a, b) = (f.input(0), f.input(1));
    body(&mut f, a, b);
    f.ret(2);
    let module = build::module(vec![f.done()], vec![build::io(outputs + 2)]);
    let mut loaded = kernel::load(&module);
    for a in WORDS {
        for b in WORDS {
            compare(&module, &mut loaded, &[a, b]);
        }
    }
}

#[test]
fn arithmetic_of_registers() {
    if !kernel::available() {
        return;
    }
    compare_pairs(BINARY.len() + UNARY.len(), |f, a, b| {
        for (n, op) in BINARY.into_iter().enumerate() {
            let result = f.binary(op, a, b);
            f.output(n as u32 + 2, result);
        }
        for (n, op) in UNARY.into_iter().enumerate() {
            let result = f.op(Op::Unary(op, a));
            f.output((BINARY.len() + n) as u32 + 2, result);
        }
    });
}

#[test]
fn arithmetic_with_constants() {
    if !kernel::available() {
        return;
    }
    for op in BINARY {
        // Constants on the right as immediates where they fit, and on the left.
        compare_pairs(WORDS.len() * 2, |f, a, _| {
            for (n, word) in WORDS.into_iter().enumerate() {
                let constant = f.constant(word as i64);
                let right = f.binary(op, a, constant);
                f.output(n as u32 + 2, right);
                let left = f.binary(op, constant, a);
                f.output((n + WORDS.len()) as u32 + 2, left);
            }
        });
    }
}

#[test]
fn comparisons_as_values_and_as_branches() {
    if !kernel::available() {
        return;
    }
    compare_pairs(COMPARE.len() * 4, |f, a, b| {
        for (n, op) in COMPARE.into_iter().enumerate() {
            let n = n as u32 * 4 + 2;
            let value = f.compare(op, a, b);
            f.output(n, value);
            let opposite = f.compare(CompareOp::Eq, value, 0);
            f.output(n + 1, opposite);
            for (n, condition) in
                [(n + 2, Condition::new(op, a, b)), (n + 3, Condition::new(CompareOp::Eq, value, 0))]
            {
                let (then, otherwise, after) = (f.block(), f.block(), f.block());
                f.branch(condition, (then, &[]), (otherwise, &[]));
                for (block, result) in [(then, 11), (otherwise, 22)] {
                    f.at = block;
                    f.output(n, result);
                    f.jump(after, &[]);
                }
                f.at = after;
            }
        }
    });
}

#[test]
fn comparisons_with_constants() {
    if !kernel::available() {
        return;
    }
    for op in COMPARE {
        compare_pairs(WORDS.len() * 2, |f, a, _| {
            for (n, word) in WORDS.into_iter().enumerate() {
                let constant = f.constant(word as i64);
                let right = f.compare(op, a, constant);
                f.output(n as u32 + 2, right);
                let left = f.compare(op, constant, a);
                f.output((n + WORDS.len()) as u32 + 2, left);
            }
        });
    }
}

#[test]
fn memory_of_every_size() {
    if !kernel::available() {
        return;
    }
    compare_pairs(40, |f, a, b| {
        let slot = f.f.new_slot(16);
        let stack = f.op(Op::SlotAddress(slot));
        let data = f.op(Op::DataAddress { map: IO, offset: 16 });
        let mut n = 12;
        for (k, size) in SIZES.into_iter().enumerate() {
            let at = k as i16 * 16;
            f.store(size, data, at, a);
            f.store(size, data, at + 8, 0x8182_8384u32 as i32);
            f.store(Size::B8, stack, 0, b);
            f.store(size, stack, 0, a);
            let wide = f.constant(0x1234_5678_9abc_def0);
            f.store(size, stack, 8, wide);
            for (base, disp) in [(data, at), (stack, 0), (stack, 8)] {
                for signed in [false, true] {
                    let value = f.op(Op::Load { size, signed, base, disp });
                    f.output(n, value);
                    n += 1;
                }
            }
        }
    });
}

#[test]
fn atomic_additions_with_and_without_result() {
    if !kernel::available() {
        return;
    }
    compare_pairs(8, |f, a, b| {
        let data = f.op(Op::DataAddress { map: IO, offset: 0 });
        for (k, size) in [Size::B4, Size::B8].into_iter().enumerate() {
            let at = 16 + k as i16 * 16;
            f.store(Size::B8, data, at, b);
            f.store(Size::B8, data, at + 8, b);
            f.effect(Op::Atomic { op: AtomicOp::Add, size, base: data, disp: at, value: a });
            let old = f.op(Op::Atomic { op: AtomicOp::Add, size, base: data, disp: at + 8, value: a });
            f.output(6 + k as u32, old);
            f.output(8 + k as u32, a);
        }
    });
}
