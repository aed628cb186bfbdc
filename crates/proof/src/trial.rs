//! One random program with random frames: what is a failure, and what is left of it for the suite.

use crate::cases::Elsewhere;
use crate::generator::{Features, Program, program};
use crate::outcome::Seen;
use crate::random::Random;
use crate::shrink::{shrink, shrink_frames};
use crate::{Pair, ProofError, check, corpus, pair};
use moonhook_install::{FRAME_MIN, frame_max_linear};
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;
use std::time::{Duration, Instant};

/// How often a program is one that takes frames in several buffers.
const FRAGS: usize = 5;

/// How often a program runs as interpreted general code, too.
const COMPACT: usize = 3;

/// Frames per program.
pub const FRAMES: usize = 24;

/// The code of a handler that is too large.
const TOO_LARGE: &str = "MH0207";

/// The codes of what is a fault of Moonhook: a module without sense, a program that the verifier rejects.
const BUGS: [&str; 3] = ["MH0216", "MH0404", "MH0505"];

/// How codes begin of what has no expanded form.
const OF_FORM: &str = "MH02";

/// The code of what takes the verifier too long.
const OUT_OF_PATIENCE: &str = "MH0522";

/// The code of a table whose types cannot be found.
const NO_TYPES: &str = "MH0208";

/// The code of a value that a variable cannot keep (docs/language.md, State): a table that the script assigns with constant keys alone.
const NOT_KEPT: &str = "MH0215";

/// The code of what a flow's function has not in common with the script (docs/flows.md, Functions): variables of general code.
const NOT_COMMON: &str = "MH0221";

/// The code of frames that take too much of the stack: of functions that call several flow tables, less is there.
const NO_ROOM: &str = "MH0408";

/// Processor time that compiling and loading a program may take, in either form.
const MOST: Duration = Duration::from_secs(2);

/// How long a program is made smaller.
const PATIENCE: Duration = Duration::from_secs(40);

/// Where programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiers {
    /// In the kernel and in real Lua: they have to agree.
    Both,
    /// In real Lua, twice: the generator is examined ([`check`]).
    User,
}

/// How a trial went.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Agreed(Ran),
    /// The compiler refused what is too large or has no types: the code of its diagnostic, and the diagnostic.
    Refused(&'static str, String),
    Failed(Failure),
}

/// A program that ran as it should.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// What was seen of each frame.
    pub seen: Vec<Seen>,
    /// It ran in expanded code, in general code.
    pub expanded: bool,
    pub general: bool,
    /// The verifier was not done with expanded code in the time that it is given.
    pub given_up: bool,
    /// The processor time that it took to compile and load the slower of the two.
    pub time: Duration,
}

/// What went wrong, told apart well enough that shrinking does not slide into another fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: String,
    pub message: String,
}

/// A program and the frames it runs on.
pub struct Trial {
    pub program: Program,
    pub frames: Vec<Vec<u8>>,
    /// The program takes frames in several buffers, and some are.
    pub frags: bool,
    tiers: Tiers,
    /// Where handlers for XDP run instead.
    elsewhere: Option<&'static Elsewhere>,
}

impl Trial {
    /// The trial of that seed, of programs that use nothing but those features.
    pub fn new(seed: u64, features: Features, tiers: Tiers) -> Trial {
        let mut random = Random::new(seed);
        let program = program(&mut random, features);
        let mut frames: Vec<_> = corpus::noise(&mut random, FRAMES / 2);
        frames.extend(corpus::damaged(&mut random, FRAMES - FRAMES / 2));
        let frags = random.once_in(FRAGS);
        let lengthened = |(index, (_, frame)): (usize, corpus::Named)| match frags && index % 3 == 0 {
            true => corpus::lengthened(frame),
            false => frame,
        };
        let frames = frames.into_iter().enumerate().map(lengthened).collect();
        Trial { program, frames, frags, tiers, elsewhere: None }
    }

    /// The same, with its handlers for XDP at another hook.
    pub fn at(self, elsewhere: Option<&'static Elsewhere>) -> Trial {
        // Only XDP has frames in several buffers.
        Trial { frags: self.frags && elsewhere.is_none(), elsewhere, ..self }
    }

    /// A program as a script.
    fn text(&self, program: &Program) -> String {
        format!("{}{}", self.elsewhere.map_or("", Elsewhere::prefix), program.text())
    }

    /// Runs it; the script is written to `folder`.
    pub fn run(&self, folder: &Path) -> Verdict {
        self.attempt(&self.program, &self.frames, folder)
    }

