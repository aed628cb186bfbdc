//! What rules decide by in the process: a queue for each function that rules name as their target, and a thread that takes packets out of it.

use crate::held::Held;
use crate::question::{decoded, encoded};
use crate::state::{Order, Orders, Waiting};
use crate::{Generation, NfluaError};
use moonhook_queue::{Answerer, Options, Packet, Queue, QueueError, serve};
use nix::errno::Errno;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The targets of a state.
pub struct Targets {
    /// The state's name.
    state: String,
    /// Where it is noted which there are, for a process that comes later.
    notes: PathBuf,
    orders: Orders,
    all: Vec<Target>,
}

struct Target {
    function: Arc<str>,
    generation: Generation,
    number: u16,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Target {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

impl Targets {
    /// None yet; what is noted of them is in the folder `notes`.
    pub fn new(state: &str, notes: &Path, orders: Orders) -> Targets {
        let notes = notes.join(encoded(state));
        Targets { state: state.to_string(), notes, orders, all: Vec::new() }
    }

    /// The queue in which packets wait for what a function says. Where no process takes them, they pass by; where they come faster than they are taken, they are
    /// dropped, for else who sends fast would be asked less.
    ///
    /// # Errors
    /// `Refused`.
    pub fn queue(&mut self, function: &str, generation: Generation) -> Result<u16, NfluaError> {
        let is_it = |known: &&Target| &*known.function == function && known.generation == generation;
        if let Some(known) = self.all.iter().find(is_it) {
            return Ok(known.number);
        }
        let refused = |error: QueueError| NfluaError::refused(Errno::EINVAL, error.to_string());
        let wish = wish(&self.state, function, generation);
        let queue = Queue::for_rules(Options { passes_by: false }, wish).map_err(refused)?;
        let (number, answerer) = (queue.number(), Arc::new(queue.answerer().map_err(refused)?));
        let (function, end) = (Arc::<str>::from(function), Arc::<AtomicBool>::default());
        let taker = Taker {
            answerer,
            function: Arc::clone(&function),
            generation,
            orders: self.orders.clone(),
            end: Arc::clone(&end),
        };
        let thread = thread::Builder::new().name("queue".to_string()).spawn(move || taker.run(queue));
        let thread =
            thread.map_err(|_| NfluaError::refused(Errno::EAGAIN, "the system gives no more threads"))?;
        self.all.push(Target { function, generation, number, end, thread: Some(thread) });
        self.note();
        Ok(number)
    }

    /// Has the queues again that an earlier process has had for this state: rules may fill them. Gives their functions.
    pub fn adopt(&mut self) -> Vec<String> {
        let noted = std::fs::read_to_string(&self.notes).unwrap_or_default();
        let of = |line: &str| match line.strip_prefix(CUJO) {
            Some(function) => (decoded(function), Generation::Cujo),
            None => (decoded(line), Generation::Of2019),
        };
        let queued = |(function, generation): (String, Generation)| {
            self.queue(&function, generation).is_ok().then_some(function)
        };
        noted.lines().map(of).filter_map(queued).collect()
    }

    /// Without the note, a later process has the queues when rules are added anew.
    fn note(&self) {
        let mark = |generation| if generation == Generation::Cujo { CUJO } else { "" };
        let lines = self
            .all
            .iter()
            .map(|target| format!("{}{}\n", mark(target.generation), encoded(&target.function)));
        let written = self.notes.parent().map_or(Ok(()), std::fs::create_dir_all);
        let _ = written.and_then(|()| std::fs::write(&self.notes, lines.collect::<String>()));
    }

    /// Nobody wants to have the queues again.
    pub fn forget(&self) {
        let _ = std::fs::remove_file(&self.notes);
    }

    /// Queues get no more packets; threads take out those that wait, and end.
    pub fn close(&self) {
        self.all.iter().for_each(|target| target.end.store(true, Ordering::Relaxed));
    }

    /// Whether all threads have ended.
    pub fn have_ended(&self) -> bool {
        self.all.iter().all(|target| target.thread.as_ref().is_none_or(JoinHandle::is_finished))
    }

    /// Waits for threads: for all, when nobody takes orders any more.
    pub fn join(mut self) {
        self.close();
        self.all.iter_mut().filter_map(|target| target.thread.take()).for_each(|thread| drop(thread.join()));
    }
}

/// The thread of a target: what it takes out of the queue, the state is to decide about.
struct Taker {
    answerer: Arc<Answerer>,
    function: Arc<str>,
    generation: Generation,
    orders: Orders,
    end: Arc<AtomicBool>,
}

impl Taker {
    /// Takes packets until the end is wanted, or the state has ended, and then those that wait. A queue that fails is gone, and its packets pass by.
    fn run(self, mut queue: Queue) {
        let give = |queue: &mut Queue, packet| {
            self.give(queue, packet);
            Ok(())
        };
        let _ = serve::<QueueError>(&mut queue, || self.end.load(Ordering::Relaxed), give);
    }

    /// What no state takes is accepted.
    fn give(&self, queue: &mut Queue, packet: Packet) {
        let link = queue.link_header(&packet);
        let (function, generation) = (Arc::clone(&self.function), self.generation);
        let packet = Held::new(packet, Arc::clone(&self.answerer));
        if self.orders.send(Order::Packet(Waiting { function, generation, packet, link })).is_err() {
            self.end.store(true, Ordering::Relaxed);
        }
    }
}

/// What is noted in front of a function that is called as CUJO's generation does. No name has it ([`encoded`]).
const CUJO: &str = "+";

/// The same names have the same queue, whenever they ask for one (FNV-1a, 64 bits).
fn wish(state: &str, function: &str, generation: Generation) -> u64 {
    let mark = if generation == Generation::Cujo { CUJO } else { "" };
    let bytes = state.bytes().chain([0]).chain(mark.bytes()).chain(function.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_those_of_names() {
        use Generation::{Cujo, Of2019};
        assert_eq!(wish("", "", Of2019), 0xaf63_bd4c_8601_b7df, "of one zero");
        assert_ne!(wish("a", "bc", Of2019), wish("ab", "c", Of2019));
        assert_ne!(wish("a", "b", Of2019), wish("a", "b", Cujo));
    }
}
