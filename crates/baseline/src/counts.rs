//! Sums that are assigned to where one of their operands was read from: `t[k] = (t[k] or 0) + n`, `f.n = f.n + n`, `n = n + 1`; and
//! what is assigned to where it was read from: `t[k] = t[k] or 100`.
//!
//! The bytecode tells which reading instruction belongs to which assignment; whether both mean the same word is known at packet
//! time only (`runtime/lua/shared.lua`).

use super::General;
use super::reach::Reach;
use super::script::Functions;
use super::sites::Site;
use moonhook_runtime::layout::{FIRST, FIRST_FIELDS, KEEPS, READ_SITES, READ_SIZE};
use moonhook_snapshot::first_sums::{self, First};
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::same_word::{Amount, DEPTH, Function};
use moonhook_snapshot::{CellId, Prototype, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// For each instruction that assigns such a sum, the one that reads.
#[derive(Default)]
pub struct Counts {
    read_of: HashMap<usize, Read>,
    /// For each instruction that assigns a table, the names of the fields that are first counts.
    fields: HashMap<usize, Vec<Arc<[u8]>>>,
    /// For each instruction that reads, which of the frame's notes it uses.
    notes: HashMap<usize, usize>,
}

/// Variables that functions read in order to assign a sum to them.
#[derive(Default)]
pub struct Summed {
    pub cells: BTreeSet<CellId>,
    /// The names of globals and fields that are.
    pub names: BTreeSet<Arc<[u8]>>,
}

/// What each function that is reached assigns sums to, and the variables that can be.
pub fn find(functions: &Functions<'_>, reach: &Reach) -> (HashMap<usize, Rc<Counts>>, Summed) {
    let (mut all, mut summed) = (HashMap::new(), Summed::default());
    for &function in &reach.functions {
        let prototype = functions.get(function);
        let counts = Counts::new(prototype);
        for pc in counts.notes.keys() {
            summed.add(reach, (function, prototype), *pc);
        }
        all.insert(function, Rc::new(counts));
    }
    (all, summed)
}

impl Summed {
    /// Adds what the instruction at `pc` reads.
    fn add(&mut self, reach: &Reach, (function, prototype): (usize, &Prototype), pc: usize) {
        let i = Instruction(prototype.code[pc]);
        match i.opcode() {
            Some(Opcode::GetUpval) => {
                let captured = reach.upvalues.get(&function).and_then(|upvalues| upvalues.get(i.b()));
                self.cells.extend(captured.iter().flat_map(|captured| &captured.cells));
            }
            Some(Opcode::GetTabUp | Opcode::GetField | Opcode::Self_) => {
                if let Some(Value::String(name)) = prototype.constants.get(i.c()) {
                    self.names.insert(name.clone());
                }
            }
            _ => {}
        }
    }
}

/// What an assigned value comes from.
#[derive(Clone, Copy)]
pub struct Read {
    pub pc: usize,
    /// What was read is assigned as it is; only where it is nil, something else is.
    pub keeps: bool,
    /// See [`first_sums`].
    pub first: bool,
}

impl Counts {
    pub fn new(prototype: &Prototype) -> Counts {
        let function = Function(prototype);
        let found = (0..prototype.code.len()).filter_map(|pc| Some((pc, read_of(&function, pc)?)));
        let mut read_of: HashMap<usize, Read> = found.collect();
        let mut of_fields = HashMap::new();
        for (pc, First { read, fields, .. }) in first_sums::find(prototype) {
            if fields.is_empty() {
                read_of.entry(pc).or_insert(Read { pc: read, keeps: false, first: false }).first = true;
            } else if !read_of.contains_key(&pc) {
                let counts = fields.into_iter().filter(|field| field.from == 0);
                of_fields.insert(pc, counts.map(|field| field.name).collect());
            }
        }
        let mut last_use: BTreeMap<usize, usize> = BTreeMap::new();
        for (pc, read) in &read_of {
            let last = last_use.entry(read.pc).or_default();
            *last = (*pc).max(*last);
        }
        Counts { notes: share(&last_use), read_of, fields: of_fields }
    }

    pub fn is_read(&self, pc: usize) -> bool {
        self.notes.contains_key(&pc)
    }

    /// The instruction that reads what the one at `pc` assigns a sum with.
    pub fn read_of(&self, pc: usize) -> Option<Read> {
        self.read_of.get(&pc).copied()
    }
}

/// Gives each reading instruction a note that no other one needs between it and the last instruction that uses what it read.
fn share(last_use: &BTreeMap<usize, usize>) -> HashMap<usize, usize> {
    let (mut notes, mut busy_until) = (HashMap::new(), Vec::<usize>::new());
    for (&pc, &last) in last_use {
        let free = busy_until.iter().position(|until| *until < pc).unwrap_or(busy_until.len());
        if free == busy_until.len() {
            busy_until.push(last);
        }
        busy_until[free] = last;
        notes.insert(pc, free);
    }
    notes
}

/// The sites of a function's instructions, made in the order of the bytecode.
pub struct Sites {
    counts: Rc<Counts>,
    /// What the instructions that read what is added to have for `S_READ`, by their place.
    of_reads: HashMap<usize, u64>,
}

impl Sites {
    pub fn new(counts: Rc<Counts>) -> Sites {
        Sites { counts, of_reads: HashMap::new() }
    }

    /// The next site of the program, for the instruction at `pc`.
    pub fn make(&mut self, general: &mut General<'_>, function: usize, pc: usize) -> Site {
        let mut site = Site::new(general, function, pc);
        let number = general.sites.len();
        if let Some(note) = self.counts.notes.get(&pc) {
            site.read = number as u64 * READ_SITES as u64 + (*note as u64 + 1) * READ_SIZE as u64;
            self.of_reads.insert(pc, site.read);
        } else if let Some(read) = self.counts.read_of(pc)
            && let Some(of_read) = self.of_reads.get(&read.pc)
        {
            let flag = |is: bool, flag: i64| if is { flag as u64 } else { 0 };
            site.read = of_read | flag(read.keeps, KEEPS) | flag(read.first, FIRST);
        } else if let Some(fields) = self.counts.fields.get(&pc) {
            let names = fields.iter().map(|name| general.image.text(name));
            let list: Vec<u64> = [fields.len() as u64].into_iter().chain(names).collect();
            site.read = general.image.words(&list) | FIRST_FIELDS as u64;
        }
        site
    }

    /// Whether the instruction reads what a later one assigns a sum with.
    pub fn is_read(&self, pc: usize) -> bool {
        self.counts.is_read(pc)
    }
}

fn read_of(function: &Function<'_>, pc: usize) -> Option<Read> {
    let object = function.object(pc, DEPTH)?;
    let is_same = |read: &usize| function.object(*read, DEPTH).is_some_and(|other| other == object);
    if let Amount::Register(value) = function.assigned(pc)?
        && let Some(read) = function.kept(pc, value).filter(is_same)
    {
        return Some(Read { pc: read, keeps: true, first: false });
    }
    let sum = function.sum_at(pc)?;
    Some(Read { pc: sum.read, keeps: false, first: false })
}
