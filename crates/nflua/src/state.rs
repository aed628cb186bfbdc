//! A state: a thread with a Lua state, which does one thing after another.

mod reply;
mod thread;

use crate::functions::Outside;
use crate::held::Held;
use crate::log::Journal;
use crate::{Generation, NfluaError, Question};
use moonhook_engine::Settings;
use moonhook_records::Message;
use nix::errno::Errno;
use reply::{Reply, promised};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;
use thread::Thread;

/// Things that can wait for a state to do them.
const ORDERS: usize = 1 << 14;

/// What the compiler needs on the stack: it recurses into what scripts nest.
const STACK: usize = 8 << 20;

pub type Orders = SyncSender<Order>;

/// What a state is to do.
pub enum Order {
    Execute {
        title: String,
        code: Vec<u8>,
        reply: Reply<()>,
    },
    /// The file of the program that asks a function.
    Match {
        question: Question,
        reply: Reply<PathBuf>,
    },
    /// The number of the queue whose packets a function decides about.
    Target {
        function: String,
        generation: Generation,
        reply: Reply<u16>,
    },
    Packet(Waiting),
    /// Bytes for the state, from who has that port.
    Data {
        port: u32,
        bytes: Vec<u8>,
    },
    /// What packet code says.
    Said(Message),
    /// Bytes of memory that the state has taken.
    Memory {
        reply: Reply<usize>,
    },
    /// Refuses where timers or rules need the state; else the state ends with the answer, if it `ends`.
    Release {
        ends: bool,
        reply: Reply<()>,
    },
    /// Looks whether it is to end.
    End,
}

impl Order {
    /// Begins it, unless somebody has waited for it who does no more.
    fn begin(&self) -> bool {
        match self {
            Order::Execute { reply, .. } | Order::Release { reply, .. } => reply.begin(),
            Order::Match { reply, .. } => reply.begin(),
            Order::Target { reply, .. } => reply.begin(),
            Order::Memory { reply } => reply.begin(),
            Order::Packet(_) | Order::Data { .. } | Order::Said(_) | Order::End => true,
        }
    }
}

/// A packet that a target decides about.
pub struct Waiting {
    pub function: Arc<str>,
    /// How it is called.
    pub generation: Generation,
    pub packet: Held,
    /// The link's header, as far as it is known.
    pub link: Option<Vec<u8>>,
}

/// What a state is made with.
#[derive(Clone)]
pub struct Wanted {
    pub name: String,
    /// Bytes that its scripts may take.
    pub memory: usize,
    /// Where modules are.
    pub folder: PathBuf,
    /// Where the folder with its pinned programs is.
    pub pins: PathBuf,
    /// Where it is noted which queues it has.
    pub notes: PathBuf,
    pub settings: Settings,
    pub outside: Outside,
    pub log: Journal,
}

/// Whether a state is to end, whatever orders wait.
#[derive(Default)]
pub struct End {
    is_wanted: AtomicBool,
    forgets: AtomicBool,
}

impl End {
    fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }
}

/// A state as other threads have it.
pub struct State {
    pub name: String,
    pub memory: usize,
    orders: Orders,
    end: Arc<End>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// There as long as the thread is at work, however that ends.
    work: Weak<()>,
}

impl State {
    /// # Errors
    /// `Refused`.
    pub fn begin(wanted: Wanted) -> Result<State, NfluaError> {
        let (orders, taken) = sync_channel(ORDERS);
        let (begun, has_begun) = sync_channel(1);
        let (name, memory, own) = (wanted.name.clone(), wanted.memory, orders.clone());
        let at_work = Arc::new(());
        let work = Arc::downgrade(&at_work);
        let end = Arc::<End>::default();
        let own_end = Arc::clone(&end);
        let run = move || {
            let _at_work = at_work;
            match Thread::begin(wanted, own) {
                Ok(state) => {
                    let _ = begun.send(Ok(()));
                    let targets = state.run(&taken, &own_end);
                    // What is left is accepted.
                    drop(taken);
                    targets.join();
                }
                Err(error) => drop(begun.send(Err(NfluaError::refused(Errno::ENOMEM, error.to_string())))),
            }
        };
        let thread = std::thread::Builder::new().name("nflua".to_string()).stack_size(STACK).spawn(run);
        let thread = thread.map_err(|error| NfluaError::refused(Errno::EAGAIN, error.to_string()))?;
        has_begun.recv().map_err(|_| NfluaError::Gone)??;
        Ok(State { name, memory, orders, end, thread: Mutex::new(Some(thread)), work })
    }

    /// Gives an order, and waits for what comes of it, at most so long; as long again if it has begun by then. What has not is not done.
    ///
    /// # Errors
    /// `Gone`; `Refused` where the state is at something else; what the order comes to.
    pub fn ask<T>(&self, patience: Duration, order: impl FnOnce(Reply<T>) -> Order) -> Result<T, NfluaError> {
        let (reply, promise) = promised();
        let busy = || NfluaError::refused(Errno::EBUSY, format!("state '{}' is busy", self.name));
        match self.orders.try_send(order(reply)) {
            Ok(()) => promise.wait(patience).unwrap_or_else(|| Err(busy())),
            Err(TrySendError::Full(_)) => Err(busy()),
            Err(TrySendError::Disconnected(_)) => Err(NfluaError::Gone),
        }
    }

    /// Gives an order that nobody waits for. What finds no room is lost.
    pub fn tell(&self, order: Order) {
        let _ = self.orders.try_send(order);
    }

    /// Has it end. If it `forgets`, nobody is to have its queues again.
    pub fn begin_end(&self, forgets: bool) {
        self.end.forgets.store(forgets, Ordering::Relaxed);
        self.end.is_wanted.store(true, Ordering::Release);
        // It may wait for one.
        self.tell(Order::End);
    }

    /// Whether its thread has ended.
    pub fn has_ended(&self) -> bool {
        self.work.strong_count() == 0
    }

    /// Waits for its thread, which has been told to end.
    pub fn join(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// What a chunk is called in messages: its title, or else the state.
pub fn title_of<'a>(title: &'a str, state: &'a str) -> &'a str {
    let is_name = !title.is_empty() && !title.chars().any(char::is_control) && title.len() <= 100;
    if is_name { title } else { state }
}
