//! A thread that runs a function of a script: `thread`'s objects.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::unistd::gettid;

use crate::wait::Event;

/// A function of a script, at work or not any more.
pub(crate) struct Task {
    pub name: String,
    stop: AtomicBool,
    killed: AtomicBool,
    woken: Event,
    /// Its number for the kernel; 0 until it runs.
    number: AtomicI32,
    ended: Mutex<bool>,
    end: Condvar,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Task>>> = const { RefCell::new(None) };
}

impl Task {
    pub fn new(name: &str) -> nix::Result<Arc<Task>> {
        Ok(Arc::new(Task {
            name: name.to_string(),
            stop: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            woken: Event::lasting()?,
            number: AtomicI32::new(0),
            ended: Mutex::new(false),
            end: Condvar::new(),
        }))
    }

    /// The one that this thread is at.
    pub fn current() -> Option<Arc<Task>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs a function as this task.
    pub fn run<R>(self: &Arc<Task>, run: impl FnOnce() -> R) -> R {
        self.number.store(gettid().as_raw(), Ordering::Relaxed);
        let before = CURRENT.replace(Some(Arc::clone(self)));
        let result = run();
        CURRENT.set(before);
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.end.notify_all();
        result
    }

    /// Runs a function that is a part of this task on another thread.
    pub fn lend<R>(self: &Arc<Task>, run: impl FnOnce() -> R) -> R {
        let before = CURRENT.replace(Some(Arc::clone(self)));
        let result = run();
        CURRENT.set(before);
        result
    }

    /// Runs a function that is part of no task.
    pub fn leave<R>(run: impl FnOnce() -> R) -> R {
        let before = CURRENT.replace(None);
        let result = run();
        CURRENT.set(before);
        result
    }

    pub fn number(&self) -> i32 {
        self.number.load(Ordering::Relaxed)
    }

    /// What a wait of the task ends by.
    pub fn stop_event(&self) -> &Event {
        &self.woken
    }

    pub fn is_to_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// It has not ended after it was asked to: Lua does not go on.
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    pub fn ask_to_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.woken.set();
    }

    pub fn kill(&self) {
        self.ask_to_stop();
        self.killed.store(true, Ordering::Relaxed);
    }

    /// Waits for its end; says whether it has come.
    pub fn wait(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.end.wait_timeout(ended, left);
            ended = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Asks it to stop, waits, and ends it where it goes on. Says whether it has ended by itself.
    pub fn stop(&self) -> bool {
        self.ask_to_stop();
        if self.wait(GRACE) {
            return true;
        }
        self.kill();
        self.wait(GRACE);
        false
    }
}

/// How long a task may go on that is to stop.
pub(crate) const GRACE: Duration = Duration::from_millis(700);
