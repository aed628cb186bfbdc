//! What somebody waits for, who may lose patience: what has not begun by then is not done.

use crate::NfluaError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Stages of what is waited for.
const WAITS: u8 = 0;
const BEGUN: u8 = 1;
const UNWANTED: u8 = 2;

/// The side of who does it.
pub struct Reply<T> {
    outcome: SyncSender<Result<T, NfluaError>>,
    stage: Arc<AtomicU8>,
}

/// The side of who waits.
pub struct Promise<T> {
    outcome: Receiver<Result<T, NfluaError>>,
    stage: Arc<AtomicU8>,
}

/// Both sides.
pub fn promised<T>() -> (Reply<T>, Promise<T>) {
    let (sender, receiver) = sync_channel(1);
    let stage = Arc::new(AtomicU8::new(WAITS));
    (Reply { outcome: sender, stage: Arc::clone(&stage) }, Promise { outcome: receiver, stage })
}

impl<T> Reply<T> {
    /// Says whether it is still waited for; if so it has begun, and is waited for on.
    pub fn begin(&self) -> bool {
        pass(&self.stage, BEGUN)
    }

    pub fn send(self, outcome: Result<T, NfluaError>) {
        // Who waited may have gone.
        let _ = self.outcome.send(outcome);
    }
}

impl<T> Promise<T> {
    /// What comes of it, for which it is waited so long, and as long again if it has begun by then. `None`: it takes longer, and is not done at all unless it
    /// had begun.
    ///
    /// # Errors
    /// `Gone`; what it comes to.
    pub fn wait(self, patience: Duration) -> Option<Result<T, NfluaError>> {
        let mut received = self.outcome.recv_timeout(patience);
        if matches!(received, Err(RecvTimeoutError::Timeout)) && !pass(&self.stage, UNWANTED) {
            received = self.outcome.recv_timeout(patience);
        }
        match received {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(NfluaError::Gone)),
        }
    }
}

fn pass(stage: &AtomicU8, next: u8) -> bool {
    stage.compare_exchange(WAITS, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn what_is_not_waited_for_does_not_begin() {
        let (reply, promise) = promised::<()>();
        assert!(promise.wait(SHORT).is_none());
        assert!(!reply.begin());
        let (reply, promise) = promised::<()>();
        drop(reply);
        assert!(matches!(promise.wait(SHORT), Some(Err(NfluaError::Gone))));
    }

    #[test]
    fn what_has_begun_is_waited_for() {
        let (reply, promise) = promised();
        assert!(reply.begin());
        let work = std::thread::spawn(move || {
            std::thread::sleep(SHORT * 11 / 10);
            reply.send(Ok(7));
        });
        assert!(matches!(promise.wait(SHORT), Some(Ok(7))));
        work.join().unwrap();
    }
}
