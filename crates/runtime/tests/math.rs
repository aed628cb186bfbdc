//! The functions of the mathematical library that work on integers.

mod common;

use common::{Pair, Random, cases};
use moonhook_runtime::layout::{L_RANDOM0, L_RANDOM1, L_RANDOM2, L_RANDOM3};
use moonhook_runtime::simulate::Value;

fn values(random: &mut Random, most: usize) -> Vec<Value> {
    let count = random.below(most + 1);
    (0..count)
        .map(|_| {
            let integer = random.integer();
            if random.once_in(4) { random.value() } else { Value::Integer(integer) }
        })
        .collect()
}

#[test]
fn fuzz_one_number() {
    let pair = Pair::new();
    for name in ["math.abs", "math.ceil", "math.floor"] {
        // A float, a numeral, or what a numeral is after its conversion to a float.
        let floats =
            |pair: &Pair, args: &[Value]| pair.reference.call("tonumber", &args[..1]) != Ok(vec![Value::Nil]);
        pair.compare_random(name, 20_000, |random| values(random, 2), floats);
    }
    for name in ["math.tointeger", "math.type"] {
        pair.compare_random(name, 20_000, |random| values(random, 2), |_, _| false);
    }
}

#[test]
fn fuzz_two_numbers() {
    let pair = Pair::new();
    pair.compare_random("math.ult", 20_000, |random| values(random, 3), |_, _| false);
    // Strings are floats for fmod.
    let all_integers = |args: &[Value]| args.iter().take(2).all(|value| matches!(value, Value::Integer(_)));
    pair.compare_random("math.fmod", 20_000, |random| values(random, 3), |_, args| !all_integers(args));
}

/// The primitives compare integers, and have no result for other values.
#[test]
fn fuzz_max_and_min() {
    let pair = Pair::new();
    let mut random = Random::new("max");
    for _ in 0..cases(20_000) {
        let args = values(&mut random, 6);
        let name = random.word_of(&["max", "min"]);
        let is_integer = |value: &Value| matches!(value, Value::Integer(_));
        if args.iter().all(is_integer) {
            assert!(!pair.compare(&format!("math.{name}"), &args));
        } else {
            assert_eq!(
                pair.simulator.call_primitive(&format!("math_{name}"), &args),
                Ok(Vec::new()),
                "{args:?}"
            );
        }
    }
}

/// With the same seed, the same numbers come, and the same errors.
#[test]
fn fuzz_random() {
    let pair = Pair::new();
    let mut random = Random::new("random");
    // The state is forgotten with everything else before a call.
    let fields = [L_RANDOM0, L_RANDOM1, L_RANDOM2, L_RANDOM3];
    let call = |routine: &str, args: &[Value], state: &mut [i64; 4]| {
        pair.simulator.reset();
        fields.iter().zip(&*state).for_each(|(field, word)| pair.simulator.set_field(*field, *word));
        let result = pair.simulator.call_primitive(routine, args);
        *state = fields.map(|field| pair.simulator.field(field));
        result
    };
    let mut state = [0; 4];
    for _ in 0..cases(20_000).div_ceil(20) {
        let seed: Vec<Value> = (0..1 + random.below(2)).map(|_| Value::Integer(random.integer())).collect();
        let expected = pair.reference.call("math.randomseed", &seed);
        assert_eq!(call("math_randomseed", &seed, &mut state), expected);
        for _ in 0..20 {
            let args = match random.below(8) {
                0 => vec![0.into()],
                1 => values(&mut random, 3),
                _ => {
                    let (x, y) = (random.integer(), random.integer());
                    vec![Value::Integer(x.min(y)), Value::Integer(x.max(y))]
                }
            };
            let expected =
                pair.reference.call("math.random", &args).map_err(|message| common::without_name(&message));
            let found = call("math_random", &args, &mut state);
            match args.is_empty() {
                true => assert_eq!(found, Err(common::FLOATS.into())),
                false => assert_eq!(found, expected, "{args:?}"),
            }
        }
    }
}
