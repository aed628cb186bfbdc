//! Random arguments for library functions, and the comparison with real Lua.

#![allow(dead_code, reason = "each test program uses a part")]

use moonhook_runtime::simulate::{Reference, Simulator, Value};
use std::env;

/// Bytes of packet memory of the simulators.
pub const HEAP: usize = 1 << 20;

/// A generator of random numbers (splitmix64), for tests that can be repeated.
pub struct Random(u64);

impl Random {
    /// Seeded by `MOONHOOK_FUZZ_SEED`, and by `name` so that tests differ.
    pub fn new(name: &str) -> Random {
        let seed = env::var("MOONHOOK_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        Random(name.bytes().fold(seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte))))
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.word() % limit as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// One of the strings, as it is.
    pub fn word_of(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len())]
    }

    /// True once in `times` times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Small numbers, the edges of what fits into so many bits, and anything.
    pub fn integer(&mut self) -> i64 {
        match self.below(8) {
            0..=3 => self.below(24) as i64 - 10,
            4 => self.below(300) as i64 - 20,
            5 => (1i64 << self.below(64)).wrapping_add(self.below(5) as i64 - 2),
            6 => (-1i64 << self.below(64)).wrapping_add(self.below(5) as i64 - 2),
            _ => self.word() as i64 >> self.below(64),
        }
    }

    /// Bytes that are all of the same kind: letters, anything, zeros among them.
    pub fn text(&mut self) -> Vec<u8> {
        let length = match self.below(8) {
            0 => self.below(3),
            1..=5 => self.below(20),
            _ => self.below(150),
        };
        let kind = self.below(4);
        let byte = |random: &mut Random| match kind {
            0 => b'a' + random.below(26) as u8,
            1 => random.word() as u8,
            2 => b' ' + random.below(95) as u8,
            _ => *random.pick(b"\0aZ9\x7f\xff \n"),
        };
        (0..length).map(|_| byte(self)).collect()
    }

    /// A text that is a numeral, or nearly one.
    pub fn numeral(&mut self) -> Vec<u8> {
        let mut text = self.word_of(&["", "", "", " ", "\t\n", "  "]).to_owned();
        text += self.word_of(&["", "", "", "-", "+", "- ", "--"]);
        let hexadecimal = self.once_in(3);
        text += if hexadecimal { self.word_of(&["0x", "0X", "0x", "0"]) } else { "" };
        self.digits(&mut text, hexadecimal);
        if self.once_in(3) {
            text += ".";
            self.digits(&mut text, hexadecimal);
        }
        if self.once_in(3) {
            text += self.word_of(if hexadecimal { &["p", "P", "e"] } else { &["e", "E", "p"] });
            text += self.word_of(&["", "", "-", "+"]);
            text += &match self.below(6) {
                0 => self.below(1200).to_string(),
                1 => String::new(),
                _ => self.below(70).to_string(),
            };
        }
        text += self.word_of(&["", "", "", "", " ", "\r\n", "x", "\0", " 1", ".", "n"]);
        text.into_bytes()
    }

    fn digits(&mut self, text: &mut String, hexadecimal: bool) {
        let few = *self.pick(&["0", "05", "9", "0123456789", "0123456789"]);
        let all = if hexadecimal { "0123456789abcdefABCDEF" } else { few };
        let count = match self.below(8) {
            0 => self.below(50),
            1 => 19,
            _ => self.below(9),
        };
        match self.below(10) {
            0 => *text += &(1u64 << self.below(64)).to_string(),
            1 => *text += "9223372036854775808",
            2 => *text += "900719925474099",
            _ => {}
        }
        text.extend((0..count).map(|_| char::from(*self.pick(all.as_bytes()))));
    }

    /// A value of any type.
    pub fn value(&mut self) -> Value {
        match self.below(16) {
            0 => Value::Nil,
            1 => Value::Boolean(self.once_in(2)),
            2..=6 => Value::Integer(self.integer()),
            7 => Value::Float(*self.pick(&[
                0.0,
                -0.0,
                1.0,
                3.0,
                -2.0,
                1e15,
                9.2e18,
                -9_223_372_036_854_775_808.0,
            ])),
            8 => Value::Float(self.float()),
            9 => Value::String(self.numeral()),
            10 => Value::String(self.integer().to_string().into_bytes()),
            _ => Value::String(self.text()),
        }
    }

