//! Control code, as the main thread sees it: at work or not, what waits for it, and what to do when it does not come to an end.

mod told;

use crate::SessionError;
use crate::installed::Installed;
use crate::lua_thread::{CatchUp, Decider, Done, Job, LuaId, LuaThread, Sources, Told, event_of};
use crate::session::Session;
use moonhook_control::{CallError, Connection, ControlError};
use moonhook_daemon::{Answer, Executed, Failure, Reply};
use moonhook_records::{Failure as RuntimeFailure, Message, Text};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// As long as a signal, for which functions may wait, goes unnoticed.
const NAP: Duration = Duration::from_millis(100);

/// How long a new state waits for the job of the one before.
const OVERLAP: Duration = Duration::from_millis(200);

/// How long code waits for the end of a call that others have made of the script, before it is refused.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often control code begins anew before it is left off.
const BEGINNINGS: u32 = 3;

/// The Lua state of a generation.
pub struct ControlCode {
    /// `None` if it is left off.
    thread: Option<LuaThread>,
    /// What it was made of, to begin anew.
    sources: Sources,
    fingerprint: u64,
    state: State,
    due: Option<Instant>,
    listened_to: BTreeSet<Vec<u8>>,
    /// Code that waits to be carried out, and functions of flows.
    waiting: VecDeque<(Job, Reply)>,
    /// What has become of flows of the program before is to be taken over.
    catches_up: Option<CatchUp>,
    /// It gets nothing to do: a new state takes over its flows, and what waits.
    is_held: bool,
    /// Functions of flows are to be made once more, and then these are to be answered.
    remakes: Option<Vec<Later>>,
    beginnings: u32,
}

enum State {
    Idle,
    /// The state before is to end its job first, if it does so in time: both would change the same tables and flows.
    Waiting(Instant),
    /// A job is on its way.
    Busy(Work),
    /// Load time once more.
    Beginning,
}

/// A job, as far as it concerns others.
#[derive(Default)]
struct Work {
    /// Of what came from outside, who waits for the answer.
    reply: Option<Reply>,
    /// The answer is one about a flow.
    is_flow: bool,
    /// Of events, the first of them, which was shown, and the messages behind it, which were not.
    batch: Vec<Message>,
    /// Who is answered when it is done.
    later: Vec<Later>,
}

/// The answer to what has been done, which somebody gets when something else is done, too, or will not be done any more: when this is dropped.
pub struct Later(Option<(Reply, Value)>);

impl Later {
    pub fn new(reply: Reply, answer: Value) -> Later {
        Later(Some((reply, answer)))
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        if let Some((reply, answer)) = self.0.take() {
            reply.send(Ok(answer));
        }
    }
}

/// Messages that go to control code at once: changing from one thread to the other for each event would take longer than most functions.
const BATCH: usize = 256;

impl ControlCode {
    /// That of a thread which is connected with the program.
    pub fn new(thread: LuaThread, sources: Sources, fingerprint: u64) -> ControlCode {
        ControlCode {
            thread: Some(thread),
            sources,
            fingerprint,
            state: State::Idle,
            due: Some(Instant::now()),
            listened_to: BTreeSet::new(),
            waiting: VecDeque::new(),
            catches_up: None,
            is_held: false,
            remakes: None,
            beginnings: 0,
        }
    }

    /// Who asks its handlers about packets, if there is a thread for that.
    pub fn decider(&self) -> Option<Decider> {
        self.thread.as_ref().map(LuaThread::decider)
    }

    /// Takes the place of another one, whose flows the thread has taken over, and whose functions of flows wait here now. Gives the other
    /// one if it is still at work: then the thread catches up once more, behind it ([`ControlCode::catch_up`]).
    pub fn succeed(&mut self, before: ControlCode) -> Option<RetiredControl> {
        let (flows, others): (VecDeque<_>, VecDeque<_>) =
            before.waiting.into_iter().partition(|(job, _)| is_flow(job));
        for (_, reply) in others {
            reply.send(unfinished(false, "the script was reloaded before the code could run"));
        }
        self.waiting = flows;
        let retired = match (before.state, before.thread) {
            (State::Busy(work), Some(thread)) => Some(RetiredControl { thread, reply: work.reply }),
            _ => None,
        };
        self.catches_up = Some(if retired.is_none() { CatchUp::Last } else { CatchUp::Behind });
        if retired.is_some() {
            self.state = State::Waiting(Instant::now() + OVERLAP);
        }
        retired
    }

