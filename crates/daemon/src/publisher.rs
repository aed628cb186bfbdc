//! Events, to whoever watches: nobody waits for a slow reader.

use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Events that wait for one reader.
const QUEUE: usize = 4096;

/// Gives each event to all who have subscribed. Clones are the same publisher.
#[derive(Clone, Debug, Default)]
pub struct Publisher {
    subscribers: Arc<Mutex<Vec<Subscriber>>>,
}

#[derive(Debug)]
struct Subscriber {
    queue: SyncSender<Arc<str>>,
    lost: Arc<AtomicU64>,
}

/// The reading end. Events for which there was no room are counted.
#[derive(Debug)]
pub struct Subscription {
    queue: Receiver<Arc<str>>,
    lost: Arc<AtomicU64>,
}

impl Publisher {
    fn subscribers(&self) -> MutexGuard<'_, Vec<Subscriber>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn subscribe(&self) -> Subscription {
        let (sender, queue) = sync_channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        self.subscribers().push(Subscriber { queue: sender, lost: Arc::clone(&lost) });
        Subscription { queue, lost }
    }

    /// Hands over an event, which is made only if somebody watches. Never waits.
    pub fn publish(&self, event: impl FnOnce() -> Value) {
        let mut subscribers = self.subscribers();
        if subscribers.is_empty() {
            return;
        }
        let line: Arc<str> = event().to_string().into();
        subscribers.retain(|subscriber| match subscriber.queue.try_send(Arc::clone(&line)) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                subscriber.lost.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        });
    }

    /// Ends all subscriptions; their readers get what is queued first.
    pub fn close(&self) {
        self.subscribers().clear();
    }
}

impl Subscription {
    /// The next event as a line of JSON.
    ///
    /// # Errors
    /// When the time is over, or the publisher is closed.
    pub fn next(&self, timeout: Duration) -> Result<Arc<str>, RecvTimeoutError> {
        self.queue.recv_timeout(timeout)
    }

    /// How many events were lost since the last call.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_loses_events_and_learns_how_many() {
        let publisher = Publisher::default();
        publisher.publish(|| unreachable!("nobody watches"));
        let (slow, quick) = (publisher.subscribe(), publisher.subscribe());
        for number in 0..QUEUE + 10 {
            publisher.publish(|| number.into());
            assert_eq!(&*quick.next(Duration::ZERO).unwrap(), number.to_string());
        }
        assert_eq!((slow.take_lost(), slow.take_lost(), quick.take_lost()), (10, 0, 0));
        assert_eq!(&*slow.next(Duration::ZERO).unwrap(), "0");
        drop(slow);
        publisher.publish(|| "x".into());
        assert_eq!(publisher.subscribers().len(), 1);
        publisher.close();
        assert!(quick.next(Duration::ZERO).is_ok());
        assert_eq!(quick.next(Duration::from_secs(9)), Err(RecvTimeoutError::Disconnected));
    }
}
