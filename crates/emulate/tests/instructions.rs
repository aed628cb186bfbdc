//! Functions of single instructions, made by hand: what each of them does, and how each fault reads.

use moonhook_btf::Types;
use moonhook_emulate::{Argument, Emulator, Fault, FaultKind, MapError, Packet};
use moonhook_link::{Data, Function, Line, Linkage, Map, Object, Reference, Target};
use std::sync::Arc;

type Code = [u8; 8];

fn word(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Code {
    let ([a, b], [c, d, e, f]) = (off.to_le_bytes(), imm.to_le_bytes());
    [code, src << 4 | dst, a, b, c, d, e, f]
}

fn mov(dst: u8, imm: i32) -> Code {
    word(0xb7, dst, 0, 0, imm)
}

fn call(imm: i32) -> Code {
    word(0x85, 0, 0, 0, imm)
}

const EXIT: Code = [0x95, 0, 0, 0, 0, 0, 0, 0];

/// A load of 64 bits, of what is referred to.
fn load(dst: u8) -> [Code; 2] {
    [word(0x18, dst, 0, 0, 0), [0; 8]]
}

fn function(name: &str, code: Vec<Code>, references: Vec<Reference>) -> Function {
    Function {
        name: name.into(),
        section: ".text".into(),
        linkage: Linkage::Global,
        code,
        start: 0,
        references,
        lines: vec![],
        ty: None,
    }
}

fn map(name: &str, map_type: u32) -> Map {
    Map {
        name: name.into(),
        map_type,
        key: (4, None),
        value: (8, None),
        max_entries: 2,
        flags: 0,
        is_weak: false,
    }
}

fn object(functions: Vec<Function>, maps: Vec<Map>, data: Vec<Data>) -> Arc<Object> {
    // A header, no types, and one empty string.
    let header: [u8; 24] = [0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    let types = Types::parse([&header[..], &[0]].concat()).expect("no types at all");
    Arc::new(Object {
        name: "a.o".into(),
        functions,
        maps,
        data,
        types: Arc::new(types),
        licence: String::new(),
    })
}

fn emulator(code: Vec<Code>, references: Vec<Reference>) -> Emulator {
    Emulator::new(&[object(
        vec![function("f", code, references)],
        vec![map("m", 1), map("ring", 27)],
        vec![],
    )])
}

fn run(code: Vec<Code>) -> Result<u64, FaultKind> {
    let mut packet = Packet { bytes: vec![0; 60], ..Packet::default() };
    let result = emulator(code, vec![]).call(0, 0, &mut [Argument::Context], &mut packet);
    result.map_err(|fault| fault.kind)
}

#[test]
fn jumps_go_where_they_say() {
    let table = [
        ("goto", vec![mov(0, 1), word(0x05, 0, 0, 1, 0), mov(0, 2), EXIT], 1),
        ("gotol", vec![mov(0, 1), word(0x06, 0, 0, 0, 1), mov(0, 2), EXIT], 1),
        ("back", vec![word(0x05, 0, 0, 2, 0), mov(0, 3), EXIT, word(0x05, 0, 0, -3, 0)], 3),
        ("64 bits", vec![mov(0, -1), word(0x15, 0, 0, 1, -1), mov(0, 0), EXIT], u64::MAX),
        ("32 bits", vec![word(0xb4, 0, 0, 0, -1), word(0x16, 0, 0, 1, -1), mov(0, 0), EXIT], 0xffff_ffff),
        ("not taken", vec![word(0xb4, 0, 0, 0, -1), word(0x15, 0, 0, 1, -1), mov(0, 0), EXIT], 0),
        ("may_goto goes on", vec![mov(0, 1), word(0xe5, 0, 0, 1, 0), mov(0, 2), EXIT], 2),
    ];
    for (name, code, expected) in table {
        assert_eq!(run(code), Ok(expected), "{name}");
    }
}

/// A loop that nothing but `may_goto` ends counts its turns.
#[test]
fn may_goto_counts_down() {
    let code = vec![mov(0, 0), word(0xe5, 0, 0, 2, 0), word(0x07, 0, 0, 0, 1), word(0x05, 0, 0, -3, 0), EXIT];
    assert_eq!(run(code.clone()), Err(FaultKind::Budget(1_000_000)));
    let mut emulator = emulator(code, vec![]);
    emulator.set_budget(u64::MAX);
    assert_eq!(emulator.call(0, 0, &mut [], &mut Packet::default()), Ok(8 << 20));
}

#[test]
fn faults_say_what_is_wrong() {
    let outside = |offset, size, memory| FaultKind::Access { is_write: false, size, offset, memory };
    let read = |code: u8, src: u8, off: i16| vec![word(code, 0, src, off, 0), EXIT];
    let table = [
        (vec![word(0x05, 0, 0, -1, 0)], FaultKind::Budget(1_000_000)),
        (vec![mov(0, 0)], FaultKind::Outside),
        (vec![word(0x05, 0, 0, -5, 0)], FaultKind::Outside),
        (vec![word(0x18, 0, 0, 0, 0)], FaultKind::Outside),
        (vec![[0; 8], EXIT], FaultKind::Instruction { code: 0 }),
        (vec![word(0xb7, 11, 0, 0, 0)], FaultKind::Instruction { code: 0xb7 }),
        (vec![word(0xb7, 10, 0, 0, 0)], FaultKind::Instruction { code: 0xb7 }),
        (vec![word(0xbf, 0, 1, 1, 1)], FaultKind::Instruction { code: 0xbf }),
        (vec![word(0x85, 0, 2, 0, 1)], FaultKind::Instruction { code: 0x85 }),
        (vec![call(9999)], FaultKind::Helper(9999)),
        (vec![call(-1)], FaultKind::Helper(u32::MAX)),
        (vec![call(1)], FaultKind::Argument { helper: "bpf_map_…", problem: "what is no map" }),
        (read(0x79, 10, -4), outside(-4, 8, "the stack")),
        (read(0x71, 10, -513), outside(-513, 1, "the stack")),
        (read(0x61, 1, 24), outside(24, 4, "the context")),
        (read(0x79, 2, 0), outside(0, 8, "no memory")),
        (vec![word(0x61, 2, 1, 0, 0), word(0x71, 0, 2, 60, 0)], outside(60, 1, "the packet")),
        (vec![word(0x61, 2, 1, 0, 0), word(0x71, 0, 2, -1, 0)], outside(-1, 1, "the packet")),
    ];
    for (code, expected) in table {
        assert_eq!(run(code.clone()), Err(expected), "{code:02x?}");
    }
}

fn fault(code: Vec<Code>, references: Vec<Reference>, lines: Vec<Line>) -> String {
    let functions = vec![Function { lines, ..function("count", code, references) }];
    let object = object(functions, vec![map("m", 1), map("ring", 27)], vec![]);
    let mut packet = Packet { bytes: vec![0; 60], ..Packet::default() };
    let result = Emulator::new(&[object]).call(0, 0, &mut [Argument::Context], &mut packet);
    result.expect_err("a fault").to_string()
}

#[test]
fn faults_say_where() {
    let line = |slot, number| Line { slot, file: "a.c".into(), number, text: String::new() };
    let code = vec![word(0x61, 2, 1, 0, 0), word(0x71, 0, 2, 60, 0)];
    assert_eq!(
        fault(code.clone(), vec![], vec![line(0, 7), line(1, 9), line(2, 12)]),
        "'count' (a.c:9): it reads 1 byte at offset 60 of the packet, outside of what it has there"
    );
    assert_eq!(
        fault(code, vec![], vec![]),
        "'count' of a.o, instruction 1: it reads 1 byte at offset 60 of the packet, outside of what it has there"
    );
    let missing = Reference { slot: 0, target: Target::Missing("other".into()) };
    assert_eq!(
        fault(vec![word(0x85, 0, 1, 0, -1), EXIT], vec![missing], vec![line(0, 3)]),
        "'count' (a.c:3): it calls 'other', which is not in the object"
    );
    let [first, second] = load(1);
    let ring = Reference { slot: 0, target: Target::Map(1) };
    assert_eq!(
        fault(vec![first, second, call(1), EXIT], vec![ring], vec![line(0, 3)]),
        "'count' (a.c:3): it uses the map 'ring', whose kind (number 27) is not there in user space"
    );
}

#[test]
fn calls_from_outside_are_looked_at() {
    let mut emulator = emulator(vec![EXIT], vec![]);
    let mut packet = Packet::default();
    let numbers: Vec<_> = (0..6).map(Argument::Number).collect();
    let mut six = numbers;
    assert_eq!(emulator.call(0, 0, &mut six, &mut packet), Err(fault_of(FaultKind::Arguments(6))));
    assert_eq!(emulator.call(0, 1, &mut [], &mut packet), Err(fault_of(FaultKind::NoFunction)));
    assert_eq!(emulator.call(1, 0, &mut [], &mut packet), Err(fault_of(FaultKind::NoFunction)));
    assert!(emulator.map(0, 2).is_none() && emulator.map(1, 0).is_none() && emulator.data(0, 0).is_none());
}

fn fault_of(kind: FaultKind) -> Fault {
    Fault { kind, place: None }
}

#[test]
fn arguments_are_registers() {
    // r0 = r1 - r2; *(u8 *)r3 = 9; r0 += *(u8 *)(r3 + 1)
    let code = vec![
        word(0xbf, 0, 1, 0, 0),
        word(0x1f, 0, 2, 0, 0),
        word(0x72, 3, 0, 0, 9),
        word(0x71, 4, 3, 1, 0),
        word(0x0f, 0, 4, 0, 0),
        EXIT,
    ];
    let mut memory = [1, 2];
    let mut arguments = [Argument::Number(40), Argument::Number(10), Argument::Memory(&mut memory)];
    assert_eq!(emulator(code, vec![]).call(0, 0, &mut arguments, &mut Packet::default()), Ok(32));
    assert_eq!(memory, [9, 2]);
}

/// Of 32 bits, they look at the low halves of registers, and clear the high ones of what they give.
#[test]
fn atomic_operations_of_both_widths() {
    // The word at fp-8 is 0x1_0000_0005; r0 and r1 are as the row says.
    let table = [
        // fetch_add, cmpxchg that takes and that does not, xchg; add gives nothing.
        (0xdb, 0x01, 3, 2, (3, 0x1_0000_0005), 0x1_0000_0007),
        (0xc3, 0x01, 3, -1, (3, 5), 0x1_0000_0004),
        (0xc3, 0xf1, -1 << 8 | 5, 9, (5, 9), 0x1_0000_0005),
        (0xdb, 0xf1, 5, 9, (0x1_0000_0005, 9), 0x1_0000_0005),
        (0xc3, 0xf1, 5, -2, (5, u64::MAX - 1), 0x1_ffff_fffe),
        (0xc3, 0xe1, 0, -2, (0, 5), 0x1_ffff_fffe),
        (0xc3, 0x00, 7, -2, (7, u64::MAX - 1), 0x1_0000_0003),
        (0xdb, 0xa0, 7, 1, (7, 1), 0x1_0000_0004),
    ];
    for (code, imm, r0, r1, (expected_r0, expected_r1), expected_memory) in table {
        let run = |gives: Code| {
            let code = vec![
                word(0x62, 10, 0, -8, 5),
                word(0x62, 10, 0, -4, 1),
                mov(0, r0),
                mov(1, r1),
                word(code, 10, 1, -8, imm),
                gives,
                EXIT,
            ];
            run(code)
        };
        assert_eq!(run(word(0x05, 0, 0, 0, 0)), Ok(expected_r0), "{code:#x} {imm:#x}: r0");
        assert_eq!(run(word(0xbf, 0, 1, 0, 0)), Ok(expected_r1), "{code:#x} {imm:#x}: r1");
        assert_eq!(run(word(0x79, 0, 10, -8, 0)), Ok(expected_memory), "{code:#x} {imm:#x}: memory");
    }
    // The high half of r0 is not compared: here it is not zero.
    let code = vec![
        word(0x7a, 10, 0, -8, 5),
        word(0x18, 0, 0, 0, 5),
        word(0, 0, 0, 0, 7),
        mov(1, 9),
        word(0xc3, 10, 1, -8, 0xf1),
        word(0x79, 0, 10, -8, 0),
        EXIT,
    ];
    assert_eq!(run(code), Ok(9));
    for wrong in [word(0xd3, 10, 1, -8, 0), word(0xcb, 10, 1, -8, 0), word(0xdb, 10, 1, -8, 0x20)] {
        assert_eq!(
            run(vec![word(0x7a, 10, 0, -8, 5), wrong]),
            Err(FaultKind::Instruction { code: wrong[0] })
        );
    }
}

/// A function calls itself until there is no room for one more.
#[test]
fn recursion_ends() {
    let itself = Reference { slot: 0, target: Target::Call(0) };
    let code = vec![word(0x85, 0, 1, 0, -1), EXIT];
    let result = emulator(code, vec![itself]).call(0, 0, &mut [], &mut Packet::default());
    assert_eq!(result.map_err(|fault| fault.kind), Err(FaultKind::Depth(8)));
}

/// Puts 7 into the map for the key 0 and gives what is in it for the key.
fn counting(name: &str) -> Function {
    let [first, second] = load(1);
    let code = vec![
        word(0x62, 10, 0, -4, 0),
        first,
        second,
        word(0xbf, 2, 10, 0, 0),
        word(0x07, 2, 0, 0, -4),
        call(1),
        word(0x15, 0, 0, 2, 0),
        mov(1, 1),
        word(0xdb, 0, 1, 0, 1),
        word(0xbf, 0, 1, 0, 0),
        EXIT,
    ];
    function(name, code, vec![Reference { slot: 1, target: Target::Map(0) }])
}

#[test]
fn weak_maps_of_one_definition_are_one() {
    let weak = Map { is_weak: true, ..map("m", 2) };
    let of = |map: &Map| object(vec![counting("f")], vec![map.clone()], vec![]);
    let larger = Map { max_entries: 3, ..weak.clone() };
    let objects = [of(&weak), of(&weak), of(&map("m", 2)), of(&larger), of(&weak)];
    let mut emulator = Emulator::new(&objects);
    let mut count = |object| emulator.call(object, 0, &mut [], &mut Packet::default()).expect("no fault");
    let counts: Vec<u64> = [0, 1, 2, 3, 4, 2].into_iter().map(&mut count).collect();
    assert_eq!(counts, [0, 1, 0, 0, 2, 1]);
}

#[test]
fn control_code_sees_maps_and_variables() {
    let data = Data { section: ".data".into(), bytes: vec![1, 2], is_constant: false };
    let maps = vec![map("array", 2), map("hash", 1), map("ring", 27)];
    let mut emulator = Emulator::new(&[object(vec![counting("f")], maps, vec![data])]);
    let one = 1_u32.to_le_bytes();

    let mut array = emulator.map(0, 0).expect("a map");
    assert_eq!((array.get(&one), array.keys().count()), (Some(vec![0; 8]), 2));
    assert_eq!(array.get(&2_u32.to_le_bytes()), None);
    array.set(&[0; 4], &5_u64.to_le_bytes()).expect("an element");
    assert_eq!(array.remove(&one), Err(MapError::Invalid));
    assert_eq!(array.set(&[0; 3], &[0; 8]), Err(MapError::Length { found: 3, expected: 4 }));
    assert_eq!(array.set(&[0; 4], &[0; 9]), Err(MapError::Length { found: 9, expected: 8 }));
    assert_eq!(emulator.call(0, 0, &mut [], &mut Packet::default()), Ok(5));
    assert_eq!(emulator.map(0, 0).expect("a map").get(&[0; 4]), Some(6_u64.to_le_bytes().to_vec()));

    let mut hash = emulator.map(0, 1).expect("a map");
    assert_eq!((hash.get(&one), hash.remove(&one)), (None, Err(MapError::Missing)));
    hash.set(&one, &[1; 8]).expect("room");
    hash.set(&[0; 4], &[2; 8]).expect("room");
    assert_eq!(hash.set(&[9; 4], &[2; 8]), Err(MapError::Full));
    assert_eq!(hash.keys().collect::<Vec<_>>(), [[0, 0, 0, 0], one]);
    assert_eq!((hash.remove(&one), hash.get(&one)), (Ok(()), None));

    let mut ring = emulator.map(0, 2).expect("a map");
    assert_eq!((ring.get(&one), ring.keys().count()), (None, 0));
    assert!(matches!(ring.set(&one, &[0; 8]), Err(MapError::Unsupported(_))));

    emulator.data(0, 0).expect("a section")[1] = 9;
    assert_eq!(emulator.data(0, 0).map(|bytes| bytes.to_vec()), Some(vec![1, 9]));
}
