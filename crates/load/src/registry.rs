//! What scripts register while they are loaded: handlers, tables that are to be shared, and work for the time after.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::Options;
use crate::chains::Chains;
use crate::error::Refused;
use crate::flows::Flows;
use crate::kernel::Kernel;
use crate::lunatik::Lunatik;
use crate::object_maps::ObjectMaps;
use crate::packages::Packages;
use crate::receivers::Receivers;
use mlua::{Function, Lua, Table};
use moonhook_hook::{Hook, Point};
use moonhook_schema::{Datum, Declaration};
use moonhook_snapshot::Traced;

/// A handler as `attach` got it.
#[derive(Clone)]
pub(crate) struct Registration {
    pub point: Point,
    pub function: Function,
    /// The script's function, where that is another one.
    pub written: Option<Function>,
    /// What makes handlers of functions of its script, which is written for Lunatik.
    pub maker: Option<Table>,
    /// What such a script has given to `netfilter.register`.
    pub given: Option<Given>,
}

/// A table whose field `hook` is the handler.
#[derive(Clone)]
pub(crate) struct Given {
    pub table: Table,
    /// Where it was given: the file, and the line.
    pub at: Option<(String, u32)>,
}

impl Registration {
    pub fn new(point: Point, function: Function) -> Registration {
        Registration { point, function, written: None, maker: None, given: None }
    }

    /// The same handler somewhere else.
    pub fn moved_to(&self, point: Point) -> Registration {
        Registration { point, ..self.clone() }
    }
}

/// The handlers of all scripts in the order of registration.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    pub all: Rc<RefCell<Vec<Registration>>>,
    /// How many of them belong to scripts that have been loaded before the present one.
    pub earlier: usize,
}

/// Everything that is registered with one state. Clones are the same registry.
#[derive(Clone)]
pub(crate) struct Registry {
    /// The hook that `attach` registers for.
    pub chosen: &'static Hook,
    pub handlers: Handlers,
    /// For scripts that are written for Lunatik.
    pub lunatik: Option<Lunatik>,
    /// Where their modules are.
    pub root: Option<PathBuf>,
    pub declared: Declared,
    pub requests: Requests,
    /// Queues that `xsk.receive` has functions for.
    pub receivers: Receivers,
    /// Who knows the kernel, and what was asked of it.
    pub kernel: Arc<dyn Kernel>,
    pub packages: Arc<dyn Packages>,
    /// Names that stand for texts in scripts of eCLAT.
    pub defines: Arc<[(String, String)]>,
    /// What the scripts are run on.
    pub interfaces: Arc<[String]>,
    pub traced: Rc<RefCell<Traced>>,
    pub refusals: Refusals,
    pub flows: Flows,
    pub chains: Chains,
    pub object_maps: ObjectMaps,
}

impl Registry {
    pub fn new(chosen: &'static Hook, options: &Options) -> Registry {
        Registry {
            chosen,
            handlers: Handlers::default(),
            lunatik: options.root.is_some().then(Lunatik::default),
            root: options.root.clone(),
            declared: Declared::default(),
            requests: Requests::default(),
            receivers: Receivers::default(),
            kernel: Arc::clone(&options.kernel),
            packages: Arc::clone(&options.packages),
            defines: options.defines.as_slice().into(),
            interfaces: options.interfaces.as_slice().into(),
            traced: Rc::default(),
            refusals: Refusals::default(),
            flows: Flows::default(),
            chains: Chains::default(),
            object_maps: ObjectMaps::default(),
        }
    }
}

/// Errors about the kernel that functions have raised, by their messages: a message of Lua's has no room for all that is to be said.
#[derive(Clone, Default)]
pub(crate) struct Refusals(Rc<RefCell<Vec<(String, Refused)>>>);

impl Refusals {
    pub fn note(&self, message: &str, refused: Refused) {
        self.0.borrow_mut().push((message.to_string(), refused));
    }

    /// What belongs to a message.
    pub fn of(&self, message: &str) -> Option<Refused> {
        self.0.borrow().iter().find(|(known, _)| known == message).map(|(_, refused)| refused.clone())
    }
}

/// The tables that `map{…}` and its like have made.
#[derive(Clone, Default)]
pub(crate) struct Declared {
    tables: Rc<RefCell<HashMap<*const c_void, (Table, Declaration)>>>,
    closed: Rc<Cell<bool>>,
}

impl Declared {
    /// Remembers a table, which is held so that its address is not used twice.
    ///
    /// # Errors
    /// Load time is over.
    pub fn add(&self, table: &Table, declaration: Declaration) -> Result<(), String> {
        if self.closed.get() {
            return Err("shared tables are made at load time, before packets arrive".into());
        }
        self.tables.borrow_mut().insert(table.to_pointer(), (table.clone(), declaration));
        Ok(())
    }

    /// Whether load time is over.
    pub fn is_closed(&self) -> bool {
        self.closed.get()
    }

