//! Equality, order and hashes of values.

use mlua::{Function, Lua};
use moonhook_runtime::layout::*;
use moonhook_runtime::simulate::{Simulator, Value};
use moonhook_runtime::{text_hash, value_hash};

fn simulator() -> Simulator {
    Simulator::new(1 << 20).unwrap_or_else(|error| panic!("{error}"))
}

fn call(simulator: &Simulator, routine: &str, arguments: &[i64]) -> i64 {
    simulator.call(routine, arguments).unwrap_or_else(|error| panic!("{routine}: {error}"))
}

/// Texts of many lengths that differ in one byte or in length, at addresses of every alignment.
fn texts() -> Vec<Vec<u8>> {
    let mut texts = vec![b"".to_vec(), b"\0".to_vec(), b"\0\0".to_vec()];
    for length in [1, 2, 7, 8, 9, 15, 16, 17, 24, 100] {
        let plain: Vec<u8> = (0..length).map(|at| b'a' + (at % 26) as u8).collect();
        for place in [0, length / 2, length - 1] {
            for byte in [0, b'A', 0x7f, 0x80, 0xff] {
                let mut text = plain.clone();
                text[place] = byte;
                texts.push(text);
            }
        }
        texts.push(plain);
    }
    texts
}

/// Texts in memory, some of them close together, so that there is always something behind an end.
fn payloads(simulator: &Simulator, texts: &[Vec<u8>]) -> Vec<i64> {
    let mut at = simulator.allocate(texts.iter().map(|text| text.len() + 1).sum());
    let mut place = |(index, text): (usize, &Vec<u8>)| {
        simulator.set_bytes(at, text);
        let payload = at | (text.len() as i64) << 32;
        at += text.len() as i64 + (index % 2) as i64;
        payload
    };
    texts.iter().enumerate().map(&mut place).collect()
}

#[test]
fn texts_are_compared_by_bytes() {
    let simulator = simulator();
    let texts = texts();
    let (ones, others) = (payloads(&simulator, &texts), payloads(&simulator, &texts));
    for (a, x) in texts.iter().zip(&ones) {
        for (b, y) in texts.iter().zip(&others) {
            let equal = call(&simulator, "text_equal", &[*x, *y]);
            assert_eq!(equal == 1, a == b, "{a:?} == {b:?}");
            let order = call(&simulator, "text_compare", &[*x, *y]);
            assert_eq!(order, a.cmp(b) as i64, "{a:?} < {b:?}");
        }
    }
}

#[test]
fn hashes_are_those_of_rust() {
    let simulator = simulator();
    let texts = texts();
    for (text, payload) in texts.iter().zip(payloads(&simulator, &texts)) {
        assert_eq!(call(&simulator, "text_hash", &[payload]) as u64, text_hash(text), "{text:?}");
    }
    for tag in TAG_NIL..=TAG_OPAQUE {
        for payload in [0, 1, -1, 0x1234_5678, i64::MIN, i64::MAX] {
            let found = simulator.evaluate("return inline.word_hash(...)", &[tag, payload]);
            let expected = vec![value_hash(tag, payload as u64) as i64];
            assert_eq!(found.unwrap_or_default(), expected, "{tag} {payload}");
        }
    }
}

#[test]
fn values_are_equal_as_in_real_lua() {
    let floats = [0.0, -0.0, 1.0, -1.0, 0.5, 9_007_199_254_740_992.0, 9_223_372_036_854_775_808.0];
    let more = [-9_223_372_036_854_775_808.0, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let integers = [0, 1, -1, 2, i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1, i64::MAX - 511];
    let mut values: Vec<Value> = floats.into_iter().chain(more).map(Value::Float).collect();
    values.extend(integers.map(Value::Integer));
    values.extend([Value::Nil, Value::Boolean(true), Value::Boolean(false)]);
    values.extend(["", "1", "0", "text"].map(Value::from));
    let (lua, simulator) = (Lua::new(), simulator());
    let equal: Function = match lua.globals().get("rawequal") {
        Ok(function) => function,
        Err(error) => panic!("{error}"),
    };
    let real = |value: &Value| match value {
        Value::Boolean(truth) => mlua::Value::Boolean(*truth),
        Value::Integer(integer) => mlua::Value::Integer(*integer),
        Value::Float(float) => mlua::Value::Number(*float),
        Value::String(text) => lua.create_string(text).map_or(mlua::Value::Nil, mlua::Value::String),
        _ => mlua::Value::Nil,
    };
    let base = simulator.base();
    for a in &values {
        for b in &values {
            let expected = equal.call::<bool>((real(a), real(b))).ok();
            simulator.set_value(base, a);
            simulator.set_value(base + 16, b);
            let found = call(&simulator, "value_equal", &[base, base + 16]);
            assert_eq!(Some(found == 1), expected, "{a:?} == {b:?}");
        }
    }
}
