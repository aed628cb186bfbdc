//! Changes of the program: reloads, and tables whose content is replaced. One at a time, in the order in which they were wanted.
//!
//! A reload begins with load time, on the thread that has the new Lua state ([`LuaThread`]). Compiling and the verifier's work come next,
//! on a thread of their own ([`Order`]), then the new program is connected with its Lua state, which makes functions of flows, again on the
//! thread that has it. Requests and messages are seen to meanwhile. In the end the program is put into the hook ([`crate::replacing`]).

use crate::announce;
use crate::control_code::Later;
use crate::generation::{Next, NextGeneration};
use crate::lists::is_like;
use crate::lua_thread::{CatchUp, Job, LuaId, LuaThread, Prepared, Sources};
use crate::making::{Blueprint, Heritage, Made, Order};
use crate::service::failure;
use crate::session::Session;
use crate::threads;
use crate::{Options, SessionError};
use moonhook_control::SharedTable;
use moonhook_daemon::{Replaced, Reply};
use moonhook_engine::{EngineError, Trial};
use moonhook_load::LoadError;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Instant;

/// A change, and who waits for it; nobody if files have changed.
pub struct Change {
    pub wanted: Wanted,
    pub reply: Option<Reply>,
    pub since: Instant,
}

pub enum Wanted {
    /// The scripts compiled anew, or others.
    Reload { scripts: Option<Vec<PathBuf>>, allow_read: Vec<PathBuf> },
    /// The same with other interfaces and settings.
    Other(Box<Options>),
    /// A shared table in the map of `list`, to which so many entries were given.
    List { table: String, list: SharedTable, entries: u64 },
    /// The scripts compiled anew, with this content of a table that handlers only read.
    Constant { content: moonhook_load::Content, entries: u64 },
}

/// A change whose program is being made, or whose Lua state is being connected with it.
pub struct Making {
    begun: Begun,
    reply: Option<Reply>,
    since: Instant,
    /// The thread that compiles, once there is something to be compiled.
    thread: Option<JoinHandle<()>>,
}

enum Begun {
    Reload(Box<NextGeneration>),
    Connecting(Box<Next>),
    List { table: String, list: SharedTable, entries: u64 },
}

impl Making {
    fn is_connecting(&self, id: LuaId) -> bool {
        matches!(&self.begun, Begun::Connecting(next) if next.generation.thread.id() == id)
    }
}

impl Session {
    /// Has the change made when those before it are.
    pub(crate) fn want(&mut self, wanted: Wanted, reply: Option<Reply>) -> Result<(), SessionError> {
        self.changes.push_back(Change { wanted, reply, since: Instant::now() });
        self.next_change()
    }

    /// The files have changed: once more is enough.
    pub(crate) fn files_changed(&mut self) -> Result<(), SessionError> {
        match self.changes.iter().any(|change| change.reply.is_none()) {
            true => Ok(()),
            false => self.want(Wanted::Reload { scripts: None, allow_read: Vec::new() }, None),
        }
    }

    fn next_change(&mut self) -> Result<(), SessionError> {
        while self.making.is_none()
            && let Some(Change { wanted, reply, since }) = self.changes.pop_front()
        {
            match self.begin(wanted) {
                Ok((begun, thread)) => self.making = Some(Making { begun, reply, since, thread }),
                Err(error) => self.refused(&error, reply)?,
            }
        }
        Ok(())
    }

