//! What the main thread waits for: messages of handlers, requests from the socket, files that changed.
//!
//! Messages wait in a queue of bounded length, whose senders wait where it is full; requests never wait behind them. So many requests wait
//! at most, the others get no answer, and those that nobody waits for any more are not seen to.

use crate::lua_thread::{LuaId, Told};
use crate::making::Made;
use crate::{Options, SessionError};
use moonhook_daemon::{ClientId, Delivery, Pending, Reply};
use moonhook_records::{Message, RecordError};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Messages that wait to be shown.
const QUEUE: usize = 4096;

/// Requests that wait to be seen to. Sockets bring fewer, one of each connection; a service can bring more.
const REQUESTS: usize = 1024;

pub type Queued = Result<Message, RecordError>;

/// What came in.
#[derive(Debug)]
pub enum Incoming {
    Message(Queued),
    Request(Pending),
    /// The session is to go on with these options.
    Other(Box<Options>, Reply),
    /// There are no more requests of this client.
    Gone(ClientId),
    /// A file that the script was made of has changed.
    Changed,
    /// Messages can be shown again.
    Room,
    /// What a thread was to make is there, or why not.
    Made(Result<Made, SessionError>),
    /// A thread that has a Lua state tells something.
    Lua(LuaId, Told),
}

#[derive(Debug, Default)]
pub struct Inbox {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    room: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<Queued>,
    deliveries: VecDeque<Delivery>,
    others: VecDeque<(Box<Options>, Reply)>,
    made: Option<Result<Made, SessionError>>,
    told: VecDeque<(LuaId, Told)>,
    changed: bool,
    drained: bool,
    closed: bool,
}

impl Inbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room. Drops the message if nobody takes any more.
    pub fn message(&self, message: Queued) {
        let full = |waiting: &mut Waiting| waiting.messages.len() >= QUEUE && !waiting.closed;
        let waiting = self.room.wait_while(self.waiting(), full);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        if !waiting.closed {
            waiting.messages.push_back(message);
            self.arrived.notify_one();
        }
    }

    /// The same of a message for which nobody waits: says whether there was room.
    pub fn offer(&self, message: Queued) -> bool {
        let mut waiting = self.waiting();
        let has_room = waiting.messages.len() < QUEUE;
        if has_room && !waiting.closed {
            waiting.messages.push_back(message);
            self.arrived.notify_one();
        }
        has_room
    }

    /// Where too many requests wait, this one is dropped, and whoever waits for its answer is told that there is none.
    pub fn deliver(&self, delivery: Delivery) {
        let mut waiting = self.waiting();
        if waiting.deliveries.len() >= REQUESTS {
            waiting.deliveries.retain(is_wanted);
        }
        let is_request = matches!(delivery, Delivery::Request(_));
        let has_room = !is_request || waiting.deliveries.len() < REQUESTS;
        if !waiting.closed && has_room {
            waiting.deliveries.push_back(delivery);
            self.arrived.notify_one();
        }
    }

    /// Other scripts, interfaces and settings take the place of the present ones, as a reload does it; the answer is that of one. The network
    /// namespace stays, and so do the modes of interfaces that stay, and programs at other ends.
    pub fn replace(&self, options: Options, reply: Reply) {
        let mut waiting = self.waiting();
        if !waiting.closed {
            waiting.others.push_back((Box::new(options), reply));
            self.arrived.notify_one();
        }
    }

    /// One thing is made at a time.
    pub fn made(&self, made: Result<Made, SessionError>) {
        self.waiting().made = Some(made);
        self.arrived.notify_one();
    }

    /// Each Lua thread does one thing at a time.
    pub fn tell(&self, id: LuaId, told: Told) {
        self.waiting().told.push_back((id, told));
        self.arrived.notify_one();
    }

    pub fn change(&self) {
        self.waiting().changed = true;
        self.arrived.notify_one();
    }

    /// What was shown has been read.
    pub fn drained(&self) {
        self.waiting().drained = true;
        self.arrived.notify_one();
    }

    /// The next thing to see to; `None` when the time is over. Messages stay where they are unless they are wanted.
    pub fn next(&self, timeout: Duration, messages: bool) -> Option<Incoming> {
        let empty = |waiting: &mut Waiting| {
            (waiting.messages.is_empty() || !messages)
                && waiting.deliveries.is_empty()
                && waiting.others.is_empty()
                && waiting.made.is_none()
                && waiting.told.is_empty()
                && !waiting.changed
                && !waiting.drained
        };
        let waited = self.arrived.wait_timeout_while(self.waiting(), timeout, empty);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = waiting.made.take() {
            return Some(Incoming::Made(made));
        }
        if let Some((id, told)) = waiting.told.pop_front() {
            return Some(Incoming::Lua(id, told));
        }
        while let Some(delivery) = waiting.deliveries.pop_front() {
            match delivery {
                delivery if !is_wanted(&delivery) => drop(delivery),
                Delivery::Request(request) => return Some(Incoming::Request(request)),
                Delivery::Gone(client) => return Some(Incoming::Gone(client)),
            }
        }
        while let Some((options, reply)) = waiting.others.pop_front() {
            if reply.is_awaited() {
                return Some(Incoming::Other(options, reply));
            }
        }
        if std::mem::take(&mut waiting.changed) {
            return Some(Incoming::Changed);
        }
        if std::mem::take(&mut waiting.drained) {
            return Some(Incoming::Room);
        }
        let message = if messages { waiting.messages.pop_front() } else { None }?;
        self.room.notify_one();
        Some(Incoming::Message(message))
    }

    /// So many messages at most that are there by now.
    pub fn more(&self, most: usize) -> Vec<Queued> {
        let mut waiting = self.waiting();
        let count = most.min(waiting.messages.len());
        let more = waiting.messages.drain(..count).collect();
        self.room.notify_all();
        more
    }

    /// Takes nothing more in. Requests that wait are refused.
    pub fn close(&self) {
        let mut waiting = self.waiting();
        waiting.closed = true;
        waiting.deliveries.clear();
        waiting.others.clear();
        self.room.notify_all();
    }
}

