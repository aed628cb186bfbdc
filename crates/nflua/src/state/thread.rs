//! The thread that has a state: it does one thing after another.

use super::{End, Order, Orders, Waiting, Wanted};
use crate::functions::{Functions, Outside};
use crate::held::{ACCEPT, DROP, Shared};
use crate::log::Journal;
use crate::matches::{Matches, Sources};
use crate::question::encoded;
use crate::targets::Targets;
use crate::{Generation, NfluaError, connections, native};
use mlua::{Function, MultiValue, Value};
use moonhook_control::{Control, Options as ControlOptions, Report};
use moonhook_load::{CallError, Living, LoadError};
use moonhook_records::Message;
use moonhook_schema::Datum;
use nix::errno::Errno;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long one function may run, in time on a processor.
const TIME: Duration = Duration::from_secs(10);

/// How long a state that ends decides about packets that wait; others are accepted.
const REST: Duration = Duration::from_millis(200);

/// How long it waits for one before it looks whether there are more.
const STEP: Duration = Duration::from_millis(2);

/// Memory of a state beside what it was created with and what its surroundings take, in bytes: packets that targets decide about, and what
/// functions and tables take while programs are made of them.
const SPARE: usize = 8 << 20;

/// The function that messages of programs are given to.
const RECEIVE: &str = "__receive_callback";

/// The thread's own side.
pub(super) struct Thread {
    living: Living,
    control: Control,
    functions: Functions,
    matches: Matches,
    targets: Targets,
    outside: Outside,
    name: String,
    log: Journal,
    /// What it had taken before anything was executed.
    surroundings: usize,
}

impl Thread {
    pub fn begin(wanted: Wanted, orders: Orders) -> Result<Thread, LoadError> {
        let Wanted { name, memory, folder, pins, notes, settings, outside, log } = wanted;
        let (mut living, mut loaded) = Living::begin(&name, &folder, &settings.load)?;
        let state = |error: &dyn ToString| LoadError::State { reason: error.to_string() };
        let functions =
            Functions::open(&loaded.lua, &mut living, &name, &outside).map_err(|error| state(&error))?;
        let surroundings = loaded.lua.used_memory();
        let limit = surroundings.saturating_add(SPARE).saturating_add(memory);
        loaded.limit_memory(limit).map_err(|error| state(&error))?;
        let packet_steps = u64::from(settings.budget);
        let options = ControlOptions { time_limit: TIME, packet_steps, ..ControlOptions::default() };
        let control = Control::unbound(loaded, options).map_err(|error| state(&error))?;
        let matches = Matches::new(pins.join(encoded(&name)), settings, orders.clone(), log.clone());
        let targets = Targets::new(&name, &notes, orders);
        let mut state =
            Thread { living, control, functions, matches, targets, outside, name, log, surroundings };
        state.adopt();
        Ok(state)
    }

    /// Rules that an earlier process has left ask this state.
    fn adopt(&mut self) {
        let Thread { living, control, functions, matches, targets, log, name, .. } = self;
        match matches.adopt(&mut Sources { living, control, functions }) {
            Ok(left) if left.is_empty() => {}
            Ok(left) => log.failed(&format!("state {name}: rules are there that ask {}", left.join(", "))),
            Err(problem) => {
                log.failed(&format!("state {name}: rules are there that find no packet: {problem}"))
            }
        }
        let decide = targets.adopt();
        if !decide.is_empty() {
            log.failed(&format!("state {name}: rules may be there that {} decides for", decide.join(", ")));
        }
    }

