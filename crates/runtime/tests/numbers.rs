//! Numerals and digits: tonumber, tostring of integers, and where strings are taken as integers.

mod common;

use common::{Pair, Random, Shown};
use moonhook_runtime::layout::TAG_FLOAT;
use moonhook_runtime::simulate::Value;

#[test]
fn fuzz_tonumber() {
    let args = |random: &mut Random| {
        if random.once_in(100) {
            return Vec::new();
        }
        let text =
            if random.once_in(10) { random.integer().to_string().into_bytes() } else { random.numeral() };
        let mut args = vec![random.mostly(Value::String(text))];
        if random.once_in(6) {
            args.push(random.mostly(Value::Nil));
        }
        args
    };
    Pair::new().compare_random("tonumber", 20_000, args);
}

#[test]
fn fuzz_tonumber_with_base() {
    let args = |random: &mut Random| {
        let base = random.below(42) as i64 - 2;
        let digits: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCZ";
        let usual = &digits[..usize::try_from(base).unwrap_or(2).clamp(2, digits.len())];
        let count = random.below(30);
        let mut text = random.word_of(&["", "", "", " ", "-", "\t-", "+", "--"]).as_bytes().to_vec();
        text.extend((0..count).map(|_| *random.pick(usual)));
        if random.once_in(10) {
            text.push(*random.pick(b"z_ \0-"));
        }
        vec![random.mostly(Value::String(text)), random.mostly(Value::Integer(base))]
    };
    Pair::new().compare_random("tonumber", 20_000, args);
}

/// What text_to_integer says of a numeral is what luaL_checkinteger does with it (by way of math.tointeger and tonumber).
#[test]
fn fuzz_text_to_integer() {
    let pair = Pair::new();
    let mut random = Random::new("text_to_integer");
    for _ in 0..common::cases(20_000) {
        let text = random.numeral();
        check_integer(&pair, &text);
    }
}

fn check_integer(pair: &Pair, text: &[u8]) {
    let value = Value::String(text.to_vec());
    let integer = pair.reference.call("math.tointeger", std::slice::from_ref(&value));
    let number = pair.reference.call("tonumber", &[value]);
    pair.simulator.reset();
    let payload = pair.simulator.string(text);
    let out = pair.simulator.allocate(8);
    let kind = pair
        .simulator
        .call("text_to_integer", &[pair.simulator.state(), payload, out])
        .unwrap_or_else(|error| panic!("{error}"));
    let found = Ok(match kind {
        1 => vec![Value::Integer(pair.simulator.load(out, 8))],
        _ => vec![Value::Nil],
    });
    let shown = text.escape_ascii();
    assert_eq!(Shown(&found), Shown(&integer), "\"{shown}\"");
    assert_eq!(kind == 0, number == Ok(vec![Value::Nil]), "\"{shown}\"");
}

/// Numerals at the edges of rounding: halfway between two floats, or a little beside.
#[test]
fn fuzz_rounding_of_numerals() {
    let pair = Pair::new();
    let mut random = Random::new("rounding");
    for _ in 0..common::cases(20_000) {
        // An integer of 54 to 64 bits; or one with a fraction that is near 0, 1/2 or 1.
        let bits = 1 + random.below(64);
        let low = *random.pick(&[0, 1, 2, 3, 0x1ff, 0x200, 0x201, 0x3ff, 0x400, 0x401, 0x5ff, 0x600]);
        let whole = (random.word() >> (64 - bits) & !0x7ff) | low;
        let places = random.below(22);
        let fraction = match random.below(6) {
            0 => "0".repeat(places) + "1",
            1 => "9".repeat(places),
            2 => format!("5{}", "0".repeat(places)),
            3 => format!("5{}1", "0".repeat(places)),
            4 => format!("4{}", "9".repeat(places)),
            _ => random_power(&mut random, bits),
        };
        let sign = random.word_of(&["", "-"]);
        check_integer(&pair, format!("{sign}{whole}.{fraction}").as_bytes());
        let digits = fraction.len();
        check_integer(&pair, format!("{sign}{whole}{fraction}e-{digits}").as_bytes());
        check_integer(
            &pair,
            format!("{sign}0.000{whole}{fraction}e{}", whole.to_string().len() + 3).as_bytes(),
        );
        check_integer(&pair, format!("{sign}0x{:x}.{:x}p-{}", whole, low << 3, random.below(60)).as_bytes());
    }
}

/// The digits behind the point of 2^-n, for an n around the place where a float of so many bits ends; or of 1 - 2^-n.
fn random_power(random: &mut Random, bits: usize) -> String {
    let exponent = 54usize.saturating_sub(bits) + random.below(3);
    let mut numerator = if random.once_in(2) { 1u128 } else { (1 << exponent) - 1 };
    let mut digits = String::new();
    for _ in 0..exponent {
        numerator *= 10;
        digits += &(numerator >> exponent).to_string();
        numerator &= (1 << exponent) - 1;
    }
    let cut = if random.once_in(2) { digits.len() } else { random.below(digits.len() + 1) };
    digits[..cut].to_owned() + random.word_of(&["", "", "1", "0"])
}

