//! Objects with an arena: memory that programs reach by offsets.

use crate::support::kernel;
use moonhook_install::{LoadOptions, LogDetail, Program, load, load_with_maps};

/// An XDP program that calls two functions: one gets the context and adds up bytes of the packet, the other fills an array
/// in the arena with multiples of a constant of the image and sums it up.
const SUMS: &str = r#"
map m0 memory arena pages=16 16 "\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
map m1 io data 32
function main(v0) program "xdp" {
b0():
  v1 = const 12
  v2 = call f1(v0, v1)
  v3 = const 100
  v4 = const 4096
  v5 = call f2(v4, v3)
  v6 = data m1+0
  store.64 v6+0, v2
  store.64 v6+8, v5
  v7 = helper 8()
  store.64 v6+16, v7
  return 2
}
function packet_sum(v0, v1) global context "xdp" {
b0():
  v2 = load.u32 v0+0
  v3 = load.u32 v0+4
  v4 = and v1, 255
  v5 = add v2, v4
  v6 = add v5, 2
  branch ugt v6, v3, b2(), b1()
b1():
  v7 = load.u8 v5+0
  v8 = load.u8 v5+1
  v9 = add v7, v8
  return v9
b2():
  return -1
}
function fill(v0, v1) global {
b0():
  v2 = const 8
  v3 = arena v2
  v4 = load.u64 v3+0
  v5 = load.u64 v3-8
  v6 = arena v0
  jump b1(v5, v6)
b1(v7, v8):
  may_goto b2(), b8()
b2():
  branch ult v7, v1, b3(), b4(v5, v5)
b3():
  v9 = mul v7, v4
  store.64 v8+0, v9
  v10 = add v8, 8
  v11 = add v7, 1
  jump b1(v11, v10)
b4(v12, v13):
  may_goto b5(), b8()
b5():
  branch ult v12, v1, b6(), b7()
b6():
  v14 = shl v12, 3
  v15 = add v0, v14
  v16 = arena v15
  v17 = load.u64 v16+0
  v18 = add v13, v17
  v19 = add v12, 1
  jump b4(v19, v18)
b7():
  return v13
b8():
  return -1
}
"#;

fn emitted(text: &str) -> Vec<u8> {
    let module = moonhook_ir::parse(text).unwrap();

    moonhook_emit::emit(&module, &moonhook_emit::Options::default()).unwrap().elf
}

fn load_text(text: &str) -> Program {
    let options = LoadOptions { name: "arena".into(), log: LogDetail::Statistics, ..LoadOptions::default() };
    load(&emitted(text), &options).unwrap_or_else(|error| panic!("{error}"))
}

fn results(program: &Program) -> Vec<u64> {
    let io = program.data_section(".data.io").unwrap();
    (0..4).map(|n| io.load(n * 8).unwrap()).collect()
}

#[test]
fn functions_share_the_arena_and_the_context() {
    if !kernel() {
        return;
    }
    let program = load_text(SUMS);
    let mut frame = vec![0; 64];
    frame[12..14].copy_from_slice(&[0x40, 0x02]);
    assert_eq!(program.test_run("main", &frame, 1).unwrap().verdict, 2);
    let found = results(&program);
    assert_eq!(found[..2], [0x42, 3 * 99 * 100 / 2], "{found:?}");
}

#[test]
fn the_arena_is_memory_of_both_sides() {
    if !kernel() {
        return;
    }
    let program = load_text(SUMS);
    let maps = program.maps();
    let info = maps.iter().find(|map| map.name == "memory").unwrap();
    assert_eq!(
        (info.map_type.as_str(), info.key_size, info.value_size, info.max_entries),
        ("arena", 0, 0, 16)
    );
    let arena = program.data_section("memory").unwrap();
    assert_eq!((arena.len(), arena.load(0), arena.load(8)), (16 * 4096, Some(0), Some(3)));
    assert!(arena.store(8, 5), "this side writes");
    program.test_run("main", &[0; 64], 1).unwrap();
    assert_eq!(results(&program)[1], 5 * 99 * 100 / 2, "the program reads");
    assert_eq!(arena.load(4096 + 8 * 99), Some(5 * 99), "and the other way round");
    assert_eq!(arena.part(4095..4106).unwrap(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0]);
    assert_eq!(arena.part(16 * 4096 - 1..16 * 4096), Some(vec![0]));
    assert_eq!(arena.part(16 * 4096..16 * 4096 + 1), None);
}

