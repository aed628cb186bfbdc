//! Names that keys at packet time can be without standing in the code: of fields of packets and headers, of methods of strings, of
//! fields of the library's tables. Of all of these only what is named is in the program ([`Reach::mentions`]).
//!
//! Where something is indexed that may be such an object, by a key that may be a string of load time (`pkt[rule.proto]`), the strings among
//! load-time data count as named; where the key may be a string that the packet's code makes (`pkt["u" .. "dp"]`), all names do ([`texts`]).
//! What is not found out is taken to be possible.

mod assigned;
mod fields;
mod tables;
mod texts;

use super::kinds::Code;
use super::reach::{self, Reach};
use super::script::Functions;
use super::stores::Tables;
pub use assigned::assigned_names;
use moonhook_library::standard::STRING;
use moonhook_library::{Function, find, functions};
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, TableId, Value};
use moonhook_specialise::objects;
use moonhook_specialise::stubs::{field_names, objects};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use texts::Text;

/// Steps after which everything is taken to be possible.
const PATIENCE: usize = 1_000_000;

pub struct Computed<'f, 'a> {
    functions: &'f Functions<'a>,
    reach: &'f Reach,
    codes: HashMap<usize, Rc<Code>>,
    /// The function around each of the script's, and which of those inside it this is.
    around: HashMap<usize, (usize, usize)>,
    /// Strings of load-time data.
    loaded: HashSet<&'a [u8]>,
    /// Something in the code makes strings.
    makes: bool,
    /// Strings that are made may be in variables, tables, arguments and results.
    keeps_made: bool,
    /// There may be metamethods of operators.
    has_operators: bool,
    /// There may be `__index` or `__newindex`.
    has_index: bool,
    /// Tables of the script may have functions of the library under other names.
    is_aliased: bool,
    /// Names of fields that hold tables of the script only ([`Computed::find_table_fields`]).
    table_fields: HashSet<&'a [u8]>,
    work: usize,
}

/// What may be indexed by keys that are not constant.
#[derive(Default)]
struct Sites {
    /// There are any.
    any: bool,
    /// By a string made at packet time: what may be an object, a string or a table that is not known.
    unknown: bool,
    /// The same, or with all entries gone through: tables of the library.
    tables: BTreeSet<TableId>,
    /// Tables of the library that are used otherwise than by a name in the code.
    escaped: BTreeSet<TableId>,
}

/// The names that are to be in the program because keys may be them.
pub fn names(functions: &Functions<'_>, reach: &Reach) -> HashSet<Arc<[u8]>> {
    let mut computed = Computed::of(functions, reach);
    let mut sites = computed.all_sites();
    // What nobody indexes by such keys need not be known.
    if sites.unknown {
        computed.find_table_fields();
        sites = computed.all_sites();
    }
    computed.named(sites)
}

impl<'f, 'a> Computed<'f, 'a> {
    /// With what is known of the script's functions.
    fn of(functions: &'f Functions<'a>, reach: &'f Reach) -> Computed<'f, 'a> {
        let mut computed = Computed::new(functions, reach);
        let declared = |id: &TableId| functions.snapshot.table(*id).declaration.is_some();
        computed.keeps_made = reach.tables.iter().any(declared)
            || computed.visible().into_iter().any(|function| computed.is_kept_by(function));
        computed.has_index |= computed.may_name_index();
        computed
    }

    /// The reachable functions of the script.
    fn visible(&self) -> Vec<usize> {
        self.reach.functions.iter().copied().filter(|index| !self.functions.is_hidden(*index)).collect()
    }

