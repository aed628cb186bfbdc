//! A script in both tiers at once.
//!
//! The state of the script (upvalues and globals that handlers assign) lives on from frame to frame in both, so frames must
//! be given in the same order to both: [`Pair::run`] does that.

use crate::ProofError;
use crate::host;
use crate::outcome::{Seen, compare};
use crate::shared::{self, Tables};
use moonhook_cli::records::{Decoder, Message, Text};
use moonhook_cli::{CliError, Verdict};
use moonhook_engine::{Choice, Form, Settings};
use moonhook_install::{Events, LogDetail, Program, ProgramStatistics};
use moonhook_ir::Module;
use moonhook_load::Loaded;
use moonhook_user::UserTier;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

/// A verdict that no script returns by accident: an error always shows.
const ON_ERROR: Verdict = Verdict::Aborted;

/// Instructions that real Lua may run for a frame. It counts each instruction, the compiled program each turn of a loop, so
/// what the program finishes within its own budget must not be cut short here.
const USER_BUDGET: u64 = 4_000_000;

/// The script's handlers in the kernel and in real Lua.
pub struct Pair {
    user: UserTier,
    kernel: Kernel,
    tables: Tables,
    choice: Choice,
}

struct Kernel {
    program: Program,
    name: String,
    module: Module,
    decoder: Decoder,
    events: Option<(Events, Receiver<Vec<u8>>)>,
    /// Where all frames run: what belongs to a CPU, as the state of `math.random` does, goes on from frame to frame, as in real
    /// Lua.
    cpu: usize,
}

impl Pair {
    /// Takes a script through all stages, up to the kernel.
    ///
    /// # Errors
    /// `Stage` for what a stage or the verifier refuses; `User`.
    pub fn new(script: &Path) -> Result<Pair, ProofError> {
        Pair::in_form(script, form())
    }

    /// As [`Pair::new`], with handlers of that form.
    ///
    /// # Errors
    /// As [`Pair::new`].
    pub fn in_form(script: &Path, form: Option<Form>) -> Result<Pair, ProofError> {
        let settings = Settings { on_error: ON_ERROR as u32, form, ..Settings::default() };
        let loaded = load(script, &settings)?;
        let (compiled, program) =
            moonhook_engine::install(&loaded.snapshot, &settings, LogDetail::Statistics, |_| Vec::new())
                .map_err(CliError::from)?;
        moonhook_cli::tables::fill(&program, &compiled.module, &|_| false)?;
        let tables = Tables::new(&loaded, &compiled.module);
        let kernel = Kernel::new(program, compiled.module)?;
        let user = UserTier::new(loaded, user_options(USER_BUDGET))?;
        Ok(Pair { tables, user, kernel, choice: compiled.choice })
    }

    /// Which form the handlers have, and why.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Runs a frame through both tiers; gives what both did.
    ///
    /// # Errors
    /// `Differs`; `Stage` where the kernel refuses to run the frame.
    pub fn run(&mut self, frame: &[u8]) -> Result<Seen, ProofError> {
        self.run_named(frame, || format!("{} ({} bytes)", hex(frame), frame.len()))
    }

    /// As [`Pair::run`], with a name for the frame in the error.
    pub fn run_named(&mut self, frame: &[u8], name: impl FnOnce() -> String) -> Result<Seen, ProofError> {
        let user = self.run_user(frame);
        let kernel = self.kernel.run(frame)?;
        compare(kernel, user).map_err(|difference| ProofError::Differs { frame: name(), difference })
    }

    /// Runs a frame that the kernel cannot be given through real Lua only.
    pub fn run_user(&mut self, frame: &[u8]) -> Seen {
        let seen = seen(self.user.run(frame));
        Seen { tables: self.tables.of_lua(), ..seen }
    }

    /// Whether the handlers keep entries from packet to packet.
    pub fn has_tables(&self) -> bool {
        !self.kernel.module.tables.is_empty()
    }

    /// What the verifier says about the program.
    pub fn statistics(&self) -> ProgramStatistics {
        self.kernel.program.statistics().into_iter().next().unwrap_or_default()
    }
}

