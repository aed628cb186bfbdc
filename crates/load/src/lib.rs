//! Load stage: runs scripts in real Lua 5.5, inside a sandbox, and snapshots the handlers they register.
//!
//! Reads script text, the modules and lists it names; gives a [`Snapshot`] and the Lua state, which stays usable. The same
//! scripts and files give the same snapshot. Knows nothing of BPF or the running kernel. See `docs/load-time.md`.

mod call;
mod chains;
pub mod chunk;
mod clock;
mod contents;
pub mod control;
mod effort;
mod error;
mod files;
mod flows;
mod freeze;
mod functions;
mod globals;
mod guards;
mod kernel;
mod library;
mod limits;
mod living;
mod locate;
mod lunatik;
mod map_contents;
mod map_limits;
mod modules;
mod names;
mod object_maps;
mod obstacle;
mod packages;
mod packet_time;
mod print;
mod receivers;
mod registry;
mod roots;
mod run;
mod sandbox;
mod spread;
mod table_order;
mod traversal;
mod upvalues;

use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, Lua, Table};
use moonhook_hook::{Hook, XDP, can_queue};
use moonhook_snapshot::{CellId, ClosureId, Owners, Snapshot, TableId};

pub use crate::call::{CallError, CallLimit};
pub use crate::clock::{Moment, set_time, time};
pub use crate::contents::Content;
pub use crate::control::{ControlModules, Decided};
pub use crate::error::{Failure, LoadError, Refused};
pub use crate::flows::{Changed, FlowFunction, FlowOwner, FlowText, Flows, Given};
pub use crate::freeze::Base;
pub use crate::functions::{OVER, raising, userdata_name};
pub use crate::kernel::{Kernel, Trial, Untold};
pub use crate::library::is_reserved as is_reserved_in_c;
pub use crate::living::{ForHandlers, Living};
pub use crate::lunatik::{
    At, EMPTY_TEXTS_OUTSIDE, ForwardingPlace, MovedPlace, Need, Queued, QueuedPlace, put_empty_texts_outside,
};
pub use crate::modules::bpf::CALL_OBJECT;
pub use crate::modules::constants::fill as constants;
pub use crate::modules::eclat::{CALL_CHAIN, CALL_LOADER};
pub use crate::modules::flow::{CALL_FUNCTION, FUNCTION_FAILED};
pub use crate::modules::updates::EVENT as UPDATE_EVENT;
pub use crate::modules::xsk::event as event_of_queue;
pub use crate::object_maps::{MapsOfObjects, ObjectMaps};
pub use crate::obstacle::Obstacle;
pub use crate::packages::{Packaged, Packages};
pub use crate::packet_time::set_hook;
pub use crate::print::{capture_print, captured_print};
pub use crate::registry::{Port, Proxied, ReadProxy, Request, Requests, Send, Signal};
pub use crate::upvalues::Upvalue;
pub use moonhook_library::own::copies::SENT as FORWARDED;
pub use moonhook_snapshot::dump;

use crate::files::Files;
use crate::freeze::Numbered;
use crate::limits::Meter;
use crate::modules::data;
use crate::names::Names;
use crate::registry::{Registration, Registry};
use crate::roots::Roots;
use crate::run::Runner;
use crate::sandbox::Globals;

/// What load time may use.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory of the Lua state in bytes.
    pub memory_limit: usize,
    /// Lua instructions that all scripts together may run.
    pub instruction_limit: u64,
    /// Scripts are written for Lunatik, and find their modules in this folder before their own (there it is `/lib/modules/lua`).
    pub root: Option<PathBuf>,
    /// Where handlers of netfilter run that are written for Lunatik: in the kernel if that has all they need.
    pub at: Option<At>,
    /// Who has modules for processes, which scripts get besides; they need no handlers then, and what they return may be a function that goes on.
    pub control: Option<Arc<dyn ControlModules>>,
    /// A script need have no handlers if it requires no module that registers any: then it has done all there is to do when it has run.
    pub handlers_optional: bool,
    /// Folders, besides that of each script, in which scripts may read files.
    pub allow_read: Vec<PathBuf>,
    /// What scripts print goes to standard error.
    pub prints_to_stderr: bool,
    /// The hook that `attach` registers for, and for which there has to be a handler: XDP, and none need be for that.
    pub hook: Option<&'static Hook>,
    /// The name of the library, a C identifier, if the functions in the table that a script returns are for programs in C, which call them at
    /// that hook; it needs no handlers then.
    pub library: Option<String>,
    /// Who knows the kernel that the scripts are for.
    pub kernel: Arc<dyn Kernel>,
    /// Who tries whether the kernel takes programs whose handlers may run in this process as well; without, it is taken to.
    pub trial: Option<Arc<dyn Trial>>,
    /// Who has the programs that chains call.
    pub packages: Arc<dyn Packages>,
    /// Names, and what stands in their places in scripts of eCLAT.
    pub defines: Vec<(String, String)>,
    /// The interfaces that the scripts are run on: loaders of eCLAT are for those of them at which their scripts attach them.
    pub interfaces: Vec<String>,
}