    fn begin(&mut self, wanted: Wanted) -> Result<(Begun, Option<JoinHandle<()>>), SessionError> {
        let control = self.settings.load.control.as_ref();
        if control.is_some_and(|control| control.has_begun()) && !matches!(wanted, Wanted::List { .. }) {
            return Err(SessionError::ForProcesses);
        }
        let mut options = None;
        let (scripts, allow_read, contents, entries) = match wanted {
            Wanted::List { table, list, entries } => {
                // A reload that was wanted before may have given it another schema.
                if !is_like(&self.installed, &table, &list) {
                    return Err(SessionError::NoList { table });
                }
                let map = list.map();
                let order = Order::Again(self.installed.kernel.again(map.name(), map.as_fd())?);
                let thread = order.start(&self.inbox)?;
                return Ok((Begun::List { table, list, entries }, Some(thread)));
            }
            Wanted::Reload { scripts, allow_read } => (scripts, allow_read, Vec::new(), None),
            Wanted::Other(mut other) => {
                other.pins.clone_from(&self.options.pins);
                let scripts = Some(other.scripts.clone());
                options = Some(other);
                (scripts, Vec::new(), Vec::new(), None)
            }
            Wanted::Constant { content, entries } => (None, Vec::new(), vec![content], Some(entries)),
        };
        let scripts = scripts.unwrap_or_else(|| self.scripts.clone());
        let mut settings = options.as_ref().map_or(&self.settings, |options| &options.settings).clone();
        settings.load.allow_read.extend(allow_read);
        if let Some(control) = &settings.load.control {
            let options = options.as_deref().unwrap_or(&self.options);
            control.take_packets(options.netns.as_deref(), options.queues);
        }
        let netns = self.options.netns.clone();
        let trial = Some(Trial::of(&settings, true));
        let load = moonhook_load::Options { trial, ..settings.load.clone() };
        let sources = Sources { scripts, options: load, budget: settings.budget, contents, netns };
        let thread = LuaThread::load(sources.clone(), &self.inbox, None)?;
        let (fingerprint, files, queued) = (0, Vec::new(), Vec::new());
        let next = NextGeneration { thread, sources, settings, options, fingerprint, files, queued, entries };
        Ok((Begun::Reload(Box::new(next)), None))
    }

    /// Load time of a generation on its way has ended: what it gave is compiled. One that was given up is no concern any more.
    pub(crate) fn loaded(
        &mut self,
        id: LuaId,
        prepared: Result<Box<Prepared>, LoadError>,
    ) -> Result<(), SessionError> {
        let Some(Making { begun: Begun::Reload(next), thread, .. }) = &mut self.making else { return Ok(()) };
        if next.thread.id() != id {
            return Ok(());
        }
        let started = prepared.map_err(SessionError::from).and_then(|prepared| {
            let Prepared { snapshot, queued, is_over, fingerprint, files, load_time, .. } = *prepared;
            if is_over {
                // What runs goes on: nothing would be left of it.
                let script = next.sources.scripts.first().map(|script| script.to_string_lossy().into_owned());
                return Err(LoadError::NoHandler { script: script.unwrap_or_default() }.into());
            }
            (next.fingerprint, next.files, next.queued) = (fingerprint, files, queued);
            let earlier = Some(Heritage::of(&self.installed)?);
            let blueprint = Blueprint { snapshot, settings: next.settings.clone(), load_time, earlier };
            Order::New(Box::new(blueprint)).start(&self.inbox)
        });
        match started {
            Ok(compiling) => *thread = Some(compiling),
            Err(error) => self.give_up_making(&error)?,
        }
        Ok(())
    }

    fn give_up_making(&mut self, error: &SessionError) -> Result<(), SessionError> {
        let reply = self.making.take().and_then(|making| making.reply);
        self.control.hold(false);
        self.refused(error, reply)?;
        self.next_change()
    }

    /// What the thread has made is there: puts it in the place of the present program.
    pub(crate) fn made(&mut self, made: Result<Made, SessionError>) -> Result<(), SessionError> {
        let Some(Making { begun, mut reply, since, thread }) = self.making.take() else { return Ok(()) };
        let joined = thread.map_or(Ok(()), threads::join);
        let made = joined.and(made);
        let answer = match (begun, made) {
            (_, Err(error)) => Err(error),
            (Begun::Reload(next), Ok(Made::New(program))) => match self.connect(*next, *program) {
                Ok(next) => {
                    let begun = Begun::Connecting(Box::new(next));
                    self.making = Some(Making { begun, reply, since, thread: None });
                    return Ok(());
                }
                Err(error) => Err(error),
            },
            (Begun::List { table, list, entries }, Ok(Made::Again(kernel))) => {
                let replaced =
                    self.replace_map(&table, &list, entries, *kernel).map(|replaced| json!(replaced));
                if let (Ok(answer), Some(_)) = (&replaced, &self.installed.flows) {
                    let later = reply.take().map(|reply| Later::new(reply, answer.clone()));
                    self.control.remake_flows(later);
                }
                replaced
            }
            // Each order is answered by what was ordered.
            (_, Ok(_)) => Err(EngineError::NoProgram.into()),
        };
        self.end_making(answer, reply)
    }

