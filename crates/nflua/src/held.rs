//! Packets that wait in a queue for what a state says of them.

use moonhook_queue::{Answer, Answerer, Packet};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// `NF_DROP`.
pub const DROP: u32 = 0;

/// `NF_ACCEPT`.
pub const ACCEPT: u32 = 1;

/// A packet without an answer. When nobody has it any more it is accepted; dropped, if it was stolen.
pub struct Held {
    packet: Packet,
    answerer: Arc<Answerer>,
    is_answered: bool,
    is_stolen: bool,
}

/// One that a state has, and who asks the state.
pub type Shared = Rc<RefCell<Held>>;

impl Held {
    pub fn new(packet: Packet, answerer: Arc<Answerer>) -> Held {
        Held { packet, answerer, is_answered: false, is_stolen: false }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.packet.bytes
    }

    /// Answers, once: with a verdict of netfilter's (`NF_DROP` …), and other bytes than it had.
    pub fn answer(&mut self, verdict: u32, bytes: Option<&[u8]>) {
        if !std::mem::replace(&mut self.is_answered, true) {
            let answer = Answer { verdict, bytes, mark: None, connection_mark: None };
            // A queue that is gone has let its packets go.
            let _ = self.answerer.answer(&self.packet, &answer);
        }
    }

    /// It is the state's from now on.
    pub fn steal(&mut self) {
        self.is_stolen = true;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.answer(if self.is_stolen { DROP } else { ACCEPT }, None);
    }
}
