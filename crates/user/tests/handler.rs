//! What a handler sees and does: verdicts, methods, errors as Lua words them, print, state, budget, life of objects.

mod common;

use common::frames::{self, eth, ipv4, tcp, udp};
use common::{DROP, PASS, message, run, show, tier, tier_with};
use moonhook_hook::OnError;
use moonhook_user::Options;

const BYTES: &[u8] = &[0xff, 1, 2, 3, 4, 5, 6, 0x87, 8, 9];

#[test]
fn verdicts() {
    let cases = [
        ("", Ok(2)),
        ("return nil", Ok(2)),
        ("return nil, 1", Ok(2)),
        ("return 0", Ok(0)),
        ("return 1, 'x'", Ok(1)),
        ("return 4", Ok(4)),
        ("return 5", Err("handler returned 5, expected a verdict")),
        ("return -1", Err("handler returned -1, expected a verdict")),
        ("return true", Err("handler returned a boolean value, expected a verdict")),
        ("return '1'", Err("handler returned a string value, expected a verdict")),
        ("return 1.0", Err("handler returned a number value, expected a verdict")),
        ("return pkt", Err("handler returned a userdata value, expected a verdict")),
    ];
    for (body, expected) in cases {
        let outcome = run(body, BYTES);
        match expected {
            Ok(verdict) => assert_eq!((outcome.verdict, &outcome.error), (verdict, &None), "{body}"),
            Err(message) => {
                assert_eq!(outcome.verdict, PASS, "{body}");
                assert_eq!(outcome.error.map(|error| error.lossy()).as_deref(), Some(message), "{body}");
            }
        }
    }
}

#[test]
fn reads_by_offset() {
    let cases = [
        ("pkt:getbyte(0)", "255"),
        ("pkt:getuint8(0)", "255"),
        ("pkt:getint8(0)", "-1"),
        ("pkt:getuint16(0)", "511"),
        ("pkt:getint16(6)", "-30970"),
        ("pkt:getuint32(4)", "2265318660"),
        ("pkt:getint32(4)", "-2029648636"),
        ("pkt:getint64(0)", "-8717274513940545025"),
        ("pkt:getnumber(2)", "650918606078739202"),
        ("pkt:getbyte('1')", "1"),
        ("pkt:getbyte('0x1')", "1"),
        ("pkt:getbyte(1.0)", "1"),
        ("pkt:getbyte(9, 'more', {})", "9"),
        ("#pkt", "10"),
        ("#pkt:getstring(3)", "7"),
        ("pkt:getstring(1, 2) == '\\1\\2'", "true"),
        ("#pkt:getstring(10)", "0"),
        ("#pkt:getstring(4, 0)", "0"),
        ("#pkt:getstring(10, 0)", "0"),
        ("pkt:getstring(0, nil) == tostring(pkt)", "true"),
        ("type(pkt)", "userdata"),
        ("getmetatable(pkt)", "false"),
    ];
    for (expression, expected) in cases {
        assert_eq!(show(expression, BYTES), expected, "{expression}");
    }
}

#[test]
fn writes_by_offset() {
    let cases: [(&str, &[u8]); 7] = [
        ("pkt:setbyte(0, 0x1aa)", &[0xaa, 1, 2, 3, 4, 5, 6, 0x87, 8, 9]),
        ("pkt:setint8(9, -1)", &[0xff, 1, 2, 3, 4, 5, 6, 0x87, 8, 0xff]),
        ("pkt:setuint16(1, 0xbbaa)", &[0xff, 0xaa, 0xbb, 3, 4, 5, 6, 0x87, 8, 9]),
        ("pkt:setint32(6, '-2')", &[0xff, 1, 2, 3, 4, 5, 0xfe, 0xff, 0xff, 0xff]),
        ("pkt:setnumber(2, 1 << 56)", &[0xff, 1, 0, 0, 0, 0, 0, 0, 0, 1]),
        ("pkt:setstring(8, 'xy') pkt:setstring(10, '')", &[0xff, 1, 2, 3, 4, 5, 6, 0x87, b'x', b'y']),
        ("pkt:setstring(0, 12)", &[b'1', b'2', 2, 3, 4, 5, 6, 0x87, 8, 9]),
    ];
    for (body, expected) in cases {
        let outcome = run(body, BYTES);
        assert_eq!((outcome.data.as_slice(), outcome.error), (expected, None), "{body}");
    }
}

