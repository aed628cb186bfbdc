//! string.pack, string.packsize and string.unpack against real Lua.

mod common;

use common::{Pair, Random};
use moonhook_runtime::simulate::Value;

/// A format, mostly a good one, and the kinds of values that it takes: i, s, f.
fn format(random: &mut Random) -> (String, Vec<char>) {
    let mut text = String::new();
    let mut kinds = Vec::new();
    for _ in 0..random.below(7) {
        let size = match random.below(30) {
            0 => 17 + random.below(3),
            1 => 0,
            2..=8 => 9 + random.below(8),
            _ => 1 + random.below(8),
        };
        let option = match random.below(22) {
            0..=3 => random.word_of(&["<", ">", "=", "!", " "]).to_owned(),
            4 => format!("!{}", 1 << random.below(4)),
            5 => format!("!{size}"),
            6..=8 => random.word_of(&["b", "B", "h", "H", "l", "L", "j", "J", "T", "i", "I"]).to_owned(),
            9..=12 => format!("{}{size}", random.word_of(&["i", "I"])),
            13 => format!("s{}", 1 + size % 4),
            14 => random.word_of(&["s", "z"]).to_owned(),
            15 | 16 => format!("c{}", random.below(40)),
            17 => "x".to_owned(),
            18 => format!(
                "X{}",
                random.word_of(&["i4", "j", "h", "i3", "s2", "c", "c4", "x", "b", "", "<", "X", "z", "!8"])
            ),
            19 if random.once_in(3) => random.word_of(&["f", "d", "n"]).to_owned(),
            20 if random.once_in(4) => random.word_of(&["c", "i99999999999", "y", "\0", "(", "é"]).to_owned(),
            _ => "i4".to_owned(),
        };
        let kind = match option.as_bytes().first() {
            Some(b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'j' | b'J' | b'T' | b'i' | b'I') => Some('i'),
            Some(b's' | b'z' | b'c') => Some('s'),
            Some(b'f' | b'd' | b'n') => Some('f'),
            _ => None,
        };
        kinds.extend(kind);
        text += &option;
    }
    (text, kinds)
}

fn packed_value(random: &mut Random, kind: char) -> Value {
    let value = match kind {
        'i' if random.once_in(2) => Value::Integer(random.below(256) as i64 - 128),
        'i' => Value::Integer(random.integer()),
        's' => {
            let text = random.text();
            Value::String(text.into_iter().filter(|byte| *byte != 0 || random.once_in(20)).take(30).collect())
        }
        _ => Value::Float(random.float()),
    };
    if random.once_in(40) { random.value() } else { value }
}

#[test]
fn fuzz_pack() {
    let args = |random: &mut Random| {
        let (format, kinds) = format(random);
        let mut args = vec![random.mostly(format.as_str().into())];
        args.extend(kinds.into_iter().map(|kind| packed_value(random, kind)));
        if random.once_in(10) {
            args.pop();
        }
        args
    };
    Pair::new().compare_random("string.pack", 20_000, args);
}

#[test]
fn fuzz_packsize() {
    let args = |random: &mut Random| {
        let (mut format, _) = format(random);
        if random.once_in(20) {
            format +=
                random.word_of(&["c9223372036854775798", "c99999999999999999999", "c9223372036854775807b"]);
        }
        vec![random.mostly(format.as_str().into())]
    };
    Pair::new().compare_random("string.packsize", 20_000, args);
}

/// Data that was packed with the same format, or with another one.
#[test]
fn fuzz_unpack() {
    let pair = Pair::new();
    let mut random = Random::new("unpack");
    for _ in 0..common::cases(20_000) {
        let (format, kinds) = format(&mut random);
        let mut args = vec![Value::from(format.as_str())];
        args.extend(kinds.into_iter().map(|kind| match kind {
            'i' => Value::Integer(random.below(256) as i64 - 128),
            's' => Value::String(random.text().into_iter().filter(|byte| *byte != 0).take(20).collect()),
            _ => Value::Float(random.float()),
        }));
        let mut data = match pair.reference.call("string.pack", &args).as_deref() {
            Ok([Value::String(data)]) if !random.once_in(10) => data.clone(),
            _ => random.text(),
        };
        if random.once_in(10) {
            data.pop();
        }
        if random.once_in(10) {
            let at = random.below(data.len() + 1);
            data.insert(at, random.word() as u8);
        }
        let mut args = vec![random.mostly(format.as_str().into()), random.mostly(Value::String(data))];
        if random.once_in(4) {
            let position = Value::Integer(random.below(12) as i64 - 4);
            args.push(random.mostly(position));
        }
        pair.compare("string.unpack", &args);
    }
}

#[test]
fn wide_integers_that_do_not_fit() {
    let pair = Pair::new();
    let mut random = Random::new("wide");
    for _ in 0..2000 {
        let size = 9 + random.below(8);
        let fill = *random.pick(&[0u8, 0xff]);
        let mut data = vec![fill; size];
        let at = random.below(size);
        data[at] = *random.pick(&[0, 0xff, 0x80, 1]);
        let format = format!("{}{}{size}", random.word_of(&["<", ">"]), random.word_of(&["i", "I"]));
        pair.compare("string.unpack", &[format.as_str().into(), Value::String(data)]);
    }
}