/// Whether it is to be seen to: somebody waits for the answer, or it needs none.
fn is_wanted(delivery: &Delivery) -> bool {
    match delivery {
        Delivery::Request(request) => request.reply.is_awaited(),
        Delivery::Gone(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_daemon::{Answer, Asker, Request};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Waits until it is told that nobody does any more.
    struct Waits(Arc<AtomicBool>);

    impl Asker for Waits {
        fn answer(self: Box<Self>, _: Answer) {}

        fn waits(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn requests_that_nobody_waits_for_are_dropped() {
        let inbox = Inbox::default();
        let (present, gone) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(true)));
        let request = |number: u64, waits: &Arc<AtomicBool>| {
            let reply = Reply::to(Waits(Arc::clone(waits)));
            Delivery::Request(Pending { client: ClientId(number), request: Request::Status, reply })
        };
        let next = || match inbox.next(Duration::ZERO, true) {
            Some(Incoming::Request(Pending { client, .. })) => Some(client),
            _ => None,
        };
        inbox.deliver(request(0, &gone));
        inbox.deliver(request(1, &present));
        for number in 2..2 * REQUESTS as u64 {
            inbox.deliver(request(number, &gone));
        }
        assert_eq!(inbox.waiting().deliveries.len(), REQUESTS);
        gone.store(false, Ordering::Relaxed);
        inbox.deliver(request(7, &present));
        assert_eq!(inbox.waiting().deliveries.len(), 2);
        assert_eq!((next(), next(), next()), (Some(ClientId(1)), Some(ClientId(7)), None));
    }
    use moonhook_records::Text;

    fn print(number: usize) -> Queued {
        Ok(Message::Print(Text::whole(number.to_string().into_bytes())))
    }

    #[test]
    fn changes_do_not_wait_behind_messages() {
        let inbox = Inbox::default();
        assert!(inbox.next(Duration::ZERO, true).is_none());
        (0..3).for_each(|number| inbox.message(print(number)));
        assert!(inbox.next(Duration::ZERO, false).is_none());
        inbox.change();
        inbox.change();
        assert!(matches!(inbox.next(Duration::ZERO, true), Some(Incoming::Changed)));
        for number in 0..3 {
            let Some(Incoming::Message(message)) = inbox.next(Duration::ZERO, true) else {
                panic!("no message")
            };
            assert_eq!(message, print(number));
        }
        assert!(inbox.next(Duration::ZERO, true).is_none());
    }

    #[test]
    fn senders_wait_where_the_queue_is_full() {
        let inbox = Inbox::default();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..2 * QUEUE).for_each(|number| inbox.message(print(number))));
            for number in 0..2 * QUEUE {
                let Some(Incoming::Message(message)) = inbox.next(Duration::from_secs(60), true) else {
                    panic!()
                };
                assert_eq!(message, print(number));
                assert!(inbox.waiting().messages.len() <= QUEUE);
            }
            assert!(inbox.more(10).is_empty());
            scope.spawn(|| (0..2 * QUEUE).for_each(|number| inbox.message(print(number))));
            inbox.close();
        });
    }
}
