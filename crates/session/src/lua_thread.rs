//! The thread that has a Lua state: nobody else runs Lua, and nobody waits for it.
//!
//! It runs the scripts at load time, tells what is to be compiled, and waits for the program ([`LuaThread::connect`]); from then on it
//! does one [`Job`] after another. What comes of all that goes to the inbox. A state that goes on for ever inside one function of the
//! library cannot be stopped: its thread is left behind then ([`LuaThread::leave_behind`]), and another one begins anew.

mod frames;
mod inside;
mod queued;

pub use frames::event_of;
pub use queued::Decision;

use crate::inbox::Inbox;
use crate::threads;
use crate::{Busy, SessionError};
use inside::Thread;
use moonhook_control::{Connection, lower_priority, processor_time};
use moonhook_daemon::Answer;
use moonhook_hook::Point;
use moonhook_load::{Content, ControlModules, ForwardingPlace, LoadError, MovedPlace, QueuedPlace};
use moonhook_records::Message;
use moonhook_snapshot::Snapshot;
use moonhook_user::Waiting;
use nix::unistd::{Pid, gettid};
use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
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
    /// How many steps a packet's handlers may take.
    pub budget: u32,
    /// Other contents of tables than the scripts give them.
    pub contents: Vec<Content>,
    /// The network namespace whose interfaces control code sends frames by (`None`: the process's).
    pub netns: Option<String>,
}

/// What load time gives to the other threads.
pub struct Prepared {
    pub snapshot: Snapshot,
    /// Where handlers that run in this process take their packets from.
    pub queued: Vec<QueuedPlace>,
    /// Places of netfilter whose handlers run at tc.
    pub moved: Vec<MovedPlace>,
    /// Places of netfilter whose handlers forward copies of packets, in the kernel.
    pub forwarding: Vec<ForwardingPlace>,
    /// The scripts have run, and nothing is left to be done.
    pub is_over: bool,
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
    /// Gives a flow another function: the table's name, the key, the text and what messages call it.
    Flow(FlowOrder),
    /// Makes all functions of flows once more, because the program has other maps.
    RemakeFlows,
    /// Takes over what has become of the flows of the program before.
    CatchUp(CatchUp),
}

/// When flows are taken over that others have changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUp {
    /// Right before the program takes the place of the one before: timers are not due yet.
    Before,
    /// While the state before may be at work.
    Behind,
    /// For the last time.
    Last,
}

/// The function that a flow is to get.
#[derive(Clone, Debug)]
pub struct FlowOrder {
    pub table: Option<String>,
    pub key: String,
    pub source: String,
    pub name: Option<String>,
}

/// What came of a job.
#[derive(Debug)]
pub struct Done {
    pub messages: Vec<Message>,
    /// When there is something to do again.
    pub due: Option<Instant>,
    /// Events that somebody listens to.
    pub listened_to: BTreeSet<Vec<u8>>,
    /// Of [`Job::Exec`] and [`Job::Flow`].
    pub answer: Option<Answer>,
}

/// What a thread tells.
pub enum Told {
    /// Load time has ended; once.
    Loaded(Result<Box<Prepared>, LoadError>),
    /// The state is connected with the program, or why not; once, if nobody waits for it.
    Connected(Result<(), SessionError>),
    /// A job has ended.
    Done(Box<Done>),
}

impl Debug for Told {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Told::Loaded(_) => "Loaded",
            Told::Connected(_) => "Connected",
            Told::Done(_) => "Done",
        })
    }
}

/// The hold that other threads have on it. Dropped, the thread ends when it has done what it is at.
pub struct LuaThread {
    id: LuaId,
    orders: Orders,
    thread: Option<JoinHandle<()>>,
    /// Its number for the kernel; 0 until it runs.
    number: Arc<AtomicI32>,
    begun: Arc<AtomicU64>,
    reports: Reports,
    seen: Seen,
}

/// What came of each event of a job, as far as it was seen to.
type Reports = Arc<Mutex<Heard>>;

#[derive(Default)]
struct Heard {
    reports: Vec<Vec<Message>>,
    /// An event is being seen to, of which there is no report yet.
    is_at_one: bool,
    /// No other event is begun: they come again, elsewhere.
    ends: bool,
}

/// What was seen of the present function, to know how long it runs.
#[derive(Clone, Copy, Default)]
struct Seen {
    begun: u64,
    time: Duration,
    /// When it was seen first.
    since: Option<Instant>,
}

enum Order {
    /// The answer goes to who waits for it, or else to the inbox.
    Connect {
        connection: Connection,
        answer: Option<SyncSender<Result<(), SessionError>>>,
    },
    Work(Job),
    /// The last one, also where others could give more.
    End,
    /// Asks the handlers of a place about a packet.
    Decide {
        point: Point,
        packet: Waiting,
        answer: SyncSender<Decision>,
    },
}

/// The way to the thread, which may wait for others' calls, too.
#[derive(Clone)]
struct Orders {
    sender: Sender<Order>,
    control: Option<Arc<dyn ControlModules>>,
}