/// Bytes written before an error stay; the position is that of the calling line.
#[test]
fn errors_are_those_of_lua() {
    let cases = [
        ("pkt:getuint16(9)", "bad argument #1 to 'getuint16' (out of bounds)"),
        ("pkt:getuint16(-1)", "bad argument #1 to 'getuint16' (out of bounds)"),
        ("pkt:getbyte(math.maxinteger)", "bad argument #1 to 'getbyte' (out of bounds)"),
        ("pkt:getint64(math.mininteger)", "bad argument #1 to 'getint64' (out of bounds)"),
        ("pkt:getbyte()", "bad argument #1 to 'getbyte' (number expected, got no value)"),
        ("pkt:getbyte(nil)", "bad argument #1 to 'getbyte' (number expected, got nil)"),
        ("pkt:getbyte('x')", "bad argument #1 to 'getbyte' (number expected, got string)"),
        ("pkt:getbyte(0.5)", "bad argument #1 to 'getbyte' (number has no integer representation)"),
        ("pkt:getbyte(pkt)", "bad argument #1 to 'getbyte' (number expected, got data)"),
        ("pkt.getbyte(pkt, 10)", "bad argument #2 to 'getbyte' (out of bounds)"),
        ("pkt.getbyte(10)", "bad argument #1 to 'getbyte' (data expected, got number)"),
        ("local f = pkt.getbyte; f(pkt, 10)", "bad argument #2 to 'f' (out of bounds)"),
        ("pkt:getstring(11)", "bad argument #1 to 'getstring' (out of bounds)"),
        ("pkt:getstring(0, 11)", "bad argument #1 to 'getstring' (out of bounds)"),
        ("pkt:getstring(0, -1)", "bad argument #1 to 'getstring' (out of bounds)"),
        ("pkt:getstring(2, math.maxinteger)", "bad argument #1 to 'getstring' (out of bounds)"),
        ("pkt:getstring(math.mininteger)", "bad argument #1 to 'getstring' (out of bounds)"),
        ("pkt:getstring(99, 'x')", "bad argument #2 to 'getstring' (number expected, got string)"),
        ("pkt:setbyte(0)", "bad argument #2 to 'setbyte' (number expected, got no value)"),
        ("pkt:setbyte(10, 0)", "bad argument #1 to 'setbyte' (out of bounds)"),
        ("pkt:setbyte(10, 'x')", "bad argument #1 to 'setbyte' (out of bounds)"),
        ("pkt:setbyte(9, 'x')", "bad argument #2 to 'setbyte' (number expected, got string)"),
        ("pkt:setstring(99, {})", "bad argument #2 to 'setstring' (string expected, got table)"),
        ("pkt:setstring(9, 'xy')", "bad argument #1 to 'setstring' (out of bounds)"),
        ("pkt:setstring(0, {})", "bad argument #2 to 'setstring' (string expected, got table)"),
        ("arg:setbyte(0, 1)", "calling 'setbyte' on bad self (read only)"),
        ("arg:setbyte(0, 'x')", "calling 'setbyte' on bad self (read only)"),
        ("arg:setbyte()", "bad argument #1 to 'setbyte' (number expected, got no value)"),
        ("arg:setbyte(2, 1)", "bad argument #1 to 'setbyte' (out of bounds)"),
        ("arg:setstring(1, 'xy')", "bad argument #1 to 'setstring' (out of bounds)"),
        ("arg:setstring(0, 'xy')", "calling 'setstring' on bad self (read only)"),
        ("arg:getbyte(2)", "bad argument #1 to 'getbyte' (out of bounds)"),
        ("return pkt + 1", "attempt to perform arithmetic on a data value (local 'pkt')"),
        ("return pkt < 1", "attempt to compare data with number"),
        ("return pkt.eth .. ''", "attempt to concatenate a header value (field 'eth')"),
        ("return pkt.udp.dport", "attempt to index a nil value (field 'udp')"),
        ("return pkt.eth.port", "'eth' has no field 'port'"),
        ("return pkt.eth[1]", "'eth' has no field '1'"),
        ("return pkt.foo", "'packet' has no field 'foo'"),
        ("return pkt:foo()", "'packet' has no field 'foo'"),
        ("return pkt[true]", "'packet' has no field 'true'"),
        ("return arg.ip", "'data' has no field 'ip'"),
        ("pkt.eth = 1", "'packet' has no field 'eth' that can be assigned"),
        ("pkt.getbyte = 1", "'packet' has no field 'getbyte' that can be assigned"),
        ("pkt.foo = 1", "'packet' has no field 'foo' that can be assigned"),
        ("pkt.eth.port = 1", "'eth' has no field 'port' that can be assigned"),
        ("pkt.eth.src = 'x'", "bad value for field 'src' (MAC address expected)"),
        ("pkt.eth.src = 1", "bad value for field 'src' (MAC address expected)"),
        ("pkt.eth.src = '02:00:00:00:00:0A'", "bad value for field 'src' (MAC address expected)"),
        ("pkt.eth.type = 65536", "bad value for field 'type' (integer of 16 bits expected)"),
        ("pkt.eth.type = 1.0", "bad value for field 'type' (integer of 16 bits expected)"),
        ("pkt.eth.type = nil", "bad value for field 'type' (integer of 16 bits expected)"),
        ("arg.x = 1", "'data' has no field 'x' that can be assigned"),
        ("arg.getbyte = 1", "'data' has no field 'getbyte' that can be assigned"),
        ("local x = nil; return 1 < x", "attempt to compare number with nil"),
        ("error('mine')", "mine"),
    ];
    let frame = eth(0x0806, b"")[..14].to_vec();
    for (body, expected) in cases {
        let frame = if body.contains(".eth") || body.contains("udp") { frame.as_slice() } else { BYTES };
        let script = format!("return function(pkt, arg)\n  pkt:setbyte(0, 7)\n  {body}\nend");
        let outcome =
            tier_with(&script, Options { on_error: OnError::named("drop"), ..Options::default() }).run(frame);
        let error = outcome.error.unwrap_or_else(|| panic!("{body} gave no error"));
        assert_eq!(error.lossy(), format!("script.lua:3: {expected}"), "{body}");
        assert_eq!((outcome.verdict, outcome.data[0]), (DROP, 7), "{body}");
        assert!(
            error.traceback.iter().any(|line| line.starts_with("script.lua:3: in")),
            "{:?}",
            error.traceback
        );
    }
}

