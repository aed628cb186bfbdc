//! Packets that netfilter hands to this process, for handlers that run in it: a thread for each queue of a place, which asks the Lua state. That does
//! one thing after another; meanwhile others take packets from the kernel and give verdicts.

use crate::inbox::Inbox;
use crate::lua_thread::{Decider, Decision};
use crate::{Options, SessionError, threads};
use moonhook_hook::{NetfilterPlace, Place, Point, QUEUE};
use moonhook_install::FrameSender;
use moonhook_load::{Decided, QueuedPlace};
use moonhook_queue::{Answer, Packet, Queue, QueueError, serve};
use moonhook_records::{Counters, Message, VerdictCount};
use moonhook_user::Waiting;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a packet waits for handlers that are at something else, at the utmost.
const PATIENCE: Duration = Duration::from_secs(12);

/// The queues of all places.
#[derive(Default)]
pub struct Queues {
    readers: Vec<Reader>,
    shared: Arc<Shared>,
}

/// What all threads have in common.
#[derive(Default)]
struct Shared {
    deciders: Mutex<Deciders>,
    counted: Mutex<Counted>,
}

/// Who decides about packets.
#[derive(Default)]
struct Deciders {
    /// The Lua state of the present generation.
    present: Option<Decider>,
    /// That of the next one, and the places that only it has: their queues are open before the kernel's programs go that have decided there.
    next: Option<(Decider, Vec<Point>)>,
}

impl Deciders {
    fn of(&self, point: &Point) -> Option<Decider> {
        let next = self.next.as_ref().filter(|(_, points)| points.contains(point));
        next.map(|(decider, _)| decider.clone()).or_else(|| self.present.clone())
    }
}

impl Shared {
    fn deciders(&self) -> MutexGuard<'_, Deciders> {
        self.deciders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Counted {
    verdicts: BTreeMap<i32, u64>,
    errors: u64,
    /// Messages that found no room: packets do not wait for who reads.
    lost: u64,
}

/// The thread of one queue of a place; it ends soon after this is dropped.
struct Reader {
    point: Point,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), SessionError>>>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

impl Queues {
    /// Queues the packets of these places, for handlers of that state.
    ///
    /// # Errors
    /// As of [`Queues::prepare`].
    pub fn follow(
        &mut self,
        places: &[QueuedPlace],
        decider: Decider,
        options: &Options,
        inbox: &Arc<Inbox>,
    ) -> Result<(), SessionError> {
        self.ask(decider.clone());
        self.prepare(places, decider.clone(), options, inbox)?;
        self.succeed(places, decider);
        Ok(())
    }

    /// Queues the packets of these places, too: those of new ones are for that state from the start. A state that has no handlers for a place
    /// accepts its packets.
    ///
    /// # Errors
    /// `Queue`, `Resource`, those of entering a network namespace; nothing has changed then.
    pub fn prepare(
        &mut self,
        places: &[QueuedPlace],
        decider: Decider,
        options: &Options,
        inbox: &Arc<Inbox>,
    ) -> Result<(), SessionError> {
        let points: Vec<Point> =
            places.iter().map(|place| place.point.clone()).filter(|point| !self.has(point)).collect();
        self.shared.deciders().next = Some((decider, points.clone()));
        let readers = points.iter().map(|point| match &point.place {
            Place::Netfilter(place) => self.begin(point, place, options, inbox),
            _ => Ok(Vec::new()),
        });
        let readers: Result<Vec<_>, SessionError> = readers.collect();
        if readers.is_err() {
            self.shared.deciders().next = None;
        }
        self.readers.extend(readers?.into_iter().flatten());
        Ok(())
    }

    /// Packets of these places, and of no others, are for that state from now on.
    pub fn succeed(&mut self, places: &[QueuedPlace], decider: Decider) {
        self.ask(decider);
        self.keep(|point| places.iter().any(|place| place.point == *point));
    }

    /// Ends the queues of all other places.
    pub fn keep(&mut self, is_wanted: impl Fn(&Point) -> bool) {
        self.readers.retain(|reader| is_wanted(&reader.point));
        self.shared.deciders().next = None;
    }

    /// Packets are for that state from now on.
    pub fn ask(&self, decider: Decider) {
        self.shared.deciders().present = Some(decider);
    }

    fn begin(
        &self,
        point: &Point,
        place: &NetfilterPlace,
        options: &Options,
        inbox: &Arc<Inbox>,
    ) -> Result<Vec<Reader>, SessionError> {
        let netns = options.netns.as_deref();
        let verdict = options.settings.on_error.verdict(&QUEUE);
        let wanted = moonhook_queue::Options { passes_by: !QUEUE.refuses(verdict) };
        let open = || Queue::open_several(place, wanted, options.queues);
        let queues = moonhook_install::netns::within(netns, open)??;
        let mut readers = Vec::new();
        for queue in queues {
            let end = Arc::<AtomicBool>::default();
            let server = Server {
                point: point.clone(),
                sender: FrameSender::open(netns)?,
                on_error: verdict,
                end: Arc::clone(&end),
                shared: Arc::clone(&self.shared),
                inbox: Arc::clone(inbox),
            };
            let thread = threads::start("queue", move || server.run(queue))?;
            readers.push(Reader { point: point.clone(), end, thread: Some(thread) });
        }
        Ok(readers)
    }