impl Options {
    /// How long load time can run on a processor where all takes as long as it may.
    pub fn longest(&self) -> Duration {
        let nanoseconds = u128::from(self.instruction_limit) * limits::INSTRUCTION.as_nanos();
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// Whether scripts may be such as have none.
    pub fn may_lack_handlers(&self) -> bool {
        self.control.is_some() || self.handlers_optional
    }

    fn check_hook(&self, registered: &[Registration]) -> Result<(), LoadError> {
        let is_for = |hook| move |registration: &Registration| registration.point.hook == hook;
        let Some(hook) = self.hook.filter(|hook| !registered.iter().any(is_for(*hook))) else {
            return Ok(());
        };
        let mut others: Vec<_> = registered.iter().map(|registration| registration.point.hook.name).collect();
        others.dedup();
        Err(LoadError::NoHandlerOfHook { hook: hook.name, others: others.join(", ") })
    }
}

impl Default for Options {
    /// 256 MiB, and two thousand million instructions: some ten seconds.
    fn default() -> Self {
        let (memory_limit, instruction_limit) = (256 << 20, 2_000_000_000);
        Options {
            memory_limit,
            instruction_limit,
            root: None,
            at: None,
            control: None,
            handlers_optional: false,
            allow_read: Vec::new(),
            prints_to_stderr: false,
            hook: None,
            library: None,
            kernel: Arc::new(kernel::NoKernel),
            trial: None,
            packages: Arc::new(packages::NoPackages),
            defines: Vec::new(),
            interfaces: Vec::new(),
        }
    }
}

/// What load time gives.
pub struct Loaded {
    pub snapshot: Snapshot,
    /// The state the scripts ran in. Its limits on instructions are lifted, the one on memory stays.
    pub lua: Lua,
    /// The registered functions, in the order of `snapshot.handlers`.
    pub handlers: Vec<Function>,
    /// Handlers that run in this process, and are none of the snapshot's.
    pub queued: Vec<Queued>,
    /// Places of netfilter whose handlers are among the snapshot's, at tc.
    pub moved: Vec<MovedPlace>,
    /// Places of netfilter whose handlers forward copies of packets, and are among the snapshot's.
    pub forwarding: Vec<ForwardingPlace>,
    /// Every file that was read: scripts, modules, lists.
    pub files: Vec<PathBuf>,
    /// The scripts, in order.
    pub scripts: Vec<Script>,
    /// What the scripts want to be done while their handlers run.
    pub requests: Requests,
    /// Functions that traverse tables whose content is not in the table, by metatable: what `next(t, key)` of the scripts calls.
    pub steppers: Table,
    /// The flow tables of the scripts.
    pub flows: Flows,
    /// The maps of C objects, for functions in this state.
    pub object_maps: ObjectMaps,
    /// Nothing is left to be done: the scripts have no handlers, need none, and want nothing else ([`Options::handlers_optional`]).
    pub is_over: bool,
    /// The snapshot once more, where functions of flows may be added to it.
    pub base: Option<Rc<RefCell<Base>>>,
    /// The objects that the snapshot has.
    numbered: Numbered,
    meter: Meter,
    memory_limit: usize,
}

/// A script and its surroundings.
#[derive(Clone)]
pub struct Script {
    pub path: PathBuf,
    /// Its global variables.
    pub globals: Table,
    /// The numbers of its handlers in the snapshot.
    pub handlers: Range<usize>,
    /// The function that it has returned, if it has modules for processes: it is to go on as long as the script.
    pub main: Option<Function>,
}

impl Loaded {
    /// The table that has this number in the snapshot; `None` after [`Loaded::forget_snapshot`].
    pub fn table(&self, id: TableId) -> Option<Table> {
        self.numbered.tables.raw_get(i64::from(id.0) + 1).ok()
    }