    /// A small program that fails as this one does, with the frames that it takes. What takes the verifier long to reject
    /// is not made as small as could be.
    pub fn shrunk(mut self, failure: &Failure, folder: &Path) -> Trial {
        let end = Instant::now() + PATIENCE;
        self.simplify_frames(failure, folder);
        let same = |program: &Program, frames: &[Vec<u8>]| {
            Instant::now() < end
                && matches!(self.attempt(program, frames, folder), Verdict::Failed(other) if other.kind == failure.kind)
        };
        // One frame is enough more often than not, and makes every further attempt faster.
        let single = self.frames.iter().find(|frame| same(&self.program, std::slice::from_ref(frame)));
        let frames = single.map_or(self.frames.clone(), |frame| vec![frame.clone()]);
        let program = shrink(self.program.clone(), |program| same(program, &frames));
        let frames = shrink_frames(frames, FRAME_MIN, |frames| same(&program, frames));
        let program = shrink(program, |program| same(program, &frames));
        Trial { program, frames, ..self }
    }

    fn attempt(&self, program: &Program, frames: &[Vec<u8>], folder: &Path) -> Verdict {
        let verdict = caught(|| match self.tiers {
            Tiers::Both => compared(&self.text(program), frames, self.frags, folder),
            Tiers::User => check::check(&self.text(program), frames, folder),
        });
        verdict.unwrap_or_else(|message| {
            let words = message.lines().next().unwrap_or_default().replace(|c: char| c.is_ascii_digit(), "");
            failed(format!("panic: {words}"), message)
        })
    }

    /// Goes on with frames in one buffer, where these are enough.
    fn simplify_frames(&mut self, failure: &Failure, folder: &Path) {
        let shortened = |frame: &Vec<u8>| frame[..frame.len().min(frame_max_linear())].to_vec();
        let frames: Vec<_> = self.frames.iter().map(shortened).collect();
        let (program, elsewhere) = (self.program.clone(), self.elsewhere);
        let simple = Trial { program, frames, frags: false, tiers: self.tiers, elsewhere };
        if matches!(simple.run(folder), Verdict::Failed(other) if other.kind == failure.kind) {
            *self = simple;
        }
    }

    /// As a case of the suite.
    pub fn case(&self, comment: &str) -> String {
        let frames: Vec<String> =
            self.frames.iter().map(|frame| format!("-- frames: hex:{}\n", pair::hex(frame))).collect();
        format!("-- {comment}\n{}{}", frames.concat(), self.text(&self.program))
    }
}

thread_local! {
    /// Whether a panic of this thread is a failure of a trial, which is reported in its own way.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives, or the message with which it panicked: a panic of a stage is one more way to fail.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHING.get() {
                before(info);
            }
        }));
    });
    CATCHING.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(false);
    result.map_err(|payload| match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => payload.downcast_ref::<&str>().unwrap_or(&"no message").to_string(),
    })
}

fn failed(kind: String, message: String) -> Verdict {
    Verdict::Failed(Failure { kind, message })
}

fn compared(text: &str, frames: &[Vec<u8>], frags: bool, folder: &Path) -> Verdict {
    let path = folder.join("random.lua");
    if let Err(error) = std::fs::write(&path, text) {
        return failed("script".to_string(), error.to_string());
    }
    let compact = text.len().is_multiple_of(COMPACT);
    let mut pair = match Pair::in_forms(&path, frags, compact) {
        Ok(pair) => pair,
        Err(error) if is_refusal(&error, text) => {
            return Verdict::Refused(error.code().unwrap_or_default(), error.to_string());
        }
        Err(error) => return failure(&error),
    };
    let refused = pair.take_refused().filter(|error| !lacks_general_form(error, text));
    let refused = refused.map(|error| failure(&error));
    if let Some(failed) = refused.or_else(|| bug(&pair)).or_else(|| too_slow(&pair)) {
        return failed;
    }
    let (expanded, general) = pair.forms();
    let reason = pair.choice().and_then(|choice| choice.reason.as_ref());
    let given_up = reason.is_some_and(|reason| reason.code == OUT_OF_PATIENCE);
    let mut ran = Ran { expanded, general, given_up, time: pair.slowest().0, ..Ran::default() };
    for frame in frames {
        match pair.run(frame) {
            Ok(seen) if seen.ran_out_of_budget() => break,
            Ok(seen) => ran.seen.push(seen),
            Err(error) => return failure(&error),
        }
    }
    Verdict::Agreed(ran)
}

