//! Random patterns and subjects, and scripts that match many of them.

use crate::random::Random;
use std::fmt::Write;

/// Pairs that a script matches for one frame.
pub const PAIRS: usize = 8;

/// A subject, a pattern, and where to begin.
#[derive(Clone, Debug)]
pub struct Pair {
    pub subject: Vec<u8>,
    pub pattern: Vec<u8>,
    pub start: i64,
}

impl Pair {
    pub fn new(random: &mut Random) -> Pair {
        let (subject, mut pattern) = (subject(random), pattern(random));
        if random.once_in(25) {
            pattern.extend(*random.pick(MALFORMED));
        }
        // Mostly at the beginning; otherwise from either end, or outside.
        let start = if random.once_in(3) { random.below(24) as i64 - 10 } else { 1 };
        Pair { subject, pattern, start }
    }
}

/// Up to 16 bytes, of few kinds so that much of them repeats.
pub fn subject(random: &mut Random) -> Vec<u8> {
    (0..random.below(17)).map(|_| *random.pick(b"aaabbcAB01_.  (())[]-%\n\0\xe9")).collect()
}

/// What no pattern ends with.
const MALFORMED: &[&[u8]] =
    &[b"%", b"[", b"[a", b"[^", b"[%", b"(", b")", b"%b", b"%bx", b"%f", b"%9", b"[]"];

/// A pattern of a few items. Few items repeat without bound, for those take time that grows
/// with the power of their number.
pub fn pattern(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    let (mut open, mut repeated) = (0, 0);
    // Captures before all others, which `%1` can stand for.
    let mut closed = false;
    if random.once_in(5) {
        text.push(b'^');
    }
    for _ in 0..=random.below(6) {
        match random.below(16) {
            0 if open < 4 => {
                text.push(b'(');
                open += 1;
            }
            1 if open > 0 => {
                text.push(b')');
                open -= 1;
                closed |= open == 0;
            }
            2 => {
                text.extend(b"()");
                closed |= open == 0;
            }
            3 if closed => text.extend(b"%1"),
            4 => text.extend(*random.pick(&[&b"%b()"[..], b"%bab", b"%f[%w]", b"%f[^a]", b"%f[%z]"])),
            _ => {
                single(random, &mut text);
                match random.below(9) {
                    kind @ 0..=2 if repeated < 2 => {
                        text.push(b"*+-"[kind]);
                        repeated += 1;
                    }
                    4 => text.push(b'?'),
                    _ => {}
                }
            }
        }
    }
    text.extend(std::iter::repeat_n(b')', open));
    if random.once_in(6) {
        text.push(b'$');
    }
    text
}

/// An item that stands for one byte.
fn single(random: &mut Random, text: &mut Vec<u8>) {
    match random.below(8) {
        0 => text.push(b'.'),
        1 | 2 => {
            text.push(b'%');
            text.push(*random.pick(b"adlsuwxpcgADLSUWXPCG.%()[-"));
        }
        3 | 4 => set(random, text),
        _ => text.push(*random.pick(b"aabbcAB01_ -]\0\xe9")),
    }
}

fn set(random: &mut Random, text: &mut Vec<u8>) {
    text.push(b'[');
    if random.once_in(3) {
        text.push(b'^');
    }
    for _ in 0..=random.below(3) {
        text.extend(*random.pick(&[
            &b"a"[..],
            b"b",
            b"_",
            b"0-9",
            b"a-c",
            b"A-Z",
            b"%d",
            b"%a",
            b"%S",
            b"%]",
            b"%-",
            b"b-a",
            b"\0",
            b"\x80-\xff",
            b"a-",
            b".",
        ]));
    }
    text.push(b']');
}

/// A Lua string with those bytes.
fn quoted(bytes: &[u8]) -> String {
    bytes.iter().fold("\"".to_string(), |mut text, byte| {
        let _ = match byte {
            b'"' | b'\\' => write!(text, "\\{}", *byte as char),
            b' '..=b'~' => write!(text, "{}", *byte as char),
            _ => write!(text, "\\x{byte:02x}"),
        };
        text
    }) + "\""
}

/// A script that has the pairs in tables, and matches [`PAIRS`] of them from the one on that a frame's bytes 42 and 43 number.
pub fn of_tables(pairs: &[Pair]) -> String {
    let list = |each: fn(&Pair) -> String| pairs.iter().map(each).collect::<Vec<_>>().join(",\n");
    let (subjects, patterns) = (list(|pair| quoted(&pair.subject)), list(|pair| quoted(&pair.pattern)));
    let starts = list(|pair| pair.start.to_string());
    format!(
        r#"local subjects = {{ {subjects} }}
local patterns = {{ {patterns} }}
local starts = {{ {starts} }}
require("xdp").attach(function(pkt)
  local first = pkt:getuint16(42)
  for i = first + 1, math.min(first + {PAIRS}, #patterns) do
    local s, p, at = subjects[i], patterns[i], starts[i]
    print(i, pcall(string.find, s, p, at))
    print(pcall(string.match, s, p, at))
    print(pcall(string.gsub, s, p, "<%0>"))
    print(pcall(function()
      local all = {{}}
      for one, other in s:gmatch(p) do
        all[#all + 1] = tostring(one) .. "|" .. tostring(other)
      end
      return #all, table.concat(all, ",")
    end))
  end
end)
"#
    )
}

/// A script that has the patterns in its code, and matches each frame's payload with all of them.
pub fn of_constants(patterns: &[Vec<u8>]) -> String {
    let mut text = "require(\"xdp\").attach(function(pkt)\n  local s = pkt.payload\n".to_string();
    for (number, pattern) in patterns.iter().enumerate() {
        let call = if number % 2 == 0 { "find" } else { "match" };
        let _ = writeln!(text, "  print({number}, s:{call}({}))", quoted(pattern));
    }
    text + "end)\n"
}
