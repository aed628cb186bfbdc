//! A script in both tiers at once.
//!
//! The state of the script (upvalues and globals that handlers assign) lives on from frame to frame in both, so frames must
//! be given in the same order to both: [`Pair::run`] does that.

use crate::ProofError;
use crate::kernel::{Kernel, Variant, on_error};
use crate::outcome::{Seen, compare};
use moonhook_engine::{Choice, Form, Settings};
use moonhook_hook::{Hook, Layer, Point, XDP};
use moonhook_install::{FRAME_MIN, ProgramStatistics, frame_max_linear};
use moonhook_load::{LoadError, Loaded};
use moonhook_records::Text;
use moonhook_user::UserTier;
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

/// Instructions that real Lua may run for a frame. It counts each instruction, the compiled program each turn of a loop, so
/// what the program finishes within its own budget must not be cut short here.
const USER_BUDGET: u64 = 4_000_000;

/// The script's handlers in the kernel and in real Lua.
pub struct Pair {
    user: User,
    /// In the form that was asked for, then, if others are wanted too, in general code, also where it is interpreted.
    kernels: Vec<Kernel>,
    /// Why the second is missing.
    refused: Option<ProofError>,
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
        let loaded = load(script)?;
        let kernels = vec![Kernel::new(&loaded, Variant { form, compact: is_compact(), frags: false })?];
        Ok(Pair { kernels, refused: None, user: User::new(loaded, USER_BUDGET)? })
    }

    /// As [`Pair::new`], and beside it, where that is expanded code, in general code. `frags`: both take frames in several
    /// buffers, too.
    ///
    /// # Errors
    /// As [`Pair::new`]; where only general code is refused, [`Pair::take_refused`] has the error.
    pub fn in_both_forms(script: &Path, frags: bool) -> Result<Pair, ProofError> {
        Pair::in_forms(script, frags, false)
    }

    /// As [`Pair::in_both_forms`]; with `compact` also in general code whose functions are interpreted, if there is general code.
    ///
    /// # Errors
    /// As [`Pair::in_both_forms`].
    pub fn in_forms(script: &Path, frags: bool, compact: bool) -> Result<Pair, ProofError> {
        Pair::loaded(load(script)?, frags, compact)
    }

    /// As [`Pair::in_both_forms`], of a script for which load time may use other things.
    ///
    /// # Errors
    /// As [`Pair::in_both_forms`].
    pub fn with_options(script: &Path, options: &moonhook_load::Options) -> Result<Pair, ProofError> {
        Pair::loaded(moonhook_load::load(&[script.to_path_buf()], options)?, false, false)
    }

    fn loaded(loaded: Loaded, frags: bool, compact: bool) -> Result<Pair, ProofError> {
        let mut kernels = vec![Kernel::new(&loaded, Variant { form: form(), compact: is_compact(), frags })?];
        let mut refused = None;
        if !kernels[0].is_general() {
            match Kernel::new(&loaded, Variant { form: Some(Form::General), compact: false, frags }) {
                Ok(general) => kernels.push(general),
                Err(error) => refused = Some(error),
            }
        }
        if compact && refused.is_none() {
            kernels.push(Kernel::new(&loaded, Variant { form: Some(Form::General), compact: true, frags })?);
        }
        Ok(Pair { kernels, refused, user: User::new(loaded, USER_BUDGET)? })
    }

    /// As [`Pair::new`], in general code whose functions are interpreted.
    ///
    /// # Errors
    /// As [`Pair::new`].
    pub fn in_compact_code(script: &Path) -> Result<Pair, ProofError> {
        let loaded = load(script)?;
        let variant = Variant { form: Some(Form::General), compact: true, frags: false };
        let kernels = vec![Kernel::new(&loaded, variant)?];
        Ok(Pair { kernels, refused: None, user: User::new(loaded, USER_BUDGET)? })
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
        let mut all = None::<Seen>;
        for (program, point) in self.user.points.clone().into_iter().enumerate() {
            let hook = point.hook;
            let frame = &*as_run(hook, frame);
            let user = self.user.run_at(&point, frame);
            for kernel in &mut self.kernels {
                let user = Seen { tables: kernel.tables_of_lua(), ..user.clone() };
                if let Err(difference) = compare(kernel.run(program, frame)?, user) {
                    let frame = format!("{}, {}", hook.name, name());
                    return Err(ProofError::Differs { form: kernel.form(), frame, difference });
                }
            }
            let user = self.with_tables(user);
            all = Some(match all {
                Some(before) => before.and(user),
                None => user,
            });
        }
        Ok(all.unwrap_or_default())
    }

    /// Runs a frame that the kernel cannot be given through real Lua only.
    pub fn run_user(&mut self, frame: &[u8]) -> Seen {
        let seen = self.user.run(frame);
        self.with_tables(seen)
    }

    fn with_tables(&self, seen: Seen) -> Seen {
        let tables = self.kernels.first().map(Kernel::tables_of_lua).unwrap_or_default();
        Seen { tables, ..seen }
    }

    /// Whether the handlers keep entries from packet to packet.
    pub fn has_tables(&self) -> bool {
        self.kernels.iter().any(Kernel::has_tables)
    }

    /// Whether it runs in expanded code, and in general code.
    pub fn forms(&self) -> (bool, bool) {
        let general = |kernel: &Kernel| kernel.is_general();
        (!self.kernels.iter().all(general), self.kernels.iter().any(general))
    }

    /// Why there is no general code beside expanded code.
    pub fn take_refused(&mut self) -> Option<ProofError> {
        self.refused.take()
    }

    /// Which form the handlers have that was asked for, and why.
    pub fn choice(&self) -> Option<&Choice> {
        self.kernels.first().map(|kernel| &kernel.choice)
    }

    /// The processor time that it took to compile and load the program that took longest, and its form.
    pub fn slowest(&self) -> (Duration, &'static str) {
        self.times().into_iter().max().unwrap_or_default()
    }

    /// The processor time that it took to compile and load each program, and its form.
    pub fn times(&self) -> Vec<(Duration, &'static str)> {
        self.kernels.iter().map(|kernel| (kernel.time, kernel.form())).collect()
    }

    /// What the verifier says about the program in the form that was asked for.
    pub fn statistics(&self) -> ProgramStatistics {
        self.kernels.first().map(Kernel::statistics).unwrap_or_default()
    }
}

