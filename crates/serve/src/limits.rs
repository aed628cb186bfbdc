//! What clients may ask for: sizes, numbers at a time, and how long anything may take. What is used up, others wait for or are refused, no longer
//! than these limits say.

use crate::ServeError;
use moonhook_session::SessionError;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;

/// Bytes of a call at most; an answer can be as long as a whole map.
pub const MAX_CALL: usize = 4 << 20;
pub const MAX_ANSWER: usize = 64 << 20;

/// Connections at a time; others wait until one ends.
pub const CONNECTIONS: usize = 1024;
/// Calls of one connection at a time.
pub const STREAMS: u32 = 64;
/// A client that does not answer this often is let go of, and so is one that brings no call that is let in.
pub const PING: Duration = Duration::from_secs(20);
pub const PONG: Duration = Duration::from_secs(10);

/// How long a connection may be without a call.
pub const IDLE: Duration = Duration::from_secs(300);
/// Bytes of all calls and answers that are in memory.
pub const IN_FLIGHT: usize = 256 << 20;

/// Scripts at a time.
pub const SCRIPTS: usize = 256;
/// Who follows events, at a time.
pub const WATCHERS: usize = 256;
/// Events that wait for one of them.
pub const EVENTS: usize = 4096;
/// Entries of a map that one answer shows.
pub const ENTRIES: usize = 100_000;

/// Compiling a script, with what clang takes for its packages.
pub const LOAD: Duration = Duration::from_secs(180);
/// What a session answers at once unless it is at work.
pub const ASK: Duration = Duration::from_secs(20);
/// Detaching.
pub const STOP: Duration = Duration::from_secs(30);
/// The end of all scripts; the kernel takes out the programs of those that it does not wait for.
pub const END: Duration = Duration::from_secs(10);
/// Reading a map.
pub const READ: Duration = Duration::from_secs(20);
/// Fetching packages, each of which git may take two minutes for.
pub const FETCH: Duration = Duration::from_secs(600);
/// How long the end waits for calls that are being answered, and for scripts.
pub const PARTING: Duration = Duration::from_secs(2);

/// Threads of what is done aside. There is a turn for each: see [`Limits`].
pub const ASIDE: usize = 16;

/// Loads, fetches, reads and texts that are parsed at a time; others wait.
#[derive(Debug)]
pub struct Limits {
    pub loads: Arc<Semaphore>,
    pub fetches: Arc<Semaphore>,
    pub reads: Arc<Semaphore>,
    pub parses: Arc<Semaphore>,
    pub watchers: Arc<Semaphore>,
}

/// Held by the work itself: who has waited for it may have gone.
pub type Turn = Arc<OwnedSemaphorePermit>;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            loads: Arc::new(Semaphore::new(4)),
            fetches: Arc::new(Semaphore::new(2)),
            reads: Arc::new(Semaphore::new(8)),
            parses: Arc::new(Semaphore::new(4)),
            watchers: Arc::new(Semaphore::new(WATCHERS)),
        }
    }
}

/// What `work` gives, if that does not take too long.
///
/// # Errors
/// `TooLong`; what `work` fails of.
pub async fn within<T>(
    (limit, what): (Duration, &'static str),
    work: impl Future<Output = Result<T, ServeError>>,
) -> Result<T, ServeError> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(ServeError::TooLong { what, limit }),
    }
}

/// Waits for a turn.
///
/// # Errors
/// `Crowded` if none is to be had within that time.
pub async fn turn(
    turns: &Arc<Semaphore>,
    (limit, what): (Duration, &'static str),
) -> Result<Turn, ServeError> {
    match tokio::time::timeout(limit, Arc::clone(turns).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(Arc::new(permit)),
        _ => Err(ServeError::Crowded { what }),
    }
}

/// Does what may wait for the kernel, or takes long, on a thread for that. The turn is over when the work is.
///
/// # Errors
/// `TooLong`: what has begun goes on, and so does its turn; what `work` fails of.
pub async fn aside<T: Send + 'static>(
    limit: (Duration, &'static str),
    turn: Turn,
    work: impl FnOnce() -> Result<T, ServeError> + Send + 'static,
) -> Result<T, ServeError> {
    let panicked = |error: JoinError| SessionError::Panicked { problem: error.to_string() };
    let work = move || {
        let _turn = turn;
        work()
    };
    within(limit, async { tokio::task::spawn_blocking(work).await.map_err(panicked)? }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that goes on until it is let go.
    fn slow() -> (std::sync::mpsc::Sender<()>, impl FnOnce() -> Result<i32, ServeError> + Send) {
        let (let_go, goes_on) = std::sync::mpsc::channel();
        (let_go, move || {
            let _ = goes_on.recv();
            Ok(1)
        })
    }

    #[test]
    fn nothing_takes_longer_than_it_may() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (short, long) = ((Duration::from_millis(20), "it"), (Duration::from_secs(60), "it"));
            let turns = Arc::new(Semaphore::new(1));
            let first = turn(&turns, long).await.unwrap();
            let (let_go, work) = slow();
            assert_eq!(aside(short, first, work).await.unwrap_err().code(), "MH1010");
            // Nobody waits for it any more, but it is at work.
            assert_eq!(turn(&turns, short).await.unwrap_err().code(), "MH1011");
            drop(let_go);
            let second = turn(&turns, long).await.unwrap();
            assert_eq!(aside(long, second, || Ok(1)).await.unwrap(), 1);
            let third = turn(&turns, long).await.unwrap();
            let panicking = aside::<()>(long, third, || panic!("no")).await.unwrap_err();
            assert_eq!(panicking.code(), "MH0022");
            turn(&turns, long).await.unwrap();
        });
    }
}
