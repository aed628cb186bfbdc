//! The user tier: handlers run by real Lua 5.5, in user space, over frames in memory.
//!
//! Reads the Lua state and the handlers that the load stage left, and frames; gives for each frame the verdict, the frame
//! as the handlers left it, what they printed, and the error that ended them, if one did. `docs/packet.md` is the
//! contract that this tier and the compiler share; this one is the reference against which compiled code is compared.
//! State of the script (globals, upvalues, tables) lives on from frame to frame. Nothing here panics or crashes,
//! whatever the script and the frame; knows nothing of BPF or of where frames come from.

mod call;
mod chain;
mod error;
mod flow;
mod kept;
mod linked;
mod metadata;
mod object;
pub mod protocol;
mod skb;
mod steps;
mod tables;
mod verdict;

use metadata::Metadata;
use mlua::{Function, Lua, Table};
use moonhook_hook::{HOOKS, Hook, NetfilterPlace, OnError, Place, Point};
use protocol::Frame;
use protocol::Peer;

pub use error::{RuntimeError, UserError};
pub use kept::FrameObjects;
pub use skb::{Asked, Changes, Line, Refusal, Said, Skbs, Waiting};
pub use tables::content;

/// Runs handlers over frames.
pub struct UserTier {
    lua: Lua,
    handlers: Vec<Handler>,
    options: Options,
}

/// A function of the script, and where it would run: the hook's verdicts are its own.
struct Handler {
    point: Point,
    function: Function,
}

/// How frames are decided where the script does not.
#[derive(Clone, Debug)]
pub struct Options {
    /// The verdict after a run-time error.
    pub on_error: OnError,
    /// The most virtual-machine instructions that the handlers may run for one frame, in all.
    pub budget: u64,
    /// What `math.random` begins with, as `math.randomseed` takes it; `None`: where load time has left it.
    pub seed: Option<i64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { on_error: OnError::PASS, budget: 100_000, seed: None }
    }
}

/// What happened to a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// One of the hook's.
    pub verdict: i32,
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
        let points = loaded.snapshot.handlers.iter().map(|handler| handler.point.clone());
        let handlers = points.zip(loaded.handlers).map(|(point, function)| Handler { point, function });
        let snapshot = &loaded.snapshot;
        let objects = linked::Objects::new(&loaded.lua, &snapshot.objects, &snapshot.contents)?;
        objects.share(&loaded.object_maps);
        linked::register(&loaded.lua, &objects, snapshot.functions.clone())?;
        chain::register(&loaded.lua, snapshot, &objects)?;
        Self::from_parts(loaded.lua, handlers.collect(), options)
    }

    /// As [`UserTier::new`], for any state of Lua 5.5 and functions of it, which are handlers for a hook.
    pub fn of_functions(
        lua: Lua,
        functions: Vec<Function>,
        hook: &'static Hook,
        options: Options,
    ) -> Result<Self, UserError> {
        let handlers =
            functions.into_iter().map(|function| Handler { point: Point::at_interface(hook), function });
        Self::from_parts(lua, handlers.collect(), options)
    }

    fn from_parts(lua: Lua, handlers: Vec<Handler>, options: Options) -> Result<Self, UserError> {
        // SAFETY: `exec_raw` calls the closure under Lua's protection and with enough stack; the closure owns nothing.
        unsafe { lua.exec_raw::<()>((), |state| object::register(state)) }?;
        flow::register(&lua)?;
        if let Some(seed) = options.seed {
            lua.globals().get::<Table>("math")?.get::<Function>("randomseed")?.call::<()>(seed)?;
        }
        Ok(UserTier { lua, handlers, options })
    }

    /// As [`UserTier::run_at`], where the first handler is.
    pub fn run(&mut self, frame: &[u8]) -> Outcome {
        let first = self.handlers.first().map(|handler| handler.point.clone());
        self.run_at(&first.unwrap_or_else(|| Point::at_interface(HOOKS[0])), frame)
    }

    /// Lets the handlers that are attached there decide about a packet, as the hook has it, in the order in which they were registered: the
    /// first verdict other than the hook's `PASS` is the packet's, and a run-time error ends it. An error of a flow's function is one of the
    /// outcome even where a handler has caught it.
    pub fn run_at(&mut self, point: &Point, packet: &[u8]) -> Outcome {
        let mut outcome =
            Outcome { verdict: point.hook.default, data: packet.to_vec(), output: Vec::new(), error: None };
        let failed = self.decide(point, &mut outcome).err();
        let of_flow = flow::take_failed();
        if let Some(error) = failed {
            outcome.verdict = self.options.on_error.verdict(point.hook);
            let is_of_flow = error.message == moonhook_load::FUNCTION_FAILED.as_bytes();
            outcome.error = of_flow.filter(|_| is_of_flow).or(Some(error));
        } else {
            outcome.error = of_flow;
        }
        outcome
    }

    fn decide(&self, point: &Point, outcome: &mut Outcome) -> Result<(), RuntimeError> {
        let mut budget = self.options.budget;
        moonhook_load::capture_print(&self.lua)?;
        let verdict = self.first_verdict(point, &mut outcome.data, &mut budget);
        outcome.output = moonhook_load::captured_print(&self.lua)?;
        outcome.verdict = verdict?;
        Ok(())
    }

    fn first_verdict(
        &self,
        point: &Point,
        frame: &mut Vec<u8>,
        budget: &mut u64,
    ) -> Result<i32, RuntimeError> {
        let hook = point.hook;
        let mut metadata = Metadata::of(Frame::at(hook, frame));
        if let Place::Netfilter(NetfilterPlace { mark: Some(mark), .. }) = point.place
            && metadata.get(hook, b"mark") != Some(i64::from(mark))
        {
            return Ok(hook.default);
        }
        let mut none = Vec::new();
        let frame = match hook.context.peer {
            None => frame,
            Some(peer) => {
                // A process is asked about connections that it begins, not about what is sent over them.
                let Some(peer) = Peer::of_frame(frame, peer.version) else { return Ok(hook.default) };
                metadata.peer = Some(peer);
                &mut none
            }
        };
        for handler in self.handlers.iter().filter(|handler| handler.point == *point) {
            moonhook_load::set_hook(Some(hook));
            let verdict = call::call(&self.lua, (&handler.function, hook), (frame, &mut metadata), budget);
            moonhook_load::set_hook(None);
            // Whatever a handler has made of the error that ended it.
            if let Some(decided) = chain::take_decided() {
                return Ok(decided);
            }
            let verdict = verdict?;
            if verdict != hook.default {
                return Ok(verdict);
            }
        }
        Ok(hook.default)
    }
}
