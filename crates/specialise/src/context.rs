//! The specialiser's working state: the function being built, the symbolic state, and what has been interned so far.

use crate::error::{LowerError, LowerErrorKind};
use crate::first_sums::First;
use crate::flow::{Flow, RegisterSet};
use crate::host::Stub;
use crate::knowledge::Knowledge;
use crate::sites::{ActiveCall, Turn};
use crate::sites::{LoopKey, Site};
use crate::state::{Slot, State};
use crate::surroundings::Surroundings;
use crate::value::Object;
use crate::ways::Form;
use crate::{Options, expanded, names};
use moonhook_diagnostic::Place;
use moonhook_hook::{Buffers, Hook};
use moonhook_ir as ir;
use moonhook_ir::words::Code;
use moonhook_ir::words::CopyOnWrite;
use moonhook_packet::{Access, FrameCopy};
use moonhook_snapshot::{PrototypeId, Snapshot};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// Why lowering stops.
#[derive(Debug)]
pub enum Stop {
    /// The script is refused.
    Error(Box<LowerError>),
    /// Something was learned without which the code that follows cannot be walked (a loop is to be unrolled): start again with it.
    Restart,
}

pub type Result<T> = std::result::Result<T, Stop>;

pub struct Context<'a> {
    pub snapshot: &'a Snapshot,
    pub options: &'a Options,
    /// What earlier walks have learned, and this one does.
    pub known: Knowledge,
    pub module: ir::Module,
    pub code: Code,
    pub state: State,
    pub calls: Vec<ActiveCall>,
    /// The registers of the calling functions, outermost first.
    pub callers: Vec<CopyOnWrite<Vec<Slot>>>,
    /// The numbers of the module's events.
    pub event_ids: HashMap<ir::Event, u32>,
    pub pool: Pool,
    /// Where each table made at packet time is made.
    pub table_sites: HashMap<u32, Vec<usize>>,
    /// The hook whose program is being made, and its number among those of the script.
    pub hook: &'static Hook,
    pub program: usize,
    /// The programs that have been made.
    pub programs: Vec<ir::Function>,
    /// The number of the handler that is being walked.
    pub handler: usize,
    /// Numbers of captured variables and tables ([`crate::cells`]).
    pub cell_numbers: HashMap<Vec<usize>, u32>,
    /// Numbers of fields of tables made at packet time.
    pub field_cells: HashMap<(u32, crate::fields::Key), u32>,
    /// The cells that are such fields.
    pub fields: HashSet<u32>,
    /// Loops being walked that are not unrolled, innermost last.
    pub active_loops: Vec<LoopKey>,
    /// The turns of the unrolled loops being walked.
    pub turns: Vec<Turn>,
    /// Errors that happen whenever an instruction is executed in some state, for code that is not rolled back, with that
    /// instruction. They are no reason to warn of if it is among [`Context::passed`].
    pub certain: Vec<(Option<Site>, LowerError)>,
    /// A refusal that holds unless the walk has to start again.
    pub deferred: Option<Box<LowerError>>,
    /// Something was learned that code before depends on: what is made now is only walked to learn more, see
    /// [`Context::learned`].
    pub stale: bool,
    /// Instructions that were executed without an error in some state.
    pub passed: HashSet<Site>,
    /// What varies in each loop, learned on earlier walks through it; the key is the call path and the header.
    pub loop_forms: HashMap<LoopKey, BTreeMap<crate::ways::Variable, Form>>,
    pub flows: HashMap<PrototypeId, Rc<Flow>>,
    first_sums: HashMap<PrototypeId, Rc<BTreeMap<usize, First>>>,
    pub pool_map: ir::MapId,
    /// Where the frame was copied to, in code for frames that lie in several buffers.
    pub copy: Option<FrameCopy>,
    /// What the code is made for.
    pub around: &'static dyn Surroundings,
    /// What a stub holds, for the code in [`crate::stubs`] alone: all other code asks [`Context::around`].
    pub stub: Option<Stub<'a>>,
    /// The programs' subprograms; in code that general code calls they are parts of that program.
    pub subprograms: Vec<ir::Function>,
    /// Takes an event id: sends the event and ends with the verdict for errors.
    pub fail_block: ir::Block,
    /// Takes the verdict.
    pub exit_block: ir::Block,
}

/// Constant bytes that string slices point into. Each string is there once. The first 8 bytes are not used, so that the
/// 8 bytes before a string's end can always be read.
#[derive(Default, Debug)]
pub struct Pool {
    pub bytes: Vec<u8>,
    index: HashMap<Vec<u8>, u32>,
    /// Bytes that are read from an offset on that is known at packet time only, at most.
    pub reach: u32,
}

/// Bytes behind the last string of the pool, at least.
pub const TAIL: i64 = 8;