    /// What the program before has made of its flows can be taken over for the last time.
    fn catch_up(&mut self) {
        self.catches_up = Some(CatchUp::Last);
        if matches!(self.state, State::Waiting(_)) {
            self.state = State::Idle;
        }
    }

    fn is(&self, id: LuaId) -> bool {
        self.thread.as_ref().is_some_and(|thread| thread.id() == id)
    }

    /// When it is to be given something to do, if it could take it.
    pub fn due(&self) -> Option<Instant> {
        let soon = Instant::now() + NAP;
        if let State::Waiting(until) = self.state {
            return Some(until);
        }
        if self.called_for().is_some() {
            return (matches!(self.state, State::Idle) || !self.waiting.is_empty()).then_some(soon);
        }
        let is_idle =
            matches!(self.state, State::Idle) && self.thread.is_some() && !self.is_held && !self.is_taken();
        is_idle.then(|| self.due.map_or(soon, |due| due.min(soon)))
    }

    /// Whether messages of handlers may come: they are shown in the order in which they came, with what control code says of them in
    /// between.
    pub fn takes_messages(&self) -> bool {
        // A function that goes on as long as the script does not stop them, nor what is called of a script for long.
        if self.is_taken() || self.is_called_for(NAP) {
            return true;
        }
        matches!(self.state, State::Idle) && !self.is_held
    }

    /// Gives it nothing to do until it is let go, or its place is taken.
    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Whether its thread is at a function that goes on as long as the script, and does nothing else.
    fn is_taken(&self) -> bool {
        self.sources.options.control.as_ref().is_some_and(|control| control.is_busy())
    }

    /// For how long its thread has been at a call that others have made of the script, if it is.
    fn called_for(&self) -> Option<Duration> {
        self.sources.options.control.as_ref().and_then(|control| control.called_for())
    }

    fn is_called_for(&self, time: Duration) -> bool {
        self.called_for().is_some_and(|called| called >= time)
    }

    /// Gives it what waits or is due.
    pub fn feed(&mut self) -> Result<(), SessionError> {
        if self.is_taken() || self.is_called_for(PATIENCE) {
            for (job, reply) in self.waiting.drain(..) {
                reply.send(unfinished(is_flow(&job), TAKEN));
            }
            return Ok(());
        }
        if self.is_called_for(NAP) {
            return Ok(());
        }
        if matches!(self.state, State::Waiting(until) if until <= Instant::now()) {
            self.state = State::Idle;
        }
        let (State::Idle, Some(thread), false) = (&self.state, &mut self.thread, self.is_held) else {
            return Ok(());
        };
        if let Some(when) = self.catches_up.take() {
            self.state = State::Busy(Work::default());
            return thread.work(Job::CatchUp(when));
        }
        if let Some(later) = self.remakes.take() {
            self.state = State::Busy(Work { later, ..Work::default() });
            return thread.work(Job::RemakeFlows);
        }
        if let Some((job, reply)) = self.waiting.pop_front() {
            let is_flow = matches!(job, Job::Flow(_));
            self.state = State::Busy(Work { reply: Some(reply), is_flow, ..Work::default() });
            return thread.work(job);
        }
        if self.due.is_none_or(|due| due <= Instant::now()) {
            self.state = State::Busy(Work::default());
            return thread.work(Job::Turn);
        }
        Ok(())
    }

    /// Whether somebody is to be called for this event.
    fn hears(&self, event: &[u8]) -> bool {
        matches!(self.state, State::Idle)
            && !self.is_taken()
            && !self.is_called_for(NAP)
            && self.thread.is_some()
            && self.listened_to.contains(event)
    }

    /// Has those called who listen to the events among these messages.
    fn hear(&mut self, batch: Vec<Message>) -> Result<(), SessionError> {
        let Some(thread) = &mut self.thread else { return Ok(()) };
        let events = batch.iter().filter(|message| event_of(message).is_some()).cloned().collect();
        self.state = State::Busy(Work { batch, ..Work::default() });
        thread.work(Job::Events(events))
    }

