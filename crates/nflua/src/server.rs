//! The process with the states of a network namespace.

use crate::functions::Outside;
use crate::log::Journal;
use crate::protocol::{self, DATA, Request, STATES};
use crate::raw::RawSockets;
use crate::socket::{Connection, Listener};
use crate::state::{Order, State, Wanted, title_of};
use crate::{Log, NfluaError};
use moonhook_engine::Settings;
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread waits before it looks whether it should end.
const NAP: Duration = Duration::from_millis(100);

/// How long a state may take for what is asked of it: a little more than one function may.
const PATIENCE: Duration = Duration::from_secs(12);

/// The same of what it executes, which may wait behind other functions, and be compiled.
const LONGEST: Duration = Duration::from_secs(120);

/// The same of how much memory it has taken.
const GLANCE: Duration = Duration::from_millis(200);

/// How long states may take to end.
const LAST: Duration = Duration::from_secs(2);

/// Connections at a time; others are closed.
const CONNECTIONS: usize = 512;

/// What the process with the states is to be like.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its socket.
    pub socket: PathBuf,
    /// Where modules of scripts are.
    pub folder: PathBuf,
    /// Where the programs that rules ask are pinned.
    pub pins: PathBuf,
    pub settings: Settings,
    pub log: Log,
    /// By how many seconds the kernel's clock of atomic time is ahead of UTC.
    pub ahead: i64,
}

/// What all connections have in common.
struct Server {
    options: Options,
    outside: Outside,
    log: Journal,
    states: Mutex<States>,
    connections: AtomicUsize,
    /// Everything ends.
    ends: AtomicBool,
    /// Connections of those who have it end, which are closed when the next process can have states: they wait for that.
    enders: Mutex<Vec<OwnedFd>>,
}

#[derive(Default)]
struct States {
    known: BTreeMap<String, Arc<State>>,
    /// Names of those that are being made.
    begun: BTreeSet<String>,
}

type Answer = Result<Vec<Vec<u8>>, NfluaError>;

/// Has states for the network namespace of this thread, until `stop` or a request.
///
/// # Errors
/// `Taken`, `Socket`.
pub fn run(options: Options, ready: impl FnOnce(&Path), stop: &AtomicBool) -> Result<(), NfluaError> {
    let listener = Listener::open(&options.socket)?;
    let outside =
        Outside { ports: Arc::default(), sockets: Arc::new(RawSockets::open()), ahead: options.ahead };
    // Each rule's program takes some.
    let _ = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    let log = Journal::begin(options.log)
        .map_err(|error| NfluaError::refused(Errno::EAGAIN, format!("lines cannot be logged: {error}")))?;
    forget_earlier(&options, &log);
    ready(&options.socket);
    let server = Arc::new(Server {
        options,
        outside,
        log,
        states: Mutex::default(),
        connections: AtomicUsize::new(0),
        ends: AtomicBool::new(false),
        enders: Mutex::default(),
    });
    let mut last = None;
    while !stop.load(Ordering::Relaxed) && !server.ends.load(Ordering::Relaxed) {
        match listener.accept(NAP) {
            Ok(Some(connection)) => {
                last = None;
                serve(&server, connection);
            }
            Ok(None) => {}
            // Those that are there go on. What is the same as before is not told again.
            Err(error) => {
                let problem = error.to_string();
                if last.as_ref() != Some(&problem) {
                    server.log.failed(&problem);
                    last = Some(problem);
                }
            }
        }
    }
    // Rules of targets stay where a signal ends it, and the next process has their queues again.
    let is_stopped = server.ends.swap(true, Ordering::Relaxed);
    let states = std::mem::take(&mut server.states().known);
    states.values().for_each(|state| state.begin_end(is_stopped));
    let deadline = Instant::now() + LAST;
    // What is at work for longer goes with the process, and its rules find nothing then.
    let is_over = || states.values().all(|state| state.has_ended()) && server.states().begun.is_empty();
    while Instant::now() < deadline && !is_over() {
        thread::sleep(Duration::from_millis(5));
    }
    // Only empty folders go.
    let _ = std::fs::remove_dir(&server.options.pins);
    let _ = std::fs::remove_dir(notes(&server.options));
    server.log.finish();
    drop(listener);
    // States that are at work still have their queues until the process is no more, which closes the connections, too.
    if is_over() {
        server.enders().clear();
    }
    Ok(())
}

/// The folder where it is noted which queues states have.
fn notes(options: &Options) -> PathBuf {
    options.socket.with_extension("targets")
}

