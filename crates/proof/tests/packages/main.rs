//! Moonhook's own packages: each program in C does what it does in Lua, and both do in the kernel what they do in user space.

mod frames;

use moonhook_engine::{Folders, RunningKernel};
use moonhook_load::Options;
use moonhook_packages::Sources;
use moonhook_proof::corpus::Named;
use moonhook_proof::outcome::Seen;
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

/// A script in both tiers and, with programs in C, in both forms.
fn pair(script: &str, is_lua: bool) -> Result<Pair, ProofError> {
    let mut pair = Pair::with_options(&scripts(is_lua).path().join(script), &options(is_lua))?;
    match (pair.take_refused(), is_lua) {
        (None, false) => {}
        // Chains in general code call no functions in Lua.
        (Some(error), true) => assert_eq!(error.code(), Some("MH0222"), "{script}: {error}"),
        (Some(error), false) => return Err(error),
        (None, true) => panic!("{script} has a general form with programs in Lua"),
    }
    Ok(pair)
}

/// The script whose programs in Lua keep times in tables.
const BY_THE_CLOCK: &str = "limits.lua";

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
    let (mut c, mut lua) = (pair(script, false)?, pair(script, true)?);
    let mut got = Got::default();
    for (name, frame) in frames {
        let of_c = c.run_named(frame, || name.clone())?;
        let of_lua = match lua.run_named(frame, || name.clone()) {
            // Tables of Lua are compared, too; when a packet came is never the same for both tiers.
            Err(ProofError::Differs { difference, .. })
                if difference.part == "tables" && script == BY_THE_CLOCK =>
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