    /// Does what it is told until it is to end; gives the targets, whose queues are there until nobody has a packet of them.
    pub fn run(mut self, orders: &Receiver<Order>, end: &End) -> Targets {
        let mut due = None;
        while !end.is_wanted() {
            let order = match due {
                None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => orders.recv_timeout(left(due)),
            };
            match order {
                Err(RecvTimeoutError::Disconnected) => break,
                // Nobody waits for it any more.
                Ok(order) if !order.begin() => {}
                Ok(Order::Release { ends, reply }) => {
                    let outcome = self.release();
                    let is_over = ends && outcome.is_ok();
                    reply.send(outcome);
                    if is_over {
                        end.forgets.store(true, Ordering::Relaxed);
                        break;
                    }
                }
                Ok(order) => self.see_to(order),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let log = self.log.clone();
            let next = self.control.turn(&mut |report| told(&log, report));
            due = next.into_iter().chain(self.matches.bury()).min();
        }
        self.targets.close();
        self.rest(orders);
        if end.forgets.load(Ordering::Relaxed) {
            self.targets.forget();
        }
        self.matches.end();
        self.targets
    }

    /// Decides about packets that have come, and those that wait in queues which get no more.
    fn rest(&mut self, orders: &Receiver<Order>) {
        let deadline = Instant::now() + REST;
        while Instant::now() < deadline {
            // What a thread has sent before its end is there.
            let is_all = self.targets.have_ended();
            match orders.recv_timeout(STEP) {
                Ok(Order::Packet(waiting)) => self.decide(waiting),
                Ok(_) => {}
                Err(_) if is_all => break,
                Err(_) => {}
            }
        }
    }

    fn see_to(&mut self, order: Order) {
        match order {
            Order::Execute { title, code, reply } => reply.send(self.execute(&title, &code)),
            Order::Match { question, reply } => {
                let Thread { living, control, functions, matches, .. } = self;
                let mut sources = Sources { living, control, functions };
                reply.send(matches.path(&question, &mut sources));
            }
            Order::Target { function, generation, reply } => {
                reply.send(self.targets.queue(&function, generation))
            }
            Order::Packet(waiting) => self.decide(waiting),
            Order::Data { port, bytes } => self.receive(port, &bytes),
            Order::Said(message) => self.said(message),
            Order::Memory { reply } => {
                let used = self.control.lua().used_memory().saturating_sub(self.surroundings);
                reply.send(Ok(used));
            }
            Order::Release { .. } | Order::End => {}
        }
    }

    /// Executes a chunk. What it has done is done also where it fails, and rules ask what the state is then.
    fn execute(&mut self, title: &str, code: &[u8]) -> Result<(), NfluaError> {
        let failed = |message: String| {
            self.log.failed(&format!("could not execute / load data!: {message}"));
            NfluaError::refused(Errno::EINVAL, message)
        };
        let lua = self.control.lua().clone();
        let chunk = self.living.chunk(&lua, title, code).map_err(|error| failed(error.to_string()))?;
        self.control.take_back().map_err(|error| failed(error.to_string()))?;
        let outcome = self.call(&chunk, MultiValue::new());
        let Thread { living, control, functions, matches, name, .. } = self;
        let renewed = matches.renew(&mut Sources { living, control, functions });
        let renewed = renewed.map_err(|problem| format!("state {name}: {problem}"));
        let problems = [outcome.err().map(|error| error.message), renewed.err()];
        // Each is told; who has asked is told the first.
        let failures: Vec<_> = problems.into_iter().flatten().map(failed).collect();
        failures.into_iter().next().map_or(Ok(()), Err)
    }

    /// Calls a function; what it prints is logged.
    fn call(&self, function: &Function, arguments: MultiValue) -> Result<MultiValue, CallError> {
        self.called(|control| control.limited(function, arguments))
    }

    /// The same for one that a packet waits for.
    fn call_for_packet(&self, function: &Function, arguments: MultiValue) -> Result<MultiValue, CallError> {
        self.called(|control| control.limited_for_packet(function, arguments))
    }

    fn called(
        &self,
        call: impl FnOnce(&Control) -> (Result<MultiValue, CallError>, Vec<Vec<u8>>),
    ) -> Result<MultiValue, CallError> {
        let begun = Instant::now();
        let (result, printed) = call(&self.control);
        self.functions.note_time(begun.elapsed());
        printed.iter().for_each(|line| self.log.printed(line));
        result
    }

    fn decide(&mut self, waiting: Waiting) {
        let decided = match waiting.generation {
            Generation::Of2019 => self.decide_by_packet(waiting),
            Generation::Cujo => self.decide_by_objects(waiting),
        };
        if let Err(error) = decided {
            self.log.failed(&error.to_string());
        }
    }

    /// Asks a target's function. An error accepts, as does what is no verdict: the rules behind it are not asked.
    fn decide_by_packet(&mut self, waiting: Waiting) -> mlua::Result<()> {
        let Waiting { function, packet, link, .. } = waiting;
        let held = Shared::new(packet.into());
        let verdict = self.verdict_by_packet(&function, &held, link.as_deref());
        // Lua lets go of its own at some time only: the packet does not wait for that.
        let answer = match &verdict {
            Ok(Some(verdict)) => number_of(verdict),
            Ok(None) => return Ok(()),
            Err(_) => ACCEPT,
        };
        held.borrow_mut().answer(answer, None);
        verdict.map(drop)
    }

    /// What a function names as its verdict about a packet; nothing, if it has stolen it.
    fn verdict_by_packet(
        &self,
        function: &str,
        held: &Shared,
        link: Option<&[u8]>,
    ) -> mlua::Result<Option<Vec<u8>>> {
        let lua = self.control.lua().clone();
        let packet = self.functions.packet(&lua, held, link)?;
        let arguments = [Value::String(lua.create_string(function)?), Value::Table(packet.clone())];
        let said = self.call_for_packet(&self.functions.decide, MultiValue::from_iter(arguments));
        let results = self.results(said);
        let verdict = results.front().and_then(Value::as_string).map(|text| text.as_bytes().to_vec());
        let is_stolen = verdict.as_deref() == Some(b"stolen");
        self.functions.end_of(&packet, is_stolen)?;
        if is_stolen {
            held.borrow_mut().steal();
            return Ok(None);
        }
        Ok(Some(verdict.unwrap_or_default()))
    }

    /// The same of a function that gets the frame and the packet as objects, and may write to the packet.
    fn decide_by_objects(&mut self, waiting: Waiting) -> mlua::Result<()> {
        let Waiting { function, mut packet, link, .. } = waiting;
        let lua = self.control.lua().clone();
        let (bytes, link) =
            (lua.create_string(packet.bytes())?, lua.create_string(link.unwrap_or_default())?);
        let arguments =
            [Value::String(lua.create_string(&*function)?), Value::String(bytes), Value::String(link)];
        let said = self.call_for_packet(&self.functions.decide_by_objects, MultiValue::from_iter(arguments));
        self.functions.decided()?;
        let results = self.results(said);
        let text = |number: usize| results.get(number).and_then(Value::as_string).map(|text| text.as_bytes());
        let verdict = number_of(text(0).as_deref().unwrap_or_default());
        packet.answer(verdict, text(1).as_deref());
        Ok(())
    }

    /// What a function has returned; nothing, and a line of the log, where it has failed.
    fn results(&self, said: Result<MultiValue, CallError>) -> MultiValue {
        said.unwrap_or_else(|error| {
            self.log.failed(&error.message);
            MultiValue::new()
        })
    }

    fn receive(&mut self, port: u32, bytes: &[u8]) {
        let lua = self.control.lua().clone();
        let function = self.living.globals().raw_get::<Option<Function>>(RECEIVE);
        let arguments = lua
            .create_string(bytes)
            .map(|bytes| MultiValue::from_iter([Value::Integer(port.into()), Value::String(bytes)]));
        if let (Ok(Some(function)), Ok(arguments)) = (function, arguments)
            && let Err(error) = self.call(&function, arguments)
        {
            self.log.failed(&error.message);
        }
    }

    /// What packet code prints, fails of, and wants to be done.
    fn said(&mut self, message: Message) {
        match message {
            Message::Print(text) => self.log.printed(&text.bytes),
            Message::Error(failure) => self.log.failed(&failure.message.lossy()),
            Message::Frame(_) => {}
            Message::Event(notice) => match (notice.name.as_slice(), &notice.values[..]) {
                (b"\0send", [Datum::Integer(port), Datum::Text(bytes)]) => {
                    // Who is not there any more gets nothing.
                    let _ = self.outside.ports.send(*port as u32, &self.name, bytes);
                }
                (b"\0reply", [Datum::Text(message), Datum::Text(head), Datum::Integer(length)]) => {
                    self.outside.sockets.reply(head, length_of(*length), message);
                }
                (b"\0datagram", [Datum::Text(message), Datum::Text(head), Datum::Integer(length)]) => {
                    self.outside.sockets.reply_datagram(head, length_of(*length), message);
                }
                (b"\0forward", [Datum::Text(packet)]) => self.forward(Some(packet)),
                (
                    b"\0changed",
                    [Datum::Text(payload), Datum::Text(head), Datum::Integer(length), Datum::Boolean(is_tcp)],
                ) => {
                    let changed = native::changed(head, length_of(*length), payload, *is_tcp);
                    self.forward(changed.as_deref());
                }
                (b"\0forget", [Datum::Text(head), Datum::Integer(length)]) => {
                    connections::forget_of(head, length_of(*length));
                }
                (name, values) => {
                    let log = self.log.clone();
                    self.control.event(name, values, &mut |report| told(&log, report));
                }
            },
        }
    }

    /// Sends a copy of a packet on.
    fn forward(&self, packet: Option<&[u8]>) {
        if !packet.is_some_and(|packet| self.outside.sockets.forward(packet)) {
            self.log.failed("unable to send packet");
        }
    }

    fn release(&mut self) -> Result<(), NfluaError> {
        let timers = self.functions.timers();
        if timers > 0 {
            let reason = format!("{timers} timers of the state have not gone off");
            return Err(NfluaError::refused(Errno::EBUSY, reason));
        }
        match self.matches.end_unruled() {
            true => Ok(()),
            false => Err(NfluaError::refused(Errno::EBUSY, "rules ask functions of the state")),
        }
    }
}

/// How long it is until then.
fn left(due: Instant) -> Duration {
    due.saturating_duration_since(Instant::now())
}

/// What packet code says of how long a packet is.
fn length_of(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn told(log: &Journal, report: Report) {
    match report {
        Report::Print(line) => log.printed(&line),
        Report::Error(error) => log.failed(&error.message),
    }
}

/// The verdict that a target's function names (`NF_DROP` …, include/uapi/linux/netfilter.h).
fn number_of(verdict: &[u8]) -> u32 {
    match verdict {
        b"drop" => DROP,
        b"queue" => 3,
        b"repeat" => 4,
        b"stop" => 5,
        _ => ACCEPT,
    }
}
