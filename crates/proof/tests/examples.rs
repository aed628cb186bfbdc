//! Every example, and the scripts that print each protocol's fields, on frames that nobody would send: all prefixes, damaged
//! headers, noise; and on all frames of the captures in the folder that MOONHOOK_TRACES names. Both tiers agree about each.
//! `MOONHOOK_EXAMPLE=TEXT` chooses scripts.

use moonhook_install::{FRAME_MIN, frame_max_linear};
use moonhook_proof::corpus::{self, Named};
use moonhook_proof::random::Random;
use moonhook_proof::{Pair, cases, frames, host};
use std::path::{Path, PathBuf};

/// DROP of `require "linux.xdp"`.
const DROP: usize = 1;

const SEED: u64 = 0x6d6f_6f6e;

/// After this many differences of one script more would tell nothing new.
const ENOUGH: usize = 5;

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut scripts = cases::scripts(&folder);
    assert!(scripts.len() >= 4, "{} has {} examples only", folder.display(), scripts.len());
    scripts.retain(|path| !BY_THE_CLOCK.iter().chain(&LARGE_TABLES).any(|name| path.ends_with(name)));
    scripts.extend(cases::scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/protocols")));
    if let Ok(part) = std::env::var("MOONHOOK_EXAMPLE") {
        scripts.retain(|path| path.to_string_lossy().contains(&part));
    }
    scripts
}

/// Examples whose outcome depends on when a frame comes, which is never the same for both tiers; tests/e2e has a test of each.
const BY_THE_CLOCK: [&str; 2] = ["ddos.lua", "syn_flood.lua"];

/// Examples that fill a shared table with thousands of entries, all of which would be compared for each frame; tests/e2e has a test of each.
const LARGE_TABLES: [&str; 1] = ["load_balancer.lua"];

/// Examples that drop nothing.
const DROP_NOTHING: [&str; 3] = ["dns_stats.lua", "port_forward.lua", "router.lua"];

