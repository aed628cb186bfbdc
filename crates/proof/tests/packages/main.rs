//! Moonhook's own packages: each program in C does what it does in Lua, and both do in the kernel what they do in user space.

mod frames;
mod random;

use moonhook_engine::{Folders, RunningKernel};
use moonhook_load::Options;
use moonhook_packages::Sources;
use moonhook_proof::corpus::Named;
use moonhook_proof::outcome::Seen;
use moonhook_proof::random::Random;
use moonhook_proof::{Pair, ProofError, host};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packages")
}

/// What load time may use, with the programs in C or, where there are some, in Lua.
fn options(is_lua: bool) -> Options {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages");
    let folders = if is_lua { vec![folder.join("lua"), folder] } else { vec![folder] };
    Options {
        kernel: Arc::new(RunningKernel),
        packages: Arc::new(Folders::new(Sources { folders, aliases: vec![] })),
        ..Options::default()
    }
}

/// The scripts, as they are or for functions in Lua: those have no maps that a script could fill, but modules of the same content.
fn scripts(is_lua: bool) -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    for entry in std::fs::read_dir(here()).expect("the folder is there").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("it can be read");
        let is_chain = entry.path().extension().is_some_and(|end| end == "eclat");
        let fills = |line: &str| line.contains("] = {") && !line.contains("[chains]");
        let kept: Vec<&str> = text.lines().filter(|line| !(is_lua && is_chain && fills(line))).collect();
        std::fs::write(folder.path().join(entry.file_name()), kept.join("\n")).expect("there is room");
    }
    folder
}

/// A script in both tiers and in both forms.
fn pair(script: &str, is_lua: bool) -> Result<Pair, ProofError> {
    pair_within(&scripts(is_lua), script, is_lua)
}

fn pair_within(folder: &TempDir, script: &str, is_lua: bool) -> Result<Pair, ProofError> {
    let mut pair = Pair::with_options(&folder.path().join(script), &options(is_lua))?;
    let refused = pair.take_refused();
    match refused {
        // Random chains call such programs now and then.
        None => assert!(
            script == RANDOM || !(is_lua && WITH_TABLES_AS_KEYS.contains(&script)),
            "{script} has a general form"
        ),
        // General code takes no tables as keys of shared ones.
        Some(error) => {
            let is_meant = is_lua && WITH_TABLES_AS_KEYS.contains(&script) && error.code() == Some("MH0212");
            assert!(is_meant, "{script}: {error}");
        }
    }
    Ok(pair)
}

/// Scripts whose programs in Lua have tables as keys of others.
const WITH_TABLES_AS_KEYS: [&str; 3] = ["limits.lua", "monitor.lua", RANDOM];

/// Scripts whose programs in Lua keep times in tables.
const BY_THE_CLOCK: [&str; 2] = ["limits.lua", RANDOM];

/// What calls the chain `random.eclat`.
const RANDOM: &str = "random.lua";

/// What frames got.
#[derive(Default)]
struct Got {
    /// Each verdict.
    verdicts: [usize; 5],
    /// Different results.
    results: BTreeSet<String>,
    /// That they are other frames now.
    changed: usize,
}

/// Runs frames through a script with programs in C, and with those in Lua; both do the same.
fn equal(script: &str, frames: &[Named]) -> Result<Got, ProofError> {
    equal_pairs(script, (pair(script, false)?, pair(script, true)?), frames)
}

fn equal_pairs(script: &str, (mut c, mut lua): (Pair, Pair), frames: &[Named]) -> Result<Got, ProofError> {
    let mut got = Got::default();
    for (name, frame) in frames {
        let of_c = c.run_named(frame, || name.clone())?;
        let of_lua = match lua.run_named(frame, || name.clone()) {
            // Tables of Lua are compared, too; when a packet came is never the same for both tiers.
            Err(ProofError::Differs { difference, .. })
                if difference.part == "tables" && BY_THE_CLOCK.contains(&script) =>
            {
                difference.user
            }
            ran => ran?,
        };
        let seen = |seen: &Seen| (seen.verdict, seen.data.clone(), seen.output.clone(), seen.error.clone());
        assert_eq!(seen(&of_c), seen(&of_lua), "{script}, {name}: C and Lua differ");
        got.verdicts[of_c.verdict as usize % 5] += 1;
        got.results.extend(of_c.output.iter().map(|line| format!("{line:?}")));
        got.changed += usize::from(of_c.data != *frame);
    }
    println!("{script}: {:?}, {} results, {} changed", got.verdicts, got.results.len(), got.changed);
    Ok(got)
}

