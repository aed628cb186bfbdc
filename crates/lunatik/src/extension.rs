//! Modules that somebody else has for scripts' states, of whose things this crate knows nothing; and what these may do with a state.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use mlua::{Function, Lua, Table, Value};

use crate::endings::Ending;
use crate::host::Host;
use crate::runtime::Context;
use crate::state::{Caller, Local};
use crate::task::Task;

/// A module for the states of runtimes (`lunatik.runtime`).
pub struct Extension {
    pub name: &'static str,
    pub open: Box<Open>,
}

/// Makes a module's table for a state.
pub type Open = dyn Fn(&Lua, &Surroundings) -> mlua::Result<Table> + Send + Sync;

/// The state that a module is in.
#[derive(Clone)]
pub struct Surroundings {
    host: Arc<Host>,
    local: Local,
}

/// The hold on a function of a state, for other threads.
#[derive(Clone)]
pub struct Callback {
    host: Arc<Host>,
    caller: Caller,
    number: u64,
}

impl Surroundings {
    pub(crate) fn new(host: &Arc<Host>, local: &Local) -> Surroundings {
        Surroundings { host: Arc::clone(host), local: local.clone() }
    }

    /// Whether it is a state for what Lunatik does in softirqs.
    pub fn is_softirq(&self) -> bool {
        self.local.context() == Context::Softirq
    }

    /// Tells whoever looks after the scripts.
    pub fn warn(&self, line: &str) {
        self.host.warn(line);
    }

    /// Keeps a function for others; `None` where there are no others.
    pub fn keep(&self, function: Function) -> Option<Callback> {
        let caller = self.local.caller()?;
        let number = self.local.keep(Value::Function(function));
        Some(Callback { host: Arc::clone(&self.host), caller, number })
    }

    /// Keeps the function no longer: nothing came of what it was for.
    pub fn forget(&self, callback: &Callback) {
        self.local.forget(callback.number);
    }

    /// Keeps something until the state ends, which it is told before.
    pub fn end_with(&self, ending: Arc<dyn Ending>) {
        self.local.endings().add(Arc::downgrade(&ending));
        self.local.hold(Arc::new(ending));
    }
}

/// Something of a module's own in a state, which goes when that ends; what `make` makes the first time.
///
/// # Errors
/// Those of `make`.
pub fn own<T: Any, E>(lua: &Lua, make: impl FnOnce() -> Result<T, E>) -> Result<Rc<T>, E> {
    let local = Local::of(lua);
    if let Some(own) = local.own::<T>() {
        return Ok(own);
    }
    let own = Rc::new(make()?);
    local.set_own(Rc::clone(&own));
    Ok(own)
}

/// How often somebody who waits for a state looks whether that makes sense still.
const NAP: Duration = Duration::from_millis(20);

impl Callback {
    /// Tells whoever looks after the scripts.
    pub fn warn(&self, line: &str) {
        self.host.warn(line);
    }

    /// Does something with the function in its state, when nothing else is done there, and waits for that, but no longer than the limit: then what goes on is
    /// ended. `None` if nothing came of it, or `gives_up` says that it is not wanted any more.
    pub fn ask<R: Send + 'static>(
        &self,
        limit: Duration,
        gives_up: impl Fn() -> bool,
        make: impl FnOnce(&Lua, &Function) -> R + Send + 'static,
    ) -> Option<R> {
        let task = Task::new("callback").ok()?;
        let (answer, answered) = sync_channel(1);
        let (own, number) = (Arc::clone(&task), self.number);
        let call = move |lua: &Lua| {
            if own.is_to_stop() {
                return;
            }
            if let Some(Value::Function(function)) = Local::of(lua).kept(number) {
                // Whoever has asked may be gone.
                let _ = answer.send(own.run(|| make(lua, &function)));
            }
        };
        if !(self.caller)(Box::new(call)) {
            return None;
        }
        let deadline = Instant::now() + limit;
        loop {
            match answered.recv_timeout(NAP) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if gives_up() || Instant::now() >= deadline => {
                    task.kill();
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
