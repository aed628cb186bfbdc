//! Calls of the scripts' functions when load time is over, each within a limit of time.
//!
//! A call runs in a coroutine of its own: after an error its stack still stands, for the traceback.

use std::ffi::CStr;
use std::time::Duration;

use mlua::thread::ThreadStatus;
use mlua::{Function, MultiValue, Table, Thread, Value, ffi};

use crate::Loaded;
use crate::limits::Deadline;
use crate::run::{is_memory_error, message};

/// A function of a script failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// With the `file:line: ` that Lua puts in front.
    pub message: String,
    /// The active calls, innermost first, as Lua's traceback has them.
    pub traceback: Vec<String>,
}

/// What a call may use.
#[derive(Clone, Copy, Debug)]
pub enum CallLimit {
    /// So much processor time, and twice as long where it has to share a processor.
    Time(Duration),
    /// So many instructions, by which library functions are measured, too.
    Steps(u64),
}

impl CallLimit {
    /// What a function is told of that has used all of it.
    fn problem(self) -> String {
        match self {
            CallLimit::Time(time) => {
                format!("the function was stopped: it ran for more than {} seconds", time.as_secs_f64())
            }
            CallLimit::Steps(_) => "step budget exhausted".to_string(),
        }
    }
}

impl Loaded {
    /// Calls `function`, within a limit if there is one.
    ///
    /// # Errors
    /// The function raised an error, yielded, or was stopped because it or the state's memory was at its limit. The state stays
    /// usable.
    pub fn call(
        &self,
        function: &Function,
        arguments: MultiValue,
        limit: Option<CallLimit>,
    ) -> Result<MultiValue, CallError> {
        self.attempt(function, arguments, limit).unwrap_or_else(|error| Err(bare(error.to_string())))
    }

    fn attempt(
        &self,
        function: &Function,
        arguments: MultiValue,
        limit: Option<CallLimit>,
    ) -> mlua::Result<Result<MultiValue, CallError>> {
        let resume: Function = self.lua.globals().get::<Table>("coroutine")?.get("resume")?;
        let thread = self.lua.create_thread(function.clone())?;
        self.meter.watch(&thread);
        match limit {
            Some(CallLimit::Steps(steps)) => self.meter.limit_steps(steps),
            Some(CallLimit::Time(time)) => self.meter.limit_time(Deadline::after(time)),
            None => self.meter.limit_time(None),
        }
        let mut all = arguments;
        all.push_front(Value::Thread(thread.clone()));
        let outcome = resume.call::<MultiValue>(all);
        // What describes an error has what it takes from the same limit.
        let problem = match &outcome {
            Ok(results) if results.front() == Some(&Value::Boolean(true)) => None,
            Ok(results) => Some(self.described(results.get(1).unwrap_or(&Value::Nil))),
            Err(error) => Some(self.described(&Value::Error(Box::new(error.clone())))),
        };
        let exhausted = self.meter.is_exhausted();
        self.meter.limit_time(None);
        // Undoes what the limit does to stop a function that catches errors.
        self.lua.set_memory_limit(self.memory_limit)?;
        let problem = match (problem, outcome) {
            _ if exhausted => limit.map(CallLimit::problem).unwrap_or_default(),
            (Some(problem), _) => problem,
            (None, Ok(mut results)) if thread.status() != ThreadStatus::Resumable => {
                results.pop_front();
                return Ok(Ok(results));
            }
            (None, _) => "attempt to yield from outside a coroutine".to_string(),
        };
        Ok(Err(CallError { message: problem, traceback: self.traceback(&thread) }))
    }

    fn described(&self, value: &Value) -> String {
        if is_memory_error(value) {
            "not enough memory".to_string()
        } else {
            message(&self.lua, &self.meter, value)
        }
    }

    /// The calls that are on the stack of a thread that does not run (`lauxlib.c`, `luaL_traceback`).
    fn traceback(&self, thread: &Thread) -> Vec<String> {
        let mut text = String::new();
        // SAFETY: the closure runs in protected mode; the string stays on the stack while it is read, and `text` is assigned
        // when nothing can be raised any more.
        let made = unsafe {
            self.lua.exec_raw::<()>((), |state| {
                ffi::luaL_traceback(state, thread.state(), std::ptr::null(), 0);
                let start = ffi::lua_tolstring(state, -1, std::ptr::null_mut());
                text = CStr::from_ptr(start).to_string_lossy().into_owned();
                ffi::lua_pop(state, 1);
            })
        };
        let calls = text.lines().skip(1).map(|line| line.trim_start().to_owned());
        // `error`, and what is ours between it and the script, have no place that a person could look at.
        let is_ours = |call: &String| {
            let starts = ["?: ", "(...tail calls"].iter().any(|start| call.starts_with(start));
            starts || call.starts_with("[C]:") && call.ends_with("'error'")
        };
        let calls = calls.skip_while(is_ours);
        if made.is_ok() { calls.collect() } else { Vec::new() }
    }
}

fn bare(message: String) -> CallError {
    CallError { message, traceback: Vec::new() }
}
