//! A queue of the kernel, with the rule that fills it.

use crate::interface::Interfaces;
use crate::message::{ACKNOWLEDGE, GENERIC, Message};
use crate::rule::Rule;
use crate::socket::{Sender, Socket};
use crate::{Answer, Packet, QueueError};
use caps::CapSet;
use moonhook_hook::NetfilterPlace;
use nix::errno::Errno;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// `NFQNL_MSG_PACKET` and `NFQNL_MSG_CONFIG`, of the subsystem `NFNL_SUBSYS_QUEUE`.
const PACKET: u16 = 3 << 8;
const CONFIGURE: u16 = 3 << 8 | 2;

/// Attributes of that (`NFQA_CFG_…`).
const COMMAND: u16 = 1;
const PARAMETERS: u16 = 2;
const MOST_PACKETS: u16 = 3;
const MASK: u16 = 4;
const FLAGS: u16 = 5;

/// `NFQNL_CFG_CMD_BIND`.
const BIND: u8 = 1;
/// `NFQNL_COPY_PACKET`, and of how many bytes: all.
const COPY_PACKET: u8 = 2;
const WHOLE: u32 = 0xffff;
/// `NFQA_CFG_F_FAIL_OPEN`: where a queue is full, packets pass by.
const FAIL_OPEN: u32 = 1;
/// `NFQA_CFG_F_CONNTRACK`: packets come with what is known of their connections.
const CONNECTIONS: u32 = 2;

/// Packets that can wait in a queue.
const PACKETS: u32 = 4096;

/// Room for messages with packets, in bytes.
const ROOM: i32 = 8 << 20;

/// The first number to try: lower ones are those that people give. Number 0 is where `QUEUE` sends packets.
const FIRST: u16 = 0x4d00;
const LAST: u16 = 0xfff0;

/// What a queue is to be like.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Packets pass by where nobody takes them, or not as fast as they come; else they are dropped there.
    pub passes_by: bool,
}

/// A queue with the packets of one place.
pub struct Queue {
    socket: Socket,
    number: u16,
    /// None where somebody else's rules fill the queue.
    rule: Option<Arc<Mutex<Rule>>>,
    waiting: VecDeque<Packet>,
    interfaces: Interfaces,
}

impl Queue {
    /// Queues the packets of a place in the network namespace of this thread.
    ///
    /// # Errors
    /// `Unsupported` where the kernel has no queues or no rules for them; `NoneFree`; `Refused`.
    pub fn open(place: &NetfilterPlace, options: Options) -> Result<Queue, QueueError> {
        let mut queue = Queue::for_rules(options, 0)?;
        let rule = Rule::add(place, (queue.number, 1), options.passes_by)?;
        queue.rule = Some(Arc::new(Mutex::new(rule)));
        Ok(queue)
    }

    /// As [`Queue::open`], several queues for the packets of a place. Which one a packet gets to, the kernel computes of its addresses and its protocol
    /// (`nfqueue_hash`, include/net/netfilter/nf_queue.h): those of one connection, in either direction, get to the same one.
    ///
    /// # Errors
    /// As of [`Queue::open`].
    pub fn open_several(
        place: &NetfilterPlace,
        options: Options,
        count: u16,
    ) -> Result<Vec<Queue>, QueueError> {
        let mut queues: Vec<Queue> = Vec::new();
        while queues.len() < usize::from(count) {
            let wish = queues.last().map_or(0, |queue| u64::from(queue.number - FIRST) + 1);
            let queue = Queue::for_rules(options, wish)?;
            if queues.last().is_some_and(|last| last.number + 1 != queue.number) {
                // Their numbers have to follow one another. It goes on with this one.
                queues.clear();
            }
            queues.push(queue);
        }
        let first = queues.first().map_or(FIRST, Queue::number);
        let rule = Arc::new(Mutex::new(Rule::add(place, (first, count), options.passes_by)?));
        queues.iter_mut().for_each(|queue| queue.rule = Some(Arc::clone(&rule)));
        Ok(queues)
    }

    /// A queue in the network namespace of this thread that rules of others fill, who name it by its number: the one that `wish` leads to if that is free, or one
    /// behind it. Rules that are left lead to who has the same wish again.
    ///
    /// # Errors
    /// `Unsupported` where the kernel has no queues; `NoneFree`; `Refused`.
    pub fn for_rules(options: Options, wish: u64) -> Result<Queue, QueueError> {
        let mut socket = Socket::open()?;
        socket.set_room(ROOM);
        let number = bind(&mut socket, wish)?;
        let flags = CONNECTIONS | if options.passes_by { FAIL_OPEN } else { 0 };
        // Where connections are not followed, packets come without.
        configure(&mut socket, number, flags)
            .or_else(|_| configure(&mut socket, number, flags & !CONNECTIONS))
            .map_err(|errno| QueueError::refused("configuring a queue", errno))?;
        let interfaces = Interfaces::open();
        Ok(Queue { socket, number, rule: None, waiting: VecDeque::new(), interfaces })
    }

