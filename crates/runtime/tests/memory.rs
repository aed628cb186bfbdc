//! Packet memory, steps and arguments in the simulator.
//!
//! A test of another theme is a file next to this one: `Simulator::new`, then `call`, `call_primitive` or `compare`.
#![allow(clippy::unwrap_used)]

use moonhook_runtime::layout::*;
use moonhook_runtime::simulate::{Simulator, Value};

#[test]
fn alloc_gives_aligned_memory_until_there_is_none() {
    let simulator = Simulator::new(1024).unwrap();
    let first = simulator.call("alloc", &[simulator.state(), 1]).unwrap();
    let second = simulator.call("alloc", &[simulator.state(), 16]).unwrap();
    assert_eq!((first % 8, second - first), (0, 8));
    for bytes in [1024, -1, -9, i64::MAX, i64::MIN] {
        assert_eq!(simulator.call("alloc", &[simulator.state(), bytes]).unwrap(), 0);
        assert_eq!(simulator.error().as_deref(), Some("not enough memory"));
    }
    assert_ne!(simulator.call("alloc", &[simulator.state(), 1000]).unwrap(), 0);
    assert_eq!(simulator.call("alloc", &[simulator.state(), 1]).unwrap(), 0);
}

#[test]
fn steps_run_out() {
    let simulator = Simulator::new(1024).unwrap();
    simulator.set_field(L_BUDGET, 2);
    let spend = || simulator.evaluate("return inline.spend(...)", &[simulator.state()]).unwrap();
    assert_eq!([spend(), spend(), spend()], [[0], [0], [FAIL]]);
    assert_eq!(simulator.error().as_deref(), Some("step budget exhausted"));
}

/// What `inline.<name>` gives for one argument: the value, or the error.
fn argument(simulator: &Simulator, name: &str, args: &[Value]) -> Result<Value, String> {
    simulator.reset();
    let base = simulator.base();
    args.iter().zip(0..).for_each(|(arg, i)| simulator.set_value(base + 16 * i, arg));
    let call = format!("local L, base, n = ... return inline.{name}(L, base, n, 1)");
    let results = simulator.evaluate(&call, &[simulator.state(), base, args.len() as i64]).unwrap();
    match (results.as_slice(), name) {
        ([value, 1], "int_arg") => Ok(Value::Integer(*value)),
        ([text, 1], _) => Ok(Value::String(simulator.text(*text))),
        _ => Err(simulator.finish_error().unwrap()),
    }
}

#[test]
fn arguments_are_converted_as_lua_does() {
    let simulator = Simulator::new(4096).unwrap();
    let no_integer = "bad argument #1 to '?' (number has no integer representation)";
    let int = |value: Value| argument(&simulator, "int_arg", &[value]);
    for (value, expected) in [
        (Value::from(7), 7),
        (Value::from(" 0x10 "), 16),
        (Value::from("1e1"), 10),
        (Value::from(3.0), 3),
        (Value::from(-0.0), 0),
        (Value::from(-9223372036854775808.0), i64::MIN),
        (Value::from(9007199254740994.0), 9007199254740994),
        (Value::from(-1e18), -1_000_000_000_000_000_000),
    ] {
        assert_eq!(int(value.clone()), Ok(Value::Integer(expected)), "{value:?}");
    }
    for float in [0.5, 1.5, 9223372036854775808.0, f64::INFINITY, f64::NAN, 5e-324, -1e300] {
        assert_eq!(int(Value::from(float)), Err(no_integer.into()), "{float}");
    }
    assert_eq!(int(Value::from("1.5")), Err(no_integer.into()));
    let expected = |got: &str| Err(format!("bad argument #1 to '?' (number expected, got {got})"));
    assert_eq!(int(Value::from("x")), expected("string"));
    assert_eq!(int(Value::Nil), expected("nil"));
    assert_eq!(argument(&simulator, "int_arg", &[]), expected("no value"));
    assert_eq!(argument(&simulator, "str_arg", &[Value::from(-12)]), Ok(Value::from("-12")));
    assert_eq!(argument(&simulator, "str_arg", &[Value::from("a\0b")]), Ok(Value::from("a\0b")));
    let message = "bad argument #1 to '?' (string expected, got boolean)";
    assert_eq!(argument(&simulator, "str_arg", &[Value::from(true)]), Err(message.into()));
}

#[test]
fn mistakes_are_found() {
    let run = |text: &str| {
        let simulator = Simulator::with_sources(1024, &[("lua/test.lua", text)])?;
        simulator.call("test", &[simulator.state()])
    };
    assert_eq!(run("function test(L) return u8(\"a\\\"b\" + 1) end").unwrap(), i64::from(b'"'));
    for (text, message) in [
        ("function test(L) return unknown(L) end", "unknown name unknown"),
        ("function test(L) return inline.unknown(L) end", "unknown name inline.unknown"),
        ("function test(L) return L == 1 end", "not one integer"),
        ("function test(L) set64(8, L) end", "store to nowhere: 0x8"),
        ("function test(L) end function test(L) end", "test is defined twice"),
    ] {
        let error = run(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}