/// The form to test, by `MOONHOOK_FORM`: `general`, `expanded`, otherwise whichever a script gets.
fn form() -> Option<Form> {
    match std::env::var("MOONHOOK_FORM").as_deref() {
        Ok("general") => Some(Form::General),
        Ok("expanded") => Some(Form::Expanded),
        _ => None,
    }
}

fn load(script: &Path, settings: &Settings) -> Result<Loaded, CliError> {
    Ok(moonhook_load::load(&[script.to_path_buf()], &settings.load)?)
}

impl Kernel {
    fn new(program: Program, module: Module) -> Result<Kernel, ProofError> {
        let decoder = Decoder::new(&module);
        let name = program.programs().into_iter().next().ok_or(ProofError::NoProgram)?;
        let has_events = program.maps().iter().any(|map| map.name == "events");
        let events = if has_events {
            let (send, receive) = channel();
            let events = program.events("events", move |record| {
                // The receiver lives as long as the consumer.
                let _ = send.send(record.to_vec());
            })?;
            Some((events, receive))
        } else {
            None
        };
        Ok(Kernel { program, name, module, decoder, events, cpu: host::current_cpu()? })
    }

    fn run(&mut self, frame: &[u8]) -> Result<Seen, ProofError> {
        let run = host::on_cpu(self.cpu, || self.program.test_run(&self.name, frame, 1))??;
        let tables = shared::of_kernel(&self.program, &self.module)?;
        let mut seen = Seen { verdict: run.verdict, data: run.data, tables, ..Seen::default() };
        let Some((events, records)) = &mut self.events else { return Ok(seen) };
        events.consume()?;
        for record in records.try_iter() {
            match self.decoder.decode(&record).map_err(CliError::from)? {
                Message::Print(line) => seen.output.push(line),
                Message::Event(notice) => seen.output.push(notice.line),
                Message::Error(failure) => seen.error = Some(lossy(failure.message)),
            }
        }
        Ok(seen)
    }
}

/// The user tier keeps messages as UTF-8 with replacement characters; so must what they are compared with.
fn lossy(text: Text) -> Text {
    let before = &text.bytes[..text.cut.unwrap_or(0)];
    let cut = text.cut.map(|_| String::from_utf8_lossy(before).len());
    Text { bytes: text.lossy().into_bytes(), cut }
}

fn user_options(budget: u64) -> moonhook_user::Options {
    moonhook_user::Options { on_error: ON_ERROR as u32, budget }
}

/// What the user tier did, in the form that is compared.
fn seen(outcome: moonhook_user::Outcome) -> Seen {
    Seen {
        verdict: outcome.verdict,
        data: outcome.data,
        output: outcome.output.into_iter().map(Text::whole).collect(),
        error: outcome.error.map(|error| Text::whole(error.message.into_bytes())),
        tables: Vec::new(),
    }
}

/// A script in real Lua only, with its memory watched.
pub struct UserRun {
    lua: mlua::Lua,
    user: UserTier,
}

impl UserRun {
    /// `budget` is in virtual-machine instructions.
    ///
    /// # Errors
    /// `Stage` where loading fails; `User`.
    pub fn new(script: &Path, budget: u64) -> Result<UserRun, ProofError> {
        let loaded = load(script, &Settings::default())?;
        let lua = loaded.lua.clone();
        lua.gc_stop();
        Ok(UserRun { lua, user: UserTier::new(loaded, user_options(budget))? })
    }

    /// What the frame showed, and how many bytes the handlers allocated for it.
    pub fn run(&mut self, frame: &[u8]) -> (Seen, usize) {
        let before = self.lua.used_memory();
        let seen = seen(self.user.run(frame));
        let garbage = self.lua.used_memory().saturating_sub(before);
        // What a collection frees is not an error's to report.
        let _ = self.lua.gc_collect();
        (seen, garbage)
    }
}

/// The script in real Lua only.
///
/// # Errors
/// `Stage` where loading fails; `User`.
pub fn user_tier(script: &Path) -> Result<UserRun, ProofError> {
    UserRun::new(script, USER_BUDGET)
}

/// Bytes as digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