    /// Floats as scripts have them, what is at the edges, and any bits.
    pub fn float(&mut self) -> f64 {
        match self.below(8) {
            0 => *self.pick(&[0.5, -1.5, 1e19, -1e300, f64::INFINITY, -f64::INFINITY, 9.3e18, 5e-324]),
            1 => *self.pick(&[f64::NAN, -f64::NAN]),
            2 => self.integer() as f64,
            3 => self.integer() as f64 / 10f64.powi(self.below(20) as i32),
            4 => self.below(100_000) as f64 / 1000.0,
            5 => self.word() as i64 as f64 * 10f64.powi(self.below(40) as i32 - 20),
            // Of quiet NaNs, there is one.
            _ => Some(f64::from_bits(self.word())).filter(|float| !float.is_nan()).unwrap_or(f64::NAN),
        }
    }

    /// `wanted` most of the time, else anything.
    pub fn mostly(&mut self, wanted: Value) -> Value {
        if self.once_in(12) { self.value() } else { wanted }
    }
}

/// How many cases a random test tries: `MOONHOOK_FUZZ_CASES`, or `usual`.
pub fn cases(usual: usize) -> usize {
    env::var("MOONHOOK_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

/// Both sides of a comparison.
pub struct Pair {
    pub simulator: Simulator,
    pub reference: Reference,
}

impl Pair {
    pub fn new() -> Pair {
        let simulator = Simulator::new(HEAP).unwrap_or_else(|error| panic!("{error}"));
        Pair { simulator, reference: Reference::new() }
    }

    /// Calls a function of the library on both sides.
    ///
    /// # Panics
    /// If results or messages differ.
    pub fn compare(&self, name: &str, args: &[Value]) {
        let [found, expected] = self.outcomes(name, args);
        assert_eq!(Shown(&found), Shown(&expected), "{name}{:?}", Shown(&Ok(args.to_vec())));
    }

    /// Results or messages of a function of the library on both sides: the runtime's, and real Lua's.
    pub fn outcomes(&self, name: &str, args: &[Value]) -> [Result<Vec<Value>, String>; 2] {
        let routine = match name.contains('.') {
            true => name.replace('.', "_"),
            false => format!("base_{name}"),
        };
        let expected = self.reference.call(name, args);
        self.simulator.reset();
        let found = self.simulator.call_primitive(&routine, args);
        [found, expected].map(|result| result.map_err(|message| without_name(&message)))
    }

    /// The same for random arguments, which `random_args` makes.
    pub fn compare_random(&self, name: &str, count: usize, random_args: impl Fn(&mut Random) -> Vec<Value>) {
        let mut random = Random::new(name);
        (0..cases(count)).for_each(|_| self.compare(name, &random_args(&mut random)));
    }
}

/// `bad argument #1 to 'rep' (…)` with `?` for the name.
pub fn without_name(message: &str) -> String {
    let named = message.split_once(" to '").and_then(|(start, rest)| Some((start, rest.split_once('\'')?.1)));
    match named {
        Some((start, end)) if start.starts_with("bad argument #") => format!("{start} to '?'{end}"),
        _ => message.to_owned(),
    }
}

/// Whether results are the same, or floats beside one another: what C's library gives for functions like `math.exp` is not always the float
/// that is nearest.
pub fn nearly_same(found: &Result<Vec<Value>, String>, expected: &Result<Vec<Value>, String>) -> bool {
    let pair = (found.as_deref(), expected.as_deref());
    match pair {
        (Ok([Value::Float(x)]), Ok([Value::Float(y)])) if x.is_finite() && y.is_finite() => {
            x.to_bits().abs_diff(y.to_bits()) < 2
        }
        _ => Shown(found) == Shown(expected),
    }
}

/// Results in readable form; NaN equals itself.
pub struct Shown<'a>(pub &'a Result<Vec<Value>, String>);

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ok(values) = self.0 else { return write!(f, "{:?}", self.0) };
        let mut list = f.debug_list();
        for value in values {
            match value {
                Value::String(bytes) => list.entry(&format_args!("\"{}\"", bytes.escape_ascii())),
                value => list.entry(&format_args!("{value:?}")),
            };
        }
        list.finish()
    }
}

impl PartialEq for Shown<'_> {
    fn eq(&self, other: &Self) -> bool {
        let bits = |result: &Result<Vec<Value>, String>| {
            result.clone().map(|values| {
                let word = |value| match value {
                    Value::Float(float) => Value::Raw { tag: 4, payload: f64::to_bits(float) as i64 },
                    value => value,
                };
                values.into_iter().map(word).collect::<Vec<_>>()
            })
        };
        bits(self.0) == bits(other.0)
    }
}