#[test]
fn errors_without_position() {
    assert_eq!(message("error('mine', 0)", BYTES), "mine");
    assert_eq!(run("error('\\xff\\0\\xc3(', 0)", BYTES).error.unwrap().message, b"\xff\0\xc3(", "any bytes");
    assert_eq!(message("error({})", BYTES), "(error object is a table value)");
    assert_eq!(message("error()", BYTES), "(error object is a nil value)");
    assert_eq!(message("error(42)", BYTES), "42");
    assert_eq!(
        message("error(setmetatable({}, {__tostring = function() return 'shown' end}))", BYTES),
        "shown"
    );
    // `tostring` is the caller here, and it has no line.
    let kept = "return function(pkt) kept = pkt end, function() tostring(kept) end";
    assert_eq!(tier(kept).run(BYTES).error.unwrap().lossy(), "packet used after its handler has returned");
    let deep = "return function() local function f() return 1 + f() end return f() end";
    let deep =
        tier_with(deep, Options { budget: 10_000_000, ..Options::default() }).run(BYTES).error.unwrap();
    assert!(deep.lossy().contains("stack overflow"), "{}", deep.lossy());
}

#[test]
fn the_traceback_names_the_functions() {
    let script = "local function inner(pkt)\n  return pkt:getbyte(99)\nend\nreturn function(pkt)\n  return (inner(pkt))\nend";
    let error = tier(script).run(BYTES).error.unwrap();
    assert_eq!(
        error.traceback,
        [
            "[C]: in method 'getbyte'",
            "script.lua:2: in upvalue 'inner'",
            "script.lua:5: in function <script.lua:4>",
        ]
    );
}

