//! One generation of a running script: the program in the kernel, and the thread that takes its records.

use crate::SessionError;
use crate::content::{Content, Earlier};
use crate::forwarding::{Forwarded, Forwarding};
use crate::inbox::Inbox;
use crate::inherit::Inheritance;
use crate::making::{Constant, Program};
use crate::object_maps::ObjectMap;
use crate::object_tables::{ObjectTable, ObjectTables};
use crate::threads;
use moonhook_control::{Connection, ControlError, FlowTables, Layout, SharedTable, Sweeper, table_named};
use moonhook_daemon::Name;
use moonhook_diagnostic::Diagnostic;
use moonhook_engine::{Choice, Timings};
use moonhook_engine::{FlowCompiler, Kernel};
use moonhook_flows::GRACE;
use moonhook_install::{ArenaSection, Events, InstallError};
use moonhook_records::{Counters, Message, Raised, RecordError};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a consumer waits for records before it looks whether it should end.
const NAP: Duration = Duration::from_millis(100);

/// A program in the kernel with what it takes to run and to replace it.
pub struct Installed {
    pub kernel: Kernel,
    pub tables: Vec<Arc<SharedTable>>,
    /// The maps of C objects, and what of them are tables.
    pub object_maps: Vec<ObjectMap>,
    pub object_tables: ObjectTables,
    /// Removes their entries whose time is over.
    pub sweeper: Sweeper,
    /// Its flow tables, if it has some, and who makes functions for another Lua state.
    pub flows: Option<(Arc<Mutex<FlowTables>>, FlowCompiler)>,
    /// What a Lua state is connected with.
    pub layout: Layout,
    pub timings: Timings,
    pub choice: Choice,
    /// What a person should know of the script, which runs all the same.
    pub warnings: Vec<Diagnostic>,
    pub content: Content,
    /// Every file that the script was made of.
    pub files: Vec<PathBuf>,
    /// Tables that handlers only read.
    pub constants: Vec<Constant>,
    /// Its code has what computes checksums anew from all bytes.
    pub sums_all: bool,
    /// What the consumer has seen of errors.
    raised: Arc<Mutex<Raised>>,
    /// How many records nobody can read any more, and copies of packets that are not sent.
    unread: Arc<AtomicU64>,
    consumer: Option<Consumer>,
}

impl Installed {
    /// What a person should know of the script, and of functions that flows have.
    pub fn all_warnings(&self) -> Vec<Diagnostic> {
        let flows = self
            .flows
            .as_ref()
            .map(|(tables, _)| tables.lock().unwrap_or_else(PoisonError::into_inner).warnings());
        self.warnings.iter().cloned().chain(flows.into_iter().flatten()).collect()
    }
}

/// The thread that takes records out of the ring; it ends soon after this is dropped.
struct Consumer {
    end: Arc<End>,
    thread: Option<JoinHandle<Result<(), InstallError>>>,
}

/// What a consumer is to do.
#[derive(Default)]
struct End {
    /// Take what is there, and end.
    wanted: AtomicBool,
    /// End now: the program goes on, and there may always be more.
    now: AtomicBool,
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.end.wanted.store(true, Ordering::Relaxed);
    }
}

/// What is to be done with a program before it is put into the hook.
pub struct Assembled {
    /// What it takes over.
    pub plan: Inheritance,
    /// For its Lua state.
    pub connection: Connection,
}

