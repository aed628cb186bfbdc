//! The state and its turns: timers, signals and events, one function after another.

use crate::ControlError;
use crate::bound::Bound;
use crate::connection::{Connection, Made};
use crate::convert::{Space, value};
use crate::flows::Owner;
use crate::sending::sender;
use crate::signals::Seen;
use crate::sweep::Sweeper;
use crate::table::{SharedTable, table_named};
use crate::timers::Timers;
use mlua::{Function, Lua, MultiValue};
use moonhook_install::Program;
use moonhook_ir::Module;
use moonhook_load::{CallError, CallLimit, Loaded, Request, Signal, capture_print, captured_print};
use moonhook_schema::Datum;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What control code may use.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long one function may run, in time on a processor.
    pub time_limit: Duration,
    /// How many instructions a function may execute that a packet waits for.
    pub packet_steps: u64,
    /// How many functions have begun: who watches from another thread sees by it that one goes on and on.
    pub begun: Arc<AtomicU64>,
    /// The network namespace whose interfaces frames are sent by (`None`: the caller's).
    pub netns: Option<String>,
    /// Its turns remove entries whose time is over; else somebody else does ([`Sweeper`]).
    pub sweeps: bool,
}

impl Default for Options {
    /// Ten seconds, and a packet's 100,000 instructions.
    fn default() -> Self {
        Options {
            time_limit: Duration::from_secs(10),
            packet_steps: 100_000,
            begun: Arc::default(),
            netns: None,
            sweeps: true,
        }
    }
}

/// What comes out of control code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A line that it printed, without line end.
    Print(Vec<u8>),
    Error(CallError),
}

/// The Lua state of an installed script.
///
/// It belongs to one thread. Nothing happens by itself: [`Control::turn`] does what is due.
pub struct Control {
    pub(crate) loaded: Loaded,
    options: Options,
    pub(crate) space: Rc<Space>,
    pub(crate) bound: Bound,
    timers: Timers,
    listeners: Vec<(Vec<u8>, Function)>,
    signals: Vec<(Signal, Function)>,
    seen: Seen,
    sweeper: Sweeper,
    pub(crate) flows: Option<Rc<Owner>>,
}

impl Control {
    /// As [`Control::connect`], with a program that was made of `module`.
    ///
    /// # Errors
    /// `Install` where a map is not to be had, `State` where Lua has no memory left.
    pub fn new(
        loaded: Loaded,
        module: &Module,
        program: &Program,
        options: Options,
    ) -> Result<Control, ControlError> {
        let connection = Connection::open(module, &loaded.snapshot.owners, program)?;
        Control::connect(loaded, connection, options)
    }

    /// Connects the tables and variables of the scripts in `loaded` with those of the program that was made of its snapshot. What load
    /// time left in these tables is in the maps already; here it is forgotten.
    ///
    /// # Errors
    /// `State` where Lua has no memory left.
    pub fn connect(
        mut loaded: Loaded,
        connection: Connection,
        options: Options,
    ) -> Result<Control, ControlError> {
        let steppers = loaded.steppers.clone();
        let of_keys = Space::metatable_of_keys(&loaded.lua)?;
        let space = Rc::new(Space { steppers, of_keys, kinds: Default::default() });
        loaded.requests.read_proxies(Rc::new({
            let space = Rc::clone(&space);
            move |table| space.in_event(table)
        }));
        loaded.requests.send_frames(sender(options.netns.clone()));
        let (bound, flows) = Bound::make(&loaded, &space, connection)?;
        let (flows, earlier) = match (flows, loaded.base.take()) {
            (Some(Made { tables, maker, earlier }), Some(base)) => {
                let owner = Owner::new(tables, maker, base).counted_in(Arc::clone(&options.begun));
                (Some(Rc::new(owner)), earlier)
            }
            _ => (None, None),
        };
        loaded.forget_snapshot()?;
        let control = Control {
            loaded,
            sweeper: Sweeper::new(if options.sweeps { &bound.tables } else { &[] }),
            options,
            space,
            bound,
            timers: Timers::default(),
            listeners: Vec::new(),
            signals: Vec::new(),
            seen: Seen::default(),
            flows,
        };
        control.begin_flows(earlier)?;
        Ok(control)
    }

    /// The shared tables, in the order of the module.
    pub fn tables(&self) -> &[Arc<SharedTable>] {
        &self.bound.tables
    }

    /// As [`table_named`].
    ///
    /// # Errors
    /// `NoSuchTable`, `Ambiguous`.
    pub fn table(&self, name: &str) -> Result<&Arc<SharedTable>, ControlError> {
        table_named(&self.bound.tables, name)
    }

    /// Does what is due: requests of the scripts, signals, timers, each at most once, and a step of removing entries whose time is
    /// over. Gives when it should be called again at the latest; `None`: when something happens. What the functions print and all
    /// errors go to `report`.
    pub fn turn(&mut self, report: &mut dyn FnMut(Report)) -> Option<Instant> {
        let requests = self.loaded.requests.take();
        requests.into_iter().for_each(|request| self.begin(request, report));
        for (signal, function) in self.arrived() {
            self.perform(&function, &[Datum::Text(signal.name().into())], report);
        }
        let now = Instant::now();
        while let Some(function) = self.timers.take_due(now) {
            self.perform(&function, &[], report);
        }
        let (next_step, failed) = self.sweeper.step();
        if let Some(error) = failed {
            report(Report::Error(CallError { message: error.to_string(), traceback: Vec::new() }));
        }
        if !self.loaded.requests.is_empty() {
            return Some(Instant::now());
        }
        let flows = self.flows.as_ref().and_then(|owner| owner.turn(&self.loaded.flows));
        self.timers.next_due().into_iter().chain(next_step).chain(flows).min()
    }