    /// The kernel's number of it.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Who answers packets from another thread, as long as the queue is there.
    ///
    /// # Errors
    /// `Refused` where there are no descriptors left.
    pub fn answerer(&self) -> Result<Answerer, QueueError> {
        let socket = self.socket.sender().map_err(|errno| QueueError::refused("sharing a queue", errno))?;
        Ok(Answerer { socket, number: self.number })
    }

    /// The next packet; waits for one, at most so long.
    ///
    /// # Errors
    /// `Refused`.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Packet>, QueueError> {
        if self.waiting.is_empty() {
            let waiting = &mut self.waiting;
            self.socket
                .receive(timeout, |message| {
                    let body = message.body.get(GENERIC..).filter(|_| message.kind == PACKET);
                    waiting.extend(body.and_then(Packet::parse));
                })
                .map_err(|errno| QueueError::refused("taking packets out of a queue", errno))?;
        }
        Ok(self.waiting.pop_front())
    }

    /// Says what becomes of a packet. That the queue has no such packet any more is no error: its interface may have gone.
    ///
    /// # Errors
    /// `Refused`.
    pub fn answer(&mut self, packet: &Packet, answer: &Answer<'_>) -> Result<(), QueueError> {
        answered(self.socket.send(&packet.answer(answer, self.number)))
    }

    /// The link's header of a packet, as far as the kernel tells; `None` where there is none.
    pub fn link_header(&mut self, packet: &Packet) -> Option<Vec<u8>> {
        self.interfaces.header(packet)
    }

    /// No more packets come, but for those that are in the queue: they are dropped unless they are answered before this value goes. What rules of others lead there
    /// passes by.
    ///
    /// # Errors
    /// `Refused`.
    pub fn close(&mut self) -> Result<(), QueueError> {
        match &mut self.rule {
            Some(rule) => rule.lock().unwrap_or_else(PoisonError::into_inner).end(),
            None => self.fill().map_err(|errno| QueueError::refused("closing a queue", errno)),
        }
    }

    /// Makes it one that is full, and lets pass what it has no room for (net/netfilter/nfnetlink_queue.c, `__nfqnl_enqueue_packet`). Packets may come before an answer
    /// would, so that none is waited for.
    fn fill(&mut self) -> Result<(), Errno> {
        let message = Message::new(CONFIGURE, 0, self.socket.sequence(), (0, self.number))
            .number(MOST_PACKETS, 0)
            .number(FLAGS, FAIL_OPEN)
            .number(MASK, FAIL_OPEN)
            .finish();
        self.socket.send(&message)
    }
}

/// Answers packets of a queue.
pub struct Answerer {
    socket: Sender,
    number: u16,
}

impl Answerer {
    /// As [`Queue::answer`].
    ///
    /// # Errors
    /// `Refused`.
    pub fn answer(&self, packet: &Packet, answer: &Answer<'_>) -> Result<(), QueueError> {
        answered(self.socket.send(&packet.answer(answer, self.number)))
    }
}

fn answered(sent: Result<(), Errno>) -> Result<(), QueueError> {
    match sent {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(QueueError::refused("giving a verdict", errno)),
    }
}

/// Takes a queue that nobody has.
fn bind(socket: &mut Socket, wish: u64) -> Result<u16, QueueError> {
    const WHAT: &str = "binding a queue for packets of netfilter";
    let may = caps::has_cap(None, CapSet::Effective, caps::Capability::CAP_NET_ADMIN);
    if !may.unwrap_or(true) {
        return Err(QueueError::refused(WHAT, Errno::EPERM));
    }
    let first = FIRST + (wish % u64::from(LAST - FIRST)) as u16;
    for number in (first..LAST).chain(FIRST..first) {
        let sequence = socket.sequence();
        let message = Message::new(CONFIGURE, ACKNOWLEDGE, sequence, (0, number));
        let message = message.bytes(COMMAND, &[BIND, 0, 0, 0]).finish();
        match socket.request(&message, sequence) {
            Ok(()) => return Ok(number),
            // It is another's.
            Err(Errno::EBUSY | Errno::EPERM) => {}
            // Nobody has registered the subsystem.
            Err(Errno::EINVAL | Errno::EPROTONOSUPPORT | Errno::EOPNOTSUPP) => {
                return Err(QueueError::Unsupported { missing: "nfnetlink_queue" });
            }
            Err(errno) => return Err(QueueError::refused(WHAT, errno)),
        }
    }
    Err(QueueError::NoneFree)
}

fn configure(socket: &mut Socket, number: u16, flags: u32) -> Result<(), Errno> {
    let sequence = socket.sequence();
    let parameters = [&WHOLE.to_be_bytes()[..], &[COPY_PACKET]].concat();
    let message = Message::new(CONFIGURE, ACKNOWLEDGE, sequence, (0, number))
        .bytes(PARAMETERS, &parameters)
        .number(MOST_PACKETS, PACKETS)
        .number(FLAGS, flags)
        .number(MASK, FAIL_OPEN | CONNECTIONS)
        .finish();
    socket.request(&message, sequence)
}
