//! Changes of the program: reloads, and tables whose content is replaced. One at a time, in the order in which they were wanted.
//!
//! A reload begins with load time, on the thread that has the new Lua state ([`LuaThread`]). Compiling and the verifier's work come next,
//! on a thread of their own ([`Order`]). Here, on the main thread, the new program is connected with its Lua state and put into the
//! hook; requests and messages are seen to meanwhile.

use crate::SessionError;
use crate::announce;
use crate::attachments::Attachments;
use crate::content::Content;
use crate::control_code::ControlCode;
use crate::exchange::exchange;
use crate::inherit;
use crate::installed::{Assembled, Installed, Retired};
use crate::lists::is_like;
use crate::lua_thread::{LuaId, LuaThread, Prepared, Sources};
use crate::making::{Blueprint, Heritage, Made, Order, Program};
use crate::service::failure;
use crate::session::{Session, record};
use crate::threads;
use moonhook_control::{KeptFlows, SharedTable};
use moonhook_daemon::{FlowsKept, Reloaded, Replaced, Reply, Timing};
use moonhook_engine::{EngineError, Kernel, Settings};
use moonhook_load::LoadError;
use serde_json::json;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
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
    /// A shared table in the map of `list`, to which so many entries were given.
    List { table: String, list: SharedTable, entries: u64 },
    /// The scripts compiled anew, with this content of a table that handlers only read.
    Constant { content: moonhook_load::Content, entries: u64 },
}

/// A change whose program is being made.
pub struct Making {
    begun: Begun,
    reply: Option<Reply>,
    since: Instant,
    /// The thread that compiles, once there is something to be compiled.
    thread: Option<JoinHandle<()>>,
}

enum Begun {
    Reload(Box<NextGeneration>),
    List { table: String, list: SharedTable, entries: u64 },
}