impl Orders {
    /// # Errors
    /// The thread is gone.
    fn send(&self, order: Order) -> Result<(), SessionError> {
        self.sender.send(order).map_err(|_| SessionError::LuaGone)?;
        self.control.iter().for_each(|control| control.wake());
        Ok(())
    }
}

/// Who can be asked about packets, from any thread.
#[derive(Clone)]
pub struct Decider(Orders);

impl Decider {
    /// What the handlers of a place say of a packet; `None` if they do not say so in that time, or are gone.
    pub fn decide(&self, point: &Point, packet: Waiting, patience: Duration) -> Option<Decision> {
        let (answer, answered) = sync_channel(1);
        self.0.send(Order::Decide { point: point.clone(), packet, answer }).ok()?;
        answered.recv_timeout(patience).ok()
    }
}

/// The next thread's number.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Functions that run Lua are stopped after twice their time by the clock, whatever they have of a processor; a function of the library
/// that was found to have enough time then takes half of that again.
const CROWDED: u32 = 3;

/// The part of its time that a function has on a processor before the clock counts: the process may have been halted.
const LEAST: u32 = 10;

/// What a function of a script may use of a processor beyond its limit, at which it is stopped if it runs Lua. What goes beyond this is
/// inside a function of the library.
pub const GRACE: Duration = Duration::from_secs(2);

/// How long one function of a flow may take to be made while a state is connected, at the utmost.
const CONNECTING: Duration = Duration::from_secs(30);

impl LuaThread {
    /// Begins load time; `busy` until that has ended.
    ///
    /// # Errors
    /// `Resource` where there can be no more threads.
    pub fn load(sources: Sources, inbox: &Arc<Inbox>, busy: Option<Busy>) -> Result<LuaThread, SessionError> {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (sender, taken) = channel();
        let orders = Orders { sender, control: sources.options.control.clone() };
        let (number, begun) = (Arc::new(AtomicI32::new(0)), Arc::new(AtomicU64::new(0)));
        let reports = Reports::default();
        let of_thread =
            Thread { id, inbox: Arc::clone(inbox), begun: Arc::clone(&begun), reports: Arc::clone(&reports) };
        let noted = Arc::clone(&number);
        let thread = threads::start("lua", move || {
            noted.store(gettid().as_raw(), Ordering::Relaxed);
            of_thread.run(&sources, &taken, busy);
        })?;
        Ok(LuaThread { id, orders, thread: Some(thread), number, begun, reports, seen: Seen::default() })
    }

    pub fn id(&self) -> LuaId {
        self.id
    }

    /// Connects the Lua state with the program that was made of what it told, which includes making the functions that load time has set
    /// for flows. Jobs can be given from then on. Waits as long as it goes on from one function to another.
    ///
    /// # Errors
    /// What control code refuses; `LuaGone`.
    pub fn connect(&self, connection: Connection) -> Result<(), SessionError> {
        let (answer, answered) = sync_channel(1);
        self.order(Order::Connect { connection, answer: Some(answer) })?;
        loop {
            let begun = self.begun.load(Ordering::Relaxed);
            match answered.recv_timeout(CONNECTING) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Timeout) if self.begun.load(Ordering::Relaxed) != begun => {}
                Err(_) => return Err(SessionError::LuaGone),
            }
        }
    }

    /// As [`LuaThread::connect`], without waiting: the thread tells when it is done ([`Told::Connected`]).
    ///
    /// # Errors
    /// `LuaGone`.
    pub fn begin_connecting(&mut self, connection: Connection) -> Result<(), SessionError> {
        self.seen = self.look();
        self.order(Order::Connect { connection, answer: None })
    }

    /// Who asks its handlers about packets.
    pub fn decider(&self) -> Decider {
        Decider(self.orders.clone())
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
        std::mem::take(&mut self.reports.lock().unwrap_or_else(PoisonError::into_inner).reports)
    }

    /// The same, of a thread that sees to no other events than the one that it is at, of which there is an empty report.
    pub fn take_last_reports(&self) -> Vec<Vec<Message>> {
        let mut heard = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        heard.ends = true;
        let mut reports = std::mem::take(&mut heard.reports);
        if heard.is_at_one {
            reports.push(Vec::new());
        }
        reports
    }

    fn order(&self, order: Order) -> Result<(), SessionError> {
        self.orders.send(order)
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

    /// Nothing of what was seen counts: it was no function that has a limit.
    pub fn look_anew(&mut self) {
        self.seen.since = None;
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

    /// Ends it when it has done what it is at, and gives what says whether it has ended.
    pub fn let_go(self) -> impl Fn() -> bool {
        // It may have ended.
        let _ = self.orders.send(Order::End);
        let thread = self.thread;
        move || thread.as_ref().is_none_or(JoinHandle::is_finished)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_thread_is_an_error_once() {
        let (sender, _taken) = channel();
        let thread = threads::start("lua", || panic!("as if"));
        let mut thread = LuaThread {
            id: 1,
            orders: Orders { sender, control: None },
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
