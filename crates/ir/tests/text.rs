//! The text form: what is printed is read back as the same.

use moonhook_ir::{
    BinaryOp, FunctionId, FunctionKind, Op, Operand, Value, eval::Machine, parse, verify::verify,
};

const MODULE: &str = r#"source @0 "a \"quoted\" name.lua"
map m0 names rodata 16 "abc\x00\xff;#"
map m1 opaque data 8
map m2 events RingBuf key=0 value=0 entries=4096 flags=0
map m3 memory arena pages=2 6 "a\x01"
map m4 flows zeros 4096
event e0 Error @0:12 "100%% of %-8x;%s\n" in @0:12 "handler" in @0:3 "main chunk"
event e1 Print @0:4 "%d"

function handler(v0) program "xdp" {
  slot s0 16
b0():
  v1 = load.u32 v0+0                           ; @0:1
  v2 = load.u32 v0+4
  v3 = add v1, 14
  v4 = const -9223372036854775808
  branch ugt v3, v2, b2(), b1(v1, v4)          ; @0:2
b1(v5, v6):
  v7 = load.s16 v5+12                          ; @0:3
  v8 = slot s0
  store.64 v8+8, v7
  store.8 v8+0, -1                             ; @-
  v9 = atomic_add.64 v8+8, v6
  v10 = data m0+3
  v11 = map m2
  v12 = helper 130(v11, v10, v7)
  v13 = call f1(v7, v12)                       ; @0:4
  v14 = swap16 v13
  v15 = signextend8 v14
  v16 = ashr v15, v6
  v17 = compare test v16, 1
  v18 = arena v17
  v19 = function f3
  v20 = field v5 nf_hook_state.in
  store.32 v18+8, v17
  may_goto b1(v5, v17), b2()
b2() cold:
  return 2
}

function callee(v0, v1) global {
b0():
  return v0
}

function with_context(v0) global context "xdp" {
b0():
  return 0
}

function called_back(v0, v1, v2, v3) static {
b0():
  return 1
}
"#;

#[test]
fn print_of_parse_is_the_text() {
    let module = parse(MODULE).unwrap();
    assert_eq!(module.to_string(), MODULE);
    assert_eq!(parse(&module.to_string()).unwrap(), module);
    module.functions.iter().for_each(|function| verify(function).unwrap());
    assert_eq!(module.functions[1].kind, FunctionKind::Subprogram { global: true, context: None });
    assert_eq!(module.functions[2].context(), Some(Value(0)));
}

#[test]
fn long_data_is_cut() {
    let text = parse("map m0 x rodata 3 \"abc\"").unwrap();
    let mut long = text.clone();
    long.maps[0].kind = moonhook_ir::MapKind::ReadOnlyData(vec![b'x'; 100]);
    let printed = long.to_string();
    assert_eq!(printed, format!("map m0 x rodata 100 \"{}\" …\n", "x".repeat(64)));
    assert!(parse(&printed).is_ok());
}

#[test]
fn errors_name_the_line() {
    let body = |line: &str| format!("function f(v0) static {{\nb0():\n  {line}\n  return 0\n}}\n");
    let cases = [
        ("v1 = frobnicate v0", "line 3: unknown operation `frobnicate`"),
        ("v1 = add v0", "line 3: expected `,` before ``"),
        ("v1 = add v0, 4294967296", "line 3: expected a number that fits, found `4294967296`"),
        ("v1 = store.8 v0+0, 1", "line 3: `store.8` has no result"),
        ("load.u8 v0+0", "line 3: the result of `load.u8` has no name"),
        ("v1 = load.u8 v0+40000", "line 3: expected a number that fits, found `+40000`"),
        ("branch lt v0, 1, b0(), b0()", "line 3: unknown comparison `lt`"),
        ("v1 = neg v0 v0", "line 3: unexpected `v0`"),
        ("v1 = neg v0 ; @x", "line 3: malformed place `@x`"),
    ];
    for (line, expected) in cases {
        assert_eq!(parse(&body(line)).unwrap_err().to_string(), expected);
    }
    let open = "function f() static {\nb0():\n  return 0\n";
    assert_eq!(parse(open).unwrap_err().to_string(), "line 3: the function's `}` is missing");
    assert_eq!(parse("map m1 x data 8").unwrap_err().to_string(), "line 1: number 1, expected 0");
}

#[test]
fn cycles_need_may_goto() {
    let text = "function f(v0) static {\nb0():\n  jump b1()\nb1():\n  branch eq v0, 0, b1(), b2()\nb2():\n  return 0\n}";
    let module = parse(text).unwrap();
    let error = verify(&module.functions[0]).unwrap_err();
    assert_eq!(error.problem, "b1 is on a cycle without may_goto");
}

#[test]
fn the_result_that_there_is_none_of_is_no_operand() {
    let text = "function f(v0) static {\nb0():\n  v1 = add v0, 1\n  return v1\n}";
    let mut module = parse(text).unwrap();
    let function = &mut module.functions[0];
    verify(function).unwrap();
    function.blocks[0].insts[0].op = Op::Binary(BinaryOp::Add, Value::NONE, Operand::Imm(1));
    let problem = verify(function).unwrap_err().problem;
    assert!(problem.ends_with("is used but not defined"), "{problem}");
}

#[test]
fn evaluates_packet_reads() {
    let text = r#"function f(v0) program "xdp" {
b0():
  v1 = load.u32 v0+0
  v2 = load.u32 v0+4
  v3 = add v1, 2
  branch ugt v3, v2, b2(), b1()
b1():
  v4 = load.u16 v1+0
  v5 = swap16 v4
  return v5
b2():
  return 7
}"#;
    let module = parse(text).unwrap();
    let run = |packet: &[u8]| Machine::new(&module, packet.to_vec()).run(&module, FunctionId(0));
    assert_eq!(run(&[0x12, 0x34, 0x56]), Ok(0x1234));
    assert_eq!(run(&[0x12]), Ok(7));
}

#[test]
fn arenas_have_an_image_and_lose_what_lies_outside() {
    let text = r#"map m0 memory arena pages=1 8 "\x05\x00\x00\x00\x07"
function f(v0) program "xdp" {
b0():
  v1 = load.u32 v0+0
  v2 = load.u16 v1+0
  v3 = arena v2
  v4 = load.u32 v3-4
  store.32 v3+0, 100
  v5 = atomic_add.32 v3+0, v4
  v6 = load.u32 v3+0
  v7 = add v5, v6
  return v7
}"#;
    let module = parse(text).unwrap();
    let mut machine = Machine::new(&module, 4u16.to_le_bytes().to_vec());
    assert_eq!(machine.run(&module, FunctionId(0)), Ok(205));
    assert_eq!(machine.arena.unwrap()[..8], [5, 0, 0, 0, 105, 0, 0, 0]);
    for offset in [0u16, 4096] {
        let mut machine = Machine::new(&module, offset.to_le_bytes().to_vec());
        let result = if offset == 0 { 200 } else { 0 };
        assert_eq!(machine.run(&module, FunctionId(0)), Ok(result), "{offset}");
    }
}