    fn new(functions: &'f Functions<'a>, reach: &'f Reach) -> Computed<'f, 'a> {
        let snapshot = functions.snapshot;
        let mut loaded = HashSet::new();
        let mut is_aliased = false;
        let mut note = |value: &'a Value, of_table: bool| match value {
            Value::String(text) => {
                loaded.insert(&**text);
            }
            Value::Builtin(_) => is_aliased |= of_table,
            _ => {}
        };
        for id in reach.tables.iter().filter(|id| !reach::is_library(snapshot, **id)) {
            let table = snapshot.table(*id);
            table.array.iter().for_each(|value| note(value, true));
            for (key, value) in &table.entries {
                note(key, true);
                note(value, true);
            }
        }
        for id in reach.tables.iter().filter(|id| reach::is_library(snapshot, **id)) {
            let texts = snapshot.table(*id).values().filter(|value| matches!(value, Value::String(_)));
            texts.for_each(|value| note(value, false));
        }
        reach.cells.iter().for_each(|cell| note(&snapshot.cell(*cell).value, false));
        let named = |is: &dyn Fn(&[u8]) -> bool| {
            reach.mentions.iter().any(|name| is(name)) || loaded.iter().any(|name| is(name))
        };
        let inner = |(outer, prototype): (usize, &'a Prototype)| {
            let inner = prototype.prototypes.iter().enumerate();
            inner.map(move |(n, inner)| (inner.index(), (outer, n)))
        };
        let around = snapshot.prototypes.iter().enumerate().flat_map(inner).collect();
        let is_maker = |value: &Value| matches!(value, Value::Builtin(_));
        Computed {
            functions,
            reach,
            codes: HashMap::new(),
            around,
            makes: named(&texts::is_maker)
                || is_aliased
                || reach.cells.iter().any(|cell| is_maker(&snapshot.cell(*cell).value)),
            keeps_made: false,
            has_operators: named(&texts::is_operator),
            has_index: named(&|name| name == b"__index" || name == b"__newindex"),
            is_aliased,
            table_fields: HashSet::new(),
            loaded,
            work: 0,
        }
    }

    fn prototype(&self, function: usize) -> &'a Prototype {
        self.functions.get(function)
    }

    fn instruction(&self, function: usize, pc: usize) -> Instruction {
        Instruction(self.prototype(function).code[pc])
    }

    fn code(&mut self, function: usize) -> Rc<Code> {
        let functions = self.functions;
        let known = self.codes.entry(function);
        known.or_insert_with(|| Rc::new(Code::of(functions, function))).clone()
    }

    /// The constant string of an operand.
    fn constant(&self, function: usize, number: usize) -> Option<&'a [u8]> {
        match self.prototype(function).constants.get(number) {
            Some(Value::String(name)) => Some(name),
            _ => None,
        }
    }

    fn is_mentioned(&self, name: &[u8]) -> bool {
        self.reach.mentions.contains(name) || self.loaded.contains(name)
    }

    fn is_tired(&self) -> bool {
        self.work > PATIENCE
    }

    fn is_kept_by(&mut self, function: usize) -> bool {
        self.captures_made(function)
            || (0..self.prototype(function).code.len()).any(|pc| self.keeps(function, pc))
    }

    /// Whether a register surely holds a table that the function has made.
    fn is_new(&mut self, function: usize, pc: usize, register: usize) -> bool {
        let code = self.code(function);
        let is_captured = code.captured_at(pc, register).is_some_and(|captured| captured.made < pc);
        let (setters, from_start) = code.definitions(pc, register);
        let is = |setter: &usize| self.instruction(function, *setter).opcode() == Some(Opcode::NewTable);
        !from_start && !is_captured && setters.iter().all(is)
    }

    fn all_sites(&mut self) -> Sites {
        let mut sites = Sites::default();
        self.visible().into_iter().for_each(|function| self.sites(function, &mut sites));
        sites
    }

    /// What a function indexes by keys that are not constant, and which tables of the library it has in registers for longer than a name takes.
    fn sites(&mut self, function: usize, sites: &mut Sites) {
        for pc in 0..self.prototype(function).code.len() {
            let i = self.instruction(function, pc);
            match i.opcode() {
                Some(Opcode::GetTable) => self.index_site(function, pc, i, sites),
                Some(Opcode::SetTable) => sites.any |= self.may_assign_field(function, pc, i),
                Some(Opcode::GetTabUp | Opcode::GetUpval | Opcode::GetField) => {
                    self.note_escape(function, pc, i, sites);
                }
                _ => {}
            }
        }
    }

    fn index_site(&mut self, function: usize, pc: usize, i: Instruction, sites: &mut Sites) {
        let key = self.text(function, pc, i.c());
        if key == Text::None || !self.leads_away() && self.is_table(function, pc, i.b(), tables::STEPS) {
            return;
        }
        let snapshot = self.functions.snapshot;
        let tables = Tables::new(self.functions, self.reach, function);
        match tables.in_register(pc, i.b()) {
            Some(table) if reach::is_library(snapshot, table) => {
                sites.any = true;
                if key == Text::Made {
                    sites.tables.insert(table);
                }
                if reach::is_globals(snapshot, table) {
                    sites.escaped.insert(table);
                }
            }
            Some(table) if self.is_plain(table) => {}
            _ => {
                sites.any = true;
                sites.unknown |= key == Text::Made;
            }
        }
    }

    /// Whether a name is assigned in what may be a header.
    fn may_assign_field(&mut self, function: usize, pc: usize, i: Instruction) -> bool {
        if self.text(function, pc, i.b()) == Text::None {
            return false;
        }
        let table = Tables::new(self.functions, self.reach, function).in_register(pc, i.a());
        let is_table = |computed: &mut Self| computed.is_table(function, pc, i.a(), tables::STEPS);
        table.is_none() && (self.functions.redirects() || !is_table(self))
    }

    /// Whether indexing a table of load time leads to tables only, and to none of the library.
    fn is_plain(&self, mut table: TableId) -> bool {
        let snapshot = self.functions.snapshot;
        for _ in 0..64 {
            let Some(meta) = snapshot.table(table).metatable else { return true };
            match snapshot.table(meta).field(b"__index") {
                None => return true,
                Some(Value::Table(next)) if !reach::is_library(snapshot, *next) => table = *next,
                // A function's own code is looked at.
                Some(Value::Closure(_)) => return true,
                Some(_) => return false,
            }
        }
        false
    }

    fn note_escape(&self, function: usize, pc: usize, i: Instruction, sites: &mut Sites) {
        if pc + 1 >= self.prototype(function).code.len() {
            return;
        }
        let tables = Tables::new(self.functions, self.reach, function);
        let Some(table) = tables.in_register(pc + 1, i.a()) else { return };
        let next = self.instruction(function, pc + 1);
        // Behind that there is something else in the register.
        let is_last = next.b() == i.a() && next.a() == i.a();
        let is_named = next.opcode() == Some(Opcode::GetField) && is_last;
        let is_key = next.opcode() == Some(Opcode::GetTable) && is_last;
        if reach::is_library(self.functions.snapshot, table) && !is_named && !is_key {
            sites.escaped.insert(table);
        }
    }

    /// The tables of the library that the script may have as values.
    fn escaped(&self, mut escaped: BTreeSet<TableId>) -> BTreeSet<TableId> {
        let snapshot = self.functions.snapshot;
        for id in self.reach.tables.iter().filter(|id| !reach::is_library(snapshot, **id)) {
            let table = snapshot.table(*id);
            escaped.extend(table.values().filter_map(|value| match value {
                Value::Table(table) if reach::is_library(snapshot, *table) => Some(*table),
                _ => None,
            }));
        }
        let variables = self.reach.upvalues.keys().flat_map(|function| self.reach.unfixed_cells(*function));
        escaped.extend(variables.filter_map(|cell| match snapshot.cell(cell).value {
            Value::Table(table) if reach::is_library(snapshot, table) => Some(table),
            _ => None,
        }));
        if escaped.iter().any(|table| reach::is_globals(snapshot, *table)) {
            let all = (0..snapshot.tables.len() as u32).map(TableId);
            escaped.extend(all.filter(|table| reach::is_library(snapshot, *table)));
        }
        escaped
    }

    /// Whether variables or tables of the script have such a function of the library.
    fn has_in_data(&self, is: &dyn Fn(&str) -> bool) -> bool {
        let snapshot = self.functions.snapshot;
        let is = |value: &Value| matches!(value, Value::Builtin(name) if is(name));
        let mut tables = self.reach.tables.iter().filter(|id| !reach::is_library(snapshot, **id));
        self.reach.cells.iter().any(|cell| is(&snapshot.cell(*cell).value))
            || tables.any(|id| snapshot.table(*id).values().any(is))
    }

    /// Whether the script may use a function of the library of which this holds: it says the name, or has one as a value.
    fn may_use(&self, holds: impl Fn(&Function) -> bool) -> bool {
        let is = |name: &str| find(name).is_some_and(&holds);
        functions().any(|function| holds(function) && self.is_mentioned(function.key().as_bytes()))
            || self.has_in_data(&is)
    }

    fn named(&self, sites: Sites) -> HashSet<Arc<[u8]>> {
        let snapshot = self.functions.snapshot;
        let traverses = self.may_use(|function| function.reads_any_field);
        let escaped = self.escaped(sites.escaped);
        let mut open = sites.tables;
        if sites.unknown || traverses {
            open.extend(&escaped);
        }
        let mut names: HashSet<Arc<[u8]>> = open.iter().flat_map(|table| keys(snapshot, *table)).collect();
        if sites.unknown && snapshot.hooks().any(|hook| !hook.is_trace()) {
            names.extend(field_names().map(|name| Arc::from(name.as_bytes())));
        }
        if sites.unknown {
            names.extend(STRING.functions.iter().map(|method| Arc::from(method.key().as_bytes())));
        }
        if sites.any {
            let all = (0..snapshot.tables.len() as u32).map(TableId);
            let of_library: HashSet<Arc<[u8]>> = all
                .filter(|table| reach::is_library(snapshot, *table))
                .flat_map(|table| keys(snapshot, table))
                .collect();
            let is_known = |name: &&&[u8]| {
                // Any may be that of a structure's field.
                snapshot.traced.types().is_some()
                    || of_library.contains(**name)
                    || STRING.functions.iter().any(|method| method.key().as_bytes() == **name)
                    || objects().any(|(_, object)| objects::has_field(&object, name))
            };
            names.extend(self.loaded.iter().filter(is_known).map(|name| Arc::from(*name)));
        }
        names
    }
}

/// The names in a table.
fn keys(snapshot: &moonhook_snapshot::Snapshot, table: TableId) -> impl Iterator<Item = Arc<[u8]>> {
    snapshot.table(table).entries.iter().filter_map(|(key, _)| match key {
        Value::String(name) => Some(name.clone()),
        _ => None,
    })
}
