//! string.format against real Lua.

mod common;

use common::{Pair, Random};
use moonhook_runtime::layout::TAG_TABLE;
use moonhook_runtime::simulate::Value;

/// A conversion, mostly a good one.
fn conversion(random: &mut Random, letters: &str) -> String {
    let mut text = "%".to_owned();
    for _ in 0..*random.pick(&[0, 0, 0, 1, 1, 2, 5]) {
        text.push(*random.pick(&['-', '+', ' ', '#', '0', '-', '0']));
    }
    match random.below(12) {
        0..=3 => text += &random.below(30).to_string(),
        4 => text += &random.below(130).to_string(),
        _ => {}
    }
    match random.below(12) {
        0..=2 => text += &format!(".{}", random.below(25)),
        3 => text += random.word_of(&[".", ".00", ".7", ".99", ".100", ".-1", "."]),
        _ => {}
    }
    if random.once_in(100) {
        text += random.word_of(&["00000000000000000000", "....", "  -- ", "*", "l", "\0"]);
    }
    text.push(*random.pick(&letters.chars().collect::<Vec<_>>()));
    text
}

fn argument(random: &mut Random, letter: char) -> Value {
    let value = match letter {
        'c' => Value::Integer(random.below(256) as i64),
        's' | 'q' if random.once_in(4) => random.value(),
        's' | 'q' => Value::String(random.text()),
        'p' => Value::Integer(1),
        'a' | 'A' | 'e' | 'E' | 'f' | 'g' | 'G' if !random.once_in(4) => Value::Float(random.float()),
        _ => Value::Integer(random.integer()),
    };
    random.mostly(value)
}

fn arguments(random: &mut Random, letters: &str) -> Vec<Value> {
    let mut format = Vec::new();
    let mut values = Vec::new();
    for _ in 0..random.below(4) {
        if random.once_in(2) {
            format.extend(random.text());
        }
        let conversion = conversion(random, letters);
        let letter = conversion.chars().last().unwrap_or('%');
        format.extend(conversion.as_bytes());
        values.push(argument(random, letter));
    }
    match random.below(40) {
        0 => format.push(b'%'),
        1 => format.extend(b"%%"),
        2 => drop(values.pop()),
        _ => {}
    }
    // A literal percent sign in front of a random text is a conversion too.
    values.insert(0, Value::String(format));
    values
}

fn fuzz(name: &str, letters: &str) {
    let pair = Pair::new();
    let mut random = Random::new(name);
    for _ in 0..common::cases(20_000) {
        let args = arguments(&mut random, letters);
        let pointer = |args: &[Value]| matches!(&args[0], Value::String(format) if format.contains(&b'p'));
        // Addresses are not the same in both.
        if pointer(&args) && args.iter().any(|value| matches!(value, Value::String(_))) && args.len() > 1 {
            let args: Vec<Value> =
                args.iter().take(1).cloned().chain(args.iter().skip(1).map(|_| 7.into())).collect();
            pair.compare("string.format", &args);
        } else {
            pair.compare("string.format", &args);
        }
    }
}

#[test]
fn fuzz_integers() {
    fuzz("integers", "ddddixXoucc");
}

#[test]
fn fuzz_strings() {
    fuzz("strings", "sssqqs");
}

#[test]
fn fuzz_floats() {
    fuzz("floats", "ffeEgGggfaA");
}

#[test]
fn fuzz_everything() {
    fuzz("everything", "dixXoucsqpfgeEGaA%%snzy\u{e9}F");
}

