//! What `specialise` makes of scripts, without a kernel: `tests/ir/NAME.lua` has frames in its first lines and what becomes of them,
//! `-- HEX = VERDICT` or `-- HEX = VERDICT, N event`; one after the other is given to the IR as it is lowered and as it is optimised, run in
//! simulated memory. `NAME.ir` is the IR as it is lowered, to be read: `MOONHOOK_BLESS=1` writes it anew.

use moonhook_engine::{Attempt, Learned, Settings, lower};
use moonhook_ir::eval::Machine;
use moonhook_ir::{FunctionId, Module, helper};
use std::fs;
use std::path::{Path, PathBuf};

/// A frame, the verdict on it, and how many records are sent meanwhile.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    frame: Vec<u8>,
    verdict: u64,
    events: usize,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir")
}

fn scripts() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "lua")).collect();
    scripts.sort();
    scripts
}

/// The lines `-- HEX = VERDICT, N event` of a script.
fn expected(text: &str) -> Vec<Expected> {
    let lines = text.lines().map_while(|line| line.strip_prefix("-- "));
    let parse = |line: &str| {
        let (frame, rest) = line.split_once(" = ")?;
        let (verdict, events) = rest.split_once(", ").unwrap_or((rest, "0 events"));
        let byte = |at: usize| u8::from_str_radix(frame.get(at..at + 2)?, 16).ok();
        Some(Expected {
            frame: (0..frame.len()).step_by(2).map(byte).collect::<Option<_>>()?,
            verdict: verdict.parse().ok()?,
            events: events.split(' ').next()?.parse().ok()?,
        })
    };
    lines.map(|line| parse(line).unwrap_or_else(|| panic!("no expectation: {line}"))).collect()
}

fn lowered(script: &Path) -> Module {
    let settings = Settings { cpus: Some(2), ..Settings::default() };
    let loaded = moonhook_load::load(&[script.to_path_buf()], &settings.load);
    let snapshot = loaded.unwrap_or_else(|error| panic!("{error}")).snapshot;
    lower(&snapshot, &settings, Attempt::EXPANDED, &mut Learned::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// What becomes of the frames, one after the other: maps keep their entries.
fn outcomes(module: &Module, frames: &[Expected]) -> Vec<Expected> {
    let mut machine = Machine::new(module, Vec::new());
    let run = |Expected { frame, .. }: &Expected| {
        machine.packet = frame.clone();
        machine.helpers.clear();
        let verdict = machine.run(module, FunctionId(0)).unwrap_or_else(|trap| panic!("{trap}"));
        let events = machine.helpers.iter().filter(|(id, _)| *id == helper::RINGBUF_OUTPUT).count();
        Expected { frame: frame.clone(), verdict, events }
    };
    frames.iter().map(run).collect()
}

#[test]
fn scripts_become_this_ir_and_do_that() {
    let bless = std::env::var_os("MOONHOOK_BLESS").is_some();
    let scripts = scripts();
    assert!(scripts.len() >= 8, "only {} scripts found", scripts.len());
    let mut failures = Vec::new();
    for script in scripts {
        let expected = expected(&fs::read_to_string(&script).unwrap());
        assert!(!expected.is_empty(), "{}: no frames", script.display());
        let mut module = lowered(&script);
        // Paths of this machine do not belong into what is compared.
        let text = module.to_string().replace(&format!("{}/", folder().display()), "");
        assert_eq!(outcomes(&module, &expected), expected, "{} as lowered", script.display());
        moonhook_passes::optimise(&mut module);
        assert_eq!(outcomes(&module, &expected), expected, "{} as optimised", script.display());
        let golden = script.with_extension("ir");
        let known = fs::read_to_string(&golden).unwrap_or_default();
        if bless && known != text {
            fs::write(&golden, text).unwrap();
        } else if known != text {
            failures.push(format!("{}: expected\n{known}\nfound\n{text}", golden.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
