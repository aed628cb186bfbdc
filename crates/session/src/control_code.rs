//! Control code, as the main thread sees it: at work or not, what waits for it, and what to do when it does not come to an end.

use crate::SessionError;
use crate::installed::Installed;
use crate::lua_thread::{CatchUp, Done, Job, LuaId, LuaThread, Sources, Told, event_of};
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
        let is_idle = matches!(self.state, State::Idle) && self.thread.is_some() && !self.is_held;
        is_idle.then(|| self.due.map_or(soon, |due| due.min(soon)))
    }

    /// Whether messages of handlers may come: they are shown in the order in which they came, with what control code says of them in
    /// between.
    pub fn takes_messages(&self) -> bool {
        matches!(self.state, State::Idle) && !self.is_held
    }

    /// Gives it nothing to do until it is let go, or its place is taken.
    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Gives it what waits or is due.
    pub fn feed(&mut self) -> Result<(), SessionError> {
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
        matches!(self.state, State::Idle) && self.thread.is_some() && self.listened_to.contains(event)
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
            None => reply.send(unfinished(is_flow(&job), LEFT_OFF)),
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

    /// Whether the present function is beyond its time.
    fn overruns(&mut self) -> bool {
        let limit = match self.state {
            State::Idle | State::Waiting(_) => return false,
            State::Busy(_) => moonhook_control::Options::default().time_limit,
            State::Beginning => self.sources.options.longest(),
        };
        self.thread.as_mut().is_some_and(|thread| thread.exceeds(limit))
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

impl Session {
    /// A Lua thread has told something.
    pub(crate) fn lua_told(&mut self, id: LuaId, told: Told) -> Result<(), SessionError> {
        match told {
            Told::Done(done) if self.control.is(id) => {
                let (reports, batch) = self.control.heard();
                self.say_batch(reports, batch)?;
                let messages = self.control.done(*done);
                messages.iter().try_for_each(|message| self.say(message))
            }
            Told::Done(done) if self.is_connecting(id) => {
                done.messages.iter().try_for_each(|message| self.say(message))?;
                self.connected(id, Ok(()))
            }
            Told::Done(done) => self.retired_done(id, *done),
            Told::Loaded(prepared) if self.control.is(id) => match prepared {
                Ok(prepared) if prepared.fingerprint == self.control.fingerprint => self.begin_control(),
                Ok(_) => self.leave_control_off("the scripts' files are others by now"),
                Err(error) => self.leave_control_off(&error.to_string()),
            },
            Told::Loaded(prepared) => self.loaded(id, prepared),
            Told::Connected(outcome) => self.connected(id, outcome),
        }
    }

    /// The state before, which has what the present one takes over, has come to its end when all have.
    fn catch_up_behind_all(&mut self) {
        if self.retired_control.is_empty() {
            self.control.catch_up();
        }
    }

    fn retired_done(&mut self, id: LuaId, done: Done) -> Result<(), SessionError> {
        let at = self.retired_control.iter().position(|retired| retired.thread.id() == id);
        let Some(at) = at else { return Ok(()) };
        let RetiredControl { thread, reply } = self.retired_control.swap_remove(at);
        self.catch_up_behind_all();
        if let Some(reply) = reply {
            reply.send(done.answer.unwrap_or(Ok(Value::Null)));
        }
        let reports = thread.take_reports();
        reports.iter().flatten().chain(&done.messages).try_for_each(|message| self.say(message))
    }

    /// Shows a message; an event goes to those who listen, too, and with it what is there by now.
    pub(crate) fn show(&mut self, message: Message) -> Result<(), SessionError> {
        self.say(&message)?;
        match &message {
            message if event_of(message).is_some_and(|event| self.control.hears(&event)) => {}
            _ => return Ok(()),
        }
        let mut batch = vec![message];
        let again = self.again.len().min(BATCH - 1);
        batch.extend(self.again.drain(..again));
        if self.again.is_empty() {
            for message in self.inbox.more(BATCH - batch.len()) {
                batch.push(message?);
            }
        }
        self.control.hear(batch)
    }

    /// Shows the messages of a batch, and behind each event what came of it. From the first event on that was not seen to, they come
    /// again.
    fn say_batch(&mut self, reports: Vec<Vec<Message>>, batch: Vec<Message>) -> Result<(), SessionError> {
        let (mut reports, mut batch) = (reports.into_iter(), batch.into_iter());
        if batch.next().is_some() {
            reports.next().iter().flatten().try_for_each(|message| self.say(message))?;
        }
        while let Some(message) = batch.next() {
            let report = match event_of(&message) {
                Some(_) => match reports.next() {
                    Some(report) => report,
                    None => {
                        self.again = [message].into_iter().chain(batch).chain(self.again.drain(..)).collect();
                        return Ok(());
                    }
                },
                None => Vec::new(),
            };
            self.say(&message)?;
            report.iter().try_for_each(|message| self.say(message))?;
        }
        Ok(())
    }

    /// As [`Session::say_batch`], of a state that is left. The event that it is at does not come again.
    pub(crate) fn leave_batch(&mut self) -> Result<(), SessionError> {
        let (reports, batch) = self.control.heard_last();
        self.say_batch(reports, batch)
    }

    pub(crate) fn say(&mut self, message: &Message) -> Result<(), SessionError> {
        // These are bytes from a network, for control code alone.
        if matches!(message, Message::Event(notice) if *notice.name == *moonhook_load::UPDATE_EVENT) {
            return Ok(());
        }
        self.publisher.publish(|| crate::announce::message_json(message));
        self.audience.message(message)
    }

    /// Leaves a state behind that does not come to an end, and begins anew. To be called again and again.
    pub(crate) fn look_after_control(&mut self) -> Result<(), SessionError> {
        if let Some(Err(error)) = self.control.thread.as_mut().map(LuaThread::look_after) {
            self.give_up_job(&error.to_string())?;
            return self.leave_control_off(&error.to_string());
        }
        let limit = moonhook_control::Options::default().time_limit;
        let before = self.retired_control.len();
        self.retired_control.retain_mut(|retired| {
            let overruns = retired.thread.exceeds(limit);
            if overruns {
                retired.thread.leave_behind();
            }
            !overruns && !retired.thread.has_ended()
        });
        if self.retired_control.len() < before {
            self.catch_up_behind_all();
        }
        if !self.control.overruns() {
            return Ok(());
        }
        let seconds = moonhook_control::Options::default().time_limit.as_secs();
        let problem = format!(
            "the function was stopped: it ran for more than {seconds} seconds, inside a function of the library"
        );
        self.give_up_job(&problem)?;
        if let Some(thread) = self.control.thread.take() {
            thread.leave_behind();
        }
        self.complain(format!("{problem}; its Lua state is left behind"))?;
        if self.control.beginnings >= BEGINNINGS {
            return self.leave_control_off("that has happened too often");
        }
        self.control.beginnings += 1;
        match LuaThread::load(self.control.sources.clone(), &self.inbox, None) {
            Ok(thread) => (self.control.thread, self.control.state) = (Some(thread), State::Beginning),
            Err(error) => return self.leave_control_off(&error.to_string()),
        }
        Ok(())
    }

    /// Shows what came of the present job so far, and tells who waits for it that there will be no more.
    fn give_up_job(&mut self, problem: &str) -> Result<(), SessionError> {
        self.leave_batch()?;
        if let State::Busy(Work { reply: Some(reply), is_flow, .. }) =
            std::mem::replace(&mut self.control.state, State::Idle)
        {
            reply.send(unfinished(is_flow, problem));
        }
        Ok(())
    }

    /// Load time has given the same once more: the new state has the present program's tables and variables.
    fn begin_control(&mut self) -> Result<(), SessionError> {
        let Installed { layout, kernel, tables, flows, .. } = &self.installed;
        let connection = Connection::again(layout, &kernel.program, tables).map(|connection| match flows {
            Some((tables, maker)) => connection.with_flows(Arc::clone(tables), Box::new(maker.again())),
            None => connection,
        });
        let connected =
            connection.map_err(SessionError::from).and_then(|connection| match &self.control.thread {
                Some(thread) => thread.connect(connection),
                None => Err(SessionError::LuaGone),
            });
        if let Err(error) = connected {
            return self.leave_control_off(&error.to_string());
        }
        (self.control.state, self.control.due) = (State::Idle, Some(Instant::now()));
        self.control.listened_to = BTreeSet::new();
        self.complain("control code has begun anew, with the variables of load time".to_string())
    }

    fn leave_control_off(&mut self, why: &str) -> Result<(), SessionError> {
        (self.control.thread, self.control.state) = (None, State::Idle);
        for (job, reply) in std::mem::take(&mut self.control.waiting) {
            reply.send(unfinished(is_flow(&job), LEFT_OFF));
        }
        self.complain(format!("control code is left off until a reload: {why}"))
    }

    /// Shows an error that is no handler's.
    pub(crate) fn complain(&mut self, message: String) -> Result<(), SessionError> {
        let message = Text::whole(message.into_bytes());
        self.say(&Message::Error(RuntimeFailure { message, traceback: Vec::new() }))
    }
}

const LEFT_OFF: &str = "control code is left off until a reload";

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
