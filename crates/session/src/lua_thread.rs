//! The thread that has a Lua state: nobody else runs Lua, and nobody waits for it.
//!
//! It runs the scripts at load time, tells what is to be compiled, and waits for the program ([`LuaThread::connect`]); from then on it
//! does one [`Job`] after another. What comes of all that goes to the inbox. A state that goes on for ever inside one function of the
//! library cannot be stopped: its thread is left behind then ([`LuaThread::leave_behind`]), and another one begins anew.

use crate::SessionError;
use crate::inbox::Inbox;
use crate::threads;
use moonhook_control::{Connection, Control, ControlError, Options, Report, lower_priority, processor_time};
use moonhook_daemon::{Executed, Failure};
use moonhook_diagnostic::Exit;
use moonhook_engine::timed;
use moonhook_hook::{SOCKET, XDP};
use moonhook_load::{Content, LoadError, Loaded};
use moonhook_records::{Failure as HandlerFailure, Frame, Message, Queue, Text};
use moonhook_snapshot::Snapshot;
use moonhook_user::FrameObjects;
use nix::unistd::{Pid, gettid};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter, Write};
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Which of the threads that this process has had. Later ones have greater numbers.
pub type LuaId = u64;

/// What load time is to be made of.
#[derive(Clone, Debug)]
pub struct Sources {
    pub scripts: Vec<PathBuf>,
    pub options: moonhook_load::Options,
    /// Other contents of tables than the scripts give them.
    pub contents: Vec<Content>,
    /// The network namespace whose interfaces control code sends frames by (`None`: the process's).
    pub netns: Option<String>,
}

/// What load time gives to the other threads.
pub struct Prepared {
    pub snapshot: Snapshot,
    /// Equal for equal snapshots.
    pub fingerprint: u64,
    /// Every file that was read.
    pub files: Vec<PathBuf>,
    /// How long that took, in microseconds.
    pub load_time: u64,
}

/// Something for the Lua state to do. Whatever is due is done behind it.
#[derive(Debug)]
pub enum Job {
    /// Nothing but what is due.
    Turn,
    /// Events in order, as many of them as can be seen to in a little while. What comes of each goes to [`LuaThread::take_reports`].
    Events(Vec<Message>),
    Exec(String),
}

/// What came of a job.
#[derive(Debug)]
pub struct Done {
    pub messages: Vec<Message>,
    /// When there is something to do again.
    pub due: Option<Instant>,
    /// Events that somebody listens to.
    pub listened_to: BTreeSet<Vec<u8>>,
    /// Of [`Job::Exec`].
    pub executed: Option<Executed>,
}

/// What a thread tells.
pub enum Told {
    /// Load time has ended; once.
    Loaded(Result<Box<Prepared>, LoadError>),
    /// A job has ended.
    Done(Box<Done>),
}

impl Debug for Told {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Told::Loaded(_) => "Loaded",
            Told::Done(_) => "Done",
        })
    }
}

/// The hold that other threads have on it. Dropped, the thread ends when it has done what it is at.
pub struct LuaThread {
    id: LuaId,
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
    /// Its number for the kernel; 0 until it runs.
    number: Arc<AtomicI32>,
    begun: Arc<AtomicU64>,
    reports: Reports,
    seen: Seen,
}

/// What came of each event of a job, as far as it was seen to.
type Reports = Arc<Mutex<Vec<Vec<Message>>>>;

/// What was seen of the present function, to know how long it runs.
#[derive(Clone, Copy, Default)]
struct Seen {
    begun: u64,
    time: Duration,
    /// When it was seen first.
    since: Option<Instant>,
}

enum Order {
    Connect { connection: Connection, answer: SyncSender<Result<(), SessionError>> },
    Work(Job),
}

/// The next thread's number.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// How long events are seen to before something else is.
const SLICE: Duration = Duration::from_millis(20);

/// Functions that run Lua are stopped after twice their time by the clock, whatever they have of a processor; a function of the library
/// that was found to have enough time then takes half of that again.
const CROWDED: u32 = 3;

/// The part of its time that a function has on a processor before the clock counts: the process may have been halted.
const LEAST: u32 = 10;

/// What a function of a script may use of a processor beyond its limit, at which it is stopped if it runs Lua. What goes beyond this is
/// inside a function of the library.
pub const GRACE: Duration = Duration::from_secs(2);

/// Connecting runs no script.
const CONNECTING: Duration = Duration::from_secs(30);

impl LuaThread {
    /// Begins load time.
    ///
    /// # Errors
    /// `Resource` where there can be no more threads.
    pub fn load(sources: Sources, inbox: &Arc<Inbox>) -> Result<LuaThread, SessionError> {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (orders, taken) = channel();
        let (number, begun) = (Arc::new(AtomicI32::new(0)), Arc::new(AtomicU64::new(0)));
        let reports = Reports::default();
        let of_thread =
            Thread { id, inbox: Arc::clone(inbox), begun: Arc::clone(&begun), reports: Arc::clone(&reports) };
        let noted = Arc::clone(&number);
        let thread = threads::start("lua", move || {
            noted.store(gettid().as_raw(), Ordering::Relaxed);
            of_thread.run(&sources, &taken);
        })?;
        Ok(LuaThread { id, orders, thread: Some(thread), number, begun, reports, seen: Seen::default() })
    }

