//! Listening on a script's socket.

use crate::{Claim, ClientId, DaemonError, Delivery, Publisher, connection};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Connections at a time. The longest idle one gives way to a new one.
const MAX_CONNECTIONS: usize = 64;
/// How long answers that have been given may take to be written when the script ends. Who does not read in that time gets no more.
const PARTING: Duration = Duration::from_secs(1);
/// Connections that watch events, at a time.
const MAX_WATCHERS: usize = 32;

/// The socket of a running script. Dropping it ends all connections and frees the name.
#[derive(Debug)]
pub struct Server {
    /// Writing here, or closing it, ends the listening thread.
    wake: Option<UnixStream>,
    listener: Option<JoinHandle<()>>,
    /// Goes before the connections: who sees one end because the script has ended can have the name.
    claim: Claim,
    _connections: Connections,
}

/// All connections, until this is dropped.
#[derive(Debug)]
struct Connections(Arc<Shared>);

/// What a connection is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Waits for a request, or for the rest of one.
    Idle,
    Busy,
    Watching,
}

/// What all connections have in common.
pub struct Shared {
    deliver: Box<dyn Fn(Delivery) + Send + Sync>,
    publisher: Publisher,
    connections: Mutex<BTreeMap<u64, Connection>>,
    ending: AtomicBool,
}

struct Connection {
    stream: UnixStream,
    activity: Activity,
    since: Instant,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on the claimed name's socket. Each request is given to `deliver`, and at last the connection's end, on a thread of
    /// the connection's; events come from `publisher`.
    ///
    /// # Errors
    /// `Socket`.
    pub fn start(
        claim: Claim,
        publisher: Publisher,
        deliver: impl Fn(Delivery) + Send + Sync + 'static,
    ) -> Result<Server, DaemonError> {
        let path = claim.socket();
        let failed =
            |error: std::io::Error| DaemonError::Socket { path: path.clone(), problem: error.to_string() };
        claim.remove_socket().map_err(failed)?;
        let listener = UnixListener::bind(&path).map_err(failed)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let (wake, woken) = UnixStream::pair().map_err(failed)?;
        let connections = Mutex::default();
        let (deliver, ending) = (Box::new(deliver), AtomicBool::new(false));
        let shared = Arc::new(Shared { deliver, publisher, connections, ending });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("socket".to_string());
        let thread = thread.spawn(move || listen(&listener, &woken, &of_thread)).map_err(failed)?;
        Ok(Server { wake: Some(wake), listener: Some(thread), claim, _connections: Connections(shared) })
    }

    pub fn claim(&self) -> &Claim {
        &self.claim
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.listener.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.0.publisher.close();
        self.0.end_all();
    }
}

/// Accepts connections until the other end of `woken` is closed.
fn listen(listener: &UnixListener, woken: &UnixStream, shared: &Arc<Shared>) {
    let mut id = 0;
    loop {
        let mut descriptors =
            [PollFd::new(listener.as_fd(), PollFlags::POLLIN), PollFd::new(woken.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut descriptors, PollTimeout::NONE);
        if descriptors[1].any().unwrap_or(true) {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                id += 1;
                shared.begin(id, stream);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            // No descriptors or no memory: others may give some back.
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

impl Shared {
    pub fn deliver(&self, delivery: Delivery) {
        (self.deliver)(delivery);
    }

    pub fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// Whether what has not been answered will not be any more.
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    fn connections(&self) -> MutexGuard<'_, BTreeMap<u64, Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a connection does from now on; false if it may not, there being too many that do.
    pub fn mark(&self, id: u64, activity: Activity) -> bool {
        let mut connections = self.connections();
        let watchers = connections.values().filter(|other| other.activity == Activity::Watching).count();
        if activity == Activity::Watching && watchers >= MAX_WATCHERS {
            return false;
        }
        if let Some(connection) = connections.get_mut(&id) {
            (connection.activity, connection.since) = (activity, Instant::now());
        }
        true
    }

    /// Serves a new client on a thread of its own, if there is room or room can be made.
    fn begin(self: &Arc<Self>, id: u64, stream: UnixStream) {
        let mut connections = self.connections();
        connections
            .retain(|_, connection| connection.thread.as_ref().is_none_or(|thread| !thread.is_finished()));
        if connections.len() >= MAX_CONNECTIONS && !make_room(&mut connections) {
            // The stream does not block, and takes at least this line.
            connection::refuse(&stream, DaemonError::Crowded);
            return;
        }
        let Ok(own) = stream.try_clone() else { return };
        if stream.set_nonblocking(false).is_err() {
            return;
        }
        let (activity, since) = (Activity::Idle, Instant::now());
        connections.insert(id, Connection { stream, activity, since, thread: None });
        let shared = Arc::clone(self);
        let thread = std::thread::Builder::new().name("client".to_string());
        let spawned = thread.spawn(move || {
            connection::serve(&own, &shared, id);
            let _ = own.shutdown(Shutdown::Both);
            shared.deliver(Delivery::Gone(ClientId(id)));
        });
        match (spawned, connections.get_mut(&id)) {
            (Ok(thread), Some(connection)) => connection.thread = Some(thread),
            _ => {
                if let Some(connection) = connections.remove(&id) {
                    connection::refuse(&connection.stream, DaemonError::Crowded);
                }
            }
        }
    }

    /// Ends all connections and waits for their threads. None of them waits for an answer that has not been given by now: whoever owes
    /// it may be waiting for this. None waits for a client that does not read, either.
    fn end_all(&self) {
        self.ending.store(true, Ordering::Relaxed);
        let connections = std::mem::take(&mut *self.connections());
        for connection in connections.values() {
            let _ = connection.stream.shutdown(Shutdown::Read);
            // An answer that has been given is written.
            if connection.activity != Activity::Busy {
                let _ = connection.stream.shutdown(Shutdown::Both);
            }
        }
        let deadline = Instant::now() + PARTING;
        let threads = || connections.values().filter_map(|connection| connection.thread.as_ref());
        while !threads().all(JoinHandle::is_finished) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        for Connection { stream, thread, .. } in connections.into_values() {
            // Ends whatever the thread is at.
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.map(JoinHandle::join);
        }
    }
}

/// Sends the longest idle connection away; false if all are at work.
fn make_room(connections: &mut BTreeMap<u64, Connection>) -> bool {
    let idle = connections.iter().filter(|(_, connection)| connection.activity == Activity::Idle);
    let Some(id) = idle.min_by_key(|(_, connection)| connection.since).map(|(id, _)| *id) else {
        return false;
    };
    if let Some(connection) = connections.remove(&id) {
        let _ = connection.stream.shutdown(Shutdown::Both);
    }
    true
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("connections", &self.connections().len()).finish_non_exhaustive()
    }
}
