//! Flow tables of a running script: which function each flow has, and the programs that the functions are.
//!
//! Programs are kept by what they were made of: flows with the same function have one program, which goes when no flow has it. What is here
//! belongs to no thread; functions are made by the thread that has the Lua state ([`owner`]).

mod heritage;
mod owner;
mod programs;

pub use owner::Owner;
pub use programs::Content;

use crate::ControlError;
use moonhook_diagnostic::Diagnostic;
use moonhook_flows::{DIRECT, Flow, FlowError, FlowTable as Memory, KeyKind};
use moonhook_hook::Point;
use moonhook_install::{InstallError, ProgramArray, SharedArray};
use moonhook_schema::Declaration;
use moonhook_snapshot::{FlowTable as Description, Snapshot, TableId};
use programs::Programs;
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Who makes programs of functions.
pub trait FlowMaker: Send {
    /// The script's flow tables.
    fn tables(&self) -> &[Description];
    /// The memory of a table, and the arrays of programs that it is asked by, in the order of [`FlowMaker::points`]; once, and `None` if no
    /// program asks it.
    fn take_parts(&mut self, table: usize) -> Option<(SharedArray, Vec<ProgramArray>)>;
    /// Where the programs are that ask a table.
    fn points(&self, table: usize) -> Vec<Point>;
    /// What handlers and functions of flows have in common.
    fn declared(&self) -> Vec<(TableId, Declaration)>;
    /// Makes programs of the only handler that a snapshot has, for the function with that number of a table.
    ///
    /// # Errors
    /// What a stage refuses.
    fn make(&mut self, snapshot: &Snapshot, function: FunctionId) -> Result<MadeFunction, Box<Diagnostic>>;
    /// The programs of a function are no more.
    fn forget(&mut self, function: FunctionId);
}

/// A function of a table, which has numbers from 0, by its number there.
pub type FunctionId = (usize, u32);

/// A function of flows in the kernel.
pub struct MadeFunction {
    /// A program for each point.
    pub programs: Vec<OwnedFd>,
    /// What they need.
    pub held: Box<dyn Any + Send>,
    /// What it was compiled to.
    pub form: &'static str,
    /// What its writer should know of it.
    pub warnings: Vec<Diagnostic>,
}

/// The flow tables of a script.
pub struct FlowTables {
    tables: Vec<Table>,
    ticked: Instant,
    /// The flows of load time are there.
    begun: bool,
    /// What was taken over of the flows of an earlier program.
    kept: Vec<KeptFlows>,
}

/// What has become of the flows of an earlier program's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptFlows {
    pub table: String,
    pub kept: usize,
    /// How many were lost, and why the first one was.
    pub lost: usize,
    pub why: Option<String>,
}

/// One of them; without memory, no program asks it.
struct Table {
    description: Description,
    kernel: Option<(Memory<SharedArray>, Vec<ProgramArray>)>,
    programs: Programs,
    /// What load time has set, by key.
    of_script: HashMap<Vec<u64>, Content>,
    /// Numbers under which the arrays still have programs of functions that are gone, and since when.
    left: VecDeque<(Instant, u32)>,
}

/// How long programs are left in the arrays under low numbers, which stand in the code of the programs that ask. Taking one out changes that code,
/// for which the kernel waits some 10 ms (`bpf_arch_poke_desc_update`, arch/x86/net/bpf_jit_comp.c); putting another one in its place does not.
const LEFT: Duration = Duration::from_secs(1);

/// A flow, and what its function is.
#[derive(Clone, Debug)]
pub struct FlowEntry {
    pub flow: Flow,
    pub content: Option<Content>,
    pub form: &'static str,
    /// It is what load time has set for the flow.
    is_first: bool,
}

impl FlowEntry {
    /// Whether the function is one of the script's: load time has set it, or it is no text.
    fn is_of_script(&self) -> bool {
        self.is_first || !matches!(self.content, Some(Content::Text(_)))
    }
}

const TICK: Duration = Duration::from_millis(Description::TICK as u64);

impl FlowTables {
    /// Those of the program for which `maker` makes functions, without flows.
    pub fn open(maker: &mut dyn FlowMaker) -> FlowTables {
        let descriptions = maker.tables().to_vec();
        let table = |(number, description): (usize, Description)| {
            let layout = description.layout();
            let parts = maker.take_parts(number);
            let kernel = parts.map(|(memory, arrays)| (Memory::new(memory, layout, seed()), arrays));
            let (programs, of_script, left) = Default::default();
            Table { description, kernel, programs, of_script, left }
        };
        let tables = descriptions.into_iter().enumerate().map(table).collect();
        FlowTables { tables, ticked: Instant::now(), begun: false, kept: Vec::new() }
    }