/// The form to test, by `MOONHOOK_FORM`: `general`, `compact` for general code whose functions are interpreted, `expanded`, otherwise
/// whichever a script gets.
fn form() -> Option<Form> {
    match std::env::var("MOONHOOK_FORM").as_deref() {
        Ok("general" | "compact") => Some(Form::General),
        Ok("expanded") => Some(Form::Expanded),
        _ => None,
    }
}

fn is_compact() -> bool {
    std::env::var("MOONHOOK_FORM").is_ok_and(|form| form == "compact")
}

fn load(script: &Path) -> Result<Loaded, LoadError> {
    moonhook_load::load(&[script.to_path_buf()], &Settings::default().load)
}

/// The script's handlers in real Lua.
struct User {
    tier: UserTier,
    points: Vec<Point>,
}

impl User {
    fn new(loaded: Loaded, budget: u64) -> Result<User, ProofError> {
        let options = moonhook_user::Options {
            on_error: on_error(&loaded.snapshot),
            budget,
            ..moonhook_user::Options::default()
        };
        let points = loaded.snapshot.points().to_vec();
        Ok(User { tier: UserTier::new(loaded, options)?, points })
    }

    /// What the handlers that are attached there do with a packet.
    fn run_at(&mut self, point: &Point, packet: &[u8]) -> Seen {
        seen(point.hook, self.tier.run_at(point, packet))
    }

    /// What the handlers do with a frame at each hook in turn.
    fn run(&mut self, frame: &[u8]) -> Seen {
        let points = self.points.clone();
        let all = points.into_iter().map(|point| self.run_at(&point, &as_run(point.hook, frame)));
        all.reduce(Seen::and).unwrap_or_default()
    }
}

/// What the user tier did, in the form that is compared.
fn seen(hook: &Hook, outcome: moonhook_user::Outcome) -> Seen {
    Seen {
        verdict: outcome.verdict,
        passed: outcome.verdict == hook.default,
        data: outcome.data,
        output: outcome.output.into_iter().map(Text::whole).collect(),
        error: outcome.error.map(|error| Text::whole(error.message)),
        tables: Vec::new(),
    }
}

/// A frame as the kernel runs it at a hook: packets of the network stack have something behind their first header and, where that is to
/// be one of IP, all of it, and fit into a page (`bpf_prog_test_run_skb`, net/bpf/test_run.c).
fn as_run<'f>(hook: &Hook, frame: &'f [u8]) -> Cow<'f, [u8]> {
    if hook.program_type == XDP.program_type {
        return frame.into();
    }
    let frame = &frame[..frame.len().min(frame_max_linear())];
    if hook.layer == Layer::Network {
        // Whatever is behind the link's header, as long as an IP header, without which no packet comes to such a hook.
        let packet = frame.get(FRAME_MIN..).unwrap_or_default();
        let least = if packet.first().is_some_and(|first| first >> 4 == 6) { 40 } else { 20 };
        return [packet, &vec![0; least.max(packet.len()) - packet.len()]].concat().into();
    }
    let least = match frame.get(12..14) {
        Some([0x08, 0x00]) => FRAME_MIN + 20,
        Some([0x86, 0xdd]) => FRAME_MIN + 40,
        _ => FRAME_MIN + 1,
    };
    match frame.len() < least {
        true => [frame, &vec![0; least - frame.len()]].concat().into(),
        false => frame.into(),
    }
}

/// A script in real Lua only, with its memory watched.
pub struct UserRun {
    lua: mlua::Lua,
    user: User,
}

impl UserRun {
    /// `budget` is in virtual-machine instructions.
    ///
    /// # Errors
    /// `Stage` where loading fails; `User`.
    pub fn new(script: &Path, budget: u64) -> Result<UserRun, ProofError> {
        let loaded = load(script)?;
        let lua = loaded.lua.clone();
        lua.gc_stop();
        Ok(UserRun { lua, user: User::new(loaded, budget)? })
    }

    /// What the frame showed, and how many bytes the handlers allocated for it.
    pub fn run(&mut self, frame: &[u8]) -> (Seen, usize) {
        let before = self.lua.used_memory();
        let seen = self.user.run(frame);
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
