//! The UTF-8 library against real Lua.

mod common;

use common::{Pair, Random};
use moonhook_runtime::simulate::Value;

/// UTF-8, with errors in some of the texts.
fn text(random: &mut Random) -> Value {
    let mut text = Vec::new();
    for _ in 0..random.below(14) {
        let bits = *random.pick(&[7, 7, 11, 16, 16, 21]);
        let code = random.below(1 << bits) as u32;
        let code = char::from_u32(code).unwrap_or('\u{10ffff}');
        text.extend(code.to_string().as_bytes());
    }
    if random.once_in(3) {
        for _ in 0..1 + random.below(3) {
            let at = random.below(text.len() + 1);
            match random.below(4) {
                0 if at < text.len() => drop(text.remove(at)),
                1 => {
                    let odd: &[&[u8]] = &[
                        b"\x80",
                        b"\xbf",
                        b"\xc0\x80",
                        b"\xe0\x80\x80",
                        b"\xed\xa0\x80",
                        b"\xed\xbf\xbf",
                        b"\xf4\x90\x80\x80",
                        b"\xf8\x88\x80\x80\x80",
                        b"\xfc\x84\x80\x80\x80\x80",
                        b"\xfd\xbf\xbf\xbf\xbf\xbf",
                        b"\xfe",
                        b"\xff",
                        b"\xf8\x80\x80\x80\x80",
                        b"\xc1\xbf",
                        b"\xc2",
                        b"\xe2\x82",
                        b"\0",
                    ];
                    let odd = *random.pick(odd);
                    text.splice(at..at, odd.iter().copied());
                }
                2 if at < text.len() => text[at] = random.word() as u8,
                _ => text.truncate(at),
            }
        }
    }
    Value::String(text)
}

fn position(random: &mut Random) -> Value {
    match random.below(5) {
        0 => Value::Nil,
        1 => Value::Integer(random.integer()),
        _ => Value::Integer(random.below(24) as i64 - 8),
    }
}

fn args(random: &mut Random, further: &[fn(&mut Random) -> Value]) -> Vec<Value> {
    let text = text(random);
    let mut args = vec![random.mostly(text)];
    for make in further {
        if random.once_in(5) {
            break;
        }
        let value = make(random);
        args.push(if random.once_in(30) { random.value() } else { value });
    }
    args
}

fn lax(random: &mut Random) -> Value {
    random.pick(&[Value::Nil, true.into(), false.into(), 0.into()]).clone()
}

#[test]
fn fuzz_len_and_codepoint() {
    let pair = Pair::new();
    for name in ["utf8.len", "utf8.codepoint"] {
        pair.compare_random(name, 20_000, |random| args(random, &[position, position, lax]));
    }
}

#[test]
fn fuzz_offset() {
    let count = |random: &mut Random| Value::Integer(random.below(20) as i64 - 8);
    let args = |random: &mut Random| args(random, &[count, position]);
    Pair::new().compare_random("utf8.offset", 20_000, args);
}

#[test]
fn fuzz_char() {
    let args = |random: &mut Random| {
        let count = random.below(6);
        (0..count)
            .map(|_| {
                let bits = random.below(33);
                let code = random.below(1 << bits) as i64;
                random.mostly(Value::Integer(code))
            })
            .collect()
    };
    Pair::new().compare_random("utf8.char", 20_000, args);
}

/// The iterator: every step of utf8.codes as real Lua does it.
#[test]
fn fuzz_codes() {
    let pair = Pair::new();
    let mut random = Random::new("codes");
    for _ in 0..common::cases(20_000) {
        let (text, lax) = (text(&mut random), random.once_in(2));
        assert_eq!(steps(&pair, &text, lax), reference_steps(&pair, &text, lax), "{text:?}");
    }
}

type Steps = (Vec<(i64, i64)>, Option<String>);

fn steps(pair: &Pair, text: &Value, lax: bool) -> Steps {
    let simulator = &pair.simulator;
    simulator.reset();
    let mut found = Vec::new();
    if let Err(message) = simulator.call_primitive("utf8_codes_check", std::slice::from_ref(text)) {
        return (found, Some(message.replace(" to '?'", "")));
    }
    let mut position = 0;
    loop {
        match simulator
            .call_primitive("utf8_codes_next", &[text.clone(), position.into(), lax.into()])
            .as_deref()
        {
            Ok([Value::Integer(at), Value::Integer(code)]) => {
                found.push((*at, *code));
                position = *at;
            }
            Ok(_) => return (found, None),
            Err(message) => return (found, Some(message.clone())),
        }
    }
}

fn reference_steps(pair: &Pair, text: &Value, lax: bool) -> Steps {
    let function = "function(text, lax)
        local found = {}
        local good, message = pcall(function()
            for at, code in utf8.codes(text, lax) do found[#found + 1] = at; found[#found + 1] = code end
        end)
        return good or message:gsub('^[^ ]*: ', ''):gsub(\" to '[a-z.]*'\", ''), table.unpack(found)
    end";
    let results =
        pair.reference.call(function, &[text.clone(), lax.into()]).unwrap_or_else(|error| panic!("{error}"));
    let numbers: Vec<i64> = results[1..]
        .iter()
        .map(|value| if let Value::Integer(value) = value { *value } else { -1 })
        .collect();
    let message = match &results[0] {
        Value::String(message) => Some(String::from_utf8_lossy(message).into_owned()),
        _ => None,
    };
    (numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect(), message)
}