    pub fn of(&self, table: &Table) -> Option<Declaration> {
        self.tables.borrow().get(&table.to_pointer()).map(|(_, declaration)| declaration.clone())
    }

    /// Ends load time: the tables are what they are now.
    pub fn close(&self) {
        self.closed.set(true);
        self.tables.borrow_mut().clear();
    }
}

/// What a script wants to be done while its handlers run.
#[derive(Clone, Debug)]
pub enum Request {
    /// Call `function` when `delay` has passed and, if it `repeats`, again and again after that time.
    Timer { id: u64, delay: Duration, repeats: bool, function: Function },
    /// Forget the timer of that number, if there is one.
    Cancel { id: u64 },
    /// Call `function` with the values of each event of this name.
    Listen { event: Vec<u8>, function: Function },
    /// Call `function` with the signal's name each time the process gets the signal.
    Signal { signal: Signal, function: Function },
    /// An event of the script's own, for those who listen: values that handlers can send too.
    Event { name: Vec<u8>, values: Vec<Datum> },
}

/// Signals that scripts can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    Hangup,
    User1,
    User2,
}

impl Signal {
    pub const ALL: [Signal; 3] = [Signal::Hangup, Signal::User1, Signal::User2];

    /// `HUP`, `USR1`, `USR2`.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Hangup => "HUP",
            Signal::User1 => "USR1",
            Signal::User2 => "USR2",
        }
    }
}

/// The requests that nobody has taken yet. Functions of the scripts may add to them at any time. Clones are the same list.
#[derive(Clone, Default)]
pub struct Requests {
    waiting: Rc<RefCell<Vec<Request>>>,
    timers: Rc<Cell<u64>>,
    events_as_lines: Rc<Cell<bool>>,
    sender: Rc<RefCell<Option<Rc<Send>>>>,
    proxies: Rc<RefCell<Option<Rc<ReadProxy>>>>,
}

/// What events carry of a table that is a proxy.
#[derive(Clone, Debug)]
pub enum Proxied {
    Value(Datum),
    /// The fields of another table.
    Fields(Table),
    /// Nothing: sending it is an error.
    Nothing,
}

/// An interface that a frame is to leave by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Port {
    Name(String),
    Number(u32),
}

/// Sends a frame; else says what is wrong.
pub type Send = dyn Fn(&Port, &[u8]) -> Result<(), String>;

/// What a table stands for; `None` if it is no proxy.
pub type ReadProxy = dyn Fn(&Table) -> Option<Proxied>;

impl Requests {
    pub(crate) fn add(&self, request: Request) {
        self.waiting.borrow_mut().push(request);
    }

    /// From now on events are lines of what is printed, `event`, name and values with tabs between them, and no requests.
    pub fn print_events(&self) {
        self.events_as_lines.set(true);
    }

    /// From now on, events carry what `read` says that a proxy stands for.
    pub fn read_proxies(&self, read: Rc<ReadProxy>) {
        self.proxies.replace(Some(read));
    }

    /// From now on, `xsk.send` sends frames in this way.
    pub fn send_frames(&self, send: Rc<Send>) {
        self.sender.replace(Some(send));
    }

    /// How frames are sent, if they can be.
    pub(crate) fn sender(&self) -> Option<Rc<Send>> {
        self.sender.borrow().clone()
    }

    /// What events carry of a table that is a proxy, see [`ReadProxy`].
    pub(crate) fn proxy(&self, table: &Table) -> Option<Proxied> {
        let read = self.proxies.borrow().clone();
        read.and_then(|read| read(table))
    }

    /// An event of a name and values.
    pub(crate) fn event(&self, lua: &Lua, name: Vec<u8>, values: Vec<Datum>) -> mlua::Result<()> {
        if !self.events_as_lines.get() {
            self.add(Request::Event { name, values });
            return Ok(());
        }
        let mut line = [b"event\t".to_vec(), name].concat();
        for value in &values {
            line.push(b'\t');
            line.extend(value.line());
        }
        crate::print::capture_line(lua, &line)
    }

    /// Whether something is to be called for events of that name.
    pub(crate) fn listens_to(&self, name: &[u8]) -> bool {
        let is_meant = |request: &Request| matches!(request, Request::Listen { event, .. } if event == name);
        self.waiting.borrow().iter().any(is_meant)
    }

    /// A number for a new timer, from 1.
    pub(crate) fn new_timer(&self) -> u64 {
        self.timers.set(self.timers.get() + 1);
        self.timers.get()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// The functions that what was requested is about, in order.
    pub fn functions(&self) -> Vec<Function> {
        let function = |request: &Request| match request {
            Request::Timer { function, .. }
            | Request::Listen { function, .. }
            | Request::Signal { function, .. } => Some(function.clone()),
            Request::Cancel { .. } | Request::Event { .. } => None,
        };
        self.waiting.borrow().iter().filter_map(function).collect()
    }

    /// What was requested since the last time, in order.
    pub fn take(&self) -> Vec<Request> {
        self.waiting.take()
    }
}
