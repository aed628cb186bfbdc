//! Random chains of eCLAT, beside the same in C, compiled by clang: what they give, and what they make of the packet.
//!
//! `MOONHOOK_CHAINS` says how many chains (each on 20 packets), `MOONHOOK_CHAINS_SEED` which come first. Some of them run in the kernel, in both
//! forms, beside the interpreter.

mod generator;
mod lua;

use generator::{Both, script};
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

#[derive(Clone)]
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

    fn map(&mut self, _: usize, _: &[u64]) -> Result<u64, Self::End> {
        Ok(0)
    }

    fn call(&mut self, _: usize, _: &[u64]) -> Result<u64, ()> {
        Err(())
    }

    fn decide(&mut self, _: usize, _: u64) {}
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