    /// Calls those who listen to events of this name.
    pub fn event(&mut self, name: &[u8], values: &[Datum], report: &mut dyn FnMut(Report)) {
        self.event_with(name, |lua| values.iter().map(|datum| value(lua, datum)).collect(), report);
    }

    /// The same of an event whose values are made in the Lua state.
    pub fn event_with(
        &mut self,
        name: &[u8],
        arguments: impl Fn(&Lua) -> mlua::Result<MultiValue>,
        report: &mut dyn FnMut(Report),
    ) {
        // What was requested before is done before: the first event may come before the first turn.
        let requests = self.loaded.requests.take();
        requests.into_iter().for_each(|request| self.begin(request, report));
        for function in self.listening(name) {
            self.perform_with(&function, arguments(&self.loaded.lua), report);
        }
    }

    /// The names of events that somebody listens to.
    pub fn listened_to(&self) -> BTreeSet<Vec<u8>> {
        self.listeners.iter().map(|(name, _)| name.clone()).collect()
    }

    fn deliver(&mut self, name: &[u8], values: &[Datum], report: &mut dyn FnMut(Report)) {
        for function in self.listening(name) {
            self.perform(&function, values, report);
        }
    }

    fn listening(&self, name: &[u8]) -> Vec<Function> {
        let listeners = self.listeners.iter().filter(|(event, _)| event == name);
        listeners.map(|(_, function)| function.clone()).collect()
    }

    fn begin(&mut self, request: Request, report: &mut dyn FnMut(Report)) {
        match request {
            Request::Timer { id, delay, repeats, function } => {
                self.timers.add(id, Instant::now(), delay, repeats, function);
            }
            Request::Cancel { id } => self.timers.cancel(id),
            Request::Listen { event, function } => self.listeners.push((event, function)),
            Request::Signal { signal, function } => {
                if !self.signals.iter().any(|(known, _)| *known == signal) {
                    self.seen.watch(signal);
                }
                self.signals.push((signal, function));
            }
            Request::Event { name, values } => self.deliver(&name, &values, report),
        }
    }

    fn arrived(&mut self) -> Vec<(Signal, Function)> {
        let arrived = Signal::ALL.map(|signal| self.seen.has_arrived(signal));
        self.signals.iter().filter(|(signal, _)| arrived[*signal as usize]).cloned().collect()
    }

    /// Calls a function; whatever it does is reported.
    fn perform(&mut self, function: &Function, values: &[Datum], report: &mut dyn FnMut(Report)) {
        let arguments = values.iter().map(|datum| value(&self.loaded.lua, datum)).collect();
        self.perform_with(function, arguments, report);
    }

    fn perform_with(
        &mut self,
        function: &Function,
        arguments: mlua::Result<MultiValue>,
        report: &mut dyn FnMut(Report),
    ) {
        let (result, printed) = self.call(function, arguments);
        printed.into_iter().for_each(|line| report(Report::Print(line)));
        if let Err(error) = result {
            report(Report::Error(error));
        }
    }

    fn call(
        &self,
        function: &Function,
        arguments: mlua::Result<MultiValue>,
    ) -> (Result<MultiValue, CallError>, Vec<Vec<u8>>) {
        match arguments {
            Ok(arguments) => self.limited(function, arguments),
            Err(error) => {
                let error = CallError { message: error.to_string(), traceback: Vec::new() };
                (Err(error), Vec::new())
            }
        }
    }

    /// The state that the functions are of.
    pub fn lua(&self) -> &Lua {
        &self.loaded.lua
    }

    /// Calls a function within the limit of time; gives the lines that it printed too. Meanwhile the variables of the handlers are
    /// those of the Lua state.
    pub fn limited(
        &self,
        function: &Function,
        arguments: MultiValue,
    ) -> (Result<MultiValue, CallError>, Vec<Vec<u8>>) {
        self.call_within(function, arguments, CallLimit::Time(self.options.time_limit))
    }

    /// The same for a function that a packet waits for, within the limit of steps.
    pub fn limited_for_packet(
        &self,
        function: &Function,
        arguments: MultiValue,
    ) -> (Result<MultiValue, CallError>, Vec<Vec<u8>>) {
        self.call_within(function, arguments, CallLimit::Steps(self.options.packet_steps))
    }

    fn call_within(
        &self,
        function: &Function,
        arguments: MultiValue,
        limit: CallLimit,
    ) -> (Result<MultiValue, CallError>, Vec<Vec<u8>>) {
        let failed = |message| CallError { message, traceback: Vec::new() };
        self.options.begun.fetch_add(1, Ordering::Relaxed);
        let fetched = match self.bound.variables.fetch(&self.loaded.lua) {
            Ok(fetched) => fetched,
            Err(error) => return (Err(failed(error.to_string())), Vec::new()),
        };
        // Where there is no memory for an empty table, what is printed goes to standard output.
        let capturing = capture_print(&self.loaded.lua).is_ok();
        let result = self.loaded.call(function, arguments, Some(limit));
        let printed =
            if capturing { captured_print(&self.loaded.lua).unwrap_or_default() } else { Vec::new() };
        let published = self.bound.variables.publish(&self.loaded.lua, &fetched);
        (result.and_then(|results| published.map(|()| results).map_err(failed)), printed)
    }
}
