//! Scripts of a thousand lines with a hundred functions: they load, both tiers agree about them, and the verifier's work stays
//! far from its limit.

use moonhook_engine::Form;
use moonhook_proof::ledger::Entry;
use moonhook_proof::random::Random;
use moonhook_proof::{Pair, frames, host, large};
use std::time::{Duration, Instant};

const FUNCTIONS: usize = 100;

/// Verified instructions, of the million that the kernel allows.
const MOST: u64 = 250_000;

#[test]
fn a_thousand_lines_load_and_agree() {
    if !host::kernel_available("long scripts") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for scripts");
    for seed in [1, 2] {
        let text = large::script(seed, FUNCTIONS);
        assert!(text.lines().count() >= 1000, "{} lines", text.lines().count());
        let path = folder.path().join("large.lua");
        std::fs::write(&path, &text).expect("the script can be written");
        let start = Instant::now();
        let mut pair = Pair::new(&path).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let (entry, time) = (Entry::of(&pair), start.elapsed());
        println!("seed {seed}: {} lines, {entry:?}, compiled and loaded in {time:?}", text.lines().count());
        assert!(entry.verified < MOST, "seed {seed}: {entry:?}");
        let mut verdicts = [0; 5];
        for frame in payloads(seed) {
            let seen = pair.run(&frame).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(seen.error.is_none(), "seed {seed}: {seen}");
            verdicts[seen.verdict as usize] += 1;
        }
        println!("seed {seed}: verdicts {verdicts:?}");
        assert!(verdicts[1] > 10 && verdicts[2] > 10, "seed {seed}: {verdicts:?}");
    }
}

/// Lines of a handler of its own, of statements that follow one another.
const LINES: usize = 5000;

/// Verified instructions of a script whose handler is interpreted: they do not depend on its length.
const MOST_OF_COMPACT: u64 = 60_000;

/// The line with that number: assignments, conditions, loops, calls, tables, strings and errors that are caught.
fn line(n: usize) -> String {
    let (bit, c) = (1 << (n % 8), n % 251);
    match n % 11 {
        0 => format!("if s > {c} << 20 then s = s % {} end", c + 7),
        1 => format!("s = s ~ k * {c}"),
        2 => format!("s = s + twice(k + {c})"),
        3 => format!("do local t = {{k, {c}, a = s}} s = t.a + #t + t[2] end"),
        4 => format!("if #n < 40 then n = n .. '{c}' end"),
        5 => format!("for i = 1, 2 do s = s + i * {c} end"),
        6 if n.is_multiple_of(5) => format!("s = s + (pcall(error, {c}) and 1 or 2)"),
        7 => format!("do local v = pkt:getbyte({}) if v == {c} then s = s + v end end", n % 14),
        _ => format!("if k & {bit} ~= 0 then s = s + {c} end"),
    }
}

#[test]
fn a_handler_of_thousands_of_lines_loads_and_agrees() {
    if !host::kernel_available("a long handler") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for scripts");
    let path = folder.path().join("long.lua");
    let lines: String = (0..LINES).map(|n| line(n) + "\n").collect();
    let start = "local xdp = require 'xdp'\nlocal function twice(x) return 2 * x end\n";
    let text = format!(
        "{start}xdp.attach(function(pkt)\nlocal k, s, n = pkt:getbyte(0), 0, ''\n{lines}print(s, n)\nend)\n"
    );
    std::fs::write(&path, text).expect("the script can be written");
    let start = Instant::now();
    let mut pair = Pair::in_form(&path, Some(Form::General)).unwrap_or_else(|error| panic!("{error}"));
    let (entry, time) = (Entry::of(&pair), start.elapsed());
    println!("{LINES} lines, {entry:?}, compiled and loaded in {time:?}");
    assert!(entry.verified < MOST_OF_COMPACT, "{entry:?}");
    for (name, frame) in
        frames::described("tcp").unwrap().into_iter().chain(frames::described("udp").unwrap())
    {
        let seen = pair.run(&frame).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(seen.error.is_none(), "{name}: {seen}");
    }
}

/// A datagram for each function, of words, digits and other bytes.
fn payloads(seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    let text = |choice: usize| {
        let mut text = vec![choice as u8];
        for _ in 0..random.below(60) {
            text.push(*random.pick(b"aebcdxyz  ,.-019\0\xff"));
        }
        frames::datagram(&text)
    };
    (0..FUNCTIONS).map(text).collect()
}

/// Statements of which scripts have one after another: each is little, hundreds of them are a program of the kernel's largest. `{}` is
/// the number of the line.
const STATEMENTS: [&str; 9] = [
    "print(x, s, {})",
    "x = s:find('a{}', 1, true) or x",
    "x = x + (s:match('^(%w+){}%s') and 1 or 0)",
    "do local a, b = s:find('a', 1, true) or 1, s:find('b', 1, true) or 3 x = x + #s:sub(b - a, a - b) end",
    "do local r = records[{}] if r then r.n = r.n + 1 else records[{}] = { n = 1 } end end",
    "x = x + (tonumber(s:sub(1, 2) .. '{}') or {})",
    "s = string.format('%s%d', s, x & {}):sub(-5)",
    "s = (s .. x .. '{}'):sub(-7)",
    "if s < 'a{}' then s = s .. 'z' s = s:sub(-4) end",
];

/// Lines of each.
const REPEATED: usize = 300;

/// The verifier takes each script in one form or the other, at once, and both tiers agree about it.
#[test]
fn hundreds_of_lines_of_one_construct_load_and_agree() {
    if !host::kernel_available("scripts of one construct") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for scripts");
    let path = folder.path().join("repeated.lua");
    for statement in STATEMENTS {
        let lines: String = (0..REPEATED).map(|n| statement.replace("{}", &n.to_string()) + "\n").collect();
        let text = format!(
            "local records = map {{ key = 'int', value = {{ n = 'int' }} }}\nrequire('xdp').attach(function(pkt)\n\
             local x, s = #pkt, pkt:getstring(0, 9)\n{lines}print(x, s)\nend)\n"
        );
        std::fs::write(&path, text).expect("the script can be written");
        let mut pair = Pair::new(&path).unwrap_or_else(|error| panic!("{statement}: {error}"));
        println!("{statement}: {:?}", pair.slowest());
        let reason = pair.choice().and_then(|choice| choice.reason.as_ref());
        assert!(reason.is_none_or(|reason| !reason.bug), "{statement}: {reason:?}");
        // Compilers that are not optimised themselves take their time.
        assert!(cfg!(debug_assertions) || pair.slowest().0 < MOST_TIME, "{statement}: {:?}", pair.slowest());
        for (name, frame) in frames::named().into_iter().take(3) {
            let seen = pair.run_named(&frame, || name.to_string());
            seen.unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }
}

/// Processor time that compiling and loading may take.
const MOST_TIME: Duration = Duration::from_secs(2);
