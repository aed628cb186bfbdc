//! The first generation: load time and compiling, which a person can stop.

use crate::inbox::{Inbox, Incoming};
use crate::lua_thread::{LuaThread, Prepared, Sources, Told};
use crate::making::{Blueprint, Heritage, Program};
use crate::{Busy, SessionError, threads};
use moonhook_engine::{EngineError, Settings};
use moonhook_load::{ForwardingPlace, LoadError, MovedPlace, QueuedPlace};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a stop can go unnoticed.
const NAP: Duration = Duration::from_millis(100);

/// A program that nothing runs yet, and its Lua state, not yet connected.
pub struct First {
    pub thread: LuaThread,
    pub program: Program,
    pub fingerprint: u64,
    pub files: Vec<PathBuf>,
    /// Where handlers that run in this process take their packets from.
    pub queued: Vec<QueuedPlace>,
    /// Places of netfilter whose handlers run at tc.
    pub moved: Vec<MovedPlace>,
    /// Places of netfilter whose handlers forward copies of packets, in the kernel.
    pub forwarding: Vec<ForwardingPlace>,
}

/// What becomes of load time and compiling.
pub enum Beginning {
    Made(Box<First>),
    /// The scripts have run, and nothing is left to be done.
    Over,
    /// It was stopped: threads that are at it end with the process.
    Stopped,
}

/// Makes the first program.
///
/// # Errors
/// What a stage refuses.
pub fn first(
    sources: &Sources,
    settings: &Settings,
    earlier: Option<Heritage>,
    inbox: &Arc<Inbox>,
    (stop, busy): (&AtomicBool, Option<Busy>),
) -> Result<Beginning, SessionError> {
    let mut thread = LuaThread::load(sources.clone(), inbox, busy.clone())?;
    let Some(prepared) = load_time(&mut thread, sources, inbox, stop)? else {
        return Ok(Beginning::Stopped);
    };
    let Prepared { snapshot, queued, moved, forwarding, is_over, fingerprint, files, load_time } = *prepared;
    if is_over {
        return Ok(Beginning::Over);
    }
    let blueprint = Blueprint { snapshot, settings: settings.clone(), load_time, earlier };
    let Some(program) = compiled(blueprint, stop, busy)? else { return Ok(Beginning::Stopped) };
    let first = First { thread, program, fingerprint, files, queued, moved, forwarding };
    Ok(Beginning::Made(Box::new(first)))
}

fn load_time(
    thread: &mut LuaThread,
    sources: &Sources,
    inbox: &Inbox,
    stop: &AtomicBool,
) -> Result<Option<Box<Prepared>>, SessionError> {
    while !stop.load(Ordering::Relaxed) {
        if let Some(Incoming::Lua(_, Told::Loaded(loaded))) = inbox.next(NAP, false) {
            return Ok(Some(loaded?));
        }
        thread.look_after()?;
        if thread.overruns(sources) {
            let limit = sources.options.instruction_limit;
            return Err(LoadError::Instructions { limit, place: None }.into());
        }
    }
    Ok(None)
}

fn compiled(
    blueprint: Blueprint,
    stop: &AtomicBool,
    busy: Option<Busy>,
) -> Result<Option<Program>, SessionError> {
    let (made, making) = channel();
    threads::start("make", move || {
        let program = threads::guarded(|| blueprint.make());
        drop(busy);
        drop(made.send(program));
    })?;
    while !stop.load(Ordering::Relaxed) {
        match making.recv_timeout(NAP) {
            Ok(program) => return program.map(Some),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(EngineError::NoProgram.into()),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Threads that nobody waits for any more hold what says that they are at work.
    #[test]
    fn a_start_that_is_given_up_is_busy_until_its_threads_are_done() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("long.lua");
        std::fs::write(&script, "while true do end").unwrap();
        let options = moonhook_load::Options { instruction_limit: 400_000_000, ..Default::default() };
        let sources =
            Sources { scripts: vec![script], options, budget: 100_000, contents: Vec::new(), netns: None };
        let (note, stop, inbox) = (Arc::new(()), AtomicBool::new(false), Arc::<Inbox>::default());
        let busy = Busy(Arc::clone(&note) as Arc<_>);
        let started = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                stop.store(true, Ordering::Relaxed);
            });
            first(&sources, &Settings::default(), None, &inbox, (&stop, Some(busy)))
        });
        assert!(matches!(started, Ok(Beginning::Stopped)));
        assert_eq!(Arc::strong_count(&note), 2, "the Lua thread is at it");
        let begun = Instant::now();
        while Arc::strong_count(&note) > 1 {
            assert!(begun.elapsed() < Duration::from_secs(120));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