#[test]
fn handlers_run_in_order() {
    let script = "return function(pkt) pkt:setbyte(0, 9) print('a') end,
        function(pkt) print(pkt:getbyte(0)) return 1 end,
        function() print('never') return 3 end";
    let outcome = tier(script).run(BYTES);
    assert_eq!((outcome.verdict, outcome.data[0]), (DROP, 9));
    assert!(outcome.error.is_none());
    let outcome = tier("return function() local x = nil + 1 end, function() return 1 end").run(BYTES);
    assert_eq!(outcome.verdict, PASS, "an error ends the frame");
    assert!(outcome.error.is_some());
}

#[test]
fn state_lives_on() {
    let mut tier =
        tier("local n = 0; total = 0; return function(pkt) n = n + 1 total = total + #pkt return n end");
    let verdicts: Vec<_> = (0..5).map(|_| tier.run(BYTES)).collect();
    assert_eq!(verdicts.iter().map(|outcome| outcome.verdict).collect::<Vec<_>>(), [1, 2, 3, 4, 2]);
    assert!(verdicts[4].error.is_some());
}

#[test]
fn objects_end_with_their_handler() {
    let gone = "packet used after its handler has returned";
    let cases = [
        ("kept = pkt", "return kept:getbyte(0)", "calling 'getbyte' on bad self (its handler has returned)"),
        ("kept = pkt", "kept:setbyte(0, 1)", "calling 'setbyte' on bad self (its handler has returned)"),
        ("kept = pkt", "return #kept", gone),
        ("kept = pkt", "return kept.eth", gone),
        ("kept = pkt", "return kept.foo", gone),
        ("kept = pkt.eth", "return kept.type", gone),
        ("kept = arg", "return #kept", gone),
        (
            "local p = pkt; kept = function() return p:getbyte(0) end",
            "kept()",
            "calling 'getbyte' on bad self (its handler has returned)",
        ),
    ];
    let frame = eth(0x0800, b"");
    for (first, second, expected) in cases {
        let script = format!("return function(pkt, arg) {first} end, function(pkt) {second} end");
        let error = tier(&script).run(&frame).error.unwrap_or_else(|| panic!("{second} gave no error"));
        assert_eq!(error.lossy(), format!("script.lua:1: {expected}"), "{second}");
        let script = format!("return function(pkt, arg) if kept then {second} end {first} end");
        let mut tier = tier(&script);
        assert_eq!(tier.run(&frame).error, None);
        let error = tier.run(&frame).error.unwrap_or_else(|| panic!("{second} gave no error"));
        assert_eq!(error.lossy(), format!("script.lua:1: {expected}"), "{second}");
    }
}