    pub fn descriptions(&self) -> impl Iterator<Item = &Description> {
        self.tables.iter().map(|table| &table.description)
    }

    pub fn key_kind(&self, table: usize) -> &KeyKind {
        &self.tables[table].description.key
    }

    /// As [`FlowTables::number`].
    ///
    /// # Errors
    /// `NoSuchFlowTable`.
    pub fn named(&self, name: Option<&str>) -> Result<usize, ControlError> {
        let existing = || self.tables.iter().map(|table| table.description.name.clone()).collect();
        let name_of = || name.unwrap_or_default().to_string();
        self.number(name)
            .ok_or_else(|| ControlError::NoSuchFlowTable { name: name_of(), existing: existing() })
    }

    /// The words of a key that a person has written.
    ///
    /// # Errors
    /// `FlowKey`.
    pub fn key(&self, table: usize, text: &str) -> Result<Vec<u64>, ControlError> {
        let kind = self.key_kind(table);
        kind.words_of(text).map_err(|problem| ControlError::FlowKey { problem, names: kind.names() })
    }

    /// [`FlowTables::named`] and [`FlowTables::key`].
    ///
    /// # Errors
    /// `NoSuchFlowTable`, `FlowKey`.
    pub fn place(&self, table: Option<&str>, key: &str) -> Result<(usize, Vec<u64>), ControlError> {
        let number = self.named(table)?;
        Ok((number, self.key(number, key)?))
    }

    /// Load time has given a flow that function.
    fn note_of_script(&mut self, table: usize, key: Vec<u64>, content: Content) {
        self.tables[table].of_script.insert(key, content);
    }

