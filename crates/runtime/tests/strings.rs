//! The string library, without patterns, against real Lua.

mod common;

use common::{Pair, Random};
use moonhook_runtime::simulate::Value;

/// A text and further arguments, each there more often than not.
fn text_and<const N: usize>(random: &mut Random, further: [fn(&mut Random) -> Value; N]) -> Vec<Value> {
    if random.once_in(50) {
        return Vec::new();
    }
    let text = Value::String(random.text());
    let mut args = vec![random.mostly(text)];
    for make in further {
        if random.once_in(6) {
            break;
        }
        let value = make(random);
        args.push(random.mostly(value));
    }
    args
}

fn position(random: &mut Random) -> Value {
    if random.once_in(4) { Value::Nil } else { Value::Integer(random.integer()) }
}

#[test]
fn fuzz_lengths_and_cases() {
    let pair = Pair::new();
    for name in ["string.len", "string.lower", "string.upper", "string.reverse"] {
        pair.compare_random(name, 20_000, |random| text_and(random, []));
    }
}

#[test]
fn fuzz_sub_and_byte() {
    let pair = Pair::new();
    for name in ["string.sub", "string.byte"] {
        pair.compare_random(name, 20_000, |random| text_and(random, [position, position]));
    }
}

#[test]
fn fuzz_char() {
    let args = |random: &mut Random| {
        let count = random.below(12);
        let byte = |random: &mut Random| Value::Integer(random.below(256) as i64);
        (0..count)
            .map(|_| {
                let byte = byte(random);
                random.mostly(byte)
            })
            .collect()
    };
    Pair::new().compare_random("string.char", 20_000, args);
}

#[test]
fn fuzz_rep() {
    let times = |random: &mut Random| Value::Integer(random.below(30) as i64 - 3);
    let separator = |random: &mut Random| {
        let text = random.text();
        Value::String(text.into_iter().take(10).collect())
    };
    let pair = Pair::new();
    let mut random = Random::new("rep");
    for _ in 0..common::cases(20_000) {
        let args = text_and(&mut random, [times, separator]);
        if !is_beyond_memory(&pair, &args) {
            pair.compare("string.rep", &args);
        }
    }
}

/// Whether the result is too large for the memory of a test, but not for a string as such.
fn is_beyond_memory(pair: &Pair, args: &[Value]) -> bool {
    let length = |index: usize| match pair
        .reference
        .call("tostring", args.get(index..index + 1).unwrap_or_default())
    {
        Ok(text) => {
            text.first().map_or(0, |text| if let Value::String(text) = text { text.len() } else { 0 })
        }
        Err(_) => 0,
    };
    let times = match pair.reference.call("math.tointeger", args.get(1..2).unwrap_or_default()).as_deref() {
        Ok([Value::Integer(times)]) => *times as f64,
        _ => 0.0,
    };
    let size = (length(0) + length(2)) as f64 * times;
    (500_000.0..9.3e18).contains(&size)
}

#[test]
fn repetition_beyond_memory_is_an_error() {
    let pair = Pair::new();
    let call = |times: i64| pair.simulator.call_primitive("string_rep", &["ab".into(), times.into()]);
    assert_eq!(call(1 << 62), Err("resulting string too large".into()));
    assert_eq!(call(1 << 40), Err("not enough memory".into()));
    assert_eq!(call(3), Ok(vec!["ababab".into()]));
}

/// Concatenates on both sides; values that cannot be are pointed out.
#[test]
fn fuzz_concat() {
    let pair = Pair::new();
    let mut random = Random::new("concat");
    for _ in 0..common::cases(20_000) {
        pair.simulator.reset();
        let count = 1 + random.below(6);
        let mut expected = Vec::new();
        let mut wrong = 0;
        for index in 0..count {
            let value = match random.below(30) {
                0 => Value::Nil,
                1 => Value::Boolean(true),
                2..=11 => Value::Integer(random.integer()),
                12 => "".into(),
                _ => Value::String(random.text()),
            };
            pair.simulator.set_value(pair.simulator.base() + 16 * index as i64, &value);
            match value {
                Value::Integer(value) => expected.extend(value.to_string().into_bytes()),
                Value::String(text) => expected.extend(text),
                _ => wrong = index as i64 + 1,
            }
        }
        let status = concat(&pair, count as i64);
        if wrong != 0 {
            assert_eq!(status, -2 - wrong);
        } else {
            assert_eq!(status, 1);
            assert_eq!(pair.simulator.value(pair.simulator.base()), Value::String(expected));
        }
    }
}

fn concat(pair: &Pair, count: i64) -> i64 {
    let args = [pair.simulator.state(), pair.simulator.base(), count];
    pair.simulator.call("text_concat", &args).unwrap_or_else(|error| panic!("{error}"))
}

/// Texts that grow out of one another keep what they were, and one that grows in a loop takes memory in proportion to its length.
#[test]
fn fuzz_texts_grow() {
    let pair = Pair::new();
    let base = pair.simulator.base();
    let mut random = Random::new("grow");
    for _ in 0..cases_of_many() {
        pair.simulator.reset();
        let mut texts: Vec<(i64, Vec<u8>)> = vec![(pair.simulator.intern(b"x"), b"x".to_vec())];
        for _ in 0..40 {
            let (first, first_text) = random.pick(&texts).clone();
            let recent = texts.len().saturating_sub(3);
            let (second, second_text) = if random.once_in(2) {
                random.pick(&texts[recent..]).clone()
            } else {
                let text = random.text();
                (pair.simulator.string(&text), text)
            };
            for (index, payload) in [first, second].into_iter().enumerate() {
                pair.simulator.store(base + 16 * index as i64, 8, 5);
                pair.simulator.store(base + 16 * index as i64 + 8, 8, payload);
            }
            if first_text.len() + second_text.len() > 3000 {
                continue;
            }
            assert_eq!(concat(&pair, 2), 1);
            texts.push((pair.simulator.load(base + 8, 8), [first_text, second_text].concat()));
            for (payload, text) in &texts {
                assert_eq!(&pair.simulator.text(*payload), text);
            }
        }
    }
}

fn cases_of_many() -> usize {
    common::cases(4000).div_ceil(40)
}

#[test]
fn growing_takes_memory_in_proportion() {
    let pair = Pair::new();
    let (base, state) = (pair.simulator.base(), pair.simulator.state());
    let heap = || pair.simulator.load(state + moonhook_runtime::layout::L_HEAP, 8);
    let start = heap();
    let mut text = pair.simulator.intern(b"");
    for turn in 0..2000 {
        pair.simulator.store(base, 8, 5);
        pair.simulator.store(base + 8, 8, text);
        pair.simulator.set_value(base + 16, &Value::Integer(turn));
        pair.simulator.set_value(base + 32, &",".into());
        assert_eq!(concat(&pair, 3), 1);
        text = pair.simulator.load(base + 8, 8);
    }
    let length = text >> 32;
    assert_eq!(length, 10 * 2 + 90 * 3 + 900 * 4 + 1000 * 5);
    // The commas of the test take 8 bytes each.
    assert!(heap() - start < 4 * length + 2000 * 8 + 1000, "{} bytes for {length}", heap() - start);
}
