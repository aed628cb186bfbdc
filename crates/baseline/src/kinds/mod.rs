//! Which tables of load time functions may assign by key, and what their keys and values are, as far as the bytecode tells. The walk for
//! expanded code knows that better, but ends with the first construct that has no expanded form.
//!
//! An analysis of the whole script at once, blind for the order of what happens: which values flow where ([`graph`]), from the
//! instructions that set registers to those that read them ([`registers`], [`instructions`]), through tables
//! ([`elements`]) and calls ([`calls`]). What cannot be found out adds nothing: the conversions at packet time check each value anyway.

mod calls;
mod elements;
mod graph;
mod instructions;
mod notes;
mod registers;
mod results;
mod targets;

use super::reach::Reach;
use super::script::Functions;
use graph::{Graph, Node, Object, Owner, Place, Rule};
use moonhook_ir::Loc;
use moonhook_schema::MAX_DEPTH;
use moonhook_snapshot::instruction::Instruction;
use moonhook_snapshot::{Prototype, TableId};
use moonhook_specialise::Options;
use moonhook_specialise::shared::{Seen, SeenType, SharedTables};
use moonhook_specialise::structures::Structures;
use moonhook_specialise::targets::Targets;
pub use notes::Notes;
pub use registers::Code;
use results::Result;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// What was found out of a shared table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    pub key: Seen,
    pub value: Seen,
    /// Where it is assigned.
    pub place: Option<Loc>,
}

/// What was found out of the tables of load time.
pub struct Found {
    /// Of shared tables.
    pub entries: BTreeMap<TableId, Entries>,
    /// Tables that functions assign by key, and these functions.
    pub assigners: BTreeSet<(TableId, usize)>,
    /// Fields with constant names that may be assigned.
    pub fields: BTreeSet<(TableId, Arc<[u8]>)>,
    pub targets: Targets,
    /// The records that handlers put in front of packets.
    pub notes: Notes,
}

/// Fields that are looked at, at most: a table may hold itself.
const MOST_FIELDS: usize = 4096;

pub struct Kinds<'f, 'a> {
    functions: &'f Functions<'a>,
    reach: &'f Reach,
    options: &'f Options,
    structures: &'f Structures,
    graph: Graph,
    codes: HashMap<usize, Rc<Code>>,
    /// Where functions are made, by function.
    makers: HashMap<usize, Vec<(usize, usize)>>,
    meetings: Vec<(Node, usize, usize, usize)>,
    /// The names of library functions and methods.
    names: Vec<Rc<str>>,
    /// Fields of tables that are assigned by constant names.
    fields: BTreeMap<Owner, BTreeSet<Rc<str>>>,
    /// Where tables of load time are assigned by other keys.
    assigned: BTreeMap<TableId, Loc>,
    /// The functions that do that.
    assigners: BTreeSet<(TableId, usize)>,
    /// Where `redirect` is called.
    redirects: BTreeSet<Loc>,
    /// Where something is put in front of packets first.
    first_note: Option<Loc>,
    /// What headers, events and structures have under a name.
    headers: HashMap<Rc<str>, Seen>,
    later: Later,
}

/// What is only done where nothing else has told what a place holds.
#[derive(Default)]
struct Later {
    /// Owner, name, result: fields of what is no table are those of headers, or methods.
    fields: Vec<(Node, Rc<str>, Node)>,
    /// Table, name, result: fields that a table has not are those behind `__index`.
    inherited: BTreeSet<(Owner, Option<Rc<str>>, Node)>,
    /// Operands, and what an operator gives if they are no objects.
    results: Vec<(Vec<Node>, Result, Node)>,
}