    /// Whether a generation on its way is being connected on that thread.
    pub(crate) fn is_connecting(&self, id: LuaId) -> bool {
        self.making.as_ref().is_some_and(|making| making.is_connecting(id))
    }

    /// The Lua state of a generation on its way is connected with its program, which takes the place of the present one; but before that, it
    /// takes over what has become of flows meanwhile.
    pub(crate) fn connected(
        &mut self,
        id: LuaId,
        outcome: Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let taken = self.making.take_if(|making| making.is_connecting(id));
        let Some(Making { begun, reply, since, .. }) = taken else { return Ok(()) };
        let Begun::Connecting(mut next) = begun else { return Ok(()) };
        let has_flows = self.installed.flows.is_some() && next.installed.flows.is_some();
        let outcome = match outcome {
            Ok(()) if has_flows && !std::mem::replace(&mut next.has_caught_up, true) => {
                match next.generation.thread.work(Job::CatchUp(CatchUp::Before)) {
                    Ok(()) => {
                        self.control.hold(true);
                        let begun = Begun::Connecting(next);
                        self.making = Some(Making { begun, reply, since, thread: None });
                        return Ok(());
                    }
                    error => error,
                }
            }
            outcome => outcome,
        };
        let entries = next.generation.entries;
        let reloaded = outcome.and_then(|()| self.replace(*next, since));
        let answer = reloaded.map(|reloaded| match entries {
            Some(entries) => {
                json!(Replaced { entries, update: reloaded.timing.update, reloaded: Some(reloaded) })
            }
            None => json!(reloaded),
        });
        self.end_making(answer, reply)
    }

    fn end_making(
        &mut self,
        answer: Result<Value, SessionError>,
        reply: Option<Reply>,
    ) -> Result<(), SessionError> {
        self.control.hold(false);
        match (answer, reply) {
            (Ok(answer), Some(reply)) => reply.send(Ok(answer)),
            (Ok(_), None) => {}
            (Err(error), reply) => self.refused(&error, reply)?,
        }
        self.next_change()
    }

    /// Gives up what can come to no end: load time that goes on and on inside a function of the library, and what a thread has failed
    /// of without telling. Whoever waits is told, and the present program goes on.
    pub(crate) fn look_after_making(&mut self) -> Result<(), SessionError> {
        let Some(making) = &mut self.making else { return Ok(()) };
        if let Begun::Connecting(next) = &mut making.begun {
            let thread = &mut next.generation.thread;
            if let Err(error) = thread.look_after() {
                return self.give_up_making(&error);
            }
            if thread.exceeds(moonhook_control::Options::default().time_limit) {
                thread.leave_behind();
                return self.give_up_making(&SessionError::LuaGone);
            }
        }
        if let (Begun::Reload(next), None) = (&mut making.begun, &making.thread) {
            if let Err(error) = next.thread.look_after() {
                return self.give_up_making(&error);
            }
            if next.thread.overruns(&next.sources) {
                next.thread.leave_behind();
                let limit = next.sources.options.instruction_limit;
                return self.give_up_making(&LoadError::Instructions { limit, place: None }.into());
            }
        }
        match making.thread.take_if(|thread| thread.is_finished()).map_or(Ok(()), threads::join) {
            Ok(()) => Ok(()),
            Err(error) => self.give_up_making(&error),
        }
    }

    /// The present program goes on. Tells who waits, or everybody if nobody does.
    fn refused(&mut self, error: &SessionError, reply: Option<Reply>) -> Result<(), SessionError> {
        if let Some(reply) = reply {
            reply.send(Err(failure(error)));
            return Ok(());
        }
        self.publisher.publish(|| announce::refused_json(error));
        self.audience.refused(error)
    }
}