/// Numerals and what is none, separated by bars.
const EDGES: &str = "9223372036854775807|9223372036854775808|-9223372036854775808|-9223372036854775809|\
    9223372036854775807.0|9223372036854774784.0|-9223372036854775808.0|-9223372036854776832|\
    -9223372036854776833|-9223372036854776832.0|-9223372036854776832.1|18446744073709551615|\
    18446744073709551616|1e18|1e19|9.2e18|0x7fffffffffffffff|0xffffffffffffffff|0x1ffffffffffffffff|\
    0x1p62|0x1p63|-0x1p63|0x1p64|0x.8p1|0x.1|0x8.|0x.|0x|0xp1|.|1.|.5|.e1|1e|1e+|\
    0e9999999999999999999999|1e9999999999999999999999|1e-9999999999999999999999|1e-400|4e-324|2e-324|\
    2.47e-324|2.48e-324|0.00e-500|0x1p-1074|0x1p-1075|0x1.0000000001p-1075|0x1p-99999999999999999999|\
    0x0p99999999999999999999|inf|nan|0x1.fffffffffffff8p0|0x1.fffffffffffff7p0|0.99999999999999994|\
    0.99999999999999995|0.999999999999999944488848768742172978818416595458984375| 0x10 |1 2|- 1|+-1|| |\
    1\0|4503599627370496.5|4503599627370497.5|9007199254740993|9007199254740993.0|9007199254740992.5|\
    1e308|123e-2|12300e-2|0.1e1|1e1|0x10e1|1_000|1,5|١";

#[test]
fn numerals_at_the_edges() {
    let pair = Pair::new();
    for text in EDGES.split('|') {
        check_integer(&pair, text.as_bytes());
        pair.compare("tonumber", &[text.into()]);
    }
}

#[test]
fn fuzz_integers_become_text() {
    let pair = Pair::new();
    let mut random = Random::new("integer_to_text");
    for _ in 0..common::cases(20_000) {
        let value = random.integer();
        pair.simulator.reset();
        let payload = pair.simulator.call("integer_to_text", &[pair.simulator.state(), value]);
        let text =
            payload.map(|payload| pair.simulator.text(payload)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(text, value.to_string().into_bytes());
    }
}

#[test]
fn fuzz_floats_become_text() {
    let pair = Pair::new();
    let mut random = Random::new("float_to_text");
    for _ in 0..common::cases(20_000) {
        let value = random.float();
        let expected = pair.reference.call("tostring", &[Value::Float(value)]);
        pair.simulator.reset();
        let args = [pair.simulator.state(), TAG_FLOAT, value.to_bits() as i64];
        let payload = pair.simulator.call("value_to_text", &args).unwrap_or_else(|error| panic!("{error}"));
        let found = Ok(vec![Value::String(pair.simulator.text(payload))]);
        assert_eq!(Shown(&found), Shown(&expected), "{value:e}");
    }
}

#[test]
fn values_become_text() {
    let pair = Pair::new();
    let text = |tag: i64, payload: i64| {
        let args = [pair.simulator.state(), tag, payload];
        let payload = pair.simulator.call("value_to_text", &args).unwrap_or_else(|error| panic!("{error}"));
        if payload == -1 {
            "other".into()
        } else {
            String::from_utf8_lossy(&pair.simulator.text(payload)).into_owned()
        }
    };
    let string = pair.simulator.string(b"abc");
    let table = [
        (0, 0, "nil"),
        (1, 0, "false"),
        (2, 0, "true"),
        (3, i64::MIN, "-9223372036854775808"),
        (5, string, "abc"),
    ];
    for (tag, payload, expected) in table {
        assert_eq!(text(tag, payload), expected);
    }
    for tag in [6, 7, 8, 9, 10] {
        assert_eq!(text(tag, 4096), "other");
    }
}

/// Arithmetic with numbers and numerals: those of integers are integers.
#[test]
fn fuzz_arithmetic() {
    let operators = [(6, "+"), (7, "-"), (8, "*"), (9, "%"), (10, "^"), (11, "/"), (12, "//")];
    let pair = Pair::new();
    let mut random = Random::new("arithmetic");
    for _ in 0..common::cases(20_000) {
        let (operation, operator) = *random.pick(&operators);
        let operands = [(); 2].map(|()| match random.below(5) {
            0 => Value::Integer(random.integer()),
            1 | 2 => Value::String(random.integer().to_string().into_bytes()),
            3 => random.value(),
            _ => Value::String(random.numeral()),
        });
        let code = format!("function(a, b) return a {operator} b end");
        let expected = pair.reference.call(&code, &operands);
        pair.simulator.reset();
        let [first, second, result] = [0, 16, 32].map(|offset| pair.simulator.base() + offset);
        pair.simulator.set_value(first, &operands[0]);
        pair.simulator.set_value(second, &operands[1]);
        let args = [pair.simulator.state(), operation, result, first, second];
        let numbers = operands.iter().all(|value| matches!(value, Value::Integer(_) | Value::Float(_)));
        let routine = if numbers { "arithmetic" } else { "string_arithmetic" };
        let status = pair.simulator.call(routine, &args).unwrap_or_else(|error| panic!("{error}"));
        let shown = format!("{:?} {operator}", Shown(&Ok(operands.to_vec())));
        match (status, expected) {
            (0, Ok(expected)) => {
                let found = Ok(vec![pair.simulator.value(result)]);
                let expected = Ok(expected);
                // C's pow is not exact in the last place.
                if operator != "^" || !common::nearly_same(&found, &expected) {
                    assert_eq!(Shown(&found), Shown(&expected), "{shown}");
                }
            }
            (1, Err(message)) => assert!(message.contains("attempt to"), "{shown}: {message}"),
            (-1, expected) => {
                let error = raised(&pair).unwrap_or_default();
                assert!(expected.is_err_and(|message| message.ends_with(&error)), "{shown}");
            }
            other => panic!("{shown}: {other:?}"),
        }
    }
}

/// The message of an error whose text is made later.
fn raised(pair: &Pair) -> Option<String> {
    let made = pair.simulator.call("finish_fault", &[pair.simulator.state()]);
    made.ok().and_then(|_| pair.simulator.error())
}
