//! Packets that wait in a queue for what a state says of them.

use moonhook_queue::{Answer, Answerer, Packet};
use std::sync::Arc;

/// `NF_DROP`.
const DROP: u32 = 0;

/// A packet without an answer. When nobody has it any more, it is dropped.
pub struct Held {
    packet: Packet,
    answerer: Arc<Answerer>,
    is_answered: bool,
}

impl Held {
    pub fn new(packet: Packet, answerer: Arc<Answerer>) -> Held {
        Held { packet, answerer, is_answered: false }
    }

    /// Answers, once: with a verdict of netfilter's (`NF_DROP` …), and other bytes than it had.
    pub fn answer(&mut self, verdict: u32, bytes: Option<&[u8]>) {
        if !std::mem::replace(&mut self.is_answered, true) {
            let answer = Answer { verdict, bytes, mark: None, connection_mark: None };
            // A queue that is gone has let its packets go.
            let _ = self.answerer.answer(&self.packet, &answer);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.answer(DROP, None);
    }
}
