//! The user tier: handlers run by real Lua 5.5, in user space, over frames in memory.
//!
//! Reads the Lua state and the handlers that the load stage left, and frames; gives for each frame the verdict, the frame
//! as the handlers left it, what they printed, and the error that ended them, if one did. `docs/packet.md` is the
//! contract that this tier and the compiler share; this one is the reference against which compiled code is compared.
//! State of the script (globals, upvalues, tables) lives on from frame to frame. Nothing here panics or crashes,
//! whatever the script and the frame; knows nothing of BPF or of where frames come from.

mod call;
mod error;
mod object;
pub mod protocol;
mod steps;
mod tables;

use mlua::{Function, Lua};
use moonhook_hook::{Hook, XDP};

pub use error::{RuntimeError, UserError};
pub use tables::content;

/// Runs handlers over frames.
pub struct UserTier {
    lua: Lua,
    handlers: Vec<Function>,
    /// Where the handlers would run: its verdicts are theirs.
    hook: &'static Hook,
    options: Options,
}

/// How frames are decided where the script does not.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The verdict after a run-time error.
    pub on_error: u32,
    /// The most virtual-machine instructions that the handlers may run for one frame, in all.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { on_error: XDP.pass, budget: 100_000 }
    }
}

/// What happened to a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// 0 to 4, as `require "linux.xdp"` names them.
    pub verdict: u32,
    /// The frame after the handlers.
    pub data: Vec<u8>,
    /// One entry for each call of `print`, without line end.
    pub output: Vec<Vec<u8>>,
    /// Why `verdict` is that of [`Options::on_error`].
    pub error: Option<RuntimeError>,
}

impl UserTier {
    /// Takes over what the load stage made of a script.
    pub fn new(loaded: moonhook_load::Loaded, options: Options) -> Result<Self, UserError> {
        tables::limit(&loaded)?;
        loaded.requests.print_events();
        let hook = loaded.snapshot.hook();
        Self::from_parts(loaded.lua, loaded.handlers, hook, options)
    }

    /// As [`UserTier::new`], for any state of Lua 5.5 and functions of it.
    pub fn from_parts(
        lua: Lua,
        handlers: Vec<Function>,
        hook: &'static Hook,
        options: Options,
    ) -> Result<Self, UserError> {
        // SAFETY: `exec_raw` calls the closure under Lua's protection and with enough stack; the closure owns nothing.
        unsafe { lua.exec_raw::<()>((), |state| object::register(state)) }?;
        Ok(UserTier { lua, handlers, hook, options })
    }

    /// Lets the handlers decide about a frame, in the order in which they were registered: the first verdict other than
    /// `PASS` is the frame's, and a run-time error ends it.
    pub fn run(&mut self, frame: &[u8]) -> Outcome {
        let mut outcome =
            Outcome { verdict: self.hook.pass, data: frame.to_vec(), output: Vec::new(), error: None };
        if let Err(error) = self.decide(&mut outcome) {
            outcome.verdict = self.options.on_error;
            outcome.error = Some(error);
        }
        outcome
    }

    fn decide(&self, outcome: &mut Outcome) -> Result<(), RuntimeError> {
        let mut budget = self.options.budget;
        moonhook_load::capture_print(&self.lua)?;
        let verdict = self.first_verdict(&mut outcome.data, &mut budget);
        outcome.output = moonhook_load::captured_print(&self.lua)?;
        outcome.verdict = verdict?;
        Ok(())
    }

    fn first_verdict(&self, frame: &mut [u8], budget: &mut u64) -> Result<u32, RuntimeError> {
        for handler in &self.handlers {
            let verdict = call::call(&self.lua, (handler, self.hook), frame, budget)?;
            if verdict != self.hook.pass {
                return Ok(verdict);
            }
        }
        Ok(self.hook.pass)
    }
}