    /// What writers of functions should know of those that there are, each once.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut all = Vec::new();
        for warning in self.tables.iter().flat_map(|table| table.programs.all_warnings()) {
            if !all.contains(warning) {
                all.push(warning.clone());
            }
        }
        all
    }

    /// How many flows a table has, and how many functions.
    pub fn counts(&self, table: usize) -> (u32, usize) {
        let table = &self.tables[table];
        (table.kernel.as_ref().map_or(0, |(memory, _)| memory.len()), table.programs.used())
    }

    /// What was taken over of the flows of an earlier program; once.
    pub fn take_kept(&mut self) -> Vec<KeptFlows> {
        std::mem::take(&mut self.kept)
    }

    /// The number of the table of that name; of the only one for no name.
    pub fn number(&self, name: Option<&str>) -> Option<usize> {
        match name {
            None => (self.tables.len() == 1).then_some(0),
            Some(name) => self.tables.iter().position(|table| table.description.name == name),
        }
    }

    /// All flows, in no order.
    pub fn flows(&self, table: usize) -> Vec<FlowEntry> {
        self.some_flows(table, 0, usize::MAX).0
    }

    /// Some of them, and where to go on; `None` at the end.
    pub fn some_flows(&self, table: usize, from: usize, most: usize) -> (Vec<FlowEntry>, Option<usize>) {
        let table = &self.tables[table];
        let Some((memory, _)) = &table.kernel else { return (Vec::new(), None) };
        let (flows, next) = memory.some_flows(from, most);
        (flows.into_iter().map(|flow| table.entry(flow)).collect(), next)
    }

    pub fn get(&self, table: usize, key: &[u64]) -> Option<FlowEntry> {
        let table = &self.tables[table];
        let flow = table.kernel.as_ref()?.0.get(key)?;
        Some(table.entry(flow))
    }

    /// Adds what a flow has counted before.
    fn add_counts(&self, table: usize, before: &Flow) {
        if let Some((memory, _)) = &self.tables[table].kernel {
            memory.add_counts(&before.key, before.packets, before.errors);
        }
    }

    /// Takes a flow out; whether there was one.
    pub fn remove(&mut self, table: usize, key: &[u64]) -> bool {
        let Table { kernel, programs, .. } = &mut self.tables[table];
        let flow = kernel.as_mut().and_then(|(memory, _)| memory.remove(key));
        if let Some(flow) = &flow {
            programs.release(flow.function);
        }
        flow.is_some()
    }

    /// The number of the function with that content, if there is one.
    fn find(&self, table: usize, content: &Content) -> Option<u32> {
        self.tables[table].programs.find(content)
    }

    /// A number for a new function; `None` if there are too many.
    fn reserve(&mut self, table: usize) -> Option<u32> {
        let Table { description, programs, .. } = &mut self.tables[table];
        programs.reserve(moonhook_flows::most_functions(description.capacity))
    }

    /// Puts programs into the kernel's arrays under a number that was reserved.
    ///
    /// # Errors
    /// What the kernel refuses.
    fn add(
        &mut self,
        table: usize,
        number: u32,
        content: Content,
        made: MadeFunction,
    ) -> Result<(), InstallError> {
        let Table { kernel, programs, .. } = &mut self.tables[table];
        let arrays = kernel.iter().flat_map(|(_, arrays)| arrays);
        for (array, program) in arrays.zip(&made.programs) {
            array.set(number, program.as_fd())?;
        }
        programs.add(number, content, made.into());
        Ok(())
    }

    /// Other programs take the place of a function's, for all flows that have it.
    ///
    /// # Errors
    /// What the kernel refuses.
    fn replace(&mut self, (table, number): FunctionId, made: MadeFunction) -> Result<(), InstallError> {
        let Table { kernel, programs, .. } = &mut self.tables[table];
        for (array, program) in kernel.iter().flat_map(|(_, arrays)| arrays).zip(&made.programs) {
            array.set(number, program.as_fd())?;
        }
        programs.replace(number, made.into());
        Ok(())
    }

    /// The functions of all tables that flows have, which are to be made once more.
    fn functions_to_remake(&mut self) -> Vec<(FunctionId, Content)> {
        let tables = self.tables.iter_mut().enumerate();
        let of_table = |(table, own): (usize, &mut Table)| {
            own.programs.take_to_remake().into_iter().map(move |(number, content)| ((table, number), content))
        };
        tables.flat_map(of_table).collect()
    }

    /// The number of the table that is like one of another script, if there is one.
    fn like(&self, other: &Description) -> Option<usize> {
        let is_like = |Table { description, .. }: &Table| {
            (&description.name, &description.key, &description.key_code)
                == (&other.name, &other.key, &other.key_code)
        };
        self.tables.iter().position(is_like)
    }

    /// Gives a flow the function of that number.
    ///
    /// # Errors
    /// There is no room; then the flow has what it had.
    fn assign(&mut self, table: usize, key: &[u64], number: u32) -> Result<(), FlowError> {
        let Table { kernel, programs, .. } = &mut self.tables[table];
        let Some((memory, _)) = kernel else { return Ok(()) };
        programs.hold(number);
        match memory.insert(key, number) {
            Ok(before) => {
                before.into_iter().for_each(|before| programs.release(before));
                Ok(())
            }
            Err(error) => {
                programs.release(number);
                Err(error)
            }
        }
    }

    /// Lets time pass: removes flows that were idle for too long, and functions that no flow has; gives these, and when to be
    /// called again.
    pub fn turn(&mut self) -> (Vec<FunctionId>, Option<Instant>) {
        let mut gone = Vec::new();
        let ticks = self.ticked.elapsed() >= TICK;
        if ticks {
            self.ticked = Instant::now();
        }
        for number in 0..self.tables.len() {
            if ticks {
                self.expire(number);
            }
            let table = &mut self.tables[number];
            for function in table.programs.take_unused() {
                match function <= DIRECT {
                    true => table.left.push_back((Instant::now(), function)),
                    false => table.clear(function),
                }
                gone.push((number, function));
            }
            if ticks {
                table.clear_one_left();
            }
        }
        let is_used = self.tables.iter().any(|table| {
            let has_programs = !table.programs.is_empty() || !table.left.is_empty();
            has_programs || table.kernel.as_ref().is_some_and(|(memory, _)| !memory.is_empty())
        });
        (gone, is_used.then_some(self.ticked + TICK))
    }

    fn expire(&mut self, table: usize) {
        let Table { kernel: Some((memory, _)), description, .. } = &self.tables[table] else { return };
        memory.tick();
        for key in description.idle.map(|idle| memory.idle(idle)).unwrap_or_default() {
            self.remove(table, &key);
        }
    }
}

impl Table {
    /// Takes the programs with that number out of the arrays.
    fn clear(&self, function: u32) {
        self.kernel.iter().flat_map(|(_, arrays)| arrays).for_each(|array| array.clear(function));
    }

    /// Takes out the programs that were left for longest, if that is long enough and their number is still free.
    fn clear_one_left(&mut self) {
        while let Some((since, function)) = self.left.front().copied() {
            let is_free = self.programs.is_free(function);
            if is_free && since.elapsed() < LEFT {
                break;
            }
            self.left.pop_front();
            if is_free && self.left.iter().all(|(_, other)| *other != function) {
                return self.clear(function);
            }
        }
    }

    fn entry(&self, flow: Flow) -> FlowEntry {
        let (content, form) = self.programs.about(flow.function);
        let is_first = content.is_some() && self.of_script.get(&flow.key) == content.as_ref();
        FlowEntry { flow, content, form, is_first }
    }
}

/// Two words that nobody can guess.
fn seed() -> [u64; 2] {
    use std::hash::{BuildHasher, RandomState};
    // The keys of each are random (RandomState::new).
    [0u64, 1].map(|number| RandomState::new().hash_one(number))
}