macro_rules! packages {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() -> Result<(), ProofError> {
                if !host::kernel_available(stringify!($name)) {
                    return Ok(());
                }
                let got = equal(concat!(stringify!($name), ".lua"), &frames::all())?;
                assert!(got.results.len() >= 10, "{} results", got.results.len());
                Ok(())
            }
        )*
    };
}

packages! { basics limits ip6 seg6 monitor }

#[test]
fn loaders_start_chains_for_their_packets() -> Result<(), ProofError> {
    if !host::kernel_available("loaders of packages") {
        return Ok(());
    }
    let frames = frames::all();
    // Of IPv6 dropped, of IPv4 sent out, all else passes.
    let got = equal("versions.eclat", &frames)?;
    let [_, dropped, passed, _, redirected] = got.verdicts;
    assert!(dropped > 50 && passed > 50 && redirected > 10, "{:?}", got.verdicts);
    // Every other one dropped.
    let got = equal("any.eclat", &frames)?;
    assert_eq!(got.verdicts[1], frames.len().div_ceil(2));
    Ok(())
}

/// The bytes that a packet becomes, as the RFCs have them: into other packets, on its way, and out of them.
#[test]
fn segments_are_those_of_the_rfcs() -> Result<(), ProofError> {
    if !host::kernel_available("segments") {
        return Ok(());
    }
    for is_lua in [false, true] {
        let mut pair = pair("way.lua", is_lua)?;
        let stages = frames::way();
        for (number, stage) in stages.windows(2).enumerate() {
            let seen = pair.run_named(&stage[0], || format!("stage {number}"))?;
            assert_eq!(seen.data, stage[1], "stage {number}, Lua: {is_lua}");
        }
        assert_eq!(stages.last(), stages.first());
    }
    Ok(())
}

/// The lines that fill maps in the scripts of these tests.
fn contents() -> String {
    let texts = ["ip6.eclat", "seg6.eclat"]
        .map(|name| std::fs::read_to_string(here().join(name)).expect("it can be read"));
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| line.contains("] = {"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn random_chains_do_the_same() -> Result<(), ProofError> {
    if !host::kernel_available("random chains of packages") {
        return Ok(());
    }
    let (count, first) = (host::setting("MOONHOOK_PACKAGES", 12), host::setting("MOONHOOK_PACKAGES_SEED", 1));
    let mut frames = frames::all();
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let text = random::chain(&mut random, &contents(), 1);
        let pair = |is_lua| {
            let folder = scripts(is_lua);
            let fills = |line: &&str| !(is_lua && line.contains("] = {"));
            let chain: Vec<&str> = text.lines().filter(fills).collect();
            std::fs::write(folder.path().join("random.eclat"), chain.join("\n")).expect("there is room");
            pair_within(&folder, RANDOM, is_lua)
        };
        // Others for each chain.
        let start = random.below(frames.len());
        frames.rotate_left(start);
        let pairs = (pair(false)?, pair(true)?);
        equal_pairs(RANDOM, pairs, &frames[..200])
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    }
    Ok(())
}

/// Where there is no room for more headers, programs in C say so in both tiers; the same in Lua are errors.
#[test]
fn random_chains_run_out_of_room_alike() -> Result<(), ProofError> {
    if !host::kernel_available("random chains that need room") {
        return Ok(());
    }
    let (count, first) = (host::setting("MOONHOOK_PACKAGES", 12), host::setting("MOONHOOK_PACKAGES_SEED", 1));
    let mut frames = frames::all();
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let text = random::chain(&mut random, &contents(), 9);
        let folder = scripts(false);
        std::fs::write(folder.path().join("random.eclat"), &text).expect("there is room");
        let mut pair = pair_within(&folder, RANDOM, false)?;
        let start = random.below(frames.len());
        frames.rotate_left(start);
        for (name, frame) in &frames[..200] {
            let ran = pair.run_named(frame, || name.clone());
            ran.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        }
    }
    Ok(())
}

#[test]
fn segments_are_addresses_of_ipv6() {
    let folder = scripts(true);
    for (address, is_taken) in
        [("fc00::1", true), ("::ffff:192.0.2.1", true), ("192.0.2.1", false), ("x", false)]
    {
        let segments = format!("return {{ [1] = {{ source = 'fc00::1', '{address}' }} }}");
        std::fs::write(folder.path().join("segments.lua"), segments).expect("there is room");
        match moonhook_load::load(&[folder.path().join("seg6.lua")], &options(true)) {
            Ok(_) => assert!(is_taken, "{address}"),
            Err(error) => {
                let message = error.diagnostic().message;
                assert!(!is_taken && message.contains("IPv6 address expected"), "{address}: {message}");
            }
        }
    }
}
