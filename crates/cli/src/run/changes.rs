//! Changes of the program: reloads, and tables whose content is replaced. One at a time, in the order in which they were wanted.
//!
//! What needs the Lua state happens here, on the main thread: running the scripts at the beginning, and at the end connecting
//! the new program's tables and updating the link. Compiling and the verifier's work come in between, on a thread of their own
//! ([`Order`]); requests and messages are seen to meanwhile.

use super::content::Content;
use super::inherit;
use super::installed::{Installed, Retired};
use super::lists::is_like;
use super::making::{Heritage, Made, Order, Program};
use super::reporter;
use super::service::failure;
use super::session::Session;
use crate::CliError;
use crate::kernel::Kernel;
use moonhook_control::SharedTable;
use moonhook_daemon::{Failure, Reloaded, Replaced, Reply, Timing};
use moonhook_engine::timed;
use moonhook_load::Loaded;
use serde_json::json;
use std::path::PathBuf;
use std::rc::Rc;
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
    Reload { scripts: Option<Vec<PathBuf>> },
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
    thread: Option<JoinHandle<()>>,
}

enum Begun {
    Reload {
        scripts: Vec<PathBuf>,
        loaded: Box<Loaded>,
        /// How many entries a table was given.
        entries: Option<u64>,
    },
    List {
        table: String,
        list: SharedTable,
        entries: u64,
    },
}