impl Installed {
    /// Takes the tables of a program that was made of what load time gave, and is to be attached to these interfaces.
    ///
    /// # Errors
    /// `Control`.
    pub fn assemble(
        program: Program,
        files: Vec<PathBuf>,
        interfaces: &[String],
    ) -> Result<(Installed, Assembled), SessionError> {
        let Program {
            mut kernel,
            module,
            owners,
            choice,
            content,
            plan,
            timings,
            constants,
            sums_all,
            flows,
            objects: object_maps,
            ..
        } = program;
        kernel.spread_over(interfaces);
        let mut connection = Connection::open(&module, &owners, &kernel.program)?;
        let flows = flows.map(|mut maker| (Arc::new(Mutex::new(FlowTables::open(&mut maker))), maker));
        let flow_tables = flows.as_ref().map(|(tables, maker)| (Arc::clone(tables), maker.again()));
        if let Some((tables, maker)) = flows {
            connection = connection.with_flows(tables, Box::new(maker));
        }
        let (tables, layout) = (connection.tables(), Layout::of(&module));
        let sweeper = Sweeper::new(&tables);
        let object_tables = ObjectTables::open(&object_maps, &kernel.program)?;
        let installed = Installed {
            kernel,
            tables,
            object_maps,
            object_tables,
            sweeper,
            flows: flow_tables,
            layout,
            timings,
            choice,
            warnings: module.warnings.clone(),
            content,
            files,
            constants,
            sums_all,
            raised: Arc::default(),
            unread: Arc::default(),
            consumer: None,
        };
        Ok((installed, Assembled { plan, connection }))
    }

    /// Whether anything of it goes on without the process, as `pinned` scripts are to.
    ///
    /// # Errors
    /// `NothingPinned`.
    pub fn check_pins(&self, pinned: bool, name: &Name) -> Result<(), SessionError> {
        match pinned && self.kernel.points().next().is_none() {
            true => Err(SessionError::NothingPinned { name: name.clone() }),
            false => Ok(()),
        }
    }

    /// The own name of the table that handlers only read and that has this name, its own or else a plain one, if there is one.
    pub fn constant(&self, name: &str) -> Option<&str> {
        let own = self.constants.iter().find(|constant| constant.own_name == name);
        let mut plain = self.constants.iter().filter(|constant| constant.name == name);
        match (own, plain.next(), plain.next()) {
            (Some(constant), ..) | (None, Some(constant), None) => Some(&constant.own_name),
            _ => None,
        }
    }

    /// The shared table of that name.
    ///
    /// # Errors
    /// `NoSuchTable`, `Ambiguous`.
    pub fn table(&self, name: &str) -> Result<&Arc<SharedTable>, ControlError> {
        table_named(&self.tables, name)
    }

