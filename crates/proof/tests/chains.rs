//! Random chains of eCLAT, beside the same in C, compiled by clang: what they give, and what they make of the packet.
//!
//! `MOONHOOK_CHAINS` says how many chains (each on 20 packets), `MOONHOOK_CHAINS_SEED` which come first. Some of them run in the kernel, in both
//! forms, beside the interpreter.

use moonhook_eclat::eval::{Machine, run};
use moonhook_eclat::token::At;
use moonhook_proof::random::Random;
use moonhook_proof::{Pair, ProofError, host};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Packets of a chain, and their length.
const PACKETS: usize = 20;
const LENGTH: usize = 64;

/// Chains of one program in C: compiling takes longer than running.
const BATCH: usize = 250;

const TYPES: [(&str, &str); 8] = [
    ("u8", "uint8_t"),
    ("u16", "uint16_t"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("s8", "int8_t"),
    ("s16", "int16_t"),
    ("s32", "int32_t"),
    ("s64", "int64_t"),
];

/// The same text twice: in eCLAT, and in C.
#[derive(Clone, Default)]
struct Both {
    eclat: String,
    c: String,
}

impl Both {
    fn same(text: impl Into<String>) -> Both {
        let text = text.into();
        Both { eclat: text.clone(), c: text }
    }

    fn new(eclat: impl Into<String>, c: impl Into<String>) -> Both {
        Both { eclat: eclat.into(), c: c.into() }
    }
}

/// A pattern with `$` in the places of the parts.
fn filled(pattern: &str, parts: &[&str]) -> String {
    let mut parts = parts.iter();
    pattern.split('$').enumerate().fold(String::new(), |text, (number, piece)| {
        let part = if number > 0 { parts.next().copied().unwrap_or_default() } else { "" };
        text + part + piece
    })
}

/// A chain being written.
struct Chain {
    random: Random,
    /// Names of variables that can be read, and how many of them can be assigned: counters of loops cannot.
    variables: Vec<(String, bool)>,
    /// Chains before it, with their parameters.
    callable: Vec<(String, usize)>,
    names: usize,
    /// Nothing aborts but what reads beyond small packets.
    is_calm: bool,
}

impl Chain {
    fn expression(&mut self, depth: u32) -> Both {
        if depth == 0 || self.random.once_in(6) {
            return self.leaf();
        }
        let (one, other) = (self.expression(depth - 1), self.expression(depth - 1));
        let patterns = [
            ("($ + $)", "($ + $)"),
            ("($ - $)", "($ - $)"),
            ("($ * $)", "($ * $)"),
            ("($ & $)", "($ & $)"),
            ("($ | $)", "($ | $)"),
            ("($ ^ $)", "($ ^ $)"),
            ("($ / (($ & 0xff) | 1))", "($ / (($ & 0xff) | 1))"),
            ("($ % (($ & 0x7f) + 1))", "($ % (($ & 0x7f) + 1))"),
            ("($ << ($ & 15))", "($ << ($ & 15))"),
            ("($ >> ($ & 31))", "($ >> ($ & 31))"),
            ("($ < $)", "($ < $)"),
            ("($ <= $)", "($ <= $)"),
            ("($ > $)", "($ > $)"),
            ("($ >= $)", "($ >= $)"),
            ("($ == $)", "($ == $)"),
            ("($ != $)", "($ != $)"),
            ("($ and $)", "($ && $)"),
            ("($ or $)", "($ || $)"),
            ("(not $ + $)", "(!$ + $)"),
            ("(-$ ^ $)", "(-$ ^ $)"),
            ("(~$ - $)", "(~$ - $)"),
            // Without brackets: precedence is C's.
            ("($ & 4 == $)", "($ & 4 == $)"),
            ("(1 + $ << 3 | $ > 2)", "(1 + $ << 3 | $ > 2)"),
            ("(not $ == $)", "(!$ == $)"),
        ];
        let (eclat, c) = *self.random.pick(&patterns);
        Both::new(filled(eclat, &[&one.eclat, &other.eclat]), filled(c, &[&one.c, &other.c]))
    }

    fn leaf(&mut self) -> Both {
        match self.random.below(10) {
            0 => Both::same(self.random.below(300).to_string()),
            1 => {
                let numbers = [
                    "0x7fffffff",
                    "0x80000000",
                    "0xffffffff",
                    "2147483648",
                    "0x123456789abcdef",
                    "0x8000000000000000",
                    "65535",
                ];
                Both::same(*self.random.pick(&numbers))
            }
            2 => Both::new("true", "1"),
            3..=4 => self.read(),
            _ => {
                let names: Vec<String> = self.variables.iter().map(|(name, _)| name.clone()).collect();
                Both::same(self.random.pick(&names).clone())
            }
        }
    }

    fn read(&mut self) -> Both {
        let bits = *self.random.pick(&[8, 16, 32, 64]);
        let offset = self.offset();
        Both::new(
            format!("Packet.readU{bits}({})", offset.eclat),
            format!("((uint{bits}_t)rd({}, {bits}))", offset.c),
        )
    }

    fn offset(&mut self) -> Both {
        if self.is_calm || !self.random.once_in(12) {
            return Both::same(self.random.below(28).to_string());
        }
        let names: Vec<String> = self.variables.iter().map(|(name, _)| name.clone()).collect();
        Both::same(format!("({} & 127)", self.random.pick(&names)))
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn lines(&mut self, indent: usize, count: usize, out: &mut Both) {
        for _ in 0..count {
            self.line(indent, out);
        }
    }

    fn put(out: &mut Both, indent: usize, line: &Both) {
        let _ = writeln!(out.eclat, "{}{}", " ".repeat(indent * 4), line.eclat);
        let _ = writeln!(out.c, "{}{}", " ".repeat(indent * 4), line.c);
    }

    fn line(&mut self, indent: usize, out: &mut Both) {
        let value = self.expression(3);
        match self.random.below(if indent > 3 { 4 } else { 8 }) {
            0 => {
                let ((eclat, c), name) = (*self.random.pick(&TYPES), self.fresh());
                let before = self.random.once_in(2);
                let declared = if before { format!("{name}: {eclat}") } else { format!("{eclat} : {name}") };
                Self::put(
                    out,
                    indent,
                    &Both::new(format!("{declared} = {}", value.eclat), format!("{c} {name} = {};", value.c)),
                );
                self.variables.push((name, true));
            }
            1..=2 => {
                let names: Vec<String> = self
                    .variables
                    .iter()
                    .filter(|(_, assignable)| *assignable)
                    .map(|(name, _)| name.clone())
                    .collect();
                let name = self.random.pick(&names).clone();
                let operator = *self.random.pick(&["=", "+=", "-=", "*=", "&=", "|=", "^="]);
                let line = Both::new(
                    format!("{name} {operator} {}", value.eclat),
                    format!("{name} {operator} {};", value.c),
                );
                Self::put(out, indent, &line);
            }
            3 => {
                let (bits, offset) = (*self.random.pick(&[8, 16, 32, 64]), self.offset());
                let eclat = format!("Packet.writeU{bits}({}, {})", offset.eclat, value.eclat);
                let c = format!("wr({}, {bits}, {});", offset.c, value.c);
                Self::put(out, indent, &Both::new(eclat, c));
            }
            4 => self.conditional(indent, &value, out),
            5 => self.counted(indent, out),
            6 => self.repeated(indent, &value, out),
            _ => self.called(indent, out),
        }
    }

    /// Lines in a block, whose variables end with it.
    fn block(&mut self, indent: usize, out: &mut Both) {
        let outer = self.variables.len();
        let count = 1 + self.random.below(3);
        self.lines(indent + 1, count, out);
        self.variables.truncate(outer);
    }

    fn conditional(&mut self, indent: usize, value: &Both, out: &mut Both) {
        Self::put(out, indent, &Both::new(format!("if {}:", value.eclat), format!("if ({}) {{", value.c)));
        self.block(indent, out);
        if self.random.once_in(3) {
            let other = self.expression(2);
            Self::put(
                out,
                indent,
                &Both::new(format!("elif {}:", other.eclat), format!("}} else if ({}) {{", other.c)),
            );
            self.block(indent, out);
        }
        if self.random.once_in(2) {
            Self::put(out, indent, &Both::new("else:", "} else {"));
            self.block(indent, out);
        }
        if self.random.once_in(8) {
            let given = self.expression(1);
            let line = Both::new(format!("    return {}", given.eclat), format!("    return {};", given.c));
            Self::put(out, indent, &line);
        }
        out.c.push_str("}\n");
    }

    fn counted(&mut self, indent: usize, out: &mut Both) {
        let name = self.fresh();
        let (first, end, step) = (self.random.below(20), self.random.below(20), 1 + self.random.below(4));
        let is_down = self.random.once_in(3);
        let (range, next) = match is_down {
            true => (format!("{first}, {end}, -{step}"), format!("n_{name} > {end}; n_{name} -= {step}")),
            false => (format!("{first}, {end}, {step}"), format!("n_{name} < {end}; n_{name} += {step}")),
        };
        let c = format!("for (int64_t n_{name} = {first}; {next}) {{ int64_t {name} = n_{name};");
        Self::put(out, indent, &Both::new(format!("for {name} in range({range}):"), c));
        self.variables.push((name, false));
        let outer = self.variables.len();
        self.block(indent, out);
        self.variables.truncate(outer - 1);
        out.c.push_str("}\n");
    }

    fn repeated(&mut self, indent: usize, value: &Both, out: &mut Both) {
        let name = self.fresh();
        Self::put(out, indent, &Both::new(format!("u32: {name} = 0"), format!("uint32_t {name} = 0;")));
        let most = 1 + self.random.below(9);
        let eclat = format!("while {name} < {most} and {}:", value.eclat);
        Self::put(out, indent, &Both::new(eclat, format!("while ({name} < {most} && {}) {{", value.c)));
        Self::put(out, indent + 1, &Both::new(format!("{name} += 1"), format!("{name} += 1;")));
        self.variables.push((name, false));
        self.block(indent, out);
        out.c.push_str("}\n");
    }

    fn called(&mut self, indent: usize, out: &mut Both) {
        if self.callable.is_empty() {
            return Self::put(out, indent, &Both::new("pass", ";"));
        }
        let callable = self.callable.clone();
        let (callee, count) = self.random.pick(&callable).clone();
        let arguments: Vec<Both> = (0..count).map(|_| self.expression(1)).collect();
        let all = |part: fn(&Both) -> &str| arguments.iter().map(part).collect::<Vec<_>>().join(", ");
        let name = self.fresh();
        let eclat = format!("u64: {name} = {callee}({})", all(|both| &both.eclat));
        Self::put(
            out,
            indent,
            &Both::new(eclat, format!("uint64_t {name} = {callee}({});", all(|both| &both.c))),
        );
        self.variables.push((name, true));
    }
}

/// A script with a chain `main` of two parameters, and others that it may call.
fn script(seed: u64, number: usize, is_calm: bool) -> Both {
    let mut random = Random::new(seed);
    let (mut out, mut callable) = (Both::default(), Vec::new());
    let count = random.below(3);
    for chain in 0..=count {
        let is_main = chain == count;
        let name = if is_main { format!("main{number}") } else { format!("c{number}_{chain}") };
        let types: Vec<(&str, &str)> = match is_main {
            true => vec![TYPES[3], TYPES[7]],
            false => (0..1 + random.below(3)).map(|_| *random.pick(&TYPES)).collect(),
        };
        let parameters = |written: &dyn Fn(usize, &(&str, &str)) -> String| {
            types.iter().enumerate().map(|(at, ty)| written(at, ty)).collect::<Vec<_>>().join(", ")
        };
        let eclat = parameters(&|at, (eclat, _)| format!("{eclat}: p{at}"));
        let c = parameters(&|at, (_, c)| format!("{c} p{at}"));
        Chain::put(
            &mut out,
            0,
            &Both::new(format!("def {name}({eclat}):"), format!("static uint64_t {name}({c}) {{")),
        );
        let mut writer = Chain {
            random: Random::new(random.word()),
            variables: (0..types.len()).map(|at| (format!("p{at}"), true)).collect(),
            callable: callable.clone(),
            names: 0,
            is_calm,
        };
        let lines = 2 + writer.random.below(6);
        writer.lines(1, lines, &mut out);
        let given = writer.expression(2);
        Chain::put(
            &mut out,
            1,
            &Both::new(format!("return {}", given.eclat), format!("return {};\n}}", given.c)),
        );
        callable.push((name, types.len()));
    }
    out
}

/// Reads and writes as chains have them; what is beyond the packet ends the chain.
const HEAD: &str = "#include <setjmp.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n\
static uint8_t packet[64]; static jmp_buf end;\n\
static uint64_t rd(uint64_t at, int bits) { uint64_t n = 0; if (at > 64 - bits / 8) longjmp(end, 1);\n\
  for (int i = 0; i < bits / 8; i++) n = n << 8 | packet[at + i]; return n; }\n\
static void wr(uint64_t at, int bits, uint64_t n) { if (at > 64 - bits / 8) longjmp(end, 1);\n\
  for (int i = bits / 8 - 1; i >= 0; i--) { packet[at + i] = n; n >>= 8; } }\n\
static void show(uint64_t (*chain)(uint64_t, int64_t), const uint8_t *bytes, uint64_t a, int64_t b) {\n\
  memcpy(packet, bytes, 64); if (setjmp(end)) printf(\"end\"); else printf(\"%llu\", (unsigned long long)chain(a, b));\n\
  putchar(' '); for (int i = 0; i < 64; i++) printf(\"%02x\", packet[i]); putchar('\\n'); }\n";

/// A packet, and the arguments of the chain.
struct Input {
    bytes: Vec<u8>,
    arguments: [u64; 2],
}

fn inputs(seed: u64) -> Vec<Input> {
    let mut random = Random::new(seed ^ 0x5eed);
    let numbers =
        [0, 1, 2, 127, 128, 255, 256, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, u64::MAX, u64::MAX - 1];
    let input = |_| Input {
        bytes: random.bytes(LENGTH),
        arguments: [0; 2]
            .map(|_: u64| if random.once_in(2) { *random.pick(&numbers) } else { random.word() }),
    };
    (0..PACKETS).map(input).collect()
}

/// What the interpreter makes of them, in lines as the program in C writes them.
fn interpreted(source: &str, number: usize, inputs: &[Input]) -> Vec<String> {
    let chains = moonhook_eclat::read(source, "random.eclat")
        .unwrap_or_else(|error| panic!("{}\n{source}", error.line()));
    let name = format!("main{number}");
    let main = chains.chains.iter().position(|chain| chain.name == name).expect("there is a main chain");
    let run_one = |Input { bytes, arguments }: &Input| {
        let mut packet = Packet(bytes.clone());
        let given =
            run(&chains, main, arguments, &mut packet).map_or("end".to_string(), |number| number.to_string());
        let bytes: String = packet.0.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{given} {bytes}")
    };
    inputs.iter().map(run_one).collect()
}

struct Packet(Vec<u8>);

impl Packet {
    fn place(&self, offset: u64, bits: u32) -> Result<std::ops::Range<usize>, ()> {
        let end =
            offset.checked_add(u64::from(bits / 8)).filter(|end| *end <= self.0.len() as u64).ok_or(())?;
        Ok(offset as usize..end as usize)
    }
}

impl Machine for Packet {
    type End = ();

    fn step(&mut self, _: At) -> Result<(), ()> {
        Ok(())
    }

    fn read(&mut self, offset: u64, bits: u32) -> Result<u64, ()> {
        let place = self.place(offset, bits)?;
        Ok(self.0[place].iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn write(&mut self, offset: u64, bits: u32, number: u64) -> Result<(), ()> {
        let place = self.place(offset, bits)?;
        self.0[place].copy_from_slice(&number.to_be_bytes()[8 - bits as usize / 8..]);
        Ok(())
    }

    fn call(&mut self, _: usize, _: &[u64]) -> Result<u64, ()> {
        Err(())
    }
}

/// What the program in C writes, a line for each chain and packet; `None` without a compiler.
fn compiled(scripts: &[Both], all: &[Vec<Input>], folder: &Path) -> Option<Vec<String>> {
    let (source, program) = (folder.join("chains.c"), folder.join("chains"));
    let mut text = HEAD.to_string();
    scripts.iter().for_each(|script| text.push_str(&script.c));
    text.push_str("int main(void) {\n");
    for (number, inputs) in all.iter().enumerate() {
        for Input { bytes, arguments: [a, b] } in inputs {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            let _ =
                writeln!(text, "show(main{number}, (const uint8_t[]){{{}}}, {a}u, {b}u);", bytes.join(","));
        }
    }
    text.push_str("return 0; }\n");
    std::fs::write(&source, text).expect("the source can be written");
    let arguments = ["-O1", "-fwrapv", "-w"];
    let made = ["clang-19", "clang"].into_iter().find_map(|clang| {
        Command::new(clang).args(arguments).arg(&source).arg("-o").arg(&program).output().ok()
    })?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ran = Command::new(&program).output().expect("the program can be run");
    Some(String::from_utf8_lossy(&ran.stdout).lines().map(str::to_string).collect())
}

#[test]
fn chains_compute_what_c_computes() {
    let (count, first) =
        (host::setting("MOONHOOK_CHAINS", 500) as usize, host::setting("MOONHOOK_CHAINS_SEED", 1));
    let folder = tempfile::tempdir().expect("there is room");
    let (mut pairs, mut ended) = (0, 0);
    for start in (0..count).step_by(BATCH) {
        let seeds: Vec<u64> = (start..count.min(start + BATCH)).map(|number| first + number as u64).collect();
        let scripts: Vec<Both> =
            seeds.iter().enumerate().map(|(number, seed)| script(*seed, number, false)).collect();
        let all: Vec<Vec<Input>> = seeds.iter().map(|seed| inputs(*seed)).collect();
        let Some(lines) = compiled(&scripts, &all, folder.path()) else {
            assert!(
                std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_none_or(|v| v != "1"),
                "there is no clang"
            );
            return println!("skipped: there is no clang");
        };
        for (number, (script, inputs)) in scripts.iter().zip(&all).enumerate() {
            let own = interpreted(&script.eclat, number, inputs);
            for (packet, (own, c)) in own.iter().zip(&lines[number * PACKETS..]).enumerate() {
                let seed = seeds[number];
                assert_eq!(own, c, "seed {seed}, packet {packet}\n{}\n{}", script.eclat, script.c);
                pairs += 1;
                ended += u32::from(own.starts_with("end"));
            }
        }
    }
    println!("{pairs} pairs, of which {ended} ended before");
    assert!(ended * 2 < pairs && ended > 0, "{ended} of {pairs} chains ended before");
}

/// Both forms in the kernel compute what the interpreter computes.
#[test]
fn chains_in_the_kernel_compute_the_same() -> Result<(), ProofError> {
    if !host::kernel_available("random chains") {
        return Ok(());
    }
    let (count, first) =
        (host::setting("MOONHOOK_CHAINS_KERNEL", 40), host::setting("MOONHOOK_CHAINS_SEED", 1));
    let mut refused = 0;
    for seed in first..first + count {
        let folder = tempfile::tempdir().expect("there is room");
        let chains = script(seed, 0, true);
        std::fs::write(folder.path().join("random.eclat"), &chains.eclat).expect("the chains can be written");
        let path = folder.path().join("random.lua");
        let text = "local xdp, eclat = require 'xdp', require 'eclat'
            local main = eclat.chain('random.eclat', 'main0')
            xdp.attach(function(pkt)
              if #pkt < 64 then return end
              print(main(pkt, pkt:getint64(0), pkt:getint64(8)))
              print(main(pkt, #pkt, pkt:getint16(50)))
            end)";
        std::fs::write(&path, text).expect("the script can be written");
        let mut pair = Pair::in_both_forms(&path, false)?;
        // The verifier may give up, as it does with scripts in Lua, which become general code.
        if let Some(error) = pair.take_refused() {
            println!("seed {seed} is refused: {error}");
            assert_eq!(error.code(), Some("MH0505"), "seed {seed}: {error}\n{}", chains.eclat);
            refused += 1;
        }
        for (number, Input { bytes, .. }) in inputs(seed).iter().enumerate() {
            let ran = pair.run_named(bytes, || format!("packet {number}"));
            ran.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", chains.eclat));
        }
    }
    assert!(refused * 20 <= count, "{refused} of {count} have no expanded form");
    Ok(())
}
