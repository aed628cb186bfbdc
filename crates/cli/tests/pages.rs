//! Every script on the pages for operators is accepted in both forms, and both tiers agree about it, without a run-time error.
//!
//! In front of a block of Lua a comment of Markdown's, which readers do not see, can say what it is run on beside one frame of each kind and
//! damaged ones: `<!-- frames: DESCRIPTION… -->`, with descriptions of `moonhook_proof::frames`. Behind one can stand the name of the verdict
//! that its last frame is to get: `udp*3=DROP`. Of a script that goes by the time, `<!-- clock: … -->`, the frames named are replayed, all of them
//! at one time, and nothing else is run. A script about which nothing can be seen on its frames shows nothing, and is an error.

mod common;

use common::{Place, write_capture};
use moonhook_engine::Settings;
use moonhook_hook::Hook;
use moonhook_proof::host::kernel_available;
use moonhook_proof::random::Random;
use moonhook_proof::{Pair, ProofError, corpus, frames, pair};
use std::path::{Path, PathBuf};

/// Frames with some bytes replaced that each script gets.
const DAMAGED: usize = 300;

const FORMS: [&str; 2] = ["expanded", "general"];

/// The page whose scripts get no frames.
const TRACE: &str = "trace.md";

/// What kernels have whose functions can have handlers.
const PROBES: &str = "/sys/bus/event_source/devices/kprobe";

/// A block of Lua.
struct Block {
    /// The page and the line where it begins.
    place: String,
    text: String,
    frames: Vec<Wanted>,
    is_by_the_clock: bool,
}

/// A description of frames, and the verdict that the last one is to get.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    description: String,
    verdict: Option<String>,
}

/// The pages whose blocks are whole scripts.
fn pages() -> Vec<PathBuf> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let hooks = std::fs::read_dir(docs.join("hooks")).expect("docs/hooks");
    let mut pages: Vec<PathBuf> = hooks.map(|entry| entry.expect("a page").path()).collect();
    pages.retain(|page| !page.ends_with(TRACE));
    pages.sort();
    pages.push(docs.join("from-other-tools.md"));
    pages
}

#[test]
fn the_kernel_takes_handlers_of_tracepoints() {
    if !kernel_available("the_kernel_takes_handlers_of_tracepoints") {
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hooks").join(TRACE);
    let blocks = blocks_of(&page);
    assert!(!blocks.is_empty());
    for block in blocks {
        let place = Place::with(&[("script.lua", &block.text)]);
        for form in FORMS {
            let run = place.run(&["check", "--form", form, "script.lua"]);
            if block.text.contains("probe/") && !Path::new(PROBES).exists() {
                assert!(run.ends_with(1).stderr().contains("MH0117"), "{}", block.place);
                continue;
            }
            let shown = run.ends_with(0).stdout();
            assert!(shown.contains("accepted by the kernel's verifier"), "{} ({form}): {shown}", block.place);
        }
    }
}

fn blocks_of(page: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(page).expect("a page");
    blocks(&page.file_name().unwrap_or_default().to_string_lossy(), &text)
}

fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut frames = Vec::new();
    let mut is_by_the_clock = false;
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(found) = comment(line, "frames").or_else(|| comment(line, "clock")) {
            is_by_the_clock = comment(line, "clock").is_some();
            frames = found;
        } else if line == "```lua" {
            let body = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            let text = body.flat_map(|line| [line, "\n"]).collect();
            let place = format!("{page}:{}", number + 1);
            blocks.push(Block { place, text, frames: std::mem::take(&mut frames), is_by_the_clock });
            is_by_the_clock = false;
        }
    }
    assert!(frames.is_empty(), "{page}: frames are named, and no block of Lua follows");
    blocks
}

/// What a comment of that kind names.
fn comment(line: &str, kind: &str) -> Option<Vec<Wanted>> {
    let words = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.strip_prefix(kind)?.strip_prefix(':')?;
    Some(words.split_whitespace().map(wanted).collect())
}

fn wanted(word: &str) -> Wanted {
    let (description, verdict) = match word.rsplit_once('=') {
        Some((description, verdict)) if verdict.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            (description, Some(verdict.to_string()))
        }
        _ => (word, None),
    };
    Wanted { description: description.to_string(), verdict }
}

impl Block {
    fn problem(&self, problem: impl std::fmt::Display) -> String {
        format!("{}: {problem}", self.place)
    }

    /// Takes the block through both tiers in both forms.
    fn run(&self) -> Result<(), String> {
        let place = Place::with(&[("script.lua", &self.text)]);
        let script = place.path("script.lua");
        let failed = |error: ProofError| self.problem(error);
        if self.is_by_the_clock {
            return self.replayed(&place);
        }
        for form in FORMS {
            place.run(&["check", "--form", form, "script.lua"]).ends_with(0);
        }
        let loaded = moonhook_load::load(std::slice::from_ref(&script), &Settings::default().load);
        let snapshot = loaded.map_err(|error| self.problem(error))?.snapshot;
        let hook = snapshot.points()[0].hook;
        if snapshot.hooks().any(|hook| !hook.has_packet()) {
            // The kernel has no test runs of such programs.
            let mut user = pair::user_tier(&script).map_err(failed)?;
            return self.compared(hook, |_, frame| Ok(user.run(frame).0));
        }
        let mut pair = Pair::in_both_forms(&script, false).map_err(failed)?;
        if let Some(error) = pair.take_refused() {
            return Err(failed(error));
        }
        self.compared(hook, |name, frame| pair.run_named(frame, || name.to_string()).map_err(failed))
    }