    fn has(&self, point: &Point) -> bool {
        self.readers.iter().any(|reader| reader.point == *point)
    }

    /// Where packets are taken from.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        let points = self.readers.iter().map(|reader| &reader.point).enumerate();
        let is_first =
            |number: usize, point: &Point| self.readers[..number].iter().all(|other| other.point != *point);
        points.filter(move |(number, point)| is_first(*number, point)).map(|(_, point)| point)
    }

    pub fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    /// Adds what was counted, and what handlers in states of their own have decided.
    pub fn add_to(&self, counters: &mut Counters, others: Decided) {
        let counted = self.shared.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counters.errors += counted.errors + others.errors;
        if self.is_empty() && others.places.is_empty() && others.verdicts.is_empty() {
            return;
        }
        let count = |verdicts: &BTreeMap<i32, u64>, number| verdicts.get(&number).copied().unwrap_or(0);
        counters.verdicts.extend(QUEUE.verdicts.iter().map(|verdict| VerdictCount {
            hook: QUEUE.name,
            verdict: verdict.name().to_string(),
            count: count(&counted.verdicts, verdict.number) + count(&others.verdicts, verdict.number),
        }));
        counters.lost_events += counted.lost;
    }

    /// What has failed since the last time, if something has: its packets pass by, or are dropped, from then on.
    pub fn failed(&mut self) -> Option<SessionError> {
        let has_ended = |reader: &Reader| reader.thread.as_ref().is_none_or(JoinHandle::is_finished);
        let index = self.readers.iter().position(has_ended)?;
        self.readers.swap_remove(index).join().err()
    }

    /// Ends all, when the packets that wait have been decided.
    pub fn end(&mut self) {
        self.readers.iter().for_each(|reader| reader.end.store(true, Ordering::Relaxed));
        for reader in &mut self.readers {
            // What its queue failed of in the end is of no account any more.
            let _ = reader.join();
        }
    }
}

impl Reader {
    fn join(&mut self) -> Result<(), SessionError> {
        self.thread.take().map_or(Ok(()), |thread| threads::join(thread)?)
    }
}

/// What a thread has.
struct Server {
    point: Point,
    sender: FrameSender,
    on_error: i32,
    end: Arc<AtomicBool>,
    shared: Arc<Shared>,
    inbox: Arc<Inbox>,
}

impl Server {
    fn run(self, mut queue: Queue) -> Result<(), SessionError> {
        let is_over = || self.end.load(Ordering::Relaxed);
        Ok(serve::<QueueError>(&mut queue, is_over, |queue, packet| self.decide(queue, packet))?)
    }

    fn decide(&self, queue: &mut Queue, packet: Packet) -> Result<(), QueueError> {
        let header = queue.link_header(&packet);
        let interface = [packet.input, packet.output].into_iter().find(|index| *index != 0);
        let waiting = Waiting {
            bytes: packet.bytes.clone(),
            header,
            mark: packet.mark,
            interface: interface.filter(|_| !self.is_local()),
            connection_mark: packet.connection_mark,
        };
        let decider = self.shared.deciders().of(&self.point);
        let decision = decider.and_then(|decider| decider.decide(&self.point, waiting, PATIENCE));
        let Decision { verdict, mark, changes, messages } = decision.unwrap_or_default();
        for (interface, frame) in &changes.sent {
            // The interface may have gone down: then the frame is lost, as it is in Lunatik.
            let _ = self.sender.send(*interface, frame);
        }
        let given = verdict.unwrap_or(self.on_error);
        let answer = Answer {
            verdict: given.unsigned_abs(),
            bytes: changes.bytes.as_deref(),
            mark,
            connection_mark: changes.connection_mark,
        };
        queue.answer(&packet, &answer)?;
        let mut counted = self.shared.counted.lock().unwrap_or_else(PoisonError::into_inner);
        *counted.verdicts.entry(given).or_default() += 1;
        counted.errors += u64::from(verdict.is_none());
        let offered = messages.into_iter().map(|message: Message| self.inbox.offer(Ok(message)));
        counted.lost += offered.filter(|has_room| !has_room).count() as u64;
        Ok(())
    }

    /// Packets that this host sends have no interface yet (`LOCAL_OUT`).
    fn is_local(&self) -> bool {
        matches!(&self.point.place, Place::Netfilter(place) if place.point() == "LOCAL_OUT")
    }
}
