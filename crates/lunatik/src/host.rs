//! What all states have in common: a "kernel" of Lunatik.

use std::fmt::{self, Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use mlua::{AnyUserData, Function, Lua, Table, Value};

use crate::arguments;
use crate::endings::Endings;
use crate::extension::Extension;
use crate::finalizers;
use crate::layouts;
use crate::pool::Pool;
use crate::probes::{Counting, Watch};
use crate::runtime::{Context, Runtime};
use crate::share::{Shared, Sharers};
use crate::state::{self, Call, Local, text};
use crate::table::Table as Environment;
use crate::task::{GRACE, Task};

/// Where lines go to.
pub type Output = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Puts the constants of the kernel's headers that a module has by that name into a table; says whether there are any.
pub type Constants = fn(&Lua, &str, &Table) -> mlua::Result<bool>;

/// A module in Rust.
pub(crate) struct Module {
    pub name: &'static str,
    pub open: fn(&Lua, &Arc<Host>) -> mlua::Result<Table>,
    /// The object of its class that a value is, where states share those.
    pub shared: Option<fn(&AnyUserData) -> Option<Shared>>,
}

/// All modules.
#[derive(Clone)]
pub(crate) struct Modules {
    pub rust: &'static [Module],
    /// Those in Lua: their names and texts.
    pub lua: &'static [(&'static str, &'static str)],
    /// Those that others have, for the states of runtimes.
    pub extensions: Arc<[Extension]>,
}

/// How many times as much memory as one state may have all have together.
const SHARE: usize = 4;

/// How many states of runtimes there are at once, at the utmost.
const STATES: usize = 1000;

/// Counts as a state of a runtime until it is dropped.
pub(crate) struct Counted(Arc<Host>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.states.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What is to be done in a state that others have made; `None` is the end.
struct Calls(Receiver<Option<Call>>);

/// What all states have in common.
pub struct Host {
    root: PathBuf,
    /// How many bytes a state may have; 0: any number.
    memory: usize,
    /// What states of runtimes have together, with buffers of all scripts.
    pool: Arc<Pool>,
    /// How many states of runtimes there are, whether somebody has them still or not.
    states: AtomicUsize,
    modules: Modules,
    constants: Constants,
    output: Output,
    warnings: Arc<Output>,
    watch: Arc<Watch>,
    environment: Arc<Environment>,
    runtimes: Mutex<Vec<Weak<Runtime>>>,
    /// Functions of scripts in states that others have made.
    mains: Mutex<Vec<Arc<Task>>>,
    /// What ends the serving of states that others have made.
    stops: Mutex<Vec<Sender<Option<Call>>>>,
    /// What such states have begun that ends before them.
    endings: Arc<Endings>,
    /// Such a function is at work.
    is_busy: AtomicBool,
    /// All is to end: nothing new begins.
    is_over: AtomicBool,
    /// What states are for that others have made.
    context: Mutex<Context>,
    /// Such a state is served.
    is_served: AtomicBool,
    /// Since when the present call of a state that is served is at work.
    called: Mutex<Option<Instant>>,
}

impl Debug for Host {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Host {
    /// Scripts and modules of theirs are in `root`. `output` gets what scripts print, `warnings` errors of threads.
    pub(crate) fn new(
        root: PathBuf,
        modules: Modules,
        constants: Constants,
        (output, warnings): (Output, Output),
        counting: Arc<dyn Counting>,
        memory: usize,
    ) -> Arc<Host> {
        let warnings = Arc::new(warnings);
        Arc::new(Host {
            watch: Watch::new(counting, Arc::clone(&warnings)),
            root,
            memory,
            pool: Pool::new(memory.saturating_mul(SHARE)),
            states: AtomicUsize::new(0),
            modules,
            constants,
            output,
            warnings,
            environment: Arc::default(),
            runtimes: Mutex::default(),
            mains: Mutex::default(),
            stops: Mutex::default(),
            endings: Arc::default(),
            is_busy: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            context: Mutex::default(),
            is_served: AtomicBool::new(false),
            called: Mutex::default(),
        })
    }

    pub(crate) fn modules(&self) -> &Modules {
        &self.modules
    }

    /// What a state has to know of objects that others share with it.
    pub(crate) fn sharers(&self) -> Sharers {
        Sharers(self.modules.rust.iter().filter_map(|module| module.shared).collect())
    }

    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// One more state; `None` if there are too many, or all have to end.
    pub(crate) fn count(self: &Arc<Host>) -> Option<Counted> {
        let more = |states: usize| Some(states + 1).filter(|states| *states <= STATES);
        let counted = self.states.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        counted.ok().map(|_| Counted(Arc::clone(self)))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }

    /// What looks after the probes of all states.
    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    pub(crate) fn print(&self, line: &[u8]) {
        (self.output)(line);
    }

    pub(crate) fn warn(&self, line: &str) {
        (self.warnings)(line.as_bytes());
    }

    pub(crate) fn add(&self, runtime: &Arc<Runtime>) {
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        runtimes.retain(|runtime| runtime.strong_count() > 0);
        runtimes.push(Arc::downgrade(runtime));
        // Who ends all runtimes may have looked already.
        if self.is_over.load(Ordering::Relaxed) {
            runtime.ask_to_stop();
        }
    }

    /// The module of constants of that name, if there is one.
    pub(crate) fn constants(&self, lua: &Lua, name: &str) -> mlua::Result<Option<Table>> {
        let table = lua.create_table()?;
        Ok((self.constants)(lua, name, &table)?.then_some(table))
    }

    pub(crate) fn fill(&self, lua: &Lua, name: &str, table: &Table) -> mlua::Result<()> {
        (self.constants)(lua, name, table).map(drop)
    }

    /// What states are for that others make from now on.
    pub fn set_context(&self, context: Context) {
        *self.context.lock().unwrap_or_else(PoisonError::into_inner) = context;
    }

    /// Puts the modules into a state that somebody else has made, with these global variables. Modules that are there already get what they lack;
    /// those of objects that states share take their places.
    ///
    /// # Errors
    /// There is no memory.
    pub fn open(self: &Arc<Host>, lua: &Lua, globals: &Table) -> mlua::Result<()> {
        arguments::prepare(lua)?;
        layouts::prepare(lua)?;
        lua.set_app_data(self.sharers());
        if lua.app_data_ref::<Local>().is_none() {
            let (calls, called) = channel();
            self.stops.lock().unwrap_or_else(PoisonError::into_inner).push(calls.clone());
            let caller = Arc::new(move |call| calls.send(Some(call)).is_ok());
            let context = *self.context.lock().unwrap_or_else(PoisonError::into_inner);
            lua.set_app_data(Local::with(caller, Arc::clone(&self.endings), context));
            lua.set_app_data(Calls(called));
        }
        let require: Function = globals.get("require")?;
        let package: Table = globals.get("package")?;
        let (loaded, preload): (Table, Table) = (package.get("loaded")?, package.get("preload")?);
        for module in self.modules.rust {
            let table = (module.open)(lua, self)?;
            let there = require.call::<Table>(module.name).ok();
            let table = match there {
                Some(there) if !matches!(module.name, "rcu" | "data") => {
                    for pair in table.pairs::<Value, Value>() {
                        let (name, value) = pair?;
                        if there.raw_get::<Value>(&name)?.is_nil() {
                            there.raw_set(name, value)?;
                        }
                    }
                    there
                }
                _ => table,
            };
            loaded.raw_set(module.name, table)?;
        }
        for (name, text) in self.modules.lua {
            let chunk = lua.load(*text).set_name(format!("={name}")).set_environment(globals.clone());
            preload.raw_set(*name, chunk.into_function()?)?;
        }
        state::open_libraries(lua, globals)?;
        globals.raw_set("print", state::print(lua, self)?)?;
        globals.raw_set("_LUNATIK_VERSION", "Lunatik 4.4")
    }

    /// What a state that somebody else has made has its finalizers set by, once: a function of a table and a metatable with `__gc`, which sets it.
    ///
    /// # Errors
    /// There is no memory.
    pub fn finalizers(self: &Arc<Host>, lua: &Lua) -> mlua::Result<Function> {
        finalizers::install(lua, self)
    }

    /// Calls what finalizers are left in such a state, which nobody uses any more. Ends those that go on for longer; says whether none did.
    pub fn finish(&self, lua: &Lua, time: Duration) -> bool {
        finalizers::finish(lua, self, time.max(GRACE))
    }

    /// Runs what a script has returned in a state that somebody else has made, as a thread of Lunatik's: until it ends or [`Host::stop`]. What it
    /// raises goes to the warnings.
    pub fn run_main(&self, lua: &Lua, name: &str, main: &Function) {
        let task = match Task::new(name) {
            Ok(task) => task,
            Err(error) => return self.warn(&format!("[{name}] failed to create a new thread ({error})")),
        };
        Local::of(lua).set_ready();
        if !self.is_to_end_with(&task) {
            return;
        }
        self.is_busy.store(true, Ordering::Relaxed);
        let outcome = task.run(|| {
            state::watch(lua)?;
            let pcall: Function = lua.globals().get("pcall")?;
            pcall.call::<(bool, Value)>(main)
        });
        self.is_busy.store(false, Ordering::Relaxed);
        match outcome {
            Ok((true, _)) => {}
            Ok((false, error)) => self.warn(&format!("[{name}] {}", text(&error))),
            Err(error) => self.warn(&format!("[{name}] {error}")),
        }
    }

    /// Notes a task that [`Host::stop`] ends; `false` if that has been called.
    fn is_to_end_with(&self, task: &Arc<Task>) -> bool {
        let mut mains = self.mains.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = !self.is_over.load(Ordering::Relaxed);
        if goes_on {
            mains.push(Arc::clone(task));
        }
        goes_on
    }

    /// Does what others want of a state that somebody else has made (callbacks of its script) until [`Host::stop`]; returns at once if there can be nothing.
    /// `between` is called behind each of that, and after [`Host::wake`]; the serving ends where it says `false`.
    pub fn serve(&self, lua: &Lua, between: &mut dyn FnMut() -> bool) {
        let local = Local::of(lua);
        local.set_ready();
        let Some(Calls(called)) = lua.remove_app_data::<Calls>() else { return };
        let Ok(task) = Task::new("callbacks") else { return };
        if !local.keeps_any() || !self.is_to_end_with(&task) {
            return;
        }
        self.is_served.store(true, Ordering::Relaxed);
        task.run(|| {
            if let Err(error) = state::watch(lua) {
                self.warn(&error.to_string());
            }
            while let Ok(Some(call)) = called.recv() {
                self.set_called(Some(Instant::now()));
                call(lua);
                self.set_called(None);
                // It is none of the task's.
                if !Task::leave(&mut *between) {
                    break;
                }
            }
        });
        local.end();
        self.is_served.store(false, Ordering::Relaxed);
    }

    /// Whoever serves a state is to look whether there is something between the calls.
    pub fn wake(&self) {
        for calls in self.stops.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // A state that is not served any more needs no waking.
            let _ = calls.send(Some(Box::new(|_| {})));
        }
    }

    fn set_called(&self, since: Option<Instant>) {
        *self.called.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// For how long the present call of a state that is served has been at work, if one is.
    pub fn called_for(&self) -> Option<Duration> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
    }

    /// Whether such a function is at work.
    pub fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }

    /// Whether something goes on that scripts have begun: a function of theirs, what is called of them, or a state that is theirs.
    pub fn has_begun(&self) -> bool {
        let runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = |runtime: &Weak<Runtime>| runtime.upgrade().is_some_and(|runtime| !runtime.is_over());
        self.is_busy() || self.is_served.load(Ordering::Relaxed) || runtimes.iter().any(goes_on)
    }

    /// Ends all threads and states: they are asked to stop, and ended where they go on. Returns within two seconds or so.
    pub fn stop(&self) {
        let mains = {
            let mut mains = self.mains.lock().unwrap_or_else(PoisonError::into_inner);
            self.is_over.store(true, Ordering::Relaxed);
            std::mem::take(&mut *mains)
        };
        let runtimes = std::mem::take(&mut *self.runtimes.lock().unwrap_or_else(PoisonError::into_inner));
        let runtimes: Vec<_> = runtimes.iter().filter_map(Weak::upgrade).collect();
        for calls in self.stops.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // Who is not there needs no end.
            let _ = calls.send(None);
        }
        self.endings.end();
        mains.iter().for_each(|task| task.ask_to_stop());
        runtimes.iter().for_each(|runtime| runtime.ask_to_stop());
        for task in &mains {
            if !task.wait(GRACE) {
                task.kill();
                self.warn(&format!("[{}] went on after it was to stop, and was ended", task.name));
                task.wait(Duration::from_millis(300));
            }
        }
        Runtime::stop_all(&runtimes);
        self.environment.clear();
    }
}
