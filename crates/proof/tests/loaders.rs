//! Objects of `moonhook build` in the hands of other loaders: each takes every example in both forms, and the programs do to
//! frames what they do when `moonhook run` has loaded them. docs/objects.md has the table of what came out.
//!
//! A loader that is not installed (`scripts/setup test`) is noted as skipped.

mod loaders {
    pub mod tools;
}

use loaders::tools::{LOADERS, Loader, run_pinned};
use moonhook_engine::{Form, Settings};
use moonhook_hook::OnError;
use moonhook_hook::XDP;
use moonhook_install::LogDetail;
use moonhook_proof::{cases, frames, host};
use std::path::{Path, PathBuf};

/// Frames that examples drop, beside one of each kind.
const DROPPED: &[&str] = &[
    "sni:ads.example",
    "http:masscan/1.3",
    "tcp80:GET\\s/admin\\sHTTP/1.1\\r\\n\\r\\n",
    "dns:ads.example.net",
    "udp:Offer\\sof\\sthe\\sday:\\sthe\\sbest\\soffer!",
    "udp:\\x00\\x00\\x00\\x00",
    "icmp*120",
];

/// Examples that drop none of these.
const PASSES_ALL: [&str; 3] = ["dns_stats.lua", "filter.lua", "router.lua"];

/// The outcome depends on when a frame comes.
const BY_THE_CLOCK: [&str; 2] = ["ddos.lua", "syn_flood.lua"];

/// DROP of `require "linux.xdp"`.
const DROP: i32 = 1;

/// An example as an object.
struct Sample {
    name: String,
    path: PathBuf,
    program: String,
    /// What our own loader's program does to the frames; `None` if that depends on the time.
    verdicts: Option<Vec<i32>>,
}

fn frames_of_all_kinds() -> Vec<Vec<u8>> {
    // Long ones, and more bytes of one source than `top_talkers.lua` allows.
    let long = format!("sip:{}*80", "x".repeat(1400));
    let described = |description: &str| frames::described(description).unwrap();
    let all = ["all", &long].into_iter().chain(DROPPED.iter().copied()).flat_map(described);
    all.map(|(_, frame)| frame).collect()
}

/// The example in that form, if it has it, as an object below `folder`.
fn sample(script: &Path, form: Form, folder: &Path, frames: &[Vec<u8>]) -> Option<Sample> {
    let settings = Settings { form: Some(form), ..Settings::default() };
    let loaded = moonhook_load::load(&[script.to_path_buf()], &settings.load).unwrap();
    // Loaders that are older than tcx links do not know their sections.
    if loaded.snapshot.hooks().any(|hook| *hook != XDP) {
        return None;
    }
    let own = moonhook_engine::install(&loaded.snapshot, &settings, LogDetail::Nothing, |_| Vec::new());
    let (_, own) = own.ok()?;
    let program = own.programs().remove(0);
    let verdicts = frames.iter().map(|frame| own.test_run(&program, frame, 1).unwrap().verdict).collect();
    let file = script.file_name().unwrap().to_string_lossy();
    let settings = Settings { arena: false, ..settings };
    let object = moonhook_engine::compile(&loaded.snapshot, &settings).unwrap();
    let name = format!("{file} {form:?}");
    let path = folder.join(format!("{}.{form:?}.o", file.trim_end_matches(".lua")));
    std::fs::write(&path, &object.object.elf).unwrap();
    let verdicts = Some(verdicts).filter(|_| !BY_THE_CLOCK.contains(&&*file));
    Some(Sample { name, path, program, verdicts })
}

fn samples(folder: &Path, frames: &[Vec<u8>]) -> Vec<Sample> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let scripts: Vec<PathBuf> = std::fs::read_dir(&examples).unwrap().map(|e| e.unwrap().path()).collect();
    let mut scripts: Vec<_> =
        scripts.into_iter().filter(|p| p.extension().is_some_and(|e| e == "lua")).collect();
    scripts.extend(cases::scripts(&examples.join("js_challenge")));
    scripts.sort();
    let forms = [Form::Expanded, Form::General];
    let samples: Vec<Sample> = scripts
        .iter()
        .flat_map(|script| forms.map(|form| sample(script, form, folder, frames)))
        .flatten()
        .collect();
    assert!(samples.len() > scripts.len(), "{} objects of {} examples", samples.len(), scripts.len());
    samples
}

/// What is wrong with a loader.
fn complaints(loader: &Loader, samples: &[Sample], frames: &[Vec<u8>], pins: &Path) -> Vec<String> {
    let mut complaints = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        let pin = pins.join(format!("{}_{number}", loader.name.replace([' ', '.', '/'], "_")));
        if let Err(problem) = (loader.load)(&sample.path, &sample.program, &pin) {
            complaints.push(format!("{}: {}: {problem}", loader.name, sample.name));
            continue;
        }
        let verdicts = run_pinned(&pin, frames);
        let _ = std::fs::remove_file(&pin);
        match (verdicts, &sample.verdicts) {
            (Err(problem), _) => complaints.push(format!("{}: {}: {problem}", loader.name, sample.name)),
            (Ok(found), Some(expected)) if found != *expected => {
                complaints.push(format!("{}: {}: {found:?}, not {expected:?}", loader.name, sample.name));
            }
            _ => {}
        }
    }
    println!("{}: {} of {} objects", loader.name, samples.len() - complaints.len(), samples.len());
    complaints
}

