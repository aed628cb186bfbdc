//! Routines in the kernel and in the simulator: from the same memory the same memory and the same result.

use crate::common::{Random, cases};
use crate::machine::{Machine, available};
use moonhook_runtime::layout::*;
use moonhook_runtime::routine_names;
use moonhook_runtime::simulate::{Reference, Simulator, Value};

const HEAP: usize = 1 << 14;

/// A pattern or a format, which random texts hardly ever are.
fn special(random: &mut Random) -> Value {
    const TEXTS: &[&str] = &[
        "%d+",
        "(%a)(.-)%1",
        "^[^%s]*$",
        "[a-f]-b",
        "%f[%w]%w+",
        "(()a",
        "%bxy",
        "%",
        "%5d|%-8s|%q",
        "%x %%",
        "%s %i",
        "i4 z",
        ">I2 s1 b",
        "!8 j",
        "héllo",
        "€uro 𝄞",
    ];
    Value::from(random.word_of(TEXTS))
}

/// The library's functions as routines: their parameters are the state, the arguments' address and their number.
fn primitives() -> Vec<&'static str> {
    let reference = Reference::new();
    let mut names = routine_names();
    names.retain(|name| match name.split_once('_') {
        Some(("base", function)) => reference.has(function),
        // The arguments of these are checked by their callers, which are Lua.
        Some(("table", _)) => false,
        Some((library, function)) => reference.has(&format!("{library}.{function}")),
        None => false,
    });
    names
}

/// A table with values of some kinds, made by the routines.
fn table(machine: &Machine<'_>, simulator: &Simulator, random: &mut Random) -> Value {
    let (key, value) = (simulator.base() + 0x1000, simulator.base() + 0x1010);
    let table = machine.compare("table_new", &[simulator.state(), random.below(4) as i64, 0]);
    for index in 1..=random.below(12) as i64 {
        let next = if random.once_in(4) { random.value() } else { Value::from(index) };
        simulator.set_value(key, &next);
        simulator.set_value(value, &random.value());
        if !matches!(next, Value::Nil | Value::Float(_)) {
            machine.compare("table_set", &[simulator.state(), table, key, value]);
        }
    }
    Value::Raw { tag: TAG_TABLE, payload: table }
}

#[test]
fn memory_and_numbers() {
    if !available() {
        return;
    }
    let simulator = Simulator::new(HEAP).unwrap();
    let state = simulator.state();
    let machine = Machine::new(
        &simulator,
        &[
            "alloc",
            "copy_bytes",
            "text_to_integer",
            "text_compare",
            "text_join",
            "value_equal",
            "finish_fault",
        ],
    );
    for bytes in [1, 8, 0, -1, 100, i64::MAX, 1 << 20] {
        machine.compare("alloc", &[state, bytes]);
    }
    let out = simulator.field(L_SCRATCH);
    for text in ["0", " -12 ", "0x7fffffffffffffffff", "1e3", "1.5", "x", "9223372036854775808", ""] {
        let text = simulator.string(text.as_bytes());
        machine.compare("text_to_integer", &[text, out]);
        machine.compare("copy_bytes", &[out, text & 0xffff_ffff, text >> 32]);
        let other = machine.compare("text_join", &[state, text, simulator.string(b"12")]);
        machine.compare("text_compare", &[text, other]);
        machine.compare("text_compare", &[text, text]);
    }
    simulator.set_field(L_HEAP, simulator.size() as i64 - 8);
    assert_eq!(machine.compare("text_join", &[state, out | 5 << 32, out | 9 << 32]), 0);
}

#[test]
fn fuzz_primitives() {
    if !available() {
        return;
    }
    let simulator = Simulator::new(HEAP).unwrap();
    let primitives = primitives();
    let mut wanted = primitives.clone();
    wanted.extend(["finish_fault", "table_new", "table_set"]);
    let machine = Machine::new(&simulator, &wanted);
    let (mut calls, mut errors) = (0, 0);
    for routine in &primitives {
        let mut random = Random::new(routine);
        for _ in 0..cases(100) {
            simulator.reset();
            let count = random.below(5);
            let mut args = Vec::new();
            for index in 0..count {
                args.push(match (index, random.below(8)) {
                    (0, 0) => table(&machine, &simulator, &mut random),
                    (0, 1..=4) => Value::String(random.text()),
                    (_, 1..=2) => special(&mut random),
                    (_, 3..=5) => Value::Integer(random.integer()),
                    _ => random.value(),
                });
            }
            simulator.set_field(L_BUDGET, if random.once_in(8) { 3 } else { 10_000 });
            simulator.put_arguments(&args);
            let results = machine.compare(routine, &[simulator.state(), simulator.base(), count as i64]);
            calls += 1;
            if results == FAIL {
                machine.compare("finish_fault", &[simulator.state()]);
                errors += 1;
            }
        }
    }
    println!("{} routines, {calls} calls, {errors} errors", primitives.len());
    assert!(primitives.len() > 20 && errors > 0 && errors < calls);
}
