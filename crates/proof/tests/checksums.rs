//! Checksums of what random programs make of packets, as tshark computes them: an opinion that nobody here has written.
//!
//! Programs write fields, change lengths, put packets into others and answer questions; they write nothing by offset, nor checksums themselves.
//! What they are given has right checksums, and so must what they leave. `MOONHOOK_FUZZ_CASES`, `_SEED` and `_TIER` are as in `random.rs`; here
//! programs run in real Lua alone, unless the tier is `both`.

use moonhook_capture::{Frame, Writer};
use moonhook_proof::generator::Features;
use moonhook_proof::trial::{Tiers, Trial, Verdict};
use moonhook_proof::{frames, host, pair};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Pairs of a program and a frame.
const CASES: u64 = 12_000;
const SEED: u64 = 4000;

/// Fields of tshark that say what it finds of a checksum, each with one value for each header.
const STATUS: [&str; 5] = [
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
];

/// The values of a checksum that is wrong, and of one that is right (epan/proto.h, `proto_checksum_enum_e`).
const BAD: &str = "0";
const GOOD: &str = "1";

/// What tshark finds of the frames of a capture, in their order: a line each, with [`STATUS`]' values.
fn judged(all: &[Vec<u8>], folder: &Path) -> Vec<Vec<String>> {
    let path = folder.join("frames.pcap");
    let mut writer = Writer::create(&path).expect("a capture can be written");
    for (data, number) in all.iter().zip(1..) {
        let frame =
            Frame { timestamp_ns: number, data: data.clone(), original_length: data.len() as u32, number };
        writer.write(&frame).expect("a frame can be written");
    }
    writer.finish().expect("a capture can be finished");
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-r"]).arg(&path);
    for preference in ["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"] {
        command.args(["-o", &format!("{preference}:TRUE")]);
    }
    for preference in ["ip.defragment", "ipv6.defragment", "tcp.desegment_tcp_streams"] {
        command.args(["-o", &format!("{preference}:FALSE")]);
    }
    command.args(STATUS.iter().flat_map(|field| ["-e", field]));
    let output = command.stderr(Stdio::null()).output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().map(|line| line.split(['\t', ',']).map(str::to_string).collect());
    lines.collect()
}

fn is_bad(found: &[String]) -> bool {
    found.iter().any(|status| status == BAD)
}

/// Frames of all kinds whose checksums are right, as far as they have any.
fn inputs(folder: &Path) -> Vec<Vec<u8>> {
    let script = folder.join("fix.lua");
    let text = "require('xdp').attach(function(pkt) pkt:fix_checksums() end)";
    std::fs::write(&script, text).expect("a script can be written");
    let mut user = pair::user_tier(&script).expect("the script is one");
    let all: Vec<Vec<u8>> = frames::named().iter().map(|(_, frame)| user.run(frame).0.data).collect();
    let found = judged(&all, folder);
    assert_eq!(found.len(), all.len());
    all.into_iter().zip(found).filter(|(_, found)| !is_bad(found)).map(|(frame, _)| frame).collect()
}

#[test]
fn checksums_are_right_fuzz() {
    if Command::new("tshark").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return host::note_skipped("checksums of random programs", "tshark is not installed");
    }
    let both = std::env::var("MOONHOOK_FUZZ_TIER").is_ok_and(|tier| tier == "both");
    let tiers = if both { Tiers::Both } else { Tiers::User };
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = inputs(folder.path());
    assert!(inputs.len() > 30, "{} frames have right checksums", inputs.len());
    let names = "writes lengths protocols texts closures";
    let features = Features::named(names).unwrap_or_else(|name| panic!("{name}"));
    let programs = host::setting("MOONHOOK_FUZZ_CASES", CASES).div_ceil(inputs.len() as u64);
    let first = host::setting("MOONHOOK_FUZZ_SEED", SEED);
    let (mut made, mut seeds, mut changed, mut unfit) = (Vec::new(), Vec::new(), 0, 0);
    for seed in first..first + programs {
        let mut trial = Trial::new(seed, features, tiers);
        trial.frags = false;
        trial.frames = inputs.clone();
        match trial.run(folder.path()) {
            Verdict::Agreed(ran) => {
                for (seen, input) in ran.seen.into_iter().zip(&inputs) {
                    changed += usize::from(seen.data != *input);
                    made.push(seen.data);
                    seeds.push((seed, input));
                }
            }
            Verdict::Refused(..) => {}
            Verdict::Failed(failure) if both => panic!("seed {seed}: {} {}", failure.kind, failure.message),
            // Not fit for comparing tiers (`programs_are_fit_fuzz` looks for those), and not run to its end.
            Verdict::Failed(_) => unfit += 1,
        }
    }
    let found = judged(&made, folder.path());
    assert_eq!(found.len(), made.len(), "tshark has seen all frames");
    let mut tally: BTreeMap<&str, usize> = BTreeMap::new();
    found.iter().flatten().for_each(|status| *tally.entry(status).or_default() += 1);
    assert!(unfit * 50 <= programs, "{unfit} of {programs} programs are not fit");
    println!(
        "{programs} programs, {unfit} of them not fit, {} frames, {changed} of them changed, statuses: {tally:?}",
        made.len()
    );
    let wrong = found.iter().zip(&made).zip(&seeds).filter(|((found, _), _)| is_bad(found));
    let wrong: Vec<String> = wrong
        .map(|((found, frame), (seed, input))| {
            format!(
                "seed {seed}: {STATUS:?} are {found:?}\n  of  {}\n  is  {}",
                pair::hex(input),
                pair::hex(frame)
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} frames have a wrong checksum:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(6)].join("\n")
    );
    assert!(tally.get(GOOD).is_some_and(|good| *good > made.len() / 2), "{tally:?}");
    assert!(changed * 8 > made.len(), "programs change packets");
}
