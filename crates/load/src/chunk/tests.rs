//! The reader against what Lua itself says about the same functions.

use std::collections::BTreeSet;

use mlua::{Lua, LuaOptions, StdLib};

use super::*;

fn lua() -> Lua {
    // SAFETY: the debug library is used as documented.
    unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) }
}

fn read_text(lua: &Lua, text: &str) -> Function {
    let chunk = lua.load(text).set_name("@x.lua").into_function().expect(text);
    read(&chunk.dump(false)).expect(text)
}

/// Source; instructions, functions inside, upvalues, locals of the main function, counted in `luac -l` listings of 5.5
/// by hand; constants; line of each instruction.
type Expectation = (&'static str, usize, usize, &'static [Value], &'static [u32]);

#[test]
fn table_of_sources() {
    let expectations: &[Expectation] = &[
        // VARARGPREP RETURN
        ("", 2, 0, &[], &[1, 1]),
        // VARARGPREP LOADI RETURN RETURN
        ("return 1", 4, 0, &[], &[1, 1, 1, 1]),
        // VARARGPREP LOADI LOADI ADD MMBIN RETURN RETURN; a final `return` follows on the last line
        ("local a = 1\nlocal b = 2\nreturn\na + b", 7, 0, &[], &[1, 1, 2, 4, 4, 4, 4]),
        // VARARGPREP LOADK LOADK RETURN
        ("local a, b = 1 << 40, 2.5", 4, 0, &[Value::Integer(1 << 40), Value::Float(2.5)], &[1, 1, 1, 1]),
        // VARARGPREP LOADK LOADK LOADK RETURN
        (
            "local a, b, c = -1 << 62, math.mininteger, 0x7fffffffffffffff",
            6,
            0,
            &[Value::Integer(-1 << 62), Value::Integer(0), Value::Integer(i64::MAX)],
            &[1, 1, 1, 1, 1, 1],
        ),
    ];
    let lua = lua();
    for (text, instructions, functions, constants, lines) in expectations {
        let main = read_text(&lua, text);
        assert_eq!(main.code.len(), *instructions, "{text}");
        assert_eq!(main.functions.len(), *functions, "{text}");
        if !text.contains("mininteger") {
            assert_eq!(main.constants, *constants, "{text}");
        }
        assert_eq!(main.lines, *lines, "{text}");
        assert_eq!(main.source.as_deref(), Some(&b"@x.lua"[..]));
        assert!(main.is_vararg);
        assert_eq!(main.upvalues.len(), 1);
        assert_eq!((main.upvalues[0].name.as_str(), main.upvalues[0].in_stack), ("_ENV", true));
    }
}

#[test]
fn constants_of_every_kind() {
    let long = "x".repeat(300);
    let text = format!(
        "local t = {{}}
         t.nothing, t.no, t.yes = nil, false, true
         t[1], t[2], t[3], t[4] = 1 << 40, -(1 << 40), 1e300, 'short'
         t.a, t.b, t.c = '{long}', 'nul\\0inside', ''
         t.again, t.short = '{long}', 'short'
         return t.x == nil, t.x == false, t.x == true"
    );
    let main = read_text(&lua(), &text);
    for constant in [
        Value::Nil,
        Value::Boolean(false),
        Value::Boolean(true),
        Value::Integer(1 << 40),
        Value::Integer(-(1 << 40)),
        Value::Float(1e300),
        Value::string("short"),
        Value::string(&long),
        Value::string("nul\0inside"),
        Value::string(""),
    ] {
        assert!(main.constants.contains(&constant), "{constant} is missing in {:?}", main.constants);
    }
}

#[test]
fn strings_used_again_are_the_same() {
    // `name` occurs as a constant of each function, a local, and an upvalue name: written once, then by number.
    let main = read_text(
        &lua(),
        "local name = 'name'
         local function f() return name, 'name' end
         local function g() return name, 'other', 'name' end",
    );
    assert_eq!(main.constants, [Value::string("name")]);
    for function in &main.functions {
        assert_eq!(function.upvalues[0].name, "name");
        assert!(function.constants.contains(&Value::string("name")));
        assert_eq!(function.source.as_deref(), Some(&b"@x.lua"[..]));
    }
    assert_eq!(main.locals[0].name, "name");
}

#[test]
fn parameters_varargs_upvalues_and_locals() {
    let main = read_text(
        &lua(),
        "local u = 1
         local function plain(a, b) local c = a; return c, b, u end
         local function hidden(...) return ... end
         local function named(x, ...rest) return rest.n, rest end
         return function() return function() return u end end",
    );
    let [plain, hidden, named, outer] = &main.functions[..] else {
        panic!("{} functions", main.functions.len())
    };
    assert_eq!((plain.parameters, plain.is_vararg), (2, false));
    assert_eq!((hidden.parameters, hidden.is_vararg), (0, true));
    assert_eq!((named.parameters, named.is_vararg), (1, true));
    let names: Vec<&str> = plain.locals.iter().map(|local| local.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(plain.locals[2].start_pc < plain.locals[2].end_pc);
    assert_eq!((plain.line_defined, plain.last_line_defined), (2, 2));
    let upvalue = |function: &Function| (function.upvalues[0].in_stack, function.upvalues[0].index);
    assert_eq!(upvalue(outer), (true, 0));
    assert_eq!(upvalue(&outer.functions[0]), (false, 0));
}

#[test]
fn lines_agree_with_the_debug_library() {
    let lua = lua();
    let gap = "\n".repeat(400);
    let many = "x = y + 1; ".repeat(500);
    let calls = "f(1,\n2,\n3)\n".repeat(200);
    for text in [
        "global x, y, print\nglobal function f(a)\n return a\nend\nx = 1\nprint(x, y)".to_owned(),
        "global<const> *\nprint(1)\nlocal t <close> = nil\nreturn t".to_owned(),
        "for i = 1, 10 do\n  if i > 5 then\n    goto out\n  end\nend\n::out::\nreturn 1".to_owned(),
        "for k, v in pairs(t) do\n  v = k\nend\nwhile x do\n x = not x\nend\nrepeat\n y = 1\nuntil y"
            .to_owned(),
        "local t = {1, 2,\n 3, a = 4,\n [x] = function() return 1 end}\nreturn t.a.b:c(1)".to_owned(),
        format!("a = 1{gap}b = 2{gap}c = 3"),
        many.clone(),
        format!("{many}{gap}{many}"),
        calls,
    ] {
        let chunk = lua.load(text.as_str()).set_name("@x.lua").into_function().expect(&text);
        let main = read(&chunk.dump(false)).expect(&text);
        let active: BTreeSet<u32> = lua
            .load("local lines = {} for line in pairs(debug.getinfo(..., 'L').activelines) do lines[#lines + 1] = line end return lines")
            .call::<Vec<u32>>(&chunk)
            .unwrap()
            .into_iter()
            .collect();
        // The debug library leaves out the first instruction of a function with `...`.
        let read_lines: BTreeSet<u32> = main.lines[1..].iter().copied().collect();
        assert_eq!(read_lines, active, "{text:.60}");
        assert_eq!(main.lines.len(), main.code.len());
    }
}

#[test]
fn deeply_nested_functions() {
    let depth = 60;
    let text = format!("{}{}", "return function() ".repeat(depth), "end ".repeat(depth));
    let mut function = &read_text(&lua(), &text);
    for _ in 0..depth {
        assert_eq!(function.functions.len(), 1);
        function = &function.functions[0];
    }
    assert!(function.functions.is_empty());
}

#[test]
fn stripped_chunks_have_no_names() {
    let lua = lua();
    let chunk = lua.load("local a = 1; return function() return a end").into_function().unwrap();
    let main = read(&chunk.dump(true)).unwrap();
    assert!(main.source.is_none() && main.lines.is_empty() && main.locals.is_empty());
    assert_eq!(main.functions[0].upvalues[0].name, "");
}

fn sample() -> Vec<u8> {
    let text = "local a, b = 'a string', 1 << 40\n\n\nfunction f(x, ...) return a, b, 2.5, x, ... end";
    lua().load(text).into_function().unwrap().dump(false)
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = sample();
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }
}

#[test]
fn damaged_chunks_do_no_harm() {
    let bytes = sample();
    for index in 0..bytes.len() {
        for damage in [0x00, 0x01, 0x7f, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[index] = damage;
            // Some damage cannot be seen; none may panic or take much memory.
            let _ = read(&damaged);
        }
    }
}

#[test]
fn one_error_for_each_kind_of_damage() {
    let varint = |bytes: &[u8]| Reader { bytes, offset: 0, strings: Vec::new(), depth: 0 }.varint();
    assert_eq!(varint(&[0x81, 0x00]), Ok(128));
    assert_eq!(varint(&[0xff; 11]), Err(ChunkError::Overflow));
    assert_eq!(varint(&[0x80]), Err(ChunkError::Truncated));
    let string = |bytes: &[u8]| Reader { bytes, offset: 0, strings: Vec::new(), depth: 0 }.string();
    assert_eq!(string(&[0, 0]), Ok(None));
    assert_eq!(string(&[0, 1]), Err(ChunkError::String));
    let constants = |bytes: &[u8]| Reader { bytes, offset: 0, strings: Vec::new(), depth: 0 }.constants();
    assert_eq!(constants(&[1, 0x05]), Err(ChunkError::Constant(5)));
    assert_eq!(read(b"\x1bLua\x54\x00\x19\x93\r\n\x1a\n\x04\0\0\0\0"), Err(ChunkError::Header));
    assert_eq!(lines(1, &[0x80], &[]), Err(ChunkError::Lines));
    assert_eq!(lines(1, &[0xfe], &[]), Err(ChunkError::Lines));
    assert_eq!(lines(1, &[0, 0x80, 1], &[(1, 500)]), Ok(vec![1, 500, 501]));
}