/// Whether a program is one that the compiler may refuse.
fn is_refusal(error: &ProofError, text: &str) -> bool {
    // The function of a flow that uses variables has to have expanded code: what has none is refused, with the reason.
    let has_no_form = error.code().is_some_and(|code| code.starts_with(OF_FORM) && !BUGS.contains(&code));
    let codes = [TOO_LARGE, NOT_KEPT].map(Some);
    codes.contains(&error.code()) || lacks_general_form(error, text) || has_no_form && has_flows(text)
}

/// Whether a program may be refused as general code.
fn lacks_general_form(error: &ProofError, text: &str) -> bool {
    let codes = [NO_TYPES, NOT_COMMON].map(Some);
    codes.contains(&error.code()) || error.code() == Some(NO_ROOM) && has_flows(text)
}

fn has_flows(text: &str) -> bool {
    text.contains("flow.new")
}

/// Where expanded code gave way because of a fault of Moonhook, that fault.
fn bug(pair: &Pair) -> Option<Verdict> {
    let reason = pair.choice()?.reason.as_ref()?;
    let kind = || format!("{} {}", reason.code, general_words(&reason.message));
    (reason.bug || BUGS.contains(&reason.code)).then(|| failed(kind(), reason.to_string()))
}

/// Compilers that are not optimised themselves take their time.
fn too_slow(pair: &Pair) -> Option<Verdict> {
    let (time, form) = pair.slowest();
    let slow = time > MOST && !cfg!(debug_assertions);
    slow.then(|| failed(format!("slow: {form}"), format!("{time:?} of processor time to compile and load")))
}

/// A failure with the end of the verifier's log, if it rejected the program.
fn failure(error: &ProofError) -> Verdict {
    let log = error.log_end(12).unwrap_or_default();
    failed(kind_of(error), format!("{error}\n{log}"))
}

/// Differences by form and part, of errors also by what both say; refusals by code, rejections by the verifier's words.
fn kind_of(error: &ProofError) -> String {
    match error {
        ProofError::Differs { form, difference, .. } if difference.part == "error" => {
            let words = |seen: &Seen| match &seen.error {
                Some(error) => general_words(&error.lossy()),
                None => "none".to_string(),
            };
            format!(
                "{form}: error \"{}\" where real Lua has \"{}\"",
                words(&difference.kernel),
                words(&difference.user)
            )
        }
        ProofError::Differs { form, difference, .. } => format!("{form}: {}", difference.part),
        other => match other.diagnostic() {
            Some(diagnostic) => format!("{} {}", diagnostic.code, general_words(&diagnostic.message)),
            None => other.to_string(),
        },
    }
}

/// A message without what differs between two programs with the same fault: names in quotes, paths, numbers.
fn general_words(message: &str) -> String {
    let general = |word: &&str| !word.contains('/') && !word.starts_with(['\'', '`']);
    let words = message.split_whitespace().filter(general);
    let letters = words.map(|word| word.replace(|c: char| !c.is_ascii_alphabetic(), ""));
    letters.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_failures_are_general() {
        let kind = general_words("/tmp/x/random.lua:57: attempt to call a nil value (method 'byte') at 7");
        assert_eq!(kind, "attempt to call a nil value method at");
        assert_eq!(general_words("nested deeper than 8: `a` → `b` → `c`"), "nested deeper than");
        let rejected = "the kernel's verifier rejects program 'random': math between r1 and r2";
        assert_eq!(general_words(rejected), "the kernels verifier rejects program math between r and r");
    }

    #[test]
    fn panics_are_failures() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught(|| -> u8 { panic!("number {}", 7) }), Err("number 7".to_string()));
        assert_eq!(caught(|| -> u8 { panic!("plain") }), Err("plain".to_string()));
    }

    #[test]
    fn an_unfit_program_fails_and_becomes_small() {
        let folder = tempfile::tempdir().unwrap();
        let mut trial = Trial::new(3, Features::ALL, Tiers::User);
        assert!(matches!(trial.run(folder.path()), Verdict::Agreed(_)));
        let bad = crate::generator::tree::line!("xdp.attach(function(pkt) print({}) end)");
        trial.program.statements.push(bad);
        // The program's own handler must let frames through to the second one.
        trial.program.statements.retain(|statement| {
            let text = Program { statements: vec![statement.clone()] }.text();
            !text.starts_with("xdp.attach(function(pkt)\n")
        });
        let Verdict::Failed(failure) = trial.run(folder.path()) else { panic!("an address shows") };
        assert_eq!(failure.kind, "shows an address");
        let small = trial.shrunk(&failure, folder.path());
        assert_eq!(small.program.text().lines().count(), 2, "{}", small.program.text());
        assert_eq!(small.frames, [vec![0; FRAME_MIN]]);
    }
}