    pub fn id(&self) -> LuaId {
        self.id
    }

    /// Connects the Lua state with the program that was made of what it told. Jobs can be given from then on.
    ///
    /// # Errors
    /// What control code refuses; `LuaGone`.
    pub fn connect(&self, connection: Connection) -> Result<(), SessionError> {
        let (answer, answered) = sync_channel(1);
        self.order(Order::Connect { connection, answer })?;
        match answered.recv_timeout(CONNECTING) {
            Ok(outcome) => outcome,
            Err(_) => Err(SessionError::LuaGone),
        }
    }

    /// Gives it a job, when it has none.
    ///
    /// # Errors
    /// `LuaGone`.
    pub fn work(&mut self, job: Job) -> Result<(), SessionError> {
        self.seen = self.look();
        self.order(Order::Work(job))
    }

    /// What came of the events that were seen to since the last time.
    pub fn take_reports(&self) -> Vec<Vec<Message>> {
        std::mem::take(&mut *self.reports.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn order(&self, order: Order) -> Result<(), SessionError> {
        self.orders.send(order).map_err(|_| SessionError::LuaGone)
    }

    fn look(&self) -> Seen {
        let time = match self.number.load(Ordering::Relaxed) {
            0 => None,
            number => processor_time(Pid::from_raw(number)),
        };
        let (begun, since) = (self.begun.load(Ordering::Relaxed), Some(Instant::now()));
        Seen { begun, time: time.unwrap_or_default(), since }
    }

    /// Whether the present function, or load time, goes on where it would have been stopped if it ran Lua: for `limit` and a little on a
    /// processor, or for much longer by the clock, as far as was seen. To be asked now and then.
    pub fn exceeds(&mut self, limit: Duration) -> bool {
        let now = self.look();
        if now.begun != self.seen.begun || self.seen.since.is_none() {
            self.seen = now;
        }
        let used = now.time.saturating_sub(self.seen.time);
        let passed = self.seen.since.map_or(Duration::ZERO, |since| since.elapsed());
        used > limit + GRACE || used > limit / LEAST && passed > limit * CROWDED + GRACE
    }

    /// Whether load time runs for longer than it may, and a little.
    pub fn overruns(&mut self, sources: &Sources) -> bool {
        self.exceeds(sources.options.longest())
    }

    /// Whether the thread is in order: it goes on, or has ended as it should. To be asked now and then.
    ///
    /// # Errors
    /// `Panicked`, once.
    pub fn look_after(&mut self) -> Result<(), SessionError> {
        self.thread.take_if(|thread| thread.is_finished()).map_or(Ok(()), threads::join)
    }

    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Lets it go on, perhaps for ever, where a processor has nothing else to do.
    pub fn leave_behind(&self) {
        let number = self.number.load(Ordering::Relaxed);
        if number != 0 && !self.has_ended() {
            lower_priority(Pid::from_raw(number));
        }
    }
}

/// The thread's own side.
struct Thread {
    id: LuaId,
    inbox: Arc<Inbox>,
    begun: Arc<AtomicU64>,
    reports: Reports,
}

impl Thread {
    fn run(self, sources: &Sources, orders: &Receiver<Order>) {
        let mut load_time = 0;
        let Sources { scripts, options, contents, netns } = sources;
        let loaded = timed(&mut load_time, || moonhook_load::load_with_contents(scripts, options, contents));
        let mut loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => return self.tell(Told::Loaded(Err(error))),
        };
        let snapshot = std::mem::take(&mut loaded.snapshot);
        let (fingerprint, files) = (fingerprint(&snapshot), loaded.files.clone());
        let prepared = Prepared { snapshot, fingerprint, files, load_time };
        self.tell(Told::Loaded(Ok(Box::new(prepared))));
        // Whoever has loaded may find that nothing is to become of it.
        let Ok(Order::Connect { connection, answer }) = orders.recv() else { return };
        let Some(mut control) = self.control(loaded, (connection, netns.clone()), &answer) else { return };
        let objects = Objects::default();
        while let Ok(order) = orders.recv() {
            let Order::Work(job) = order else { continue };
            let done = self.work(&mut control, job, &objects);
            self.tell(Told::Done(Box::new(done)));
        }
    }

    fn control(
        &self,
        loaded: Loaded,
        (connection, netns): (Connection, Option<String>),
        answer: &SyncSender<Result<(), SessionError>>,
    ) -> Option<Control> {
        let begun = Arc::clone(&self.begun);
        let options = Options { begun, sweeps: false, netns, ..Options::default() };
        let control = Control::connect(loaded, connection, options);
        let (control, outcome) = match control {
            Ok(control) => (Some(control), Ok(())),
            Err(error) => (None, Err(error.into())),
        };
        // Nobody waits any more: then there is nothing to do either.
        let _ = answer.send(outcome);
        control
    }

    fn work(&self, control: &mut Control, job: Job, objects: &Objects) -> Done {
        let mut messages = Vec::new();
        let mut executed = None;
        match job {
            Job::Turn => {}
            Job::Events(events) => self.events(control, &events, objects),
            Job::Exec(code) => executed = Some(exec(control, &code)),
        }
        let due = control.turn(&mut |report| messages.push(message(report)));
        Done { messages, due, listened_to: control.listened_to(), executed }
    }

    fn events(&self, control: &mut Control, events: &[Message], objects: &Objects) {
        let begin = Instant::now();
        for event in events {
            let mut messages = Vec::new();
            let mut report = |report| messages.push(message(report));
            match event {
                Message::Event(notice) => control.event(&notice.name, &notice.values, &mut report),
                Message::Frame(frame) => hand_over(control, frame, objects, &mut report),
                Message::Print(_) | Message::Error(_) => {}
            }
            self.reports.lock().unwrap_or_else(PoisonError::into_inner).push(messages);
            // Others wait, too.
            if begin.elapsed() > SLICE {
                break;
            }
        }
    }

    fn tell(&self, told: Told) {
        self.inbox.tell(self.id, told);
    }
}

/// The event of a message, which control code may listen to.
pub fn event_of(message: &Message) -> Option<Cow<'_, [u8]>> {
    match message {
        Message::Event(notice) => Some(Cow::Borrowed(&notice.name)),
        Message::Frame(frame) => Some(frame_event(frame)),
        Message::Print(_) | Message::Error(_) => None,
    }
}