/// Shared tables, those among them that are known before, with what the reachable functions of the script do with them.
pub fn infer(
    functions: &Functions<'_>,
    reach: &Reach,
    (options, structures): (&Options, &Structures),
    known: &[TableId],
) -> Found {
    let mut kinds = Kinds {
        functions,
        reach,
        options,
        structures,
        graph: Graph::default(),
        codes: HashMap::new(),
        makers: HashMap::new(),
        meetings: Vec::new(),
        names: Vec::new(),
        fields: BTreeMap::new(),
        assigned: BTreeMap::new(),
        assigners: BTreeSet::new(),
        redirects: BTreeSet::new(),
        first_note: None,
        headers: HashMap::new(),
        later: Later::default(),
    };
    kinds.watch_targets();
    let visible = kinds.visible();
    for function in &visible {
        kinds.note_makers(*function);
    }
    for function in visible {
        kinds.instructions(function);
    }
    kinds.solve();
    let takes = |table: &TableId| SharedTables::takes(functions.snapshot, *table);
    let assigned: Vec<TableId> = kinds.assigned.keys().copied().filter(takes).collect();
    let all: BTreeSet<TableId> = known.iter().copied().chain(assigned).collect();
    let fields = kinds.assigned_fields();
    let entries = all.into_iter().map(|table| (table, kinds.entries(table))).collect();
    let targets = kinds.targets();
    let notes = kinds.notes();
    Found { entries, assigners: kinds.assigners, fields, targets, notes }
}

