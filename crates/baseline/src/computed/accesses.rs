//! Which tables of load time packet code gets at without their fields' names standing in it.

use super::Computed;
use super::texts::Text;
use crate::left_out::Accesses;
use crate::reach::{self, Functions, Reach};
use crate::stores::Tables;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{TableId, Value, flow, names};
use std::collections::{BTreeSet, HashSet};

/// Instructions that are followed back to find the tables that a register may hold, at most.
const DEPTH: usize = 16;

/// Tables that one look in its metatable's `__index`, at most.
const CHAIN: usize = 64;

/// What is found out of the functions that handlers reach.
pub fn accesses(functions: &Functions<'_>, reach: &Reach) -> Accesses {
    let visible: Vec<usize> =
        reach.functions.iter().copied().filter(|index| !functions.is_hidden(*index)).collect();
    let mut scan = Scan {
        computed: Computed::new(functions, reach),
        set: assigned_names(functions, &visible),
        found: Accesses::default(),
    };
    scan.held_by_tables();
    for function in visible {
        for pc in 0..functions.get(function).code.len() {
            scan.instruction(function, pc);
        }
    }
    scan.found
}

/// The names of fields that are assigned, those of tables that were just made too.
fn assigned_names<'a>(functions: &Functions<'a>, visible: &[usize]) -> HashSet<&'a [u8]> {
    let mut found = HashSet::new();
    for prototype in visible.iter().map(|function| functions.get(*function)) {
        for i in prototype.code.iter().map(|word| Instruction(*word)) {
            if let (Some(Opcode::SetField | Opcode::SetTabUp), Some(Value::String(name))) =
                (i.opcode(), prototype.constants.get(i.b()))
            {
                found.insert(&**name);
            }
        }
    }
    found
}

struct Scan<'f, 'a> {
    computed: Computed<'f, 'a>,
    /// See [`assigned_names`].
    set: HashSet<&'a [u8]>,
    found: Accesses,
}

impl<'f, 'a> Scan<'f, 'a> {
    fn functions(&self) -> &'f Functions<'a> {
        self.computed.functions
    }

    fn tables(&self, function: usize) -> Tables<'f, 'a> {
        Tables::new(self.functions(), self.computed.reach, function)
    }

    /// The tables of the script that handlers reach.
    fn reached(&self) -> impl Iterator<Item = TableId> + use<'f, 'a> {
        let snapshot = self.functions().snapshot;
        self.computed.reach.tables.iter().copied().filter(|id| !reach::is_library(snapshot, *id))
    }

    /// Tables in others. Those behind `__index` are looked into, but not handed out.
    fn held_by_tables(&mut self) {
        let snapshot = self.functions().snapshot;
        for id in self.reached() {
            let entries = snapshot.table(id).entries.iter();
            let others =
                entries.filter(|(key, _)| !matches!(key, Value::String(name) if **name == *b"__index"));
            let values = snapshot.table(id).array.iter().chain(others.map(|(_, value)| value));
            self.found.given.extend(values.filter_map(table));
        }
    }

    fn instruction(&mut self, function: usize, pc: usize) {
        use Opcode::*;
        let i = self.computed.instruction(function, pc);
        match i.opcode() {
            Some(GetTable) if self.computed.text(function, pc, i.c()) != Text::None => {
                self.open(function, pc, i.b());
            }
            Some(Call | TailCall) => self.call(function, pc, i.a()),
            // `for key, value in next, t`.
            Some(TForCall) if self.calls(function, pc, i.a(), &["next"]) => {
                self.open(function, pc, i.a() + 1)
            }
            Some(SetUpval) => self.give(function, pc, i.a()),
            Some(SetTable | SetField | SetI | SetTabUp) if !i.k() => self.give(function, pc, i.c()),
            Some(SetList | Return | Return1) => {
                self.read(function, pc).into_iter().for_each(|register| self.give(function, pc, register));
            }
            _ => {}
        }
    }

    /// The registers that an instruction reads.
    fn read(&self, function: usize, pc: usize) -> Vec<usize> {
        let prototype = self.computed.prototype(function);
        let mut read = flow::RegisterSet::default();
        flow::registers_before(&prototype.code, pc, &mut read);
        (0..prototype.stack_size.into()).filter(|register| read.contains(*register)).collect()
    }

    fn calls(&self, function: usize, pc: usize, register: usize, names: &[&str]) -> bool {
        let called = self.tables(function).value_in_register(pc, register);
        matches!(called, Some(Value::Builtin(name)) if names.contains(&name))
    }