/// Objects that no longer work are collected without harm, and a header keeps its packet's bytes alive.
#[test]
fn collection_is_harmless() {
    let script = "kept = {} return function(pkt, arg)
        kept[#kept % 50 + 1] = pkt.eth
        for i = 1, 20 do local h = pkt.eth; collectgarbage('step') if h.type ~= 0x0800 then return 1 end end
    end";
    let mut tier = tier(script);
    let frame = eth(0x0800, &[7; 2000]);
    for _ in 0..300 {
        let outcome = tier.run(&frame);
        assert_eq!((outcome.verdict, outcome.error), (PASS, None));
    }
}

#[test]
fn views_show_the_frame_as_it_is() {
    let frame = eth(0x0800, &ipv4(17, &[], &udp(b"data")));
    let body = "local ip, u = pkt.ip, pkt.udp
        pkt:setbyte(30, 10)
        assert(ip.dst == '10.51.100.1' and u.dport == 53)
        pkt:setbyte(14, 0x46)
        assert(ip.header_length == 24 and u.sport == 12 and u.dport == 0xbeef)
        pkt:setbyte(12, 9)
        assert(ip.dst == nil and u.dport == nil and pkt.ip == nil)";
    assert_eq!(message(body, &frame), "no error");
}

#[test]
fn arg_is_the_payload_offset() {
    let shown = "arg:getbyte(0) << 8 | arg:getbyte(1)";
    let cases = [
        (eth(0x0800, &ipv4(6, &[], &tcp(&[1; 12], b"x"))), 14 + 20 + 32),
        (eth(0x86dd, &frames::ipv6(17, &[frames::extension(0, 1)], &udp(b"x"))), 14 + 48 + 8),
        (eth(0x0800, &ipv4(1, &[], &frames::icmp(8, b"abc"))), 14 + 20 + 8 + 3),
        (eth(0x0806, b"abc"), 17),
        (vec![], 0),
    ];
    for (frame, expected) in cases {
        assert_eq!(show(shown, &frame), expected.to_string());
        assert_eq!(show("#arg", &frame), "2");
    }
}

#[test]
fn endless_loops_end() {
    let options = Options { on_error: OnError::named("drop"), budget: 50_000, ..Options::default() };
    for body in [
        "while true do end",
        "repeat pcall(function() while true do end end) until false",
        "local function f() return f() end f()",
        "while true do coroutine.wrap(function() for i = 1, 60 do end end)() end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    ] {
        let mut tier = tier_with(
            &format!("return function(pkt) if #pkt > 3 then {body} end return 3 end"),
            options.clone(),
        );
        for _ in 0..3 {
            let outcome = tier.run(BYTES);
            assert_eq!(
                outcome.error.map(|error| error.lossy()).as_deref(),
                Some("step budget exhausted"),
                "{body}"
            );
            assert_eq!(outcome.verdict, DROP, "{body}");
            let next = tier.run(b"ok");
            assert_eq!((next.verdict, next.error), (3, None), "the next frame has its own budget: {body}");
        }
    }
    let shared = "local function f() for i = 1, 30000 do end end return f, f";
    assert!(tier_with(shared, options).run(BYTES).error.is_some(), "handlers share the frame's budget");
}

/// Through the real load stage: `print` is captured in order, whichever way the script holds it.
#[test]
fn print_is_captured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.lua");
    let script = "local xdp = require 'xdp'
        local p = print
        xdp.attach(function(pkt)
          p('first', #pkt, nil)
          print()
          print(setmetatable({}, {__tostring = function() return 'x\\0y' end}))
          string.rep('x', 3)
          error('end')
        end)";
    std::fs::write(&path, script).unwrap();
    let loaded = moonhook_load::load(&[path], &moonhook_load::Options::default()).unwrap();
    let mut tier = moonhook_user::UserTier::new(loaded, Options::default()).unwrap();
    for _ in 0..2 {
        let outcome = tier.run(BYTES);
        assert_eq!(outcome.output, [b"first\t10\tnil".to_vec(), b"".to_vec(), b"x\0y".to_vec()]);
        assert!(outcome.error.unwrap().lossy().ends_with("script.lua:8: end"));
    }
}
