//! Chains that call programs of all packages with arguments of all kinds.

use moonhook_proof::random::Random;
use std::fmt::Write;

/// Numbers at which something ends.
const NUMBERS: [&str; 17] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "14",
    "31",
    "33",
    "64",
    "255",
    "256",
    "0xffff",
    "0xffffffff",
    "0x100000000",
    "0xffffffffffffffff",
];

/// How long members of a set stay: longer than a test takes.
const SECONDS: [&str; 4] = ["0", "100000", "0xffffffff", "0x100000000"];

fn number(random: &mut Random) -> String {
    match random.below(8) {
        0 => "length".into(),
        1 => format!("8 * length - {}", random.below(40)),
        2 => format!("Packet.readU8({})", random.below(14)),
        3 => "r".into(),
        4 => format!("r % {}", 1 + random.below(9)),
        _ => random.pick(&NUMBERS).to_string(),
    }
}

/// A call; so many times `encap` at most.
fn call(random: &mut Random, grows: &mut u32) -> String {
    match random.below(20) {
        0 => format!("count({})", number(random)),
        1 | 2 => format!("set_field({}, {}, {})", number(random), number(random), number(random)),
        3 => format!("token_bucket({}, 0, {})", number(random), number(random)),
        4 | 5 => {
            let seconds = random.pick(&SECONDS);
            format!("expiring_set({}, {}, {seconds})", number(random), number(random))
        }
        6 => format!("one_in_n({}, {})", number(random), number(random)),
        7 => "meter()".into(),
        // Whoever may put in more than there is room for does it often.
        8..14 if *grows > 1 => {
            *grows -= 1;
            format!("encap({})", random.pick(&["1", "2", "3", "9", "r % 10"]))
        }
        8 => format!("source({})", number(random)),
        9 => format!("destination({})", number(random)),
        10 => format!("hash({})", number(random)),
        11 => "next_header()".into(),
        12 => "hop()".into(),
        13 => format!("prefix({})", number(random)),
        14 if *grows > 0 => {
            *grows -= 1;
            format!("encap({})", number(random))
        }
        15 => "decap()".into(),
        16 => "end()".into(),
        17 => format!("top_talkers({})", number(random)),
        18 if random.once_in(4) => {
            random.pick(&["drop()", "accept()", "redirect(1)", "redirect(r)"]).to_string()
        }
        _ => format!("events({})", number(random)),
    }
}

fn block(random: &mut Random, indent: usize, count: usize, grows: &mut u32, text: &mut String) {
    for _ in 0..count {
        let margin = " ".repeat(indent);
        if indent < 6 && random.once_in(5) {
            let (of, is) = (2 + random.below(3), random.below(2));
            let _ = writeln!(text, "{margin}if r % {of} == {is}:");
            let count = 1 + random.below(2);
            block(random, indent + 2, count, grows, text);
        }
        let _ = writeln!(text, "{margin}r = r * 31 + {}", call(random, grows));
    }
}

/// Behind what fills the maps of other scripts, which have those programs. It makes packets longer so many times at most.
pub fn chain(random: &mut Random, contents: &str, mut grows: u32) -> String {
    let mut text = String::from(
        "from programs.basics import accept, drop, redirect, count, set_field\n\
         from programs.limits import token_bucket, expiring_set, one_in_n, meter\n\
         from programs.ip6 import source, destination, hash, next_header, hop, prefix\n\
         from programs.seg6 import encap, decap, end\n\
         from programs.monitor import events, top_talkers\n",
    );
    text.push_str(contents);
    text.push_str("def main(u64: length):\n  u64: r = length\n");
    let count = 4 + random.below(16);
    block(random, 2, count, &mut grows, &mut text);
    text.push_str("  return r\n");
    text
}