/// Runs every frame through every example; each example has a thread of its own.
fn run(frames: &[Named], all_must_drop: bool) {
    let examples = examples();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let run_example = |path: &'static Path| scope.spawn(move || differences(path, frames, all_must_drop));
        let threads: Vec<_> =
            examples.iter().map(|path| run_example(Box::leak(path.clone().into_boxed_path()))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread of an example")).collect()
    });
    println!("{} frames through {} scripts", frames.len(), examples.len());
    assert!(failures.is_empty(), "{} differences:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// What differs, and, if `must_drop` says so of an example, that it dropped nothing.
fn differences(path: &Path, frames: &[Named], must_drop: bool) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut pair = match Pair::new(path) {
        Ok(pair) => pair,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let mut failures = Vec::new();
    let mut seen_verdicts = [0usize; 5];
    for (frame_name, frame) in frames {
        if !(FRAME_MIN..=frame_max_linear()).contains(&frame.len()) {
            // What one tier alone has seen would be in one tier's tables alone.
            if !pair.has_tables() {
                pair.run_user(frame);
            }
            continue;
        }
        match pair.run_named(frame, || frame_name.clone()) {
            Ok(seen) => seen_verdicts[seen.verdict as usize % 5] += 1,
            Err(error) => failures.push(format!("{name}: {error}")),
        }
        if failures.len() == ENOUGH {
            break;
        }
    }
    println!("{name}: verdicts {seen_verdicts:?}");
    if must_drop
        && seen_verdicts[DROP] == 0
        && path.parent().is_some_and(|folder| folder.ends_with("examples"))
        && !DROP_NOTHING.contains(&&*name)
    {
        failures.push(format!("{name}: no frame was dropped, so the frames show nothing"));
    }
    failures
}

#[test]
fn every_prefix_of_every_frame() {
    if host::kernel_available("truncated frames") {
        run(&corpus::truncated(), true);
    }
}

/// A frame that an example is about: description, verdict (1 drops, 2 passes) and printed lines.
type Decision = (&'static str, i32, &'static [&'static str]);

const DECISIONS: &[(&str, &[Decision])] = &[
    (
        "sni_filter.lua",
        &[
            ("sni:blocked.example", 1, &[]),
            ("sni:BLOCKED.Example", 1, &[]),
            ("sni:blocked.example.", 1, &[]),
            ("sni6:Blocked.EXAMPLE.", 1, &[]),
            ("sni:unblocked.example", 2, &[]),
            ("sni:blocked.example..", 2, &[]),
            ("sni:blocked.exampl", 2, &[]),
            ("sni:.", 2, &[]),
            ("tls-without-name", 2, &[]),
        ],
    ),
    (
        "user_agent.lua",
        &[
            ("tcp80:GET\\s/\\sHTTP/1.1\\r\\nUser-Agent:\\sBadBot/1.0\\r\\n\\r\\n", 1, &[]),
            ("tcp80:GET\\s/\\sHTTP/1.1\\r\\nuser-agent:\\sBadBot/1.0\\r\\n\\r\\n", 1, &[]),
            ("tcp80:GET\\s/\\sHTTP/1.1\\r\\nUSER-AGENT:BadBot/1.0\\x09\\s\\r\\n\\r\\n", 1, &[]),
            ("tcp80:GET\\s/\\sHTTP/1.1\\nuser-Agent:\\s\\s\\x09BadBot/1.0\\nHost:\\sx\\n\\n", 1, &[]),
            // A header of another name before the real one.
            (
                "tcp80:GET\\s/\\sHTTP/1.1\\r\\nX-User-Agent:\\sgood\\r\\nuser-agent:\\scurl/7.0.0\\r\\n\\r\\n",
                1,
                &[],
            ),
            ("tcp80:GET\\s/\\sHTTP/1.1\\r\\nUser-Agent:\\sBadBot/1.0\\sx\\r\\n\\r\\n", 2, &[]),
            ("tcp80:GET\\s/\\sHTTP/1.1\\r\\nX-User-Agent:\\sBadBot/1.0\\r\\n\\r\\n", 2, &[]),
            ("tcp80:GET\\s/\\sHTTP/1.1\\r\\nUser-Agent:\\sBadBot/1.0", 2, &[]),
            ("tcp:GET\\s/\\sHTTP/1.1\\r\\nUser-Agent:\\sBadBot/1.0\\r\\n\\r\\n", 2, &[]),
        ],
    ),
    (
        "word_count.lua",
        &[
            ("udp:Offer\\sof\\sthe\\sday:\\sthe\\sbest\\soffer!", 1, &[]),
            (
                "udp:one\\stwo\\sTwo\\sthree\\sthree\\sfour\\sthe\\sthe\\sthe",
                2,
                &["three\t2", "two\t2", "four\t1"],
            ),
            ("udp:offer\\snothing\\snothing", 2, &["nothing\t2", "offer\t1"]),
            ("udp-empty", 2, &[]),
            ("tcp:offer", 2, &[]),
        ],
    ),
    (
        "classes.lua",
        &[
            ("sip:PING\\s1", 2, &[]),
            ("sip:INVITE", 1, &["dropped: internal services from 192.0.2.7"]),
            ("udp:\\x00\\x00\\x00\\x00", 1, &["dropped: probes from 192.0.2.7"]),
            ("udp:\\x00\\x00\\x01\\x00", 2, &[]),
            ("tcp:PING", 2, &[]),
        ],
    ),
    (
        "http_paths.lua",
        &[
            ("http:curl", 2, &[]),
            ("tcp80:GET\\s/admin\\sHTTP/1.1\\r\\nHost:\\sx\\r\\n\\r\\n", 1, &[]),
            ("tcp80:GET\\s/administration\\sHTTP/1.1\\r\\n\\r\\n", 2, &[]),
            ("tcp80:POST\\s/metrics?x=1\\sHTTP/1.0\\n", 1, &[]),
            ("tcp80:HTTP/1.1\\s200\\sOK\\r\\n\\r\\n", 2, &[]),
            ("udp", 2, &[]),
        ],
    ),
    (
        "dns_filter.lua",
        &[
            ("dns:www.example.org", 2, &[]),
            ("dns:Pixel.a.TRACKER.example", 1, &[]),
            ("dns:ads.example.net", 1, &[]),
            ("dns:bads.example.net", 2, &[]),
            ("dns:tracker.example.org", 2, &[]),
            ("dns:tracker.example/71", 1, &[]),
            ("dns:tracker.example/70", 2, &[]),
            ("udp:0123456789ab\\xc0\\x0c", 2, &[]),
            ("tcp:tracker.example", 2, &[]),
        ],
    ),
    (
        "dns_names.lua",
        &[
            ("dns:www.example.org", 2, &[]),
            (
                "dns:Pixel.a.TRACKER.example",
                1,
                &["192.0.2.7 asked for pixel.a.tracker.example, under tracker.example"],
            ),
            ("dns:ads.example.net", 1, &["192.0.2.7 asked for ads.example.net, under ads.example.net"]),
            ("dns:bads.example.net", 2, &[]),
            ("dns:tracker.example.org", 2, &[]),
            ("dns:tracker.example/70", 2, &[]),
            ("udp:0123456789ab\\xc0\\x0c", 2, &[]),
            ("sip:tracker.example", 2, &[]),
        ],
    ),
];

#[test]
fn examples_do_what_they_say() {
    if !host::kernel_available("what examples say") {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (example, decisions) in DECISIONS {
        let mut pair = Pair::new(&folder.join(example)).unwrap_or_else(|error| panic!("{example}: {error}"));
        for (description, verdict, lines) in *decisions {
            for (_, frame) in frames::described(description).expect("a description of frames") {
                let seen = pair.run(&frame).unwrap_or_else(|error| panic!("{example}: {error}"));
                let printed: Vec<_> = seen.output.iter().map(|line| line.lossy()).collect();
                assert_eq!(
                    (seen.verdict, &printed[..]),
                    (*verdict, &own(lines)[..]),
                    "{example}: {description}"
                );
                assert_eq!(seen.error, None, "{example}: {description}");
            }
        }
    }
}

fn own(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| line.to_string()).collect()
}

#[test]
fn damaged_frames_fuzz() {
    if !host::kernel_available("damaged frames") {
        return;
    }
    let seed = host::setting("MOONHOOK_FUZZ_SEED", SEED);
    let count = host::setting("MOONHOOK_FUZZ_CASES", 3000) as usize;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut frames = corpus::damaged(&mut random, count);
    frames.extend(corpus::noise(&mut random, count));
    run(&frames, false);
}

#[test]
fn every_frame_of_the_captures() {
    if !host::kernel_available("captures") {
        return;
    }
    let Some(folder) = std::env::var_os("MOONHOOK_TRACES") else {
        host::note_skipped("every frame of the captures", "MOONHOOK_TRACES names no folder");
        return;
    };
    let (mut frames, mut user_only) = (Vec::new(), Vec::new());
    for path in corpus::captures(Path::new(&folder)) {
        let Ok(capture) = moonhook_capture::open(&path) else { continue };
        for frame in capture.filter_map(Result::ok) {
            let name = format!("{} frame {}", path.display(), frame.number);
            if !(FRAME_MIN..=frame_max_linear()).contains(&frame.data.len()) {
                user_only.push(format!("{name}: {} bytes", frame.data.len()));
            }
            frames.push((name, frame.data));
        }
    }
    println!("{} frames run in the user tier only:\n  {}", user_only.len(), user_only.join("\n  "));
    assert!(!frames.is_empty(), "no frames in {}", Path::new(&folder).display());
    run(&frames, false);
}