impl Session<'_> {
    /// Has the change made when those before it are.
    pub fn want(&mut self, wanted: Wanted, reply: Option<Reply>) -> Result<(), CliError> {
        self.changes.push_back(Change { wanted, reply, since: Instant::now() });
        self.next_change()
    }

    /// The files have changed: once more is enough.
    pub fn files_changed(&mut self) -> Result<(), CliError> {
        match self.changes.iter().any(|change| change.reply.is_none()) {
            true => Ok(()),
            false => self.want(Wanted::Reload { scripts: None }, None),
        }
    }

    fn next_change(&mut self) -> Result<(), CliError> {
        while self.making.is_none()
            && let Some(Change { wanted, reply, since }) = self.changes.pop_front()
        {
            let started =
                self.begin(wanted).and_then(|(begun, order)| Ok((begun, order.start(&self.inbox)?)));
            match started {
                Ok((begun, thread)) => {
                    self.making = Some(Making { begun, reply, since, thread: Some(thread) });
                }
                Err(error) => self.refused(&error, reply)?,
            }
        }
        Ok(())
    }

    fn begin(&mut self, wanted: Wanted) -> Result<(Begun, Order), CliError> {
        let (scripts, contents, entries) = match wanted {
            Wanted::List { table, list, entries } => {
                // A reload that was wanted before may have given it another shape.
                if !is_like(&self.installed, &table, &list) {
                    return Err(CliError::NoList { table });
                }
                let map = list.map();
                let order = self.installed.kernel.again(map.name(), map.as_fd())?;
                return Ok((Begun::List { table, list, entries }, Order::Again(order)));
            }
            Wanted::Reload { scripts } => (scripts, Vec::new(), None),
            Wanted::Constant { content, entries } => (None, vec![content], Some(entries)),
        };
        let scripts = scripts.unwrap_or_else(|| self.scripts.clone());
        let earlier = Some(Heritage::of(&self.installed)?);
        let json = self.arguments.json;
        let (loaded, blueprint) = Installed::prepare(&scripts, &self.settings, json, &contents, earlier)?;
        Ok((Begun::Reload { scripts, loaded: Box::new(loaded), entries }, Order::New(Box::new(blueprint))))
    }

    /// What the thread has made is there: puts it in the place of the present program.
    pub fn made(&mut self, made: Result<Made, Box<Failure>>) -> Result<(), CliError> {
        let Some(Making { begun, reply, since, thread }) = self.making.take() else { return Ok(()) };
        if let Some(Err(panic)) = thread.map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        let answer = match (begun, made) {
            (_, Err(failure)) => Err(CliError::Remote(failure)),
            (Begun::Reload { scripts, loaded, entries }, Ok(Made::New(program))) => {
                let reloaded = self.replace(scripts, *loaded, *program, since);
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
            (_, Ok(_)) => Err(CliError::NoProgram),
        };
        match (answer, reply) {
            (Ok(answer), Some(reply)) => reply.send(Ok(answer)),
            (Ok(_), None) => {}
            (Err(error), reply) => self.refused(&error, reply)?,
        }
        self.next_change()
    }

    /// A thread that has come to grief takes the process along, as other threads do.
    pub fn look_after_making(&mut self) {
        let Some(making) = &mut self.making else { return };
        if let Some(thread) = making.thread.take_if(|thread| thread.is_finished())
            && let Err(panic) = thread.join()
        {
            std::panic::resume_unwind(panic);
        }
    }

    /// The present program goes on. Tells who waits, or everybody if nobody does.
    fn refused(&mut self, error: &CliError, reply: Option<Reply>) -> Result<(), CliError> {
        if let Some(reply) = reply {
            reply.send(Err(failure(error)));
            return Ok(());
        }
        self.publisher.publish(|| reporter::refused_json(error));
        self.reporter.refused(error)
    }

    /// Puts a new generation in the place of the present one.
    fn replace(
        &mut self,
        scripts: Vec<PathBuf>,
        loaded: Loaded,
        program: Program,
        since: Instant,
    ) -> Result<Reloaded, CliError> {
        let (mut next, plan) = Installed::assemble(loaded, program)?;
        next.consume(&self.inbox)?;
        inherit::copy_variables(&plan, &self.installed, &next.kernel)?;
        let update = self.update(&next.content, &next.kernel, &scripts)?;
        let total = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let verify = next.timings.kernel_load.unwrap_or(0);
        let timing = Timing { compile: next.timings.total - verify, verify, update, total };
        let before = std::mem::replace(&mut self.installed, next);
        self.retired.push(Retired::new(before));
        self.dumps.clear();
        (self.scripts, self.reloads) = (scripts, self.reloads + 1);
        self.keep_lists();
        if let Some(watcher) = &self.watcher {
            watcher.watch(&self.installed.files);
        }
        let shown = self.scripts.iter().map(|script| script.to_string_lossy().into_owned());
        let reloaded = Reloaded {
            scripts: shown.collect(),
            form: reporter::form(&self.installed.choice),
            tables: plan.tables,
            variables: plan.variables,
            timing,
        };
        self.publisher.publish(|| reporter::reloaded_json(&reloaded));
        self.reporter.reloaded(&reloaded)?;
        Ok(reloaded)
    }

    /// Updates the link; gives how long that took, in microseconds.
    ///
    /// # Errors
    /// What the kernel refuses; the present program stays.
    fn update(&mut self, content: &Content, kernel: &Kernel, scripts: &[PathBuf]) -> Result<u64, CliError> {
        // What is pinned is there before the program is: nothing can fail behind the update.
        self.keep_pins(content, kernel, scripts)?;
        let mut update = 0;
        if let Err(error) = timed(&mut update, || self.link.update(&kernel.program, &kernel.name)) {
            self.keep_pins(&self.installed.content, &self.installed.kernel, &self.scripts)?;
            return Err(error.into());
        }
        self.tidy_pins()?;
        Ok(update)
    }

    /// Puts the present program with another map in its own place. Its old self has nothing of its own but the old map.
    fn replace_map(
        &mut self,
        name: &str,
        list: &SharedTable,
        entries: u64,
        kernel: Kernel,
    ) -> Result<Replaced, CliError> {
        let table = Rc::clone(self.installed.control.table(name)?);
        let (content, scripts) = (self.installed.content.clone(), self.scripts.clone());
        let update = self.update(&content, &kernel, &scripts)?;
        table.become_like(list);
        let before = std::mem::replace(&mut self.installed.kernel, kernel);
        self.installed.kernel.program.succeed(before.program)?;
        self.publisher.publish(|| reporter::replaced_json(name, entries));
        self.reporter.replaced(name, entries)?;
        Ok(Replaced { entries, reloaded: None, update })
    }
}
