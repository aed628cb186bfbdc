//! What rules decide by in the process: a queue for each function that rules name as their target, and a thread that takes packets out of it.

use crate::NfluaError;
use crate::state::{Order, Orders, Waiting};
use moonhook_queue::{Options, Queue, QueueError};
use nix::errno::Errno;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How long a thread waits for packets before it looks whether it should end.
const NAP: Duration = Duration::from_millis(50);

/// The targets of a state.
pub struct Targets {
    /// The state's name.
    state: String,
    orders: Orders,
    all: Vec<Target>,
}

struct Target {
    function: Arc<str>,
    number: u16,
    end: Arc<AtomicBool>,
}

impl Drop for Target {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

impl Targets {
    pub fn new(state: &str, orders: Orders) -> Targets {
        Targets { state: state.to_string(), orders, all: Vec::new() }
    }

    /// The queue in which packets wait for what a function says. Where no process takes them, they pass by; where they come faster than they are taken, they are
    /// dropped, for else who sends fast would be asked less.
    ///
    /// # Errors
    /// `Refused`.
    pub fn queue(&mut self, function: &str) -> Result<u16, NfluaError> {
        if let Some(known) = self.all.iter().find(|known| &*known.function == function) {
            return Ok(known.number);
        }
        let refused = |error: QueueError| NfluaError::refused(Errno::EINVAL, error.to_string());
        let wish = wish(&self.state, function);
        let mut queue = Queue::for_rules(Options { passes_by: false }, wish).map_err(refused)?;
        let (number, answerer) = (queue.number(), Arc::new(queue.answerer().map_err(refused)?));
        let (function, end) = (Arc::<str>::from(function), Arc::<AtomicBool>::default());
        let (orders, flag, named) = (self.orders.clone(), Arc::clone(&end), Arc::clone(&function));
        let take = move || {
            while !flag.load(Ordering::Relaxed) {
                // A queue that fails is gone, and its packets pass by.
                let Ok(next) = queue.next(NAP) else { return };
                let Some(packet) = next else { continue };
                let link = queue.link_header(&packet);
                let (function, answerer) = (Arc::clone(&named), Arc::clone(&answerer));
                if orders.send(Order::Packet(Waiting { function, packet, link, answerer })).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("queue".to_string()).spawn(take);
        thread.map_err(|_| NfluaError::refused(Errno::EAGAIN, "the system gives no more threads"))?;
        self.all.push(Target { function, number, end });
        Ok(number)
    }
}

/// The same names have the same queue, whenever they ask for one (FNV-1a, 64 bits).
fn wish(state: &str, function: &str) -> u64 {
    let bytes = state.bytes().chain([0]).chain(function.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_those_of_names() {
        assert_eq!(wish("", ""), 0xaf63_bd4c_8601_b7df, "of one zero");
        assert_ne!(wish("a", "bc"), wish("ab", "c"));
    }
}
