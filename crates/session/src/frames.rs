//! Frames that the script's socket filters keep: a thread for each socket, which puts them into the inbox.

use crate::SessionError;
use crate::inbox::Inbox;
use crate::threads;
use moonhook_hook::Point;
use moonhook_install::{InstallError, Link};
use moonhook_records::{Frame, Message};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a reader waits for frames before it looks whether it should end.
const NAP: Duration = Duration::from_millis(100);

/// The readers of all filters.
#[derive(Default)]
pub struct Frames {
    readers: Vec<Reader>,
    /// What readers have lost that are gone.
    lost: u64,
}

/// The reader of one filter's frames; its thread ends soon after this is dropped.
struct Reader {
    point: Point,
    state: Arc<State>,
    thread: Option<JoinHandle<Result<(), InstallError>>>,
}

/// What both sides of a reader know.
#[derive(Default)]
struct State {
    /// Take what is there, and end.
    end: AtomicBool,
    /// Frames that found no room.
    lost: AtomicU64,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.state.end.store(true, Ordering::Relaxed);
    }
}

impl Frames {
    /// Reads what the filters among these links keep, and those alone.
    ///
    /// # Errors
    /// `Install`, `Resource`.
    pub fn follow(&mut self, links: &[Link], inbox: &Arc<Inbox>) -> Result<(), SessionError> {
        let is_there = |reader: &Reader| links.iter().any(|link| link.point() == &reader.point);
        for gone in self.readers.extract_if(.., |reader| !is_there(reader)) {
            self.lost += gone.state.lost.load(Ordering::Relaxed);
        }
        for link in links {
            if self.readers.iter().any(|reader| &reader.point == link.point()) {
                continue;
            }
            let Some(frames) = link.frames()? else { continue };
            let (state, inbox) = (Arc::<State>::default(), Arc::clone(inbox));
            let of_thread = Arc::clone(&state);
            let thread = threads::start("frames", move || read(frames, &of_thread, &inbox))?;
            self.readers.push(Reader { point: link.point().clone(), state, thread: Some(thread) });
        }
        Ok(())
    }

    /// Frames that found no room.
    pub fn lost(&self) -> u64 {
        let lost = |reader: &Reader| reader.state.lost.load(Ordering::Relaxed);
        self.lost + self.readers.iter().map(lost).sum::<u64>()
    }

    /// Lets the readers end when they have taken what is there.
    pub fn end(&self) {
        self.readers.iter().for_each(|reader| reader.state.end.store(true, Ordering::Relaxed));
    }

    /// No more frames come in.
    pub fn have_ended(&self) -> bool {
        self.readers.iter().all(|reader| reader.thread.as_ref().is_none_or(JoinHandle::is_finished))
    }

    /// Waits for the readers; what the first failed of, if one did.
    pub fn join(&mut self) -> Result<(), SessionError> {
        let mut result = Ok(());
        for reader in &mut self.readers {
            let ended = reader.thread.take().map_or(Ok(()), |thread| Ok(threads::join(thread)??));
            result = result.and(ended);
        }
        result
    }
}

/// Takes frames out of the socket until the end is wanted, and then the last ones.
fn read(mut frames: moonhook_install::Frames, state: &State, inbox: &Inbox) -> Result<(), InstallError> {
    loop {
        let is_over = state.end.load(Ordering::Relaxed);
        let next = frames.next(if is_over { Duration::ZERO } else { NAP })?;
        state.lost.fetch_add(frames.lost(), Ordering::Relaxed);
        match next {
            Some(frame) => {
                inbox.message(Ok(Message::Frame(Frame { bytes: frame.bytes, time: frame.time })));
            }
            None if is_over => return Ok(()),
            None => {}
        }
    }
}