    /// The function that has this number in the snapshot; `None` after [`Loaded::forget_snapshot`].
    pub fn closure(&self, id: ClosureId) -> Option<Function> {
        self.numbered.closures.raw_get(i64::from(id.0) + 1).ok()
    }

    /// The variable that has this number in the snapshot; `None` after [`Loaded::forget_snapshot`].
    pub fn cell(&self, id: CellId) -> Option<Upvalue> {
        let at = 2 * i64::from(id.0) + 1;
        let cells = &self.numbered.cells;
        Some(Upvalue { function: cells.raw_get(at).ok()?, number: cells.raw_get(at + 1).ok()? })
    }

    /// From now on the state's memory may have so many bytes; any, if that is 0. Gives how many it might have before.
    ///
    /// # Errors
    /// The state cannot be limited.
    pub fn limit_memory(&mut self, bytes: usize) -> mlua::Result<usize> {
        self.lua.set_memory_limit(bytes)?;
        Ok(std::mem::replace(&mut self.memory_limit, bytes))
    }

    /// Lets go of what only the snapshot needed: it, the handlers, and its objects by number.
    pub fn forget_snapshot(&mut self) -> mlua::Result<()> {
        (self.snapshot, self.handlers) = Default::default();
        self.numbered.forget()
    }
}

/// Runs `scripts` in order, each with its own globals, and snapshots what their handlers reach.
pub fn load(scripts: &[PathBuf], options: &Options) -> Result<Loaded, LoadError> {
    load_with_contents(scripts, options, &[])
}

/// As [`load`], but puts `contents` into tables when the scripts have ended, before the snapshot is made.
///
/// # Errors
/// As of [`load`]; `Content` where there is no such table, or more than one.
pub fn load_with_contents(
    scripts: &[PathBuf],
    options: &Options,
    contents: &[Content],
) -> Result<Loaded, LoadError> {
    let lua = sandbox::new_state(options.control.is_some()).map_err(state_error)?;
    let loaded = load_into(&lua, scripts, options, contents);
    if let (Err(_), Some(control)) = (&loaded, &options.control) {
        // Its finalizers have a time, not what its limits have left.
        Meter::new(&lua, u64::MAX).map_err(state_error)?;
        control.finish(&lua, Duration::ZERO);
    }
    loaded
}

fn load_into(
    lua: &Lua,
    scripts: &[PathBuf],
    options: &Options,
    contents: &[Content],
) -> Result<Loaded, LoadError> {
    if options.prints_to_stderr {
        print::print_to_stderr(lua).map_err(state_error)?;
    }
    let meter = Meter::new(lua, options.instruction_limit).map_err(state_error)?;
    let steppers = lua.create_table().map_err(state_error)?;
    if let Some(control) = &options.control {
        let finalizers = control.finalizers(lua).and_then(|set| lua.globals().set("finalizers", set));
        finalizers.map_err(state_error)?;
    }
    lua.set_memory_limit(options.memory_limit).map_err(state_error)?;
    let files = Rc::new(Files::default());
    let runner = Runner { lua, meter: &meter, files: &files, options };
    let mut registry = Registry::new(options.hook.unwrap_or(&XDP), options);
    let mut names = Names::default();
    let mut ran = Vec::new();
    for script in scripts {
        ran.push(run_script(&runner, script, &mut registry, &steppers, &mut names)?);
    }
    meter.limit_time(None);

    let mut registered = spread::spread(registry.handlers.all.take(), &options.interfaces, &mut ran);
    let is_over = registered.is_empty() && options.control.is_none() && options.library.is_none();
    if let (true, false, [script, ..]) = (is_over, registry.requests.is_empty(), scripts) {
        // What is to be done while handlers run.
        return Err(LoadError::NoHandler { script: script.to_string_lossy().into_owned() });
    }
    if options.library.is_some() {
        library::check(&registered, &files.sources())?;
        // Who calls a library by a script's name means one script.
        if let [script] = ran.as_mut_slice() {
            registered.extend(library::called(&registered));
            script.handlers.end = registered.len();
        }
    }
    if options.at != Some(At::Tcx) {
        options.check_hook(&registered)?;
    }
    registry.receivers.check(&registered, &files.sources())?;
    let shown: Vec<_> = scripts.iter().map(|script| script.to_string_lossy()).collect();
    let freeze = |registered: &[Registration], ran: &[Script]| {
        // What scripts left is read as it is; that needs a little memory of its own.
        lua.set_memory_limit(0).map_err(state_error)?;
        let sources = files.sources();
        let text_of = |name: &str| {
            let file = sources.iter().find(|source| source.name == name);
            let of_others = || registry.flows.text_of(name).or_else(|| registry.chains.text_of(name));
            file.map(|source| source.text().to_string()).or_else(of_others)
        };
        let script = shown.join(" ");
        let mut known =
            freeze::freeze(lua, script, registered, (&names, &registry.declared), &registry.flows, &text_of)?;
        let snapshot = &mut known.snapshot;
        let scripts: Vec<_> =
            ran.iter().map(|script| (script.path.as_path(), script.handlers.clone())).collect();
        snapshot.owners = Owners::of(snapshot, &scripts);
        snapshot.receivers = registry.receivers.queues();
        snapshot.empty_texts_are_outside = registry.lunatik.is_some();
        if let Some(library) = &options.library {
            snapshot.library = Some(library.clone());
            library::check_names(snapshot, library)?;
        }
        snapshot.traced = registry.traced.borrow().clone();
        registry.chains.put(snapshot);
        snapshot.contents.extend(registry.object_maps.contents());
        Ok(known)
    };
    let (mut queued, mut moved, mut forwarding) = (Vec::new(), Vec::new(), Vec::new());
    let mut warnings = Vec::new();
    if registry.lunatik.is_some() && registered.iter().any(|registration| can_queue(registration.point.hook))
    {
        let snapshot = freeze(&registered, &ran)?.snapshot;
        warnings = lunatik::unknown_layers(&snapshot);
        match options.at {
            Some(At::Tcx) => moved = lunatik::move_to_tc(&snapshot, &mut registered, &mut ran)?,
            at => {
                let mut plan = lunatik::Plan::of(&snapshot, at, true)?;
                let refusal = match &options.trial {
                    Some(trial) if at.is_none() && !plan.forwarding.is_empty() => {
                        let (mut kept, mut scripts) = (registered.clone(), ran.clone());
                        lunatik::take_queued(plan.clone(), &mut kept, &mut scripts);
                        trial.refusal(&freeze(&kept, &scripts)?.snapshot)
                    }
                    _ => None,
                };
                if let Some(problem) = refusal {
                    plan = lunatik::Plan::refused(&snapshot, at, &problem)?;
                }
                forwarding = plan.forwarding.clone();
                queued = lunatik::take_queued(plan, &mut registered, &mut ran);
            }
        }
    }
    if options.at == Some(At::Tcx) {
        options.check_hook(&registered)?;
    }
    if !contents.is_empty() {
        let known = freeze(&registered, &ran)?;
        contents::put(lua, &known.snapshot, &known.by_number, contents, options.memory_limit)?;
    }
    let mut known = freeze(&registered, &ran)?;
    known.snapshot.warnings.extend(warnings);
    registry.declared.close();
    lua.set_memory_limit(options.memory_limit).map_err(state_error)?;
    let handlers = registered.into_iter().map(|registration| registration.function).collect();
    let numbered = known.numbered(lua, !registry.flows.is_empty()).map_err(state_error)?;
    let (snapshot, base) = match registry.flows.is_empty() {
        true => (std::mem::take(&mut known.snapshot), None),
        false => (
            known.snapshot.clone(),
            Some(Rc::new(RefCell::new(Base::new(known, names, registry.declared.clone())))),
        ),
    };
    Ok(Loaded {
        snapshot,
        lua: lua.clone(),
        handlers,
        queued,
        moved,
        forwarding,
        files: [files.read(), options.packages.files()].concat(),
        scripts: ran,
        requests: registry.requests,
        steppers,
        flows: registry.flows,
        object_maps: registry.object_maps,
        is_over,
        base,
        numbered,
        meter,
        memory_limit: options.memory_limit,
    })
}

fn run_script(
    runner: &Runner,
    script: &Path,
    registry: &mut Registry,
    steppers: &Table,
    names: &mut Names,
) -> Result<Script, LoadError> {
    registry.handlers.earlier = registry.handlers.all.borrow().len();
    let folder = script.parent().map(PathBuf::from).unwrap_or_default();
    let options = runner.options;
    let others: Vec<PathBuf> = options.root.iter().chain(&options.allow_read).cloned().collect();
    let roots = Roots::new(&folder, &others);
    let roots = roots.map_err(|(path, error)| {
        let path = path.to_string_lossy().into_owned();
        LoadError::Unreadable { path, error }
    })?;
    let globals = sandbox::globals(runner.lua, folder, &roots, runner.files, registry, steppers, names)
        .map_err(|error| runner.setup_error(error))?;
    if let Some(control) = &options.control {
        let opened = control
            .open(runner.lua, &globals.table)
            .and_then(|()| print::keep_own(runner.lua, &globals.table));
        opened.map_err(|error| runner.setup_error(error))?;
    }
    let returned = runner.run(script, &globals.table).map_err(|error| told(error, registry))?;
    let again = {
        let mut all = registry.handlers.all.borrow_mut();
        modules::netfilter::read_again(&mut all[registry.handlers.earlier..], &registry.flows)
    };
    again.map_err(|(problem, at)| {
        LoadError::Runtime(Box::new(locate::locate(&problem, &runner.files.sources(), at)))
    })?;
    if runner.options.library.is_some() {
        // Without a choice they are for the programs that the script's handlers are for.
        let attached = registry.handlers.all.borrow()[registry.handlers.earlier..]
            .iter()
            .map(|registration| registration.point.hook)
            .find(|hook| hook.has_packet());
        let hook = options.hook.or(attached).unwrap_or(registry.chosen);
        let functions = library::functions(&returned, hook, &runner.files.sources())?;
        registry.handlers.all.borrow_mut().extend(functions);
    }
    if options.root.is_none() {
        let mut all = registry.handlers.all.borrow_mut();
        let own = &mut all[registry.handlers.earlier..];
        data::give_objects(runner.lua, &globals.loaded, (own, &registry.flows))
            .map_err(|error| runner.setup_error(error))?;
    }
    let handlers = registry.handlers.earlier..registry.handlers.all.borrow().len();
    let main = control::main(options, &returned);
    if handlers.is_empty()
        && !may_lack_handlers(options, &globals).map_err(|error| runner.setup_error(error))?
    {
        let script = script.to_string_lossy().into_owned();
        return Err(match runner.options.library.is_some() {
            true => LoadError::NoFunction { script },
            false => LoadError::NoHandler { script },
        });
    }
    names.add_required(&globals.loaded).map_err(|error| runner.setup_error(error))?;
    Ok(Script { path: script.to_owned(), globals: globals.table, handlers, main })
}

/// Whether a script may have no handlers that has run with these globals.
fn may_lack_handlers(options: &Options, globals: &Globals) -> mlua::Result<bool> {
    if !options.handlers_optional {
        return Ok(options.may_lack_handlers());
    }
    for module in &globals.registering {
        if globals.loaded.contains_key(*module)? {
            return Ok(options.control.is_some());
        }
    }
    Ok(true)
}

/// An error with what was noted about the kernel, or about a chain, when it was raised.
fn told(error: LoadError, registry: &Registry) -> LoadError {
    match error {
        LoadError::Runtime(failure) => match registry.refusals.of(&failure.message) {
            Some(refused) => LoadError::Kernel { failure, refused },
            None => match registry.chains.refused(&failure.message) {
                Some(diagnostic) => LoadError::Chain(diagnostic),
                None => LoadError::Runtime(failure),
            },
        },
        error => error,
    }
}

fn state_error(error: mlua::Error) -> LoadError {
    LoadError::State { reason: error.to_string() }
}