fn frame_event(frame: &Frame) -> Cow<'static, [u8]> {
    match frame.queue {
        Some(queue) => Cow::Owned(moonhook_load::event_of_queue(queue.number)),
        None => Cow::Borrowed(SOCKET.name.as_bytes()),
    }
}

/// What makes objects of frames, once there are some: of such as a filter keeps, and of such as handlers have.
#[derive(Default)]
struct Objects {
    kept: OnceCell<FrameObjects>,
    sent: OnceCell<FrameObjects>,
}

impl Objects {
    fn make(&self, lua: &mlua::Lua, frame: &Frame) -> mlua::Result<mlua::Value> {
        let (cell, hook) = if frame.queue.is_some() { (&self.sent, &XDP) } else { (&self.kept, &SOCKET) };
        if cell.get().is_none() {
            let _ = cell.set(FrameObjects::new(lua, hook).map_err(mlua::Error::external)?);
        }
        match (cell.get(), frame.queue) {
            (Some(objects), Some(Queue { interface, number })) => {
                objects.make_received(&frame.bytes, interface, number)
            }
            (Some(objects), None) => objects.make(&frame.bytes),
            (None, _) => Ok(mlua::Value::Nil),
        }
    }
}

/// Gives a frame that a filter has kept, or a handler has sent, to the functions that are there for it: as an object, and when it came.
fn hand_over(control: &mut Control, frame: &Frame, objects: &Objects, report: &mut dyn FnMut(Report)) {
    let arguments = |lua: &mlua::Lua| {
        let packet = objects.make(lua, frame)?;
        let seconds = frame.time as f64 / 1e9;
        Ok(mlua::MultiValue::from_iter([packet, mlua::Value::Number(seconds)]))
    };
    control.event_with(&frame_event(frame), arguments, report);
}

/// What control code prints and its errors look like those of handlers.
fn message(report: Report) -> Message {
    match report {
        Report::Print(line) => Message::Print(Text::whole(line)),
        Report::Error(error) => {
            let message = Text::whole(error.message.into_bytes());
            Message::Error(HandlerFailure { message, traceback: error.traceback })
        }
    }
}

/// Carries out Lua code.
fn exec(control: &mut Control, code: &str) -> Executed {
    let answer = control.exec(code);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = answer.printed.iter().map(|line| text(line)).collect();
    let (results, error) = match answer.result {
        Ok(shown) => (shown.iter().map(|shown| text(&shown.text)).collect(), None),
        Err(error) => {
            let diagnostic = ControlError::Call(error).diagnostic();
            (Vec::new(), Some(Failure::new(diagnostic, Exit::Refused as u8)))
        }
    };
    Executed { printed, results, error }
}

/// Hashes what is written.
#[derive(Default)]
struct Hashing(DefaultHasher);

impl Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

fn fingerprint(snapshot: &Snapshot) -> u64 {
    let mut hashing = Hashing::default();
    // Writing into a hash does not fail.
    let _ = write!(hashing, "{snapshot:?}");
    hashing.0.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_thread_is_an_error_once() {
        let (orders, _taken) = channel();
        let thread = threads::start("lua", || panic!("as if"));
        let mut thread = LuaThread {
            id: 1,
            orders,
            thread: thread.ok(),
            number: Arc::default(),
            begun: Arc::default(),
            reports: Reports::default(),
            seen: Seen::default(),
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        let error = loop {
            match thread.look_after() {
                Err(error) => break error,
                Ok(()) => assert!(Instant::now() < deadline, "the panic goes unnoticed"),
            }
        };
        assert_eq!(error.code(), "MH0022");
        assert!(thread.look_after().is_ok() && thread.has_ended());
    }
}