    /// What came of the events so far, and the messages that they were among.
    fn heard(&mut self) -> (Vec<Vec<Message>>, Vec<Message>) {
        let State::Busy(work) = &mut self.state else { return Default::default() };
        let reports = self.thread.as_ref().map(LuaThread::take_reports).unwrap_or_default();
        (reports, std::mem::take(&mut work.batch))
    }

    /// The same, of a state that is left.
    fn heard_last(&mut self) -> (Vec<Vec<Message>>, Vec<Message>) {
        let State::Busy(work) = &mut self.state else { return Default::default() };
        let reports = self.thread.as_ref().map(LuaThread::take_last_reports).unwrap_or_default();
        (reports, std::mem::take(&mut work.batch))
    }

    /// Has all functions of flows made once more, before anything else that waits, and then somebody answered.
    pub fn remake_flows(&mut self, later: Option<Later>) {
        if self.thread.is_some() {
            self.remakes.get_or_insert_default().extend(later);
        }
    }

    /// Has code carried out, or a function of a flow made, behind all that waits.
    pub fn order(&mut self, job: Job, reply: Reply) {
        match self.thread {
            Some(_) => self.waiting.push_back((job, reply)),
            None => reply.send(unfinished(is_flow(&job), self.left_off())),
        }
    }

    fn done(&mut self, done: Done) -> Vec<Message> {
        if let State::Busy(Work { reply, later, .. }) = std::mem::replace(&mut self.state, State::Idle) {
            if let Some(reply) = reply {
                reply.send(done.answer.unwrap_or(Ok(Value::Null)));
            }
            drop(later);
        }
        // Where nothing else is, signals may come.
        self.due = Some(done.due.unwrap_or_else(|| Instant::now() + NAP).min(Instant::now() + NAP));
        self.listened_to = done.listened_to;
        done.messages
    }

    /// What is said where control code is left off.
    fn left_off(&self) -> &'static str {
        let control = self.sources.options.control.as_ref();
        match control.is_some_and(|control| control.has_begun()) {
            true => "control code is left off until the script is ended and run again",
            false => "control code is left off until a reload",
        }
    }

    /// Whether the present function is beyond its time.
    fn overruns(&mut self) -> bool {
        // What others call may wait, as the script's own function may.
        if self.is_taken() || self.called_for().is_some() {
            self.thread.iter_mut().for_each(LuaThread::look_anew);
            return false;
        }
        let limit = match self.state {
            State::Idle | State::Waiting(_) => return false,
            State::Busy(_) => moonhook_control::Options::default().time_limit,
            State::Beginning => self.sources.options.longest(),
        };
        self.thread.as_mut().is_some_and(|thread| thread.exceeds(limit))
    }

    /// Lets go of the thread, and waits for its end.
    pub fn close(&mut self, time: Duration) {
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + time;
        let is_over = thread.let_go();
        while !is_over() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// There will be no answers any more: those who wait are told so when this lets go of their requests.
    pub fn end(&mut self) {
        self.waiting.clear();
        if let State::Busy(work) = &mut self.state {
            work.reply = None;
        }
    }
}

/// Control code of a generation that was replaced, which may still be at work.
pub struct RetiredControl {
    thread: LuaThread,
    reply: Option<Reply>,
}

const TAKEN: &str = "the script's own function is at work, and control code waits for its end";

fn is_flow(job: &Job) -> bool {
    matches!(job, Job::Flow(_))
}

/// The answer about code, or a function of a flow, that did not come to an end.
fn unfinished(is_flow: bool, problem: &str) -> Answer {
    let error = ControlError::Call(CallError { message: problem.to_string(), traceback: Vec::new() });
    let failure = Failure::new(error.diagnostic(), moonhook_diagnostic::Exit::Refused as u8);
    match is_flow {
        true => Err(Box::new(failure)),
        false => Ok(json!(Executed { printed: Vec::new(), results: Vec::new(), error: Some(failure) })),
    }
}
