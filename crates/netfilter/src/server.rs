//! The threads of a handler, one for each queue of each family: they take packets out of its queues and ask.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mlua::{Function, Lua, MultiValue};
use moonhook_hook::{NETFILTER, NetfilterPlace, Place, Point};
use moonhook_install::{FrameSender, netns};
use moonhook_lunatik::{Callback, Ending, protected, text};
use moonhook_queue::{Answer, Options, Packet, Queue, QueueError};
use moonhook_user::{Changes, Refusal, Said, Skbs, UserError, Waiting};

use crate::desk::{Desk, Wanted};

/// How long a packet waits for its handler at the utmost; then it passes, and the handler is ended if it is that which takes so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// `NF_ACCEPT`: what becomes of packets without a verdict.
const ACCEPT: i32 = 1;

/// What a handler has said of a packet, or what has gone wrong, and what it has made of it: errors undo nothing.
type Verdict = (Result<Said, String>, Changes);

/// A handler's queues; dropped, they are gone.
pub(crate) struct Hook {
    places: Vec<Point>,
    end: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Hook {
    /// Queues the packets of these places for a handler.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn begin(places: Vec<NetfilterPlace>, handler: &Callback, desk: &Arc<Desk>) -> Result<Hook, String> {
        let points = places.iter().map(|place| Point::at(&NETFILTER, Place::Netfilter(*place)));
        let hook = Hook { places: points.collect(), end: Arc::default(), threads: Mutex::default() };
        let wanted = desk.wanted();
        for place in &places {
            for queue in open(place, &wanted)? {
                let server = Server {
                    handler: handler.clone(),
                    sender: FrameSender::open(wanted.netns.as_deref()).map_err(|error| error.to_string())?,
                    is_local: place.point() == "LOCAL_OUT",
                    end: Arc::clone(&hook.end),
                    desk: Arc::clone(desk),
                };
                let thread = std::thread::Builder::new().name("netfilter".to_string());
                let thread = thread.spawn(move || server.run(queue)).map_err(|error| error.to_string())?;
                hook.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
            }
        }
        Ok(hook)
    }

    /// Where its packets are, one for each family.
    pub fn places(&self) -> &[Point] {
        &self.places
    }

    pub fn is_over(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }
}

/// The queues of a place.
fn open(place: &NetfilterPlace, wanted: &Wanted) -> Result<Vec<Queue>, String> {
    let open = || Queue::open_several(place, Options { passes_by: true }, wanted.queues);
    let opened = netns::within(wanted.netns.as_deref(), open).map_err(|error| error.to_string())?;
    opened.map_err(|error: QueueError| error.to_string())
}

impl Ending for Hook {
    fn end(&self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.end();
        for thread in std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner)) {
            // Packets that wait are answered first: with the queue they would be dropped.
            let _ = thread.join();
        }
    }
}

/// What a thread has.
struct Server {
    handler: Callback,
    sender: FrameSender,
    /// Packets that this host sends have no interface yet.
    is_local: bool,
    end: Arc<AtomicBool>,
    desk: Arc<Desk>,
}

impl Server {
    fn run(self, mut queue: Queue) {
        let served =
            moonhook_queue::serve(&mut queue, || self.is_over(), |queue, packet| self.decide(queue, &packet));
        if let Err::<(), QueueError>(error) = served {
            self.handler.warn(&format!("netfilter: {error}"));
        }
    }

    fn is_over(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    fn decide(&self, queue: &mut Queue, packet: &Packet) -> Result<(), QueueError> {
        let passing =
            Answer { verdict: ACCEPT.unsigned_abs(), bytes: None, mark: None, connection_mark: None };
        if self.is_over() {
            return queue.answer(packet, &passing);
        }
        let header = queue.link_header(packet);
        let interface = [packet.input, packet.output].into_iter().find(|index| *index != 0);
        let waiting = Waiting {
            bytes: packet.bytes.clone(),
            header,
            mark: packet.mark,
            interface: interface.filter(|_| !self.is_local),
            connection_mark: packet.connection_mark,
        };
        let asked =
            self.handler.ask(PATIENCE, || self.is_over(), move |lua, handler| ask(lua, handler, &waiting));
        let Some((said, changes)) = asked else {
            if !self.is_over() {
                self.handler
                    .warn(&format!("a handler was at a packet for {} s, which passes", PATIENCE.as_secs()));
                self.desk.count(ACCEPT, true);
            }
            return queue.answer(packet, &passing);
        };
        let is_error = said.is_err();
        let said = said.unwrap_or_else(|problem| {
            self.handler.warn(&problem);
            Said { verdict: ACCEPT, mark: None }
        });
        for (interface, frame) in &changes.sent {
            // The interface may have gone down: then the frame is lost, as it is in Lunatik.
            let _ = self.sender.send(*interface, frame);
        }
        if let Some(warning) = changes.markless.as_ref().and_then(|line| self.desk.lack_of_marks(line)) {
            self.handler.warn(&warning);
        }
        let answer = Answer {
            verdict: said.verdict.unsigned_abs(),
            bytes: changes.bytes.as_deref(),
            mark: said.mark,
            connection_mark: changes.connection_mark,
        };
        self.desk.count(said.verdict, is_error);
        queue.answer(packet, &answer)
    }
}

/// Asks a handler about a packet, in its state.
fn ask(lua: &Lua, handler: &Function, waiting: &Waiting) -> Verdict {
    asked(lua, handler, waiting).unwrap_or_else(|problem| (Err(problem), Changes::default()))
}

fn asked(lua: &Lua, handler: &Function, waiting: &Waiting) -> Result<Verdict, String> {
    let skbs = moonhook_lunatik::own::<Skbs, UserError>(lua, || Skbs::new(lua))
        .map_err(|error| error.to_string())?;
    let call = |handler: &Function, arguments: MultiValue| match protected(lua, handler, arguments) {
        Ok(Ok(results)) => Ok(results),
        Ok(Err(error)) => Err(text(&error)),
        Err(error) => Err(error.to_string()),
    };
    let asked = skbs.ask(std::iter::once(handler), waiting, call).map_err(|error| error.to_string())?;
    let said = asked.said.map_err(|refusal| match refusal {
        Refusal::Failed(problem) => problem,
        Refusal::NoVerdict(number) => format!("handler returned {number}, expected a verdict"),
    });
    Ok((said, asked.changes))
}