impl<'a> Kinds<'_, 'a> {
    fn prototype(&self, function: usize) -> &'a Prototype {
        self.functions.get(function)
    }

    fn instruction(&self, function: usize, pc: usize) -> Instruction {
        Instruction(self.prototype(function).code[pc])
    }

    /// The reachable functions of the script.
    fn visible(&self) -> Vec<usize> {
        self.reach.functions.iter().copied().filter(|index| !self.functions.is_hidden(*index)).collect()
    }

    fn code(&mut self, function: usize) -> Rc<Code> {
        if let Some(known) = self.codes.get(&function) {
            return known.clone();
        }
        let code = Rc::new(Code::of(self.functions, function));
        self.codes.insert(function, code.clone());
        code
    }

    fn place(&mut self, place: Place) -> Node {
        self.graph.node(place).0
    }

    /// The number of a library function by its canonical name.
    fn named(&mut self, name: &str) -> Object {
        let known = self.names.iter().position(|known| &**known == name);
        Object::Named(known.unwrap_or_else(|| {
            self.names.push(name.into());
            self.names.len() - 1
        }))
    }

    /// Lets all flow until nothing changes any more; what nothing has told by then is taken for the usual, one kind after the other.
    fn solve(&mut self) {
        loop {
            self.follow_meetings();
            while let Some((node, rules)) = self.graph.step() {
                rules.iter().for_each(|rule| self.apply(node, rule));
                self.follow_meetings();
            }
            let new = self.usual_results(2)
                || self.usual_results(1)
                || self.fields_of_others()
                || self.inherited_fields()
                || self.usual_results(0);
            if !new {
                return;
            }
        }
    }

    fn apply(&mut self, node: Node, rule: &Rule) {
        for object in self.graph.held(node).objects.clone() {
            match rule {
                Rule::Read { name, to } => self.read(object, name.as_ref(), *to),
                Rule::Write { name, key, value } => self.write(object, name.as_ref(), *key, *value),
                Rule::Arguments { function, pc, first } => self.pass(object, (*function, *pc), *first),
                Rule::Result { function, pc, first, which, to } => {
                    self.result(object, (*function, *pc), *first, *which, *to);
                }
                Rule::Returned { which, to } => {
                    if let Object::Function(called) = object {
                        self.returned(called, *which, *to);
                    }
                }
                Rule::Given { values, open } => {
                    if let Object::Function(called) = object {
                        self.give_parameters(called, values, *open);
                    }
                }
                Rule::Key { to } => {
                    if let Object::Owner(owner) = object {
                        let keys = self.keys(owner);
                        self.graph.flow(keys, *to);
                    }
                }
                Rule::Assigned { function, loc } => {
                    if let Object::Owner(Owner::LoadTime(table)) = object {
                        self.assigners.insert((table, *function));
                        let first = self.assigned.entry(table).or_insert(*loc);
                        *first = (*first).min(*loc);
                    }
                }
                Rule::Operand { event, operands, to } => self.event(object, event, *operands, *to),
                Rule::Metatable { to } => {
                    if let Object::Owner(owner) = object {
                        let metatable = self.metatable(owner);
                        self.graph.flow(metatable, *to);
                    }
                }
                Rule::SetMetatable { metatable } => {
                    if let Object::Owner(owner) = object {
                        let given = self.metatable(owner);
                        self.graph.flow(*metatable, given);
                    }
                }
            }
        }
    }

    /// What is in a shared table.
    fn entries(&mut self, table: TableId) -> Entries {
        let owner = Owner::LoadTime(table);
        let mut found = Entries { place: self.assigned.get(&table).copied(), ..Entries::default() };
        for place in [Place::Keys(owner), Place::Others(owner)] {
            let Some(node) = self.graph.known(&place) else { continue };
            let seen = self.kept(node, MAX_DEPTH, &mut MOST_FIELDS.clone());
            match place {
                Place::Keys(_) => found.key.add(&seen.as_keys()),
                _ => found.value.add(&seen),
            };
        }
        // Only where it is a map for another reason.
        for name in self.fields.get(&owner).cloned().unwrap_or_default() {
            if let Some(node) = self.graph.known(&Place::Field(owner, name)) {
                found.value.add(&self.kept(node, MAX_DEPTH, &mut MOST_FIELDS.clone()));
            }
        }
        found
    }

    /// What a table keeps of a value: of a table its fields, as many and as deep as records have room for.
    fn kept(&self, node: Node, depth: usize, room: &mut usize) -> Seen {
        let held = self.graph.held(node);
        let mut seen = held.seen.clone();
        let Some(depth) = depth.checked_sub(1) else { return seen };
        for owner in held.owners() {
            if let Owner::LoadTime(table) = owner {
                let fields = Seen::of_value(self.functions.snapshot, &moonhook_snapshot::Value::Table(table));
                seen.add(&fields.unwrap_or_default());
            }
            let mut fields = BTreeMap::new();
            for name in self.fields.get(&owner).into_iter().flatten() {
                let Some(left) = room.checked_sub(1) else { break };
                *room = left;
                let node = self.graph.known(&Place::Field(owner, name.clone()));
                let field = node.map(|node| self.field_kept(node, depth, room));
                fields.insert(name.to_string(), field.unwrap_or_default());
            }
            seen.add(&Seen::record(fields));
        }
        seen
    }

    /// Fields of tables of load time that are assigned by constant names.
    fn assigned_fields(&self) -> BTreeSet<(TableId, Arc<[u8]>)> {
        let of_load_time = self.fields.iter().filter_map(|(owner, names)| match owner {
            Owner::LoadTime(table) => Some((*table, names)),
            Owner::Made { .. } => None,
        });
        of_load_time
            .flat_map(|(table, names)| names.iter().map(move |name| (table, Arc::from(name.as_bytes()))))
            .collect()
    }

    /// What a field is. It is something, even where nothing was found out, or only a name that headers and the library have not.
    fn field_kept(&self, node: Node, depth: usize, room: &mut usize) -> Seen {
        let held = self.graph.held(node);
        let only_named = || held.objects.iter().all(|object| matches!(object, Object::Named(_)));
        match held.seen.is_empty() && !held.nil && only_named() {
            true => Seen::kind(SeenType::Unknown),
            false => self.kept(node, depth, room),
        }
    }

    fn loc(&self, function: usize, pc: usize) -> Loc {
        let prototype = self.prototype(function);
        let source = prototype.source.map_or(0, |source| source.0 as u16);
        Loc { source, line: prototype.lines.get(pc).copied().unwrap_or(0) }
    }
}