#[test]
fn cases_by_hand() {
    let pair = Pair::new();
    let table: &[(&str, &[Value])] = &[
        ("%", &[]),
        ("%", &[1.into()]),
        ("%d", &[]),
        ("%d", &["x".into()]),
        ("%d", &[Value::Nil]),
        ("%d", &["1.5".into()]),
        ("%d", &["0x10".into()]),
        ("%y", &[1.into()]),
        ("%10000d", &[1.into()]),
        ("%010d|%-10d|%+d|% d", &[1.into(), 2.into(), 3.into(), 4.into()]),
        ("%.0d|%5.0d|%#.0o|%#o|%#x", &[0.into(), 0.into(), 0.into(), 0.into(), 0.into()]),
        (
            "%#o|%#5o|%#05o|%#.5o|%#x|%#010X",
            &[8.into(), 8.into(), 8.into(), 8.into(), 255.into(), 255.into()],
        ),
        ("%x|%o|%X|%u", &[(-1).into(), (-1).into(), i64::MIN.into(), (-1).into()]),
        ("%d|%i|%5.3d|%-5.3d|", &[i64::MIN.into(), i64::MAX.into(), (-7).into(), 7.into()]),
        ("%c%c%3c|%-3c|", &[0.into(), 256.into(), 65.into(), 66.into()]),
        ("%+x", &[1.into()]),
        ("%#d", &[1.into()]),
        ("%05c", &[1.into()]),
        ("%.3c", &[1.into()]),
        ("%5q", &["x".into()]),
        ("%q|%q|%q|%q", &[i64::MIN.into(), i64::MAX.into(), Value::Nil, true.into()]),
        ("%q", &["a\n\r\0b\x001\t9\"\\\u{7f}\u{e9}".into()]),
        ("%s|%s|%s|%s", &["a\0b".into(), 12.into(), Value::Nil, false.into()]),
        ("%5s|%-5s|%.1s|%5.1s|%.0s", &["ab".into(), "ab".into(), "ab".into(), "ab".into(), "ab".into()]),
        ("%5s", &["a\0b".into()]),
        ("%05s", &["x".into()]),
        ("%20s", &[Value::String(vec![b'x'; 200])]),
        ("%.99s", &[Value::String(vec![b'x'; 200])]),
        ("%p|%5p|%-8p|", &[1.into(), Value::Nil, true.into()]),
        ("%.3p", &[1.into()]),
        (
            "%f|%.0f|%#.0f|%10.2f|%-10.2f|%+.1f|%010.1f",
            &[1.into(), 2.into(), 3.into(), 4.into(), 5.into(), 6.into(), (-7).into()],
        ),
        (
            "%f|%f|%f|%f",
            &[i64::MAX.into(), i64::MIN.into(), ((1i64 << 53) + 1).into(), ((1i64 << 53) + 3).into()],
        ),
        (
            "%g|%g|%g|%.3g|%.3g|%.3g",
            &[0.into(), 100_000.into(), 1_000_000.into(), 1235.into(), 1225.into(), 99_950.into()],
        ),
        ("%#g|%#.3g|%#.0g|%.0g|%g", &[1.into(), 1000.into(), 5.into(), 25.into(), i64::MAX.into()]),
        ("%e|%.0e|%#.0e|%.25e|%E", &[0.into(), 15.into(), 25.into(), 123_456_789.into(), (-1000).into()]),
        ("%F", &[1.into()]),
        ("%a", &["x".into()]),
        ("%1.1.1a", &["x".into()]),
        ("%.100f", &[1.into()]),
        ("%f", &["x".into()]),
        ("%e", &["12".into()]),
    ];
    for (format, values) in table {
        let args: Vec<Value> = std::iter::once((*format).into()).chain(values.iter().cloned()).collect();
        pair.compare("string.format", &args);
    }
}

/// What tostring must convert is pointed out by its number.
#[test]
fn values_with_metatables_are_left_to_tostring() {
    let pair = Pair::new();
    let table = Value::Raw { tag: TAG_TABLE, payload: pair.simulator.allocate(96) };
    let args = ["%d %s %q".into(), 1.into(), table.clone(), "x".into()];
    assert_eq!(pair.simulator.call_primitive("string_format", &args), Ok(vec![Value::Nil, 3.into()]));
    let args = ["%p".into(), table.clone()];
    let Ok(found) = pair.simulator.call_primitive("string_format", &args) else { panic!("%p") };
    let Value::Raw { payload, .. } = table else { panic!("table") };
    assert_eq!(found, [Value::from(format!("{payload:#x}").as_str())]);
    let args = ["%q".into(), table];
    let found = pair.simulator.call_primitive("string_format", &args);
    assert_eq!(found, Err("bad argument #2 to '?' (value has no literal form)".into()));
}

#[test]
fn memory_runs_out() {
    let pair = Pair::new();
    pair.simulator.set_field(moonhook_runtime::layout::L_HEAP_END, pair.simulator.field(8) + 600);
    let args: [Value; 7] = ["%99d%99d%99d%99d%99d%99d", "1", "1", "1", "1", "1", "1"].map(Value::from);
    assert_eq!(pair.simulator.call_primitive("string_format", &args), Err("not enough memory".into()));
}
