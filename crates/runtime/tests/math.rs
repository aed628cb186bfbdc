//! The functions of the mathematical library.

mod common;

use common::{Pair, Random, Shown, cases, nearly_same};
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
    let names = ["abs", "ceil", "floor", "sqrt", "deg", "rad", "modf", "frexp", "tointeger", "type"];
    for name in names.map(|name| format!("math.{name}")) {
        pair.compare_random(&name, 20_000, |random| values(random, 2));
    }
}

#[test]
fn fuzz_two_numbers() {
    let pair = Pair::new();
    pair.compare_random("math.ult", 20_000, |random| values(random, 3));
    pair.compare_random("math.fmod", 20_000, |random| values(random, 3));
    pair.compare_random("math.ldexp", 20_000, |random| {
        let exponent = Value::Integer(random.below(2400) as i64 - 1200);
        vec![Value::Float(random.float()), random.mostly(exponent)]
    });
}

/// Compares a function that C's library does not compute exactly in the last place.
fn compare_nearly(pair: &Pair, name: &str, args: &[Value]) {
    let [found, expected] = pair.outcomes(name, args);
    if !nearly_same(&found, &expected) {
        assert_eq!(Shown(&found), Shown(&expected), "{name}{:?}", Shown(&Ok(args.to_vec())));
    }
}

#[test]
fn fuzz_elementary_functions() {
    let pair = Pair::new();
    for name in ["exp", "log", "sin", "cos", "tan", "asin", "acos", "atan"] {
        let name = format!("math.{name}");
        let mut random = Random::new(&name);
        (0..cases(3_000)).for_each(|_| compare_nearly(&pair, &name, &values(&mut random, 3)));
    }
}

/// Zeros, infinities, NaN and the edges of what functions are defined for: bit for bit, signs of zeros and NaNs included.
#[test]
fn special_cases_of_elementary_functions() {
    let pair = Pair::new();
    let mut floats = vec![0.0, 1.0, 2.0, 0.5, 3.0, 10.0, 1.5, 1e300, 5e-324, 1e-310, f64::INFINITY, f64::NAN];
    floats.extend([
        0.999,
        1.0 + f64::EPSILON,
        4_503_599_627_370_497.0,
        9_007_199_254_740_991.0,
        1e18,
        710.0,
        746.0,
    ]);
    floats.extend(floats.clone().iter().map(|float: &f64| -float));
    let power = |args: &[Value]| {
        let expected = pair.reference.call("function(x, y) return x ^ y end", args);
        let [Value::Float(x), Value::Float(y)] = args else { return };
        pair.simulator.reset();
        let words = [pair.simulator.state(), x.to_bits() as i64, y.to_bits() as i64];
        let found = pair.simulator.call("float_power", &words).unwrap_or_else(|error| panic!("{error}"));
        let found = Ok(vec![Value::Float(f64::from_bits(found as u64))]);
        // NaNs of two operands: which of them remains is the compiler's choice in C.
        let either = x.is_nan() && y.is_nan();
        if !either && !nearly_same(&found, &expected) {
            assert_eq!(Shown(&found), Shown(&expected), "{x:e} ^ {y:e}");
        }
    };
    for first in &floats {
        for name in ["exp", "log", "sin", "cos", "tan", "asin", "acos", "atan"] {
            compare_nearly(&pair, &format!("math.{name}"), &[Value::Float(*first)]);
        }
        for second in &floats {
            let args = [Value::Float(*first), Value::Float(*second)];
            power(&args);
            if !(first.is_nan() && second.is_nan()) {
                compare_nearly(&pair, "math.atan", &args);
                compare_nearly(&pair, "math.log", &args);
            }
        }
    }
}

/// The primitives compare numbers, and have no result for other values.
#[test]
fn fuzz_max_and_min() {
    let pair = Pair::new();
    let mut random = Random::new("max");
    for _ in 0..cases(20_000) {
        let args = values(&mut random, 6);
        let name = random.word_of(&["max", "min"]);
        let is_number = |value: &Value| matches!(value, Value::Integer(_) | Value::Float(_));
        if args.iter().all(is_number) {
            pair.compare(&format!("math.{name}"), &args);
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
            assert_eq!(found, expected, "{args:?}");
        }
    }
}