    /// Runs the frames that are named, and then others.
    fn compared(
        &self,
        hook: &Hook,
        mut run: impl FnMut(&str, &[u8]) -> Result<moonhook_proof::outcome::Seen, String>,
    ) -> Result<(), String> {
        let mut silent = true;
        let mut run = |name: &str, frame: &[u8]| {
            let seen = run(name, frame)?;
            silent &= seen.nothing_happened(frame) && seen.tables.is_empty();
            match &seen.error {
                Some(error) => Err(self.problem(format!("frame {name}: {error:?}"))),
                None => Ok(seen.verdict),
            }
        };
        for wanted in &self.frames {
            let frames = frames::described(&wanted.description).map_err(|error| self.problem(error))?;
            let mut verdict = hook.default;
            for (name, frame) in frames {
                verdict = run(&name, &frame)?;
            }
            let found = hook.verdict(verdict).unwrap_or_default();
            match &wanted.verdict {
                Some(verdict) if verdict != found => {
                    return Err(self.problem(format!("{}: {found}, not {verdict}", wanted.description)));
                }
                _ => {}
            }
        }
        let mut others = frames::described("all").map_err(|error| self.problem(error))?;
        others.extend(corpus::damaged(&mut Random::new(1), DAMAGED));
        for (name, frame) in others {
            run(&name, &frame)?;
        }
        match silent {
            true => Err(self.problem("nothing could be seen of any frame")),
            false => Ok(()),
        }
    }

    /// Replays the frames that are named in both tiers at once, in both forms.
    fn replayed(&self, place: &Place) -> Result<(), String> {
        let mut frames = Vec::new();
        for wanted in &self.frames {
            frames.extend(frames::described(&wanted.description).map_err(|error| self.problem(error))?);
        }
        write_capture(&place.path("frames.pcap"), frames.iter().map(|(_, frame)| frame.clone()));
        for form in ["expanded", "general"] {
            let run = place.run(&[
                "replay",
                "script.lua",
                "frames.pcap",
                "--tier",
                "both",
                "--form",
                form,
                "--json",
            ]);
            let report = run.ends_with(0).json();
            let mut at = 0;
            for wanted in &self.frames {
                at += frames::described(&wanted.description).map_or(0, |frames| frames.len());
                let found = report["frames"][at - 1]["verdict"].as_str().unwrap_or_default();
                if wanted.verdict.as_deref().is_some_and(|verdict| verdict != found) {
                    return Err(self.problem(format!("{wanted:?}: {found} in {form} code")));
                }
            }
        }
        Ok(())
    }
}

#[test]
fn scripts_on_pages_do_what_they_say() {
    if !kernel_available("scripts on pages") {
        return;
    }
    let mut failures = Vec::new();
    let mut count = 0;
    for page in pages() {
        let blocks = blocks_of(&page);
        assert!(!blocks.is_empty(), "{} has no script", page.display());
        count += blocks.len();
        failures.extend(blocks.iter().filter_map(|block| block.run().err()));
    }
    println!("{count} scripts");
    assert!(failures.is_empty(), "{} of {count}:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// The tasks that the page is about are all there.
#[test]
fn twenty_tasks_have_a_script_each() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = std::fs::read_to_string(docs.join("from-other-tools.md")).expect("the page");
    let tasks: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert!(tasks.len() >= 20, "{} tasks", tasks.len());
    for task in tasks {
        let title = task.lines().next().unwrap_or_default();
        assert!(task.contains("\n```lua\n"), "{title}: no script");
    }
}

/// Files that pages name are there.
#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let file = page.parent().expect("a folder").join(target);
            assert!(file.exists(), "{}: {target}", page.display());
        }
    }
}

#[test]
fn blocks_have_the_frames_in_front_of_them() {
    let text = "x\n<!-- frames: udp*3=DROP sni:a=b -->\n```lua\none\ntwo\n```\n```lua\n```\n<!-- clock: syn -->\n\n```lua\n```\n";
    let [first, second, third] = &blocks("p.md", text)[..] else { panic!("three blocks") };
    let verdicts: Vec<_> =
        first.frames.iter().map(|one| (&*one.description, one.verdict.as_deref())).collect();
    assert_eq!(verdicts, [("udp*3", Some("DROP")), ("sni:a=b", None)]);
    assert_eq!((&*first.place, &*first.text), ("p.md:3", "one\ntwo\n"));
    assert!(second.frames.is_empty() && !second.is_by_the_clock);
    assert!(third.is_by_the_clock);
}