/// Removes what an earlier process has left in the file system of programs, but for what rules have.
fn forget_earlier(options: &Options, log: &Journal) {
    for folder in std::fs::read_dir(&options.pins).into_iter().flatten().flatten() {
        if let Err(error) = moonhook_install::remove_unruled(&folder.path()) {
            log.failed(&error.to_string());
        }
    }
}

/// Sees to a connection on a thread of its own.
fn serve(server: &Arc<Server>, connection: Connection) {
    if server.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
        server.connections.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    let of_thread = Arc::clone(server);
    let work = move || {
        // A connection that fails has ended.
        let _ = of_thread.converse(connection);
        of_thread.connections.fetch_sub(1, Ordering::Relaxed);
    };
    if thread::Builder::new().name("client".to_string()).spawn(work).is_err() {
        server.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    /// Those whose threads are there.
    fn states(&self) -> MutexGuard<'_, States> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.known.retain(|_, state| !state.has_ended());
        states
    }

    fn enders(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        self.enders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message, until the end of the connection or of everything.
    fn next(&self, connection: &mut Connection) -> Result<Option<Vec<u8>>, Errno> {
        while !self.ends.load(Ordering::Relaxed) {
            if let Some(message) = connection.receive(Some(NAP))? {
                return Ok((!message.is_empty()).then(|| message.to_vec()));
            }
        }
        Ok(None)
    }

    fn converse(&self, mut connection: Connection) -> Result<(), Errno> {
        let Some(message) = self.next(&mut connection)? else { return Ok(()) };
        match Request::parse(&message) {
            Ok(Request::Control { port }) => self.with_port(connection, port, None),
            Ok(Request::Data { port }) => {
                let socket = connection.duplicate()?;
                self.with_port(connection, port, Some(socket))
            }
            request => self.reply(&mut connection, request),
        }
    }

    /// Gives the connection a port, and sees to what comes by it: requests, or bytes for states if there is a `socket` for what states send.
    fn with_port(&self, mut connection: Connection, port: u32, socket: Option<OwnedFd>) -> Result<(), Errno> {
        let is_for_data = socket.is_some();
        let taken = match self.outside.ports.take(port, socket) {
            Ok(taken) => taken,
            Err(errno) => {
                let refused = Err(NfluaError::refused(errno, "the port is in use"));
                return connection.send(&protocol::answered(&refused));
            }
        };
        let outcome = connection
            .send(&protocol::answered(&Ok(vec![taken.to_string().into_bytes()])))
            .and_then(|()| match is_for_data {
                true => self.pass_on(&mut connection, taken),
                false => self.answer_all(&mut connection),
            });
        self.outside.ports.leave(taken);
        outcome
    }

    fn answer_all(&self, connection: &mut Connection) -> Result<(), Errno> {
        while let Some(message) = self.next(connection)? {
            self.reply(connection, Request::parse(&message))?;
        }
        Ok(())
    }

    fn reply(&self, connection: &mut Connection, request: Result<Request, NfluaError>) -> Result<(), Errno> {
        let ender = matches!(request, Ok(Request::Stop)).then(|| connection.duplicate()).transpose()?;
        let outcome = request.and_then(|request| self.answer(request));
        if outcome.is_ok() {
            self.enders().extend(ender);
        }
        connection.send(&protocol::answered(&outcome))
    }

    /// Gives states what is for them. What no state wants is lost, as is what is too long.
    fn pass_on(&self, connection: &mut Connection, port: u32) -> Result<(), Errno> {
        while let Some(message) = self.next(connection)? {
            let (name, Some(bytes)) = protocol::field(&message) else { continue };
            let state =
                std::str::from_utf8(name).ok().and_then(|name| self.states().known.get(name).cloned());
            if let Some(state) = state.filter(|_| bytes.len() <= DATA) {
                state.tell(Order::Data { port, bytes: bytes.to_vec() });
            }
        }
        Ok(())
    }

    fn answer(&self, request: Request) -> Answer {
        match request {
            Request::Create { name, memory } => self.create(name, memory),
            Request::Destroy { name } => self.destroy(&name),
            Request::Execute { name, title, code } => {
                let state = self.state(&name, Errno::ENOENT).inspect_err(|_| {
                    self.log.failed(&format!("lua state not found: {name}"));
                })?;
                let title = title_of(&title, &name).to_string();
                state.ask(LONGEST, |reply| Order::Execute { title, code, reply }).map(|()| Vec::new())
            }
            Request::List => self.list(),
            Request::Stop => self.stop(),
            Request::Match { state, question } => {
                let state = self.state(&state, Errno::EPERM)?;
                let path = state.ask(PATIENCE, |reply| Order::Match { question, reply })?;
                Ok(vec![path.to_string_lossy().into_owned().into_bytes()])
            }
            Request::Target { state, function, generation } => {
                let state = self.state(&state, Errno::ENOENT)?;
                let number = state.ask(PATIENCE, |reply| Order::Target { function, generation, reply })?;
                Ok(vec![number.to_string().into_bytes()])
            }
            // They are what a connection begins with.
            Request::Control { .. } | Request::Data { .. } => {
                Err(NfluaError::refused(Errno::EINVAL, "the connection has a port"))
            }
        }
    }

    fn state(&self, name: &str, errno: Errno) -> Result<Arc<State>, NfluaError> {
        let known = self.states().known.get(name).cloned();
        known.ok_or_else(|| NfluaError::refused(errno, format!("there is no state '{name}'")))
    }

    fn create(&self, name: String, memory: usize) -> Answer {
        let refused = |errno, reason: String| {
            self.log.failed(&reason);
            Err(NfluaError::refused(errno, reason))
        };
        {
            let mut states = self.states();
            if states.known.contains_key(&name) || states.begun.contains(&name) {
                return refused(Errno::EEXIST, format!("state already exists: {name}"));
            }
            if states.known.len() + states.begun.len() >= STATES {
                return refused(
                    Errno::ENOSPC,
                    format!("max states limit reached or out of memory: {STATES}"),
                );
            }
            states.begun.insert(name.clone());
        }
        // It may have rules to compile programs for: the others go on.
        let made = self.make(&name, memory);
        let mut states = self.states();
        // Whoever ends everything takes the states after that has been said: nobody else has this one end.
        if self.ends.load(Ordering::Relaxed) {
            drop(states);
            if let Ok(state) = made {
                state.begin_end(false);
                state.join();
            }
            self.states().begun.remove(&name);
            return Err(NfluaError::Gone);
        }
        states.begun.remove(&name);
        states.known.insert(name, Arc::new(made?));
        Ok(Vec::new())
    }

    fn make(&self, name: &str, memory: usize) -> Result<State, NfluaError> {
        let Options { folder, pins, settings, .. } = &self.options;
        State::begin(Wanted {
            name: name.to_string(),
            memory,
            folder: folder.clone(),
            pins: pins.clone(),
            notes: notes(&self.options),
            settings: settings.clone(),
            outside: self.outside.clone(),
            log: self.log.clone(),
        })
    }

    fn destroy(&self, name: &str) -> Answer {
        let released = self.state(name, Errno::ENOENT).and_then(|state| {
            match state.ask(PATIENCE, |reply| Order::Release { ends: true, reply }) {
                // One that has ended by itself is no more.
                Ok(()) | Err(NfluaError::Gone) => Ok(state),
                Err(error) => Err(error),
            }
        });
        match released {
            Ok(state) => {
                // Whoever looks for it then finds none.
                state.join();
                Ok(Vec::new())
            }
            Err(error) => {
                self.log.failed(&format!("could not destroy lua state: {error}"));
                Err(error)
            }
        }
    }

    fn list(&self) -> Answer {
        let states: Vec<Arc<State>> = self.states().known.values().cloned().collect();
        let mut fields = Vec::new();
        for state in states {
            let used = match state.ask(GLANCE, |reply| Order::Memory { reply }) {
                Ok(used) => used,
                // One that has just ended is no more.
                Err(NfluaError::Gone) => continue,
                // A busy one does not say.
                Err(_) => 0,
            };
            fields.extend([state.name.clone(), state.memory.to_string(), used.to_string()]);
        }
        Ok(fields.into_iter().map(String::into_bytes).collect())
    }

    fn stop(&self) -> Answer {
        let states: Vec<Arc<State>> = self.states().known.values().cloned().collect();
        for state in states {
            match state.ask(PATIENCE, |reply| Order::Release { ends: false, reply }) {
                Ok(()) | Err(NfluaError::Gone) => {}
                Err(NfluaError::Refused { errno, reason }) => {
                    let reason = format!("state '{}' is in use: {reason}", state.name);
                    return Err(NfluaError::refused(errno, reason));
                }
                Err(error) => return Err(error),
            }
        }
        self.ends.store(true, Ordering::Relaxed);
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests;
