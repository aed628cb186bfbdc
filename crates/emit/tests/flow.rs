//! Control flow, calls, stack and memory in the kernel.

mod common;

use common::build::{self, Build, program, subprogram};
use common::kernel;
use moonhook_emit::{Options, emit};
use moonhook_ir::*;

/// Loads and runs the functions with `inputs` at the start of `io`; gives the result and `io` as words.
fn run(functions: Vec<Function>, inputs: &[u64], frame: &[u8]) -> (u32, Vec<u64>) {
    let module = build::module(functions, vec![build::io(64)]);
    let mut loaded = kernel::load(&module);
    let bytes: Vec<u8> = inputs.iter().flat_map(|word| word.to_le_bytes()).collect();
    loaded.set_data(".data.io", &bytes);
    let (result, _) = loaded.run(frame);
    let words = loaded.data(".data.io");
    (result, words.chunks(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect())
}

/// `for i = 0, n - 1 do a, b, c = b, c, a + i end`, with the bound and the start in `io`.
fn rotating_loop(f: &mut Build) {
    let n = f.input(0);
    let start: Vec<Value> = (1..4).map(|k| f.input(k)).collect();
    let zero = f.constant(0);
    let (head, test, body, done) = (f.block(), f.block(), f.block(), f.block());
    let [a, b, c, i] = [(); 4].map(|()| f.f.add_param(head));
    f.jump(head, &[start[0], start[1], start[2], zero]);
    f.at = head;
    f.may_goto(test, done);
    f.at = test;
    f.branch(Condition::new(CompareOp::ULt, i, n), (body, &[]), (done, &[]));
    f.at = body;
    let sum = f.binary(BinaryOp::Add, a, i);
    let next = f.binary(BinaryOp::Add, i, 1);
    f.jump(head, &[b, c, sum, next]);
    f.at = done;
    for (k, value) in [a, b, c, i].into_iter().enumerate() {
        f.output(8 + k as u32, value);
    }
    f.ret(1);
}

#[test]
fn a_loop_that_rotates_its_variables() {
    if !kernel::available() {
        return;
    }
    for n in [0, 1, 2, 3, 1000] {
        let mut f = program("rotate");
        rotating_loop(&mut f);
        let (_, words) = run(vec![f.done()], &[n, 10, 20, 30], &[0; 64]);
        let (mut a, mut b, mut c) = (10, 20, 30);
        for i in 0..n {
            (a, b, c) = (b, c, a + i);
        }
        assert_eq!(words[8..12], [a, b, c, n]);
    }
}

#[test]
fn a_loop_without_end_stops_at_the_kernels_limit() {
    if !kernel::available() {
        return;
    }
    let mut f = program("endless");
    let zero = f.constant(0);
    let (head, body, done) = (f.block(), f.block(), f.block());
    let i = f.f.add_param(head);
    f.jump(head, &[zero]);
    f.at = head;
    f.may_goto(body, done);
    f.at = body;
    let next = f.binary(BinaryOp::Add, i, 1);
    f.jump(head, &[next]);
    f.at = done;
    f.output(0, i);
    f.ret(5);
    let (result, words) = run(vec![f.done()], &[], &[0; 64]);
    assert_eq!(result, 5);
    assert!(words[0] >= 0x7fffff, "only {} iterations", words[0]);
}

#[test]
fn more_values_than_registers() {
    if !kernel::available() {
        return;
    }
    let mut f = program("pressure");
    let values: Vec<Value> = (0..32).map(|k| f.input(k)).collect();
    // A helper call in the middle takes the caller-saved registers away.
    f.effect(Op::Helper { id: moonhook_ir::helper::KTIME_GET_NS, args: vec![] });
    for k in 0..32 {
        let difference = f.binary(BinaryOp::Sub, values[k], values[(k * 7 + 3) % 32]);
        f.output(k as u32 + 32, difference);
    }
    f.ret(0);
    let inputs: Vec<u64> = (0..32).map(|k| k * k * 0x1_0000_0001).collect();
    let module = build::module(vec![f.f.clone()], vec![build::io(64)]);
    let report = &emit(&module, &Options::default()).unwrap().functions[0];
    assert!(report.stack >= 20 * 8, "no spills: {} bytes of stack", report.stack);
    let (_, words) = run(vec![f.done()], &inputs, &[0; 64]);
    for k in 0..32 {
        assert_eq!(words[k + 32], inputs[k].wrapping_sub(inputs[(k * 7 + 3) % 32]), "difference {k}");
    }
}

#[test]
fn calls_of_static_and_global_functions() {
    if !kernel::available() {
        return;
    }
    let mut combine = subprogram("combine", false, 5);
    let mut sum = combine.f.params[0];
    for k in 1..5 {
        let shifted = combine.binary(BinaryOp::Mul, sum, 10);
        sum = combine.binary(BinaryOp::Add, shifted, combine.f.params[k]);
    }
    combine.ret(sum);
    let mut twice = subprogram("twice", true, 1);
    let param = twice.f.params[0];
    let zero = twice.constant(0);
    let first = twice.op(Op::Call { function: FunctionId(1), args: vec![zero, zero, zero, zero, param] });
    let both = twice.binary(BinaryOp::Add, first, param);
    twice.ret(both);
    let mut f = program("caller");
    let inputs: Vec<Value> = (0..5).map(|k| f.input(k)).collect();
    let args = vec![inputs[4], inputs[0], inputs[4], inputs[1], inputs[0]];
    let combined = f.op(Op::Call { function: FunctionId(1), args });
    let doubled = f.op(Op::Call { function: FunctionId(2), args: vec![combined] });
    f.output(8, combined);
    f.output(9, doubled);
    f.output(10, inputs[3]);
    f.ret(0);
    let (_, words) = run(vec![f.done(), combine.done(), twice.done()], &[1, 2, 3, 4, 5], &[0; 64]);
    assert_eq!(words[8..11], [51521, 103042, 4]);
}

/// What is needed behind a call in cold code stays in registers that other paths need not save, and comes back behind it.
#[test]
fn a_rare_call_keeps_registers() {
    let mut callee = subprogram("callee", true, 2);
    let [a, b] = [callee.f.params[0], callee.f.params[1]];
    let difference = callee.binary(BinaryOp::Sub, a, b);
    callee.ret(difference);
    let mut f = program("caller");
    let inputs: Vec<Value> = (0..4).map(|k| f.input(k)).collect();
    let (rare, join) = (f.block(), f.block());
    f.f.block_mut(rare).cold = true;
    let result = f.f.add_param(join);
    f.branch(Condition::new(CompareOp::UGt, inputs[0], 100), (rare, &[]), (join, &[inputs[1]]));
    f.at = rare;
    let args = vec![inputs[1], inputs[2]];
    let called = f.op(Op::Call { function: FunctionId(1), args });
    f.jump(join, &[called]);
    f.at = join;
    for (place, value) in [result, inputs[0], inputs[1], inputs[2], inputs[3]].into_iter().enumerate() {
        f.output(8 + place as u32, value);
    }
    f.ret(0);
    let functions = vec![f.done(), callee.done()];
    let module = build::module(functions.clone(), vec![build::io(64)]);
    let object = emit(&module, &Options::default()).unwrap();
    let saved = |text: &str| (6..=9).any(|register| text.contains(&format!("r{register}")));
    let texts = object.functions[0].listing.iter().map(|at| at.text.as_str());
    assert_eq!(texts.filter(|text| saved(text)).collect::<Vec<_>>(), Vec::<&str>::new());
    if !kernel::available() {
        return;
    }
    for (first, result) in [(7, 20), (101, 20 - 5)] {
        let (_, words) = run(functions.clone(), &[first, 20, 5, 9], &[0; 64]);
        assert_eq!(words[8..13], [result, first, 20, 5, 9]);
    }
}

#[test]
fn packet_bytes_behind_a_bounds_check() {
    if !kernel::available() {
        return;
    }
    let mut f = program("packet");
    let context = f.f.params[0];
    let data = f.load(Size::B4, context, 0);
    let end = f.load(Size::B4, context, 4);
    let (inside, outside) = (f.block(), f.block());
    f.f.block_mut(outside).cold = true;
    let limit = f.binary(BinaryOp::Add, data, 20);
    f.branch(Condition::new(CompareOp::UGt, limit, end), (outside, &[]), (inside, &[]));
    f.at = outside;
    f.ret(1);
    f.at = inside;
    let word = f.load(Size::B4, data, 16);
    let swapped = f.op(Op::Unary(UnaryOp::Swap32, word));
    f.store(Size::B2, data, 14, 0x0807);
    f.output(0, swapped);
    f.ret(2);
    let function = f.done();
    let frame: Vec<u8> = (0..64).collect();
    let (result, words) = run(vec![function.clone()], &[], &frame);
    assert_eq!((result, words[0]), (2, 0x10111213));
    let (result, _) = run(vec![function], &[], &frame[..18]);
    assert_eq!(result, 1);
}

/// A map value's address survives the calls between its look-up and its use, on the stack if need be.
#[test]
fn maps_read_only_data_and_helpers() {
    if !kernel::available() {
        return;
    }
    let definition =
        MapDefinition { map_type: MapType::Hash, key_size: 4, value_size: 8, max_entries: 16, flags: 0 };
    let table: Vec<u8> = (1..=5).map(|byte| byte * 11).collect();
    let maps = vec![
        build::io(16),
        Map { name: "table".into(), kind: MapKind::ReadOnlyData(table) },
        Map { name: "counts".into(), kind: MapKind::Map(definition.clone()) },
        Map {
            name: "ring".into(),
            kind: MapKind::Map(MapDefinition {
                map_type: MapType::RingBuf,
                key_size: 0,
                value_size: 0,
                max_entries: 4096,
                flags: 0,
            }),
        },
    ];
    let mut f = program("lookup");
    let slot = f.f.new_slot(4);
    let key = f.op(Op::SlotAddress(slot));
    f.store(Size::B4, key, 0, 7);
    let map = f.op(Op::MapReference(MapId(2)));
    let found = f.op(Op::Helper { id: moonhook_ir::helper::MAP_LOOKUP_ELEM, args: vec![map, key] });
    let (hit, miss) = (f.block(), f.block());
    f.branch(Condition::new(CompareOp::Ne, found, 0), (hit, &[]), (miss, &[]));
    f.at = hit;
    f.effect(Op::Helper { id: moonhook_ir::helper::KTIME_GET_NS, args: vec![] });
    let one = f.constant(1);
    f.effect(Op::Atomic { op: AtomicOp::Add, size: Size::B8, base: found, disp: 0, value: one });
    let index = f.input(0);
    let masked = f.binary(BinaryOp::And, index, 7);
    let base = f.op(Op::DataAddress { map: MapId(1), offset: 0 });
    let place = f.binary(BinaryOp::Add, base, masked);
    let byte = f.load(Size::B1, place, 0);
    let fixed = f.op(Op::DataAddress { map: MapId(1), offset: 2 });
    let fixed = f.load(Size::B1, fixed, 1);
    f.output(1, fixed);
    f.ret(byte);
    f.at = miss;
    f.ret(99);
    let module = build::module(vec![f.done()], maps);
    let mut loaded = kernel::load(&module);
    loaded.set_data(".data.io", &4u64.to_ne_bytes());
    assert_eq!(loaded.run(&[0; 64]).0, 99, "the key is not there yet");
    {
        use libbpf_rs::{MapCore, MapFlags};
        let map = loaded.map("counts");
        map.update(&7u32.to_ne_bytes(), &40u64.to_ne_bytes(), MapFlags::ANY).unwrap();
    }
    assert_eq!(loaded.run(&[0; 64]).0, 55, "the last byte of the table");
    assert_eq!(loaded.data(".data.io")[8], 44, "the byte at a known place");
    use libbpf_rs::{MapCore, MapFlags};
    let value = loaded.map("counts").lookup(&7u32.to_ne_bytes(), MapFlags::ANY).unwrap();
    assert_eq!(value.as_deref(), Some(41u64.to_ne_bytes().as_slice()));
}

/// A helper calls a function, which is not the first of its section, for each entry of a map; it reads and writes the
/// caller's stack.
#[test]
fn helpers_call_functions_back() {
    if !kernel::available() {
        return;
    }
    let definition =
        MapDefinition { map_type: MapType::Hash, key_size: 4, value_size: 8, max_entries: 16, flags: 0 };
    let maps = vec![build::io(2), Map { name: "counts".into(), kind: MapKind::Map(definition) }];
    let mut f = program("walk");
    let slot = f.f.new_slot(8);
    let sum = f.op(Op::SlotAddress(slot));
    let seven = f.op(Op::Call { function: FunctionId(1), args: vec![] });
    f.store(Size::B8, sum, 0, seven);
    let map = f.op(Op::MapReference(MapId(1)));
    let function = f.op(Op::FunctionReference(FunctionId(2)));
    let flags = f.constant(0);
    let visited = f
        .op(Op::Helper { id: moonhook_ir::helper::FOR_EACH_MAP_ELEM, args: vec![map, function, sum, flags] });
    f.output(0, visited);
    let sum = f.load(Size::B8, sum, 0);
    f.output(1, sum);
    f.ret(0);
    let mut first = subprogram("seven", false, 0);
    first.ret(7);
    let mut add = subprogram("add_value", false, 4);
    let (value, context) = (add.f.params[2], add.f.params[3]);
    let (value, sum) = (add.load(Size::B8, value, 0), add.load(Size::B8, context, 0));
    let sum = add.binary(BinaryOp::Add, sum, value);
    add.store(Size::B8, context, 0, sum);
    add.ret(0);
    let module = build::module(vec![f.done(), first.done(), add.done()], maps);
    let mut loaded = kernel::load(&module);
    {
        use libbpf_rs::{MapCore, MapFlags};
        for key in 1..=5u32 {
            let value = u64::from(key) * 100;
            loaded.map("counts").update(&key.to_ne_bytes(), &value.to_ne_bytes(), MapFlags::ANY).unwrap();
        }
    }
    assert_eq!(loaded.run(&[0; 64]).0, 0);
    let word =
        |index: usize| u64::from_ne_bytes(loaded.data(".data.io")[8 * index..][..8].try_into().unwrap());
    assert_eq!((word(0), word(1)), (5, 1507));
}

/// Jumps over more than 32,767 instructions, in both directions and of every kind.
#[test]
fn far_jumps() {
    if !kernel::available() {
        return;
    }
    let mut f = program("far");
    let n = f.input(0);
    let zero = f.constant(0);
    let (head, test, body, done) = (f.block(), f.block(), f.block(), f.block());
    let i = f.f.add_param(head);
    let x = f.f.add_param(head);
    f.jump(head, &[zero, zero]);
    f.at = head;
    f.may_goto(test, done);
    f.at = test;
    f.branch(Condition::new(CompareOp::ULt, i, n), (body, &[]), (done, &[]));
    f.at = body;
    let mut sum = x;
    for k in 0..20_000 {
        sum = f.binary(BinaryOp::Xor, sum, k);
        sum = f.binary(BinaryOp::Add, sum, i);
    }
    let next = f.binary(BinaryOp::Add, i, 1);
    f.jump(head, &[next, sum]);
    f.at = done;
    f.output(1, x);
    f.output(2, i);
    f.ret(0);
    let mut x = 0u64;
    for i in 0..3 {
        for k in 0..20_000 {
            x = (x ^ k).wrapping_add(i);
        }
    }
    let function = f.done();
    let module = build::module(vec![function.clone()], vec![build::io(4)]);
    let listing = &emit(&module, &Options::default()).unwrap().functions[0].listing;
    assert!(listing.iter().filter(|at| at.text.starts_with("gotol")).count() >= 3);
    let (_, words) = run(vec![function], &[3], &[0; 64]);
    assert_eq!(words[1..3], [x, 3]);
}