    /// What a person calls so: a shared table, or else a map of a C object.
    ///
    /// # Errors
    /// `NoSuchTable`, `Ambiguous`; `OfMap` for a map that is no table.
    pub fn any_table(&self, name: &str) -> Result<AnyTable<'_>, SessionError> {
        let error = match self.table(name) {
            Ok(table) => return Ok(AnyTable::Shared(table)),
            Err(error) => error,
        };
        match (self.object_tables.named(name), error) {
            (Some(table), ControlError::NoSuchTable { .. }) => Ok(AnyTable::OfObject(table?)),
            (_, ControlError::NoSuchTable { name, mut existing }) => {
                existing.extend(self.object_tables.names());
                Err(ControlError::NoSuchTable { name, existing }.into())
            }
            (_, error) => Err(error.into()),
        }
    }

    /// Begins to take the handlers' records out of the ring, of scripts that were loaded with these options. What they forward is sent in that network namespace
    /// (`None`: the caller's).
    pub fn consume(
        &mut self,
        inbox: &Arc<Inbox>,
        load: &moonhook_load::Options,
        netns: Option<&str>,
    ) -> Result<(), SessionError> {
        let (decoder, receiver) = (self.kernel.decoder.clone(), Arc::clone(inbox));
        let raised = Arc::clone(&self.raised);
        let unread = Arc::clone(&self.unread);
        let mut forwarding = Forwarding::of(load, netns, Arc::clone(&self.unread));
        let receive = move |record: &[u8]| {
            let message = decoder.decode(record);
            if message.as_ref().is_err_and(RecordError::is_of_gone) {
                unread.fetch_add(1, Ordering::Relaxed);
                return;
            }
            if let Ok(Message::Error(failure)) = &message {
                raised.lock().unwrap_or_else(PoisonError::into_inner).note(&decoder, record, failure);
            }
            let forwarded = match (&mut forwarding, &message) {
                (Some(forwarding), Ok(Message::Event(notice))) => forwarding.take(notice),
                _ => Forwarded::Other,
            };
            match forwarded {
                Forwarded::Other => receiver.message(message),
                Forwarded::Done(remark) => remark.into_iter().for_each(|remark| receiver.message(Ok(remark))),
            }
        };
        let Some(events) = self.kernel.events(receive)? else { return Ok(()) };
        let end = Arc::<End>::default();
        let flag = Arc::clone(&end);
        let thread = threads::start("events", move || consume(events, &flag))?;
        self.consumer = Some(Consumer { end, thread: Some(thread) });
        Ok(())
    }

    /// What the program has counted.
    ///
    /// # Errors
    /// `Engine` where the kernel does not tell.
    pub fn counters(&self) -> Result<Counters, SessionError> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counters = self.kernel.counters()?;
        raised.name(&self.kernel.decoder, &mut counters);
        if self.kernel.points().next().is_none() {
            // Nothing is given to its program.
            counters.verdicts.clear();
        }
        counters.lost_events += self.unread.load(Ordering::Relaxed);
        Ok(counters)
    }

    /// Lets the consumer end when it has taken what is there.
    pub fn end_events(&self) {
        if let Some(consumer) = &self.consumer {
            consumer.end.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Lets the consumer end, whatever is there.
    pub fn cut_events(&self) {
        self.end_events();
        if let Some(consumer) = &self.consumer {
            consumer.end.now.store(true, Ordering::Relaxed);
        }
    }

    /// No more records come in.
    pub fn events_have_ended(&self) -> bool {
        let thread = self.consumer.as_ref().and_then(|consumer| consumer.thread.as_ref());
        thread.is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the consumer; what it failed of, if it did.
    pub fn join(&mut self) -> Result<(), SessionError> {
        let thread = self.consumer.as_mut().and_then(|consumer| consumer.thread.take());
        thread.map_or(Ok(()), |thread| Ok(threads::join(thread)??))
    }
}

/// A table as a person names it.
pub enum AnyTable<'a> {
    Shared(&'a Arc<SharedTable>),
    OfObject(&'a ObjectTable),
}

impl Earlier for Installed {
    fn content(&self) -> &Content {
        &self.content
    }

    fn map(&self, name: &str) -> Option<BorrowedFd<'_>> {
        self.kernel.program.map_fd(name).ok()
    }

    fn arena(&self) -> Option<ArenaSection> {
        self.kernel.program.arena_section()
    }
}

/// Takes records out of the ring until the end is wanted, and then the last ones.
fn consume(mut events: Events, end: &End) -> Result<(), InstallError> {
    while !end.wanted.load(Ordering::Relaxed) {
        events.poll(NAP)?;
    }
    while !end.now.load(Ordering::Relaxed) {
        if events.consume_some()? == 0 {
            break;
        }
    }
    Ok(())
}

/// A generation that was replaced. A processor may still be in the middle of a frame with it.
pub struct Retired {
    pub installed: Installed,
    since: Instant,
    /// The next generation counts verdicts in the same place.
    counts_go_on: bool,
}

impl Retired {
    pub fn new(installed: Installed, counts_go_on: bool) -> Retired {
        Retired { installed, since: Instant::now(), counts_go_on }
    }

    /// Adds what the generation has counted to what others have.
    pub fn add_to(&self, counters: &mut Counters) -> Result<(), SessionError> {
        let own = self.installed.counters()?;
        if self.counts_go_on {
            counters.add(&own)
        } else {
            counters.add_whole(&own)
        }
        Ok(())
    }

    /// Whether the generation has nothing more to say. To be called again and again.
    pub fn is_done(&self) -> bool {
        if self.since.elapsed() < GRACE {
            return false;
        }
        self.installed.end_events();
        self.installed.events_have_ended()
    }
}
