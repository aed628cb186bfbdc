//! Powers, exponentials, logarithms and functions of angles: against results of high precision, and against the C library's.

#[path = "../common/mod.rs"]
mod common;

use common::{Random, cases};
use moonhook_runtime::simulate::Simulator;

fn simulator() -> Simulator {
    Simulator::new(1 << 12).unwrap_or_else(|error| panic!("{error}"))
}

/// Calls a routine whose first parameter is the state.
fn call(simulator: &Simulator, routine: &str, args: &[u64]) -> u64 {
    let mut all = vec![simulator.state()];
    all.extend(args.iter().map(|arg| *arg as i64));
    simulator.call(routine, &all).unwrap_or_else(|error| panic!("{routine} {args:x?}: {error}")) as u64
}

/// The vectors of scripts/float_vectors.py: each result is the nearest float.
#[test]
fn hard_cases_are_rounded_to_the_nearest() {
    let simulator = simulator();
    let mut bad = Vec::new();
    for line in include_str!("vectors.txt").lines() {
        let (routine, words) = line.split_once(' ').unwrap_or_default();
        let words: Vec<u64> =
            words.split(' ').filter_map(|word| u64::from_str_radix(word, 16).ok()).collect();
        let (expected, args) = words.split_last().unwrap_or_else(|| panic!("{line}"));
        let found = call(&simulator, routine, args);
        if found != *expected {
            bad.push(format!("{line}: {found:x}"));
        }
    }
    assert!(bad.is_empty(), "{} results:\n{}", bad.len(), bad.join("\n"));
}

/// A float of any exponent from 2^low on and up to 2^high, with either sign; few bits or all.
fn float(random: &mut Random, low: i32, high: i32) -> f64 {
    let exponent = low + random.below((high - low + 1) as usize) as i32;
    let keep = if random.once_in(4) { u64::MAX << random.below(52) } else { u64::MAX };
    let bits = (1023 << 52 | random.word() >> 12) & keep | random.word() & 1 << 63;
    f64::from_bits(bits) * 2f64.powi(exponent.max(-1022)) * 2f64.powi(exponent.min(-1022) + 1022)
}

/// How many floats lie between two that have the same sign.
fn distance(x: u64, y: u64) -> u64 {
    x.abs_diff(y)
}

/// Compares a routine with a function of the C library at random floats: of `count` results so many are not the same. None is off by more
/// than a unit of the last place.
fn differences(
    routine: &str,
    rest: &[u64],
    count: usize,
    arguments: impl Fn(&mut Random) -> Vec<f64>,
    expected: impl Fn(&[f64]) -> f64,
) -> usize {
    let simulator = simulator();
    let mut random = Random::new(&format!("{routine} {rest:?}"));
    let mut differ = 0;
    for _ in 0..count {
        let floats = arguments(&mut random);
        let args: Vec<u64> = floats.iter().map(|float| float.to_bits()).chain(rest.iter().copied()).collect();
        let found = call(&simulator, routine, &args);
        let expected = expected(&floats);
        if expected.is_nan() {
            assert!(f64::from_bits(found).is_nan(), "{routine} {floats:?}: {:e}", f64::from_bits(found));
        } else {
            let distance = distance(found, expected.to_bits());
            assert!(distance < 2, "{routine} {args:x?}: {found:#x}, not {:#x}", expected.to_bits());
            differ += distance as usize;
        }
    }
    println!("{routine} {rest:?}: {differ} of {count} differ");
    differ
}

/// One function of one float, which may differ at so many of a thousand places.
fn compare(routine: &str, rest: &[u64], range: (i32, i32), thousandths: usize, expected: fn(f64) -> f64) {
    let count = cases(4_000);
    let arguments = |random: &mut Random| vec![float(random, range.0, range.1)];
    let differ = differences(routine, rest, count, arguments, |floats| expected(floats[0]));
    assert!(differ <= (count * thousandths).div_ceil(1000), "{routine}: {differ} of {count}");
}

#[test]
fn powers() {
    let count = cases(40_000);
    let arguments = |random: &mut Random| {
        let base = if random.once_in(3) { float(random, -1074, 1023) } else { float(random, -8, 8) };
        // Most results are to be floats.
        let most = 10 - (base.abs().log2().abs() + 1e-9).log2() as i32;
        let exponent = match random.below(4) {
            0 => random.below(80) as f64 - 40.0,
            1 => float(random, -20, most + 1),
            _ => float(random, most - 3, most),
        };
        vec![if random.once_in(4) { base } else { base.abs() }, exponent]
    };
    let differ = differences("float_power", &[], count, arguments, |floats| floats[0].powf(floats[1]));
    assert!(differ <= count.div_ceil(1000), "{differ} of {count}");
}

#[test]
fn exponentials_and_logarithms() {
    compare("float_exp", &[], (-60, 10), 20, f64::exp);
    compare("float_log", &[0], (-1074, 1023), 20, |x| x.abs().ln() + 0.0 * x.sqrt());
    compare("float_log", &[2], (-1074, 1023), 20, |x| x.abs().log2() + 0.0 * x.sqrt());
    compare("float_log", &[10], (-1074, 1023), 300, |x| x.abs().log10() + 0.0 * x.sqrt());
}

#[test]
fn functions_of_angles() {
    compare("float_sine", &[0], (-40, 1023), 20, f64::sin);
    compare("float_sine", &[1], (-40, 1023), 20, f64::cos);
    compare("float_sine", &[2], (-40, 1023), 20, f64::tan);
    compare("float_sine", &[0], (-3, 5), 20, f64::sin);
    compare("float_sine", &[1], (-3, 5), 20, f64::cos);
    compare("float_sine", &[2], (-3, 5), 20, f64::tan);
}

#[test]
fn angles_of_sines_cosines_and_tangents() {
    compare("float_arcsine", &[0], (-30, 0), 20, f64::asin);
    compare("float_arcsine", &[1], (-30, 0), 20, f64::acos);
    compare("float_arctangent", &[1f64.to_bits()], (-40, 60), 20, f64::atan);
    let count = cases(4_000);
    let arguments = |random: &mut Random| vec![float(random, -9, 9), float(random, -9, 9)];
    differences("float_arctangent", &[], count, arguments, |floats| floats[0].atan2(floats[1]));
}
