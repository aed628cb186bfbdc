//! Calls of a device that its script has not answered yet: each is a task, which ends when whoever has called is interrupted or the device stops.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;

use super::protocol::{self, Place};
use crate::task::{GRACE, Task};
use crate::wait::Event;

/// The kernel's side of a device, and what it waits for.
pub(super) struct Calls {
    pub fuse: OwnedFd,
    state: Mutex<State>,
    /// Set when there is a task to be ended.
    pub changed: Event,
}

/// Where an open file goes on.
#[derive(Clone, Copy, Default)]
struct File {
    /// For the script.
    offset: i64,
    /// For the kernel, if nobody moves it.
    position: u64,
}

#[derive(Default)]
struct State {
    is_stopped: bool,
    /// By the number of the request.
    waiting: BTreeMap<u64, Arc<Task>>,
    /// Tasks that nobody waits for, and when they are ended if they go on.
    ending: Vec<(Instant, Arc<Task>)>,
    files: BTreeMap<u64, File>,
    last: u64,
}

impl Calls {
    pub fn new(fuse: OwnedFd) -> nix::Result<Calls> {
        Ok(Calls { fuse, state: Mutex::default(), changed: Event::counting()? })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request, which is to be answered. One that comes behind the end is answered at once.
    ///
    /// # Errors
    /// There are no descriptors left for a task; `ENXIO` behind the end.
    pub fn begin(&self, unique: u64, name: &str) -> nix::Result<()> {
        let mut state = self.state();
        if state.is_stopped {
            return Err(Errno::ENXIO);
        }
        state.waiting.insert(unique, Task::new(name)?);
        Ok(())
    }

    /// The task of a request that somebody waits for.
    pub fn task(&self, unique: u64) -> Option<Arc<Task>> {
        self.state().waiting.get(&unique).cloned()
    }

    /// Answers a request, if nothing has yet; says whether its caller is there to have it.
    pub fn answer(&self, unique: u64, answer: &[u8]) -> bool {
        self.state().waiting.remove(&unique).is_some() && self.write(answer)
    }

    /// Writes an answer; says whether there was somebody to have it.
    pub fn write(&self, answer: &[u8]) -> bool {
        nix::unistd::write(&self.fuse, answer).is_ok()
    }

    /// Whoever has asked for this does not wait any more: what is done for that is to stop.
    pub fn interrupt(&self, unique: u64) {
        let Some(task) = self.state().waiting.remove(&unique) else { return };
        self.write(&protocol::refusal(unique, Errno::EINTR));
        self.end(vec![task]);
    }

    /// Answers all that wait, and all that come.
    pub fn stop(&self) {
        let mut state = self.state();
        state.is_stopped = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for unique in waiting.keys() {
            self.write(&protocol::refusal(*unique, Errno::ENXIO));
        }
        self.end(waiting.into_values().collect());
    }

    fn end(&self, tasks: Vec<Arc<Task>>) {
        tasks.iter().for_each(|task| task.ask_to_stop());
        let deadline = Instant::now() + GRACE;
        self.state().ending.extend(tasks.into_iter().map(|task| (deadline, task)));
        self.changed.set();
    }

    /// Ends tasks that have gone on too long; says how long it is to the next one.
    pub fn end_overdue(&self) -> Option<Duration> {
        while self.changed.take() {}
        let (mut state, now) = (self.state(), Instant::now());
        state.ending.retain(|(deadline, task)| {
            let is_over = task.wait(Duration::ZERO);
            if !is_over && *deadline <= now {
                task.kill();
            }
            !is_over && *deadline > now
        });
        state.ending.iter().map(|(deadline, _)| deadline.saturating_duration_since(now)).min()
    }

    /// An open file more; gives its number.
    pub fn open(&self) -> u64 {
        let mut state = self.state();
        state.last += 1;
        let handle = state.last;
        state.files.insert(handle, File::default());
        handle
    }

    pub fn release(&self, handle: u64) {
        self.state().files.remove(&handle);
    }

    /// Where a file goes on for the script: what the script has said, or where somebody has moved the file to (lseek(2), pread(2)).
    pub fn offset(&self, place: Place) -> i64 {
        let file = self.state().files.get(&place.handle).copied().unwrap_or_default();
        match place.position {
            Some(position) if position != file.position => position as i64,
            _ => file.offset,
        }
    }

    /// So many bytes were read or written; the script has said where it goes on.
    pub fn advance(&self, place: Place, count: usize, next: i64) {
        let mut state = self.state();
        let Some(file) = state.files.get_mut(&place.handle) else { return };
        if place.position.is_none_or(|position| position == file.position) {
            *file = File { offset: next, position: file.position.wrapping_add(count as u64) };
        }
    }
}