impl Pool {
    /// The string's offset.
    pub fn intern(&mut self, text: &[u8]) -> u32 {
        if let Some(offset) = self.index.get(text) {
            return *offset;
        }
        if self.bytes.is_empty() {
            self.bytes.resize(8, 0);
        }
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text);
        self.index.insert(text.to_vec(), offset);
        offset
    }
}

impl<'a> Context<'a> {
    /// A context whose current block is the entry of the script's first program.
    pub fn new(snapshot: &'a Snapshot, options: &'a Options, known: Knowledge) -> Self {
        let sources = snapshot
            .sources
            .iter()
            .map(|s| ir::SourceFile { name: s.name.clone(), text: s.text.clone() })
            .collect();
        let module = ir::Module { sources, ..ir::Module::default() };
        let (hook, function) = crate::programs::empty(snapshot, options, 0);
        let mut context = Context::of_function(snapshot, options, module, function, (hook, 0));
        context.known = known;
        context.pool_map = context.map("pool", || ir::MapKind::ReadOnlyData(Vec::new()));
        context.bounds();
        context
    }

    /// Goes on with another function, of which there is no code yet, for a hook; gives the one that was being made.
    pub fn change_function(
        &mut self,
        mut function: ir::Function,
        (hook, program): (&'static Hook, usize),
    ) -> ir::Function {
        (self.fail_block, self.exit_block) = ends(&mut function);
        (self.hook, self.program, self.copy) = (hook, program, None);
        self.state = State::at_entry(self.options);
        let code = Code::new(function, self.code.opaque_map);
        self.known.start_function();
        std::mem::replace(&mut self.code, code).function
    }

    /// A context whose current block is the entry of `function`, which has no code yet and belongs to the program with that number, for
    /// that hook. There is no pool, and no pointer to the packet.
    pub fn of_function(
        snapshot: &'a Snapshot,
        options: &'a Options,
        module: ir::Module,
        mut function: ir::Function,
        (hook, program): (&'static Hook, usize),
    ) -> Self {
        let (fail_block, exit_block) = ends(&mut function);
        let state = State::at_entry(options);
        let mut context = Context {
            snapshot,
            options,
            known: Knowledge::default(),
            module,
            code: Code::new(function, ir::MapId(0)),
            state,
            calls: Vec::new(),
            callers: Vec::new(),
            event_ids: HashMap::new(),
            pool: Pool::default(),
            table_sites: HashMap::new(),
            hook,
            program,
            programs: Vec::new(),
            handler: 0,
            cell_numbers: HashMap::new(),
            field_cells: HashMap::new(),
            fields: HashSet::new(),
            active_loops: Vec::new(),
            turns: Vec::new(),
            certain: Vec::new(),
            deferred: None,
            stale: false,
            passed: HashSet::new(),
            loop_forms: HashMap::new(),
            flows: HashMap::new(),
            first_sums: HashMap::new(),
            pool_map: ir::MapId(0),
            copy: None,
            around: &expanded::PROGRAM,
            stub: None,
            subprograms: Vec::new(),
            fail_block,
            exit_block,
        };
        context.code.opaque_map = context.map(ir::OPAQUE, || ir::MapKind::Data(vec![0; 8]));
        context
    }

    /// How the program's frames are reached that lie in several buffers, which takes code of its own.
    pub fn takes_scattered(&self) -> Option<Buffers> {
        self.hook.buffers().filter(|_| self.options.frags)
    }

    /// The map of that name, made with `definition` if it is not there yet.
    pub fn map(&mut self, name: &'static str, definition: impl FnOnce() -> ir::MapKind) -> ir::MapId {
        self.known_map(name).unwrap_or_else(|| {
            self.module.maps.push(ir::Map { name: name.to_string(), kind: definition() });
            ir::MapId(self.module.maps.len() as u32 - 1)
        })
    }

    /// The map of that name, if there is one.
    pub fn known_map(&self, name: &str) -> Option<ir::MapId> {
        self.module.maps.iter().position(|map| map.name == name).map(|index| ir::MapId(index as u32))
    }

    /// The object's number.
    pub fn intern(&mut self, object: &Object) -> u32 {
        let found = self.known.objects.get_index_of(object);
        found.unwrap_or_else(|| self.known.objects.insert_full(object.clone()).0) as u32
    }

    pub fn flow(&mut self, prototype: PrototypeId) -> Rc<Flow> {
        let snapshot = self.snapshot;
        let make = || {
            Rc::new(Flow::new(snapshot.prototype(prototype), &|inner| captured(snapshot, prototype, inner)))
        };
        self.flows.entry(prototype).or_insert_with(make).clone()
    }

    /// See [`crate::first_sums`].
    pub fn first_sums(&mut self, prototype: PrototypeId) -> Rc<BTreeMap<usize, First>> {
        let make = || Rc::new(crate::first_sums::find(self.snapshot.prototype(prototype)));
        self.first_sums.entry(prototype).or_insert_with(make).clone()
    }

    /// Registers of the active call number `index` whose values outlive the call that it is making.
    pub fn live_registers(&mut self, index: usize) -> RegisterSet {
        let Some(call) = self.calls.get(index).cloned() else { return RegisterSet::default() };
        let snapshot = self.snapshot;
        let code = &snapshot.prototype(call.prototype).code;
        let captured = |inner: usize| captured(snapshot, call.prototype, inner);
        self.flow(call.prototype).live_across(code, &captured, call.pc)
    }

    /// Registers of the innermost call that are read behind the current instruction.
    pub fn registers_used_later(&mut self) -> RegisterSet {
        let Some(call) = self.calls.last().cloned() else { return RegisterSet::default() };
        let snapshot = self.snapshot;
        let code = &snapshot.prototype(call.prototype).code;
        let captured = |inner: usize| captured(snapshot, call.prototype, inner);
        self.flow(call.prototype).live_after(code, &captured, call.pc)
    }

    // ---- places and refusals -----------------------------------------------------------------------------------

    /// The current line, with `name` underlined.
    pub fn place(&self, name: Option<&str>) -> Place {
        // What bytecode calls an iterator has no name in the script; it stands behind `in`.
        let name = if name == Some("for iterator") { Some("in") } else { name };
        let source = self.snapshot.sources.get(self.code.loc.source as usize);
        Place {
            file: source.map_or_else(|| self.snapshot.script.clone(), |s| s.name.clone()),
            line: self.code.loc.line,
            text: source.map_or_else(String::new, |s| s.line(self.code.loc.line).to_string()),
            name: name.map(str::to_string),
        }
    }

    /// Refuses the script at the current line.
    pub fn refuse<T>(&self, kind: LowerErrorKind, name: Option<&str>) -> Result<T> {
        Err(Stop::Error(Box::new(LowerError { kind, place: self.place(name).into() })))
    }

    /// Refuses the script because of what can only be a fault of the compiler.
    pub fn internal_fault<T>(&self, message: impl Into<String>) -> Result<T> {
        self.refuse(LowerErrorKind::Internal { message: message.into() }, None)
    }

    pub fn unsupported<T>(
        &self,
        what: impl Into<String>,
        help: impl Into<String>,
        name: Option<&str>,
    ) -> Result<T> {
        self.refuse(LowerErrorKind::Unsupported { what: what.into(), help: help.into() }, name)
    }

    /// Goes on after a refusal, to see whether handlers do something further on that makes the walk start again.
    pub fn refuse_later<T>(&mut self, refusal: Result<T>) -> Result<()> {
        match refusal {
            Err(Stop::Error(error)) => self.deferred.get_or_insert(error),
            Err(Stop::Restart) => return Err(Stop::Restart),
            Ok(_) => return Ok(()),
        };
        Ok(())
    }

    /// Takes note of a discovery that code before should have known of. The walk goes on, for what there is to learn further on,
    /// and starts again at its end: so there are not as many walks as there are discoveries.
    pub fn learned(&mut self) -> Result<()> {
        self.around.learned(self)
    }

    /// Starts again before something is learned that does not hold in code that takes account of what this walk has learned: a loop
    /// may need to be unrolled over a table of load time, and not over the map that the table turns out to be. What values variables
    /// and tables get holds: the handlers' first packet may be walked like this one.
    pub fn stop_if_stale(&self) -> Result<()> {
        if self.stale { Err(Stop::Restart) } else { Ok(()) }
    }

    /// The instruction being executed.
    pub fn site(&self) -> Option<Site> {
        self.calls.last().map(|call| (call.prototype, call.pc))
    }

    /// The current instruction was executed without an error.
    pub fn note_passed(&mut self) {
        self.passed.extend(self.site());
    }

    /// What the current instruction's function calls `register`.
    pub fn register_name(&self, register: usize) -> Option<names::Name> {
        let call = self.calls.last()?;
        names::of_register(self.snapshot.prototype(call.prototype), call.pc, register)
    }
}

/// Makes the two blocks in which a function's ways end: [`Context::fail_block`] and [`Context::exit_block`].
fn ends(function: &mut ir::Function) -> (ir::Block, ir::Block) {
    let fail_block = function.new_block();
    function.block_mut(fail_block).cold = true;
    function.add_param(fail_block);
    let exit_block = function.new_block();
    function.add_param(exit_block);
    (fail_block, exit_block)
}

/// The registers of `prototype` that its inner function number `inner` captures.
fn captured(snapshot: &Snapshot, prototype: PrototypeId, inner: usize) -> Vec<usize> {
    let inner = snapshot.prototype(prototype).prototypes.get(inner);
    let upvalues = inner.map_or(&[][..], |id| &snapshot.prototype(*id).upvalues);
    upvalues.iter().filter(|u| u.in_stack).map(|u| usize::from(u.index)).collect()
}
