//! Frames that the script's socket filters keep, and those that its handlers send to sockets: a thread for each socket, which puts them into
//! the inbox.

use crate::SessionError;
use crate::inbox::Inbox;
use crate::threads;
use moonhook_hook::Point;
use moonhook_install::{FrameSource, InstallError, Link, XskSocket};
use moonhook_records::{Frame, Message, Queue};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a reader waits for frames before it looks whether it should end.
const NAP: Duration = Duration::from_millis(100);

/// The readers of all sockets.
#[derive(Default)]
pub struct Frames {
    readers: Vec<Reader>,
    /// What readers have lost that are gone.
    lost: u64,
}

/// Whose frames a socket gets.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Origin {
    /// Those that a filter keeps.
    Filter(Point),
    /// Those that handlers send to it.
    Queue(Queue),
}

/// The reader of one socket's frames; its thread ends soon after this is dropped.
struct Reader {
    origin: Origin,
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
    /// Reads what the filters among these links keep, and of filters those alone.
    ///
    /// # Errors
    /// `Install`, `Resource`.
    pub fn follow(&mut self, links: &[Link], inbox: &Arc<Inbox>) -> Result<(), SessionError> {
        self.keep(|origin| match origin {
            Origin::Filter(point) => links.iter().any(|link| link.point() == point),
            Origin::Queue(_) => true,
        });
        for link in links {
            let origin = Origin::Filter(link.point().clone());
            if self.reads(&origin) {
                continue;
            }
            let Some(frames) = link.frames()? else { continue };
            self.begin(origin, frames, inbox)?;
        }
        Ok(())
    }

    /// Reads what comes to the socket of a queue.
    ///
    /// # Errors
    /// `Resource`.
    pub fn add_queue(
        &mut self,
        queue: Queue,
        socket: XskSocket,
        inbox: &Arc<Inbox>,
    ) -> Result<(), SessionError> {
        self.begin(Origin::Queue(queue), socket, inbox)
    }

    /// Reads of sockets of queues these alone.
    pub fn keep_queues(&mut self, is_wanted: impl Fn(Queue) -> bool) {
        self.keep(|origin| match origin {
            Origin::Filter(_) => true,
            Origin::Queue(queue) => is_wanted(*queue),
        });
    }

    fn reads(&self, origin: &Origin) -> bool {
        self.readers.iter().any(|reader| reader.origin == *origin)
    }

    fn keep(&mut self, is_wanted: impl Fn(&Origin) -> bool) {
        for gone in self.readers.extract_if(.., |reader| !is_wanted(&reader.origin)) {
            self.lost += gone.state.lost.load(Ordering::Relaxed);
        }
    }

    fn begin(
        &mut self,
        origin: Origin,
        source: impl FrameSource + 'static,
        inbox: &Arc<Inbox>,
    ) -> Result<(), SessionError> {
        let queue = match origin {
            Origin::Queue(queue) => Some(queue),
            Origin::Filter(_) => None,
        };
        let (state, inbox) = (Arc::<State>::default(), Arc::clone(inbox));
        let of_thread = Arc::clone(&state);
        let thread = threads::start("frames", move || read(source, queue, &of_thread, &inbox))?;
        self.readers.push(Reader { origin, state, thread: Some(thread) });
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
fn read(
    mut frames: impl FrameSource,
    queue: Option<Queue>,
    state: &State,
    inbox: &Inbox,
) -> Result<(), InstallError> {
    loop {
        let is_over = state.end.load(Ordering::Relaxed);
        let next = frames.next(if is_over { Duration::ZERO } else { NAP })?;
        state.lost.fetch_add(frames.lost(), Ordering::Relaxed);
        match next {
            Some(frame) => {
                inbox.message(Ok(Message::Frame(Frame { bytes: frame.bytes, time: frame.time, queue })));
            }
            None if is_over => return Ok(()),
            None => {}
        }
    }
}
