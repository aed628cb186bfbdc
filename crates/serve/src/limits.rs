//! What clients may ask for: sizes, numbers at a time, and how long anything may take. What one of them does keeps no other from anything.

use crate::ServeError;
use moonhook_session::SessionError;
use std::future::Future;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinError;

/// Bytes of a call at most; an answer can be as long as a whole map.
pub const MAX_CALL: usize = 4 << 20;
pub const MAX_ANSWER: usize = 64 << 20;

/// Connections at a time; others wait until one ends.
pub const CONNECTIONS: usize = 1024;
/// Calls of one connection at a time.
pub const STREAMS: u32 = 64;
/// A client that does not answer this often is let go of.
pub const PING: Duration = Duration::from_secs(20);
pub const PONG: Duration = Duration::from_secs(10);

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

/// Loads, fetches and reads at a time; others wait.
#[derive(Debug)]
pub struct Limits {
    pub loads: Semaphore,
    pub fetches: Semaphore,
    pub reads: Semaphore,
    pub watchers: std::sync::Arc<Semaphore>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            loads: Semaphore::new(4),
            fetches: Semaphore::new(2),
            reads: Semaphore::new(8),
            watchers: std::sync::Arc::new(Semaphore::new(WATCHERS)),
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
pub async fn turn<'s>(
    turns: &'s Semaphore,
    (limit, what): (Duration, &'static str),
) -> Result<SemaphorePermit<'s>, ServeError> {
    match tokio::time::timeout(limit, turns.acquire()).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(ServeError::Crowded { what }),
    }
}

/// Does what may wait for the kernel on a thread for that.
///
/// # Errors
/// `TooLong`: what has begun goes on, and holds up nobody; what `work` fails of.
pub async fn aside<T: Send + 'static>(
    limit: (Duration, &'static str),
    work: impl FnOnce() -> Result<T, ServeError> + Send + 'static,
) -> Result<T, ServeError> {
    let panicked = |error: JoinError| SessionError::Panicked { problem: error.to_string() };
    within(limit, async { tokio::task::spawn_blocking(work).await.map_err(panicked)? }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_takes_longer_than_it_may() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let limit = (Duration::from_millis(20), "it");
            let slow = || {
                std::thread::sleep(Duration::from_millis(200));
                Ok(1)
            };
            assert_eq!(aside(limit, slow).await.unwrap_err().code(), "MH1010");
            assert_eq!(aside(limit, || Ok(1)).await.unwrap(), 1);
            let turns = Semaphore::new(1);
            let first = turn(&turns, limit).await.unwrap();
            assert_eq!(turn(&turns, limit).await.unwrap_err().code(), "MH1011");
            drop(first);
            assert!(turn(&turns, limit).await.is_ok());
            let long = (Duration::from_secs(20), "it");
            let panicking = aside::<()>(long, || panic!("no")).await.unwrap_err();
            assert_eq!(panicking.code(), "MH0022");
        });
    }
}
