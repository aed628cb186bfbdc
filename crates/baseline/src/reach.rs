//! What packet code can reach: functions, objects of load time, and library functions.
//!
//! Tables of the library (and the table of globals) would bring in everything there is, so of them only the fields count
//! whose names stand somewhere in the reachable code as constants, or that its keys may be ([`crate::computed`]).

use super::script::Functions;
use moonhook_library::own::{DATA, DNS_MESSAGE, HTTP};
use moonhook_library::standard::STRING;
use moonhook_library::{Function, General};
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{CellId, ClosureId, Prototype, Snapshot, TableId, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

#[derive(Default)]
pub struct Reach {
    pub functions: BTreeSet<usize>,
    /// Constant strings of the reachable functions of the script, and other names that keys may be ([`crate::computed`]).
    pub mentions: HashSet<Arc<[u8]>>,
    /// Those of them that stand in functions of the script: what is large is only in programs whose scripts spell its name.
    pub spelled: HashSet<Arc<[u8]>>,
    pub tables: BTreeSet<TableId>,
    pub closures: BTreeSet<ClosureId>,
    pub cells: BTreeSet<CellId>,
    /// Canonical names.
    pub builtins: BTreeSet<String>,
    /// For each function what may be behind its upvalues.
    pub upvalues: BTreeMap<usize, Vec<Captured>>,
    /// Variables of load time that some function assigns.
    pub assigned: BTreeSet<CellId>,
    /// Names of the global variables and fields that some function assigns, but for those of tables that it has just made.
    pub assigned_names: HashSet<Arc<[u8]>>,
    /// Objects that were met, and whose contents have not been looked at: a graph of objects can be of any depth.
    pending: Vec<Object>,
}

/// What an upvalue of a function may be, whichever of its closures runs.
#[derive(Clone, Default)]
pub struct Captured {
    /// Variables of load time.
    pub cells: BTreeSet<CellId>,
    /// A variable of a function that runs at packet time.
    made: bool,
}

impl Captured {
    /// The variable of load time that it surely is.
    pub fn only(&self) -> Option<CellId> {
        match (self.made, self.cells.len()) {
            (false, 1) => self.cells.first().copied(),
            _ => None,
        }
    }

    fn is_nothing(&self) -> bool {
        !self.made && self.cells.is_empty()
    }

    /// Adds what another upvalue may be; gives what is new in that.
    fn add(&mut self, other: &Captured) -> Captured {
        let made = other.made && !self.made;
        self.made |= made;
        let cells = other.cells.iter().copied().filter(|cell| self.cells.insert(*cell)).collect();
        Captured { cells, made }
    }
}

/// An object of load time that refers to others.
#[derive(Clone, Copy)]
enum Object {
    Table(TableId),
    Closure(ClosureId),
}

impl Reach {
    /// Everything that the handlers reach.
    ///
    /// `computed` gives names that keys may be, as far as that is known of what is reached.
    pub fn new(
        functions: &Functions<'_>,
        computed: impl Fn(&Functions<'_>, &Reach) -> HashSet<Arc<[u8]>>,
    ) -> Reach {
        let mut reach = Reach::default();
        for handler in functions.snapshot.handlers.iter() {
            reach.value(&Value::Closure(handler.closure));
        }
        if let Some(methods) = functions.snapshot.strings {
            reach.value(&Value::Table(methods));
        }
        reach.follow(functions);
        loop {
            let before = reach.size();
            for table in reach.tables.clone() {
                reach.fields(functions, table);
            }
            reach.follow(functions);
            for builtin in reach.builtins.clone() {
                if let Some(function) = functions.of_library(&builtin) {
                    reach.function(functions, function, &[]);
                }
            }
            reach.methods();
            if reach.size() > before {
                continue;
            }
            reach.mentions.extend(computed(functions, &reach));
            if reach.size() == before {
                return reach;
            }
        }
    }

    fn size(&self) -> usize {
        self.functions.len()
            + self.mentions.len()
            + self.tables.len()
            + self.closures.len()
            + self.builtins.len()
    }

    /// Strings index the string library, packets and headers have methods. Of the latter, only what is written in Lua is reached like functions
    /// of the script.
    fn methods(&mut self) {
        let is_named = |method: &&Function| self.mentions.contains(method.key().as_bytes());
        let of_strings = STRING.functions.iter().filter(|method| method.is_for_packets()).filter(is_named);
        let is_spelled = |method: &&Function| {
            method.general == General::Runtime && self.spelled.contains(method.key().as_bytes())
        };
        let of_packets =
            [&DATA, &HTTP, &DNS_MESSAGE].into_iter().flat_map(|library| library.functions).filter(is_spelled);
        let named = of_strings.chain(of_packets);
        self.builtins.extend(named.map(|method| method.name.to_string()));
    }

    /// Looks at all objects that were met, and at those that are met then.
    fn follow(&mut self, functions: &Functions<'_>) {
        while let Some(object) = self.pending.pop() {
            match object {
                Object::Table(table) => self.fields(functions, table),
                Object::Closure(closure) => self.closure(functions, closure),
            }
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Table(table) if self.tables.insert(*table) => self.pending.push(Object::Table(*table)),
            Value::Closure(closure) if self.closures.insert(*closure) => {
                self.pending.push(Object::Closure(*closure));
            }
            Value::Builtin(name) => {
                self.builtins.insert(name.to_string());
            }
            _ => {}
        }
    }

    fn fields(&mut self, functions: &Functions<'_>, id: TableId) {
        let table = functions.snapshot.table(id);
        for (key, value) in present(functions.snapshot, id, &self.mentions) {
            self.value(&key);
            self.value(&value);
        }
        if let Some(meta) = table.metatable {
            self.value(&Value::Table(meta));
        }
    }

    fn closure(&mut self, functions: &Functions<'_>, id: ClosureId) {
        let closure = functions.snapshot.closure(id);
        let cell = |cell: &CellId| Captured { cells: BTreeSet::from([*cell]), made: false };
        let captured: Vec<Captured> = closure.upvalues.iter().map(cell).collect();
        self.function(functions, closure.prototype.index(), &captured);
        for cell in &closure.upvalues {
            if self.cells.insert(*cell) {
                self.value(&functions.snapshot.cell(*cell).value);
            }
        }
    }

    /// A function and those inside it; its upvalues may be `captured`, too.
    fn function(&mut self, functions: &Functions<'_>, index: usize, captured: &[Captured]) {
        let prototype = functions.get(index);
        let is_known = !self.functions.insert(index);
        let known = self.upvalues.entry(index).or_default();
        known.resize(prototype.upvalues.len(), Captured::default());
        let new: Vec<Captured> =
            known.iter_mut().zip(captured).map(|(known, other)| known.add(other)).collect();
        if is_known && new.iter().all(Captured::is_nothing) {
            return;
        }
        if !is_known {
            self.names(functions, index);
        }
        self.assignments(prototype, &new);
        for n in 0..prototype.prototypes.len() {
            let inner = functions.inner(index, n);
            let captures = functions.get(inner).upvalues.iter();
            let passed = captures.map(|upvalue| match upvalue.in_stack {
                true => Captured { made: true, ..Captured::default() },
                false => new.get(usize::from(upvalue.index)).cloned().unwrap_or_default(),
            });
            let passed: Vec<Captured> = passed.collect();
            self.function(functions, inner, &passed);
        }
    }

    /// Notes the variables among `captured`, which are a function's upvalues, that it assigns.
    fn assignments(&mut self, prototype: &Prototype, captured: &[Captured]) {
        let code = prototype.code.iter().map(|word| Instruction(*word));
        for i in code.filter(|i| i.opcode() == Some(Opcode::SetUpval)) {
            self.assigned.extend(captured.get(i.b()).iter().flat_map(|captured| &captured.cells));
        }
    }

    /// Notes the names that stand in a function.
    fn names(&mut self, functions: &Functions<'_>, index: usize) {
        let prototype = functions.get(index);
        for (pc, word) in prototype.code.iter().enumerate() {
            let i = Instruction(*word);
            match i.opcode() {
                Some(Opcode::SetField) if functions.is_new(index, pc, i.a()) => {}
                Some(Opcode::SetTabUp | Opcode::SetField) => {
                    if let Some(Value::String(name)) = prototype.constants.get(i.b()) {
                        self.assigned_names.insert(name.clone());
                    }
                }
                _ => {}
            }
        }
        if functions.is_hidden(index) {
            self.builtins.extend(named_in(prototype));
            return;
        }
        let texts = prototype.constants.iter().filter_map(|constant| match constant {
            Value::String(text) => Some(text.clone()),
            _ => None,
        });
        let texts: Vec<Arc<[u8]>> = texts.collect();
        self.spelled.extend(texts.iter().cloned());
        self.mentions.extend(texts);
    }

    /// The load-time variable that an upvalue of a function surely is, if nothing assigns it at packet time.
    pub fn fixed_upvalue(&self, function: usize, upvalue: usize) -> Option<CellId> {
        let cell = self.upvalues.get(&function)?.get(upvalue)?.only()?;
        (!self.assigned.contains(&cell)).then_some(cell)
    }

    /// The variables of load time that upvalues of a function may be where it is not known which, or packets assign them.
    pub fn unfixed_cells(&self, function: usize) -> impl Iterator<Item = CellId> + '_ {
        let upvalues = self.upvalues.get(&function).into_iter().flatten().enumerate();
        let unfixed = upvalues.filter(move |(upvalue, _)| self.fixed_upvalue(function, *upvalue).is_none());
        unfixed.flat_map(|(_, captured)| captured.cells.iter().copied())
    }

    /// Whether an upvalue of a function may be a variable of load time: not where it is surely a local variable of a function that
    /// runs at packet time.
    pub fn may_be_of_load_time(&self, functions: &Functions<'_>, index: usize, upvalue: usize) -> bool {
        let captured = self.upvalues.get(&index).and_then(|upvalues| upvalues.get(upvalue));
        functions.is_hidden(index) || captured.is_none_or(|captured| !captured.cells.is_empty())
    }

    /// Whether an upvalue of a function surely is a variable of load time.
    pub fn is_of_load_time(&self, functions: &Functions<'_>, index: usize, upvalue: usize) -> bool {
        let captured = self.upvalues.get(&index).and_then(|upvalues| upvalues.get(upvalue));
        !functions.is_hidden(index)
            && captured.is_some_and(|captured| !captured.made && !captured.cells.is_empty())
    }

    /// Whether `table[name]` is a variable: a global one or a field that packet code may assign.
    pub fn is_assigned(&self, snapshot: &Snapshot, table: TableId, name: &[u8]) -> bool {
        self.assigned_names.contains(name) && has_variables(snapshot, table)
    }
}

/// Whether packet code can assign fields with constant names: those of the library do not change.
pub fn has_variables(snapshot: &Snapshot, table: TableId) -> bool {
    is_globals(snapshot, table) || !is_library(snapshot, table)
}

/// Whether a table is that of the global variables.
pub fn is_globals(snapshot: &Snapshot, id: TableId) -> bool {
    snapshot.table(id).name.as_deref() == Some("_G") && is_library(snapshot, id)
}

/// Whether a table is one of the library's, or the table of globals.
pub fn is_library(snapshot: &Snapshot, id: TableId) -> bool {
    let table = snapshot.table(id);
    let Some(name) = table.name.as_ref().filter(|_| table.is_library) else { return false };
    table.entries.iter().any(|(key, value)| match (key, value) {
        (Value::String(key), Value::Builtin(builtin)) => {
            let key = String::from_utf8_lossy(key);
            **builtin == *key && name == "_G" || *builtin == format!("{name}.{key}")
        }
        _ => false,
    })
}

/// The entries of a table that are in the program: of the library's only those that the code names.
pub fn present(snapshot: &Snapshot, id: TableId, mentions: &HashSet<Arc<[u8]>>) -> Vec<(Value, Value)> {
    let table = snapshot.table(id);
    let array =
        table.array.iter().enumerate().map(|(i, value)| (Value::Integer(i as i64 + 1), value.clone()));
    let partial = is_library(snapshot, id);
    let named = |key: &Value| !partial || !matches!(key, Value::String(text) if !mentions.contains(text));
    array.chain(table.entries.iter().filter(|(key, _)| named(key)).cloned()).collect()
}

/// The names in a table of the library that are not in the program.
pub fn missing(snapshot: &Snapshot, id: TableId, mentions: &HashSet<Arc<[u8]>>) -> Vec<Arc<[u8]>> {
    if !is_library(snapshot, id) {
        return Vec::new();
    }
    let entries = snapshot.table(id).entries.iter();
    let name = |(key, _): &(Value, Value)| match key {
        Value::String(text) if !mentions.contains(text) => Some(text.clone()),
        _ => None,
    };
    entries.filter_map(name).collect()
}

/// Canonical names of the library functions that a library function written in Lua uses: `name` or `table.name`.
fn named_in(prototype: &Prototype) -> Vec<String> {
    let text = |index: usize| match prototype.constants.get(index) {
        Some(Value::String(text)) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    };
    let code: Vec<Instruction> = prototype.code.iter().map(|word| Instruction(*word)).collect();
    let mut names = Vec::new();
    for (pc, i) in code.iter().enumerate() {
        if i.opcode() != Some(Opcode::GetTabUp) {
            continue;
        }
        let name = text(i.c());
        names.push(match code.get(pc + 1) {
            Some(next) if next.opcode() == Some(Opcode::GetField) && next.b() == i.a() => {
                format!("{name}.{}", text(next.c()))
            }
            _ => name,
        });
    }
    names
}