    fn call(&mut self, function: usize, pc: usize, base: usize) {
        self.found.called.extend(self.tables(function).in_register(pc, base));
        if self.calls(function, pc, base, &["pairs", "next", "rawget"]) {
            return self.open(function, pc, base + 1);
        }
        let metatable = self.calls(function, pc, base, &["setmetatable"]).then_some(base + 2);
        if let Some(register) = metatable {
            match self.held(function, pc, register, DEPTH) {
                Some(tables) => self.found.metatables.extend(tables),
                None => self.found.any_metatable = true,
            }
        }
        // What has a metatable is looked at through it, and the metatable by names.
        for register in self.read(function, pc) {
            if register > base && Some(register) != metatable {
                self.give(function, pc, register);
            }
        }
    }

    fn give(&mut self, function: usize, pc: usize, register: usize) {
        self.found.given.extend(self.tables(function).in_register(pc, register));
    }

    fn open(&mut self, function: usize, pc: usize, register: usize) {
        let prototype = self.computed.prototype(function);
        // What the function has made may have a metatable.
        let may_lead_further = self.computed.has_index && reach::is_new(prototype, pc, register);
        let tables = self.held(function, pc, register, DEPTH).filter(|_| !may_lead_further);
        let Some(tables) = tables else {
            self.found.unknown = true;
            return;
        };
        for mut id in tables {
            for _ in 0..CHAIN {
                self.found.open.insert(id);
                match self.behind(id) {
                    Some(next) => id = next,
                    None => break,
                }
            }
        }
    }

    /// The table in which the fields are that a table has not.
    fn behind(&self, id: TableId) -> Option<TableId> {
        let snapshot = self.functions().snapshot;
        snapshot.table(snapshot.table(id).metatable?).field(b"__index").and_then(table)
    }

    /// The tables of load time that a register may hold; `None` if that is not known.
    fn held(
        &mut self,
        function: usize,
        pc: usize,
        register: usize,
        depth: usize,
    ) -> Option<BTreeSet<TableId>> {
        let depth = depth.checked_sub(1)?;
        if let Some(known) = self.tables(function).in_register(pc, register) {
            return Some(BTreeSet::from([known]));
        }
        let setter = names::setter(self.computed.prototype(function), pc, register)?;
        let i = self.computed.instruction(function, setter);
        match i.opcode()? {
            Opcode::Move => self.held(function, setter, i.b(), depth),
            Opcode::NewTable => Some(BTreeSet::new()),
            Opcode::GetUpval => self.in_variables(function, i.b()),
            Opcode::GetField => self.in_fields(self.computed.constant(function, i.c())?),
            Opcode::GetTable | Opcode::GetI => {
                let outer = self.held(function, setter, i.b(), depth)?;
                let snapshot = self.functions().snapshot;
                let values = outer.iter().flat_map(|id| snapshot.table(*id).values());
                Some(values.filter_map(table).collect())
            }
            _ => None,
        }
    }

    /// What is in the fields of that name in any table, if nothing assigns them.
    fn in_fields(&self, name: &[u8]) -> Option<BTreeSet<TableId>> {
        let snapshot = self.functions().snapshot;
        let field = |id: TableId| snapshot.table(id).field(name).and_then(table);
        (!self.set.contains(name)).then(|| self.reached().filter_map(field).collect())
    }

    /// What is in the variables of load time that a function has from outside, if it has no others and nothing assigns them.
    fn in_variables(&self, function: usize, upvalue: usize) -> Option<BTreeSet<TableId>> {
        let (snapshot, reach) = (self.functions().snapshot, self.computed.reach);
        let is_made = reach.functions.iter().any(|outer| {
            let count = self.functions().get(*outer).prototypes.len();
            (0..count).any(|n| self.functions().inner(*outer, n) == function)
        });
        if is_made {
            return None;
        }
        let closures = reach.closures.iter().map(|id| snapshot.closure(*id));
        let cells: Vec<_> = closures
            .filter(|closure| closure.prototype.index() == function)
            .filter_map(|closure| closure.upvalues.get(upvalue))
            .collect();
        let is_fixed = cells.iter().all(|cell| !reach.assigned.contains(cell));
        is_fixed.then(|| cells.iter().filter_map(|cell| table(&snapshot.cell(**cell).value)).collect())
    }
}

fn table(value: &Value) -> Option<TableId> {
    match value {
        Value::Table(table) => Some(*table),
        _ => None,
    }
}