/// A generation on its way.
struct NextGeneration {
    thread: LuaThread,
    sources: Sources,
    settings: Settings,
    /// Of the snapshot, when there is one.
    fingerprint: u64,
    files: Vec<PathBuf>,
    /// How many entries a table was given.
    entries: Option<u64>,
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
            Wanted::Constant { content, entries } => (None, Vec::new(), vec![content], Some(entries)),
        };
        let scripts = scripts.unwrap_or_else(|| self.scripts.clone());
        let mut settings = self.settings.clone();
        settings.load.allow_read.extend(allow_read);
        let netns = self.options.netns.clone();
        let sources = Sources { scripts, options: settings.load.clone(), contents, netns };
        let thread = LuaThread::load(sources.clone(), &self.inbox)?;
        let (fingerprint, files) = (0, Vec::new());
        let next = NextGeneration { thread, sources, settings, fingerprint, files, entries };
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
            let Prepared { snapshot, fingerprint, files, load_time } = *prepared;
            (next.fingerprint, next.files) = (fingerprint, files);
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
        self.refused(error, reply)?;
        self.next_change()
    }

    /// What the thread has made is there: puts it in the place of the present program.
    pub(crate) fn made(&mut self, made: Result<Made, SessionError>) -> Result<(), SessionError> {
        let Some(Making { begun, reply, since, thread }) = self.making.take() else { return Ok(()) };
        let joined = thread.map_or(Ok(()), threads::join);
        let made = joined.and(made);
        let answer = match (begun, made) {
            (_, Err(error)) => Err(error),
            (Begun::Reload(next), Ok(Made::New(program))) => {
                let entries = next.entries;
                let reloaded = self.replace(*next, *program, since);
                reloaded.map(|reloaded| match entries {
                    Some(entries) => {
                        json!(Replaced { entries, update: reloaded.timing.update, reloaded: Some(reloaded) })
                    }
                    None => json!(reloaded),
                })
            }
            (Begun::List { table, list, entries }, Ok(Made::Again(kernel))) => {
                self.replace_map(&table, &list, entries, *kernel).map(|replaced| json!(replaced))
            }
            // Each order is answered by what was ordered.
            (_, Ok(_)) => Err(EngineError::NoProgram.into()),
        };
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

    /// Puts a new generation in the place of the present one.
    fn replace(
        &mut self,
        generation: NextGeneration,
        program: Program,
        since: Instant,
    ) -> Result<Reloaded, SessionError> {
        let NextGeneration { thread, sources, settings, fingerprint, files, .. } = generation;
        let (mut next, Assembled { plan, connection }) =
            Installed::assemble(program, files, &self.options.interfaces)?;
        let earlier = self.installed.flows.as_ref().map(|(tables, _)| Arc::clone(tables));
        thread.connect(connection.with_earlier_flows(earlier))?;
        let scripts = sources.scripts.clone();
        next.consume(&self.inbox)?;
        let copied = inherit::copy_variables(&plan, &self.installed, &next.kernel)?;
        let update = self.update(&next.content, &next.kernel, &scripts)?;
        // The new programs run by now, whatever comes of this.
        if let Err(error) = inherit::add_late(&copied, &self.installed, &next.kernel) {
            self.complain(error.to_string())?;
        }
        let total = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let verify = next.timings.kernel_load.unwrap_or(0);
        let timing = Timing { compile: next.timings.total - verify, verify, update, total };
        let before = std::mem::replace(&mut self.installed, next);
        self.retired.push(Retired::new(before, plan.counts_go_on));
        self.leave_batch()?;
        let control = ControlCode::new(thread, sources, fingerprint);
        self.retired_control.extend(std::mem::replace(&mut self.control, control).retire());
        self.settings = settings;
        self.dumps.clear();
        (self.scripts, self.reloads) = (scripts, self.reloads + 1);
        self.keep_lists();
        if let Some(watcher) = &self.watcher {
            watcher.watch(&self.installed.files);
        }
        let flows = self.kept_flows();
        let shown = self.scripts.iter().map(|script| script.to_string_lossy().into_owned());
        let reloaded = Reloaded {
            scripts: shown.collect(),
            form: announce::form(&self.installed.choice),
            tables: plan.tables,
            variables: plan.variables,
            flows,
            warnings: self.installed.warnings.iter().map(announce::remark).collect(),
            timing,
        };
        self.publisher.publish(|| announce::reloaded_json(&reloaded));
        self.audience.reloaded(&reloaded)?;
        Ok(reloaded)
    }

    /// What was taken over of the flows of the program before.
    fn kept_flows(&self) -> Vec<FlowsKept> {
        let Some((tables, _)) = &self.installed.flows else { return Vec::new() };
        let kept = tables.lock().unwrap_or_else(PoisonError::into_inner).take_kept();
        kept.into_iter()
            .map(|KeptFlows { table, kept, lost, why }| FlowsKept { name: table, kept, lost, why })
            .collect()
    }

    /// Updates the links; gives how long that took, in microseconds.
    ///
    /// # Errors
    /// What the kernel refuses; the present program stays.
    fn update(
        &mut self,
        content: &Content,
        kernel: &Kernel,
        scripts: &[PathBuf],
    ) -> Result<u64, SessionError> {
        let (options, pins) = (&self.options, self.pins.as_ref());
        self.interfaces.tell(kernel, options.netns.as_deref())?;
        let connected = self.sockets.connect(kernel, options, &mut self.frames, &self.inbox);
        let record = |attachments: &Attachments| record(options, attachments, kernel, content, scripts);
        let exchanged =
            connected.and_then(|()| exchange(&mut self.attachments, kernel, options, pins, record));
        let stays = if exchanged.is_ok() { kernel } else { &self.installed.kernel };
        self.sockets.keep(stays, options, &mut self.frames);
        let exchanged = exchanged?;
        if let Some(complaint) = exchanged.complaint {
            self.complain(complaint.to_string())?;
        }
        self.frames.follow(self.attachments.links(), &self.inbox)?;
        if let Err(error) = self.peers.follow(&self.options, self.attachments.links(), kernel) {
            self.complain(error.to_string())?;
        }
        Ok(exchanged.microseconds)
    }

    /// Puts the present program with another map in its own place. Its old self has nothing of its own but the old map.
    fn replace_map(
        &mut self,
        name: &str,
        list: &SharedTable,
        entries: u64,
        kernel: Kernel,
    ) -> Result<Replaced, SessionError> {
        let table = Arc::clone(self.installed.table(name)?);
        let (content, scripts) = (self.installed.content.clone(), self.scripts.clone());
        let update = self.update(&content, &kernel, &scripts)?;
        table.become_like(list);
        let before = std::mem::replace(&mut self.installed.kernel, kernel);
        self.installed.kernel.program.succeed(before.program)?;
        if let Some((_, maker)) = &self.installed.flows {
            maker.follow(&self.installed.kernel)?;
            self.control.remake_flows();
        }
        self.publisher.publish(|| announce::replaced_json(name, entries));
        self.audience.replaced(name, entries)?;
        Ok(Replaced { entries, reloaded: None, update })
    }
}