#[test]
fn every_loader_takes_every_example() {
    if !host::kernel_available("objects in other loaders") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pins = PathBuf::from(format!("/sys/fs/bpf/moonhook-loaders-{}", std::process::id()));
    std::fs::create_dir(&pins).expect("a BPF file system at /sys/fs/bpf");
    let frames = frames_of_all_kinds();
    let samples = samples(folder.path(), &frames);
    let mut all = Vec::new();
    for loader in LOADERS {
        match (loader.missing)() {
            Some(reason) => {
                println!("{}: skipped: {reason}", loader.name);
                host::note_skipped(&format!("objects in {}", loader.name), &reason);
            }
            None => all.extend(complaints(loader, &samples, &frames, &pins)),
        }
    }
    let _ = std::fs::remove_dir_all(&pins);
    assert!(all.is_empty(), "{}", all.join("\n"));
    let silent = |sample: &&Sample| {
        let expected = !PASSES_ALL.iter().any(|name| sample.name.starts_with(name));
        expected && sample.verdicts.as_ref().is_some_and(|all| !all.contains(&DROP))
    };
    let silent: Vec<&str> = samples.iter().filter(silent).map(|sample| &*sample.name).collect();
    assert!(silent.is_empty(), "no frame was dropped, so the frames show nothing: {silent:?}");
}

/// Loads the object of a script's text with libbpf, and pins it.
fn pinned(text: &str, form: Form, cpus: Option<u32>, pin: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.lua");
    std::fs::write(&script, text).unwrap();
    let settings = Settings {
        form: Some(form),
        arena: false,
        cpus,
        on_error: OnError::named("aborted"),
        ..Settings::default()
    };
    let loaded = moonhook_load::load(&[script], &settings.load).unwrap();
    let compiled = moonhook_engine::compile(&loaded.snapshot, &settings).unwrap();
    let object = folder.path().join("script.o");
    std::fs::write(&object, &compiled.object.elf).unwrap();
    let program = &moonhook_engine::object_name(&compiled.object).unwrap();
    (LOADERS[0].load)(&object, program, pin).unwrap();
}

#[test]
fn a_cpu_without_memory_is_an_error() {
    if !host::kernel_available("CPUs without memory") {
        return;
    }
    let frame = frames::described("udp").unwrap().remove(0).1;
    for form in [Form::General, Form::Expanded] {
        let pin = PathBuf::from(format!("/sys/fs/bpf/moonhook-cpus-{}-{form:?}", std::process::id()));
        let text = r#"require "xdp".attach(function(pkt) print(#pkt) return 1 end)"#;
        pinned(text, form, Some(1), &pin);
        let on = |cpu| host::on_cpu(cpu, || run_pinned(&pin, std::slice::from_ref(&frame)));
        let verdicts = [on(0), on(1)];
        let _ = std::fs::remove_file(&pin);
        assert_eq!(verdicts[0], Ok(Ok(vec![1])), "{form:?}");
        // There may be no second CPU.
        if let Ok(second) = &verdicts[1] {
            assert_eq!(second, &Ok(vec![0]), "{form:?}");
        }
    }
}

#[test]
fn entries_of_tables_are_printed_by_name() {
    if !host::kernel_available("entries of tables in bpftool") {
        return;
    }
    let text = r#"
        local seen = map { key = "ipv4", value = { length = "int", name = "string:12" }, capacity = 4 }
        require "xdp".attach(function(pkt)
          seen[pkt.ip.src] = { length = #pkt, name = "a name" }
        end)"#;
    let frame = frames::described("udp").unwrap().remove(0).1;
    for form in [Form::General, Form::Expanded] {
        let pin = PathBuf::from(format!("/sys/fs/bpf/moonhook-entries-{}-{form:?}", std::process::id()));
        pinned(text, form, None, &pin);
        let ran = run_pinned(&pin, std::slice::from_ref(&frame));
        let shown = loaders::tools::entries(&pin, "seen");
        let _ = std::fs::remove_file(&pin);
        assert_eq!(ran, Ok(vec![2]), "{form:?}");
        let shown = shown.unwrap_or_else(|problem| panic!("{form:?}: {problem}"));
        let (key, value) = (&shown[0]["formatted"]["key"], &shown[0]["formatted"]["value"]);
        assert_eq!(key, 0xc000_0207_u32, "{form:?}: {shown}");
        assert_eq!(value["length"], frame.len(), "{form:?}: {shown}");
        assert_eq!(value["name"]["length"], 6, "{form:?}: {shown}");
    }
}