#[test]
fn a_later_program_takes_the_arena_over() {
    if !kernel() {
        return;
    }
    let object = emitted(SUMS);
    let mut last = load(&object, &LoadOptions::default()).unwrap();
    assert!(last.data_section("memory").unwrap().store(8, 5));
    for turn in 0..3 {
        let maps = [("memory".to_string(), last.map_fd("memory").unwrap())];
        let mut next = load_with_maps(&object, &LoadOptions::default(), &maps).unwrap();
        assert!(next.data_section("memory").is_err(), "the earlier one has it");
        next.test_run("main", &[0; 64], 1).unwrap();
        assert_eq!(last.data_section("memory").unwrap().load(4096 + 8 * 99), Some((5 + turn) * 99));
        next.succeed(last).unwrap();
        let arena = next.data_section("memory").unwrap();
        assert_eq!((arena.load(8), arena.load(4096 + 8 * 99)), (Some(5 + turn), Some((5 + turn) * 99)));
        assert!(arena.store(8, 6 + turn));
        next.test_run("main", &[0; 64], 1).unwrap();
        assert_eq!(results(&next)[1], (6 + turn) * 99 * 100 / 2);
        last = next;
    }
}

/// Every object has an arena of its own, however many are loaded at the same time.
#[test]
fn arenas_do_not_know_of_each_other() {
    if !kernel() {
        return;
    }
    let object = emitted(SUMS);
    let check = |factor: u64| {
        let programs: Vec<Program> =
            (0..4).map(|_| load(&object, &LoadOptions::default()).unwrap()).collect();
        for (index, program) in programs.iter().enumerate() {
            program.data_section("memory").unwrap().store(8, factor + index as u64);
        }
        for (index, program) in programs.iter().enumerate() {
            program.test_run("main", &[0; 64], 1).unwrap();
            assert_eq!(results(program)[1], (factor + index as u64) * 99 * 100 / 2);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || (0..5).for_each(|turn| check(thread * 1000 + turn * 100)));
        }
    });
}

/// Addresses in the arena, and registers that hold them, survive calls and spilling; what lies outside is 0 and stays so.
#[test]
fn addresses_survive_calls_and_the_outside_is_harmless() {
    if !kernel() {
        return;
    }
    let stores: String = (0..12)
        .map(|n| format!("  v{} = add v1, {}\n  v{} = arena v{}\n", 10 + n, 8 * n, 30 + n, 10 + n))
        .collect();
    let after: String = (0..12).map(|n| format!("  store.64 v{}+0, {}\n", 30 + n, n + 1)).collect();
    let text = format!(
        r#"
map m0 memory arena pages=1 0
map m1 io data 8
function main(v0) program "xdp" {{
b0():
  v2 = data m1+0
  v1 = load.u64 v2+0
{stores}  v3 = helper 8()
  v4 = call f1()
{after}  v5 = const 1048576
  v6 = arena v5
  store.64 v6+8, 7
  v7 = load.s16 v6+8
  store.8 v30+1, -1
  v8 = load.s16 v30+0
  store.64 v2+0, v8
  return v7
}}
function nothing() global {{
b0():
  return 0
}}
"#
    );
    let program = load_text(&text);
    let io = program.data_section(".data.io").unwrap();
    io.store(0, 64);
    assert_eq!(program.test_run("main", &[0; 64], 1).unwrap().verdict, 0);
    assert_eq!(io.load(0), Some(-255i64 as u64), "a sign-extending load");
    let arena = program.data_section("memory").unwrap();
    let stored: Vec<u64> = (1..12).map(|n| arena.load(64 + 8 * n).unwrap()).collect();
    assert_eq!(stored, (2..13).collect::<Vec<u64>>());
    assert!(program.statistics()[0].stack.as_ref().unwrap()[0] >= 8 * 6, "hardly any address was spilled");
}
