//! What the function of a flow has in common with the script that has the flow table, whose program runs already.

use crate::context::{Context, Result};
use crate::error::{LowerError, LowerErrorKind};
use crate::flow_headers::Caller;
use crate::knowledge::Knowledge;
use crate::value::Variant;
use crate::variables::VariableId;
use moonhook_diagnostic::Place;
use moonhook_ir as ir;
use moonhook_ir::{VariableContent, VariableHome};
use moonhook_snapshot::{CellId, ClosureId, PrototypeId, Snapshot, TableId, Value};
use std::collections::BTreeSet;

/// The script that a flow's function belongs to, as it was compiled.
#[derive(Clone, Debug, Default)]
pub struct OfFlow {
    /// The variables that its handlers assign, as its module describes them.
    pub variables: Vec<ir::Variable>,
    /// They lie in the section [`ir::maps::STATE`]; else in an arena, where functions of flows cannot reach them.
    pub in_section: bool,
    /// How many cells and tables its snapshot has. Those with higher numbers are the function's own.
    pub cells: u32,
    pub tables: u32,
    /// Cells of the snapshot that belong to one function of load time alone ([`own_cells`]).
    pub own: BTreeSet<u32>,
    /// The number that the function's first event has in records.
    pub first_event: u32,
    /// By the function's programs, what calls them.
    pub callers: Vec<Caller>,
}

impl OfFlow {
    fn has_cell(&self, cell: CellId) -> bool {
        cell.0 < self.cells && !self.own.contains(&cell.0)
    }

    fn has_table(&self, table: TableId) -> bool {
        table.0 < self.tables
    }

    fn has(&self, id: &VariableId) -> bool {
        match id {
            VariableId::Cell(cell) => self.has_cell(*cell),
            VariableId::Field(table, _) => self.has_table(*table),
        }
    }
}

const IN_GENERAL: &str = "keep the value in a table that is declared with `map{…}`";
const BY_NUMBER: &str = "keep numbers of interfaces in a table that is declared with `map{…}`, or have a handler of the script send the packet";
const BY_HANDLERS: &str = "call the table in a handler of the script";
const SAME: &str = "assign values of the types that the handlers of the script assign";
const NUMBERS: &str =
    "use variables that are integers, booleans, nil or addresses, or a table that is declared with `map{…}`";
const UNASSIGNED: &str = "assign it in a handler of the script, too, or keep the value in a table that is declared with `map{…}`, or in a local variable of the function's own";
const UNWRITTEN: &str = "declare the table with `map{…}` in the script";

/// Refuses general code for the function of a flow that uses variables of the script's, or assigns what the script's handlers take for a
/// constant: general code has variables of its own.
///
/// # Errors
/// The first one.
pub fn check_general(
    module: &ir::Module,
    snapshot: &Snapshot,
    script: &OfFlow,
) -> std::result::Result<(), Box<LowerError>> {
    let assigned = module.variables.iter().find(|variable| match &variable.home {
        VariableHome::Cell(cell) => script.has_cell(CellId(*cell)),
        VariableHome::Field { table, .. } => script.has_table(TableId(*table)),
    });
    let Some(variable) = variable_in_use(snapshot, script).or(assigned) else { return Ok(()) };
    let what =
        format!("the function becomes general code, which has no variable `{}` of the script", variable.name);
    Err(refused(snapshot, what, IN_GENERAL))
}

/// Refuses the function of a flow that needs maps which nobody would fill for it: to send packets elsewhere by names of interfaces, by groups, CPUs
/// or sockets, or to call a flow table.
///
/// # Errors
/// It needs such a map.
pub fn check_targets(module: &ir::Module, snapshot: &Snapshot) -> std::result::Result<(), Box<LowerError>> {
    use ir::maps::{GROUPS, INTERFACES, PORTS};
    let is_target = |name: &str| [PORTS, INTERFACES, GROUPS].contains(&name) || ir::targets::is_map(name);
    if !module.flows.is_empty() {
        let what =
            "functions of flows do not call flow tables: their packets are of a flow already".to_string();
        return Err(refused(snapshot, what, BY_HANDLERS));
    }
    match module.maps.iter().any(|map| is_target(&map.name)) {
        true => {
            let what = "functions of flows send packets to interfaces by their numbers only".to_string();
            Err(refused(snapshot, what, BY_NUMBER))
        }
        false => Ok(()),
    }
}

/// The refusal of the only handler.
fn refused(snapshot: &Snapshot, what: String, help: &'static str) -> Box<LowerError> {
    let kind = LowerErrorKind::OfScript { what, help };
    let closure = snapshot.handlers.first().map(|handler| snapshot.closure(handler.closure));
    let prototype = closure.map(|closure| snapshot.prototype(closure.prototype));
    let source = prototype.and_then(|prototype| prototype.source).map(|source| snapshot.source(source));
    let line = prototype.map_or(0, |prototype| prototype.line_defined);
    let place = Place {
        file: source.map_or_else(|| snapshot.script.clone(), |source| source.name.clone()),
        line,
        text: source.map_or_else(String::new, |source| source.line(line).to_string()),
        name: None,
    };
    Box::new(LowerError { kind, place: place.into() })
}

impl Knowledge {
    /// Notes the variables of the script.
    pub fn add_given(&mut self, script: &OfFlow) {
        for variable in &script.variables {
            let id = match &variable.home {
                VariableHome::Cell(cell) => VariableId::Cell(CellId(*cell)),
                VariableHome::Field { table, key } => {
                    VariableId::Field(TableId(*table), key.as_slice().into())
                }
            };
            let variants = script.in_section.then(|| variants(variable)).flatten();
            self.variables.add_given(id, variants.unwrap_or_default());
        }
    }
}

/// What a variable can be; `None` where that is something which another program does not understand.
fn variants(variable: &ir::Variable) -> Option<BTreeSet<Variant>> {
    let variant = |kind: &ir::VariableKind| match kind.content {
        VariableContent::Nil => Some(Variant::Nil),
        VariableContent::Boolean => Some(Variant::Bool),
        VariableContent::Integer => Some(Variant::Int),
        VariableContent::Float => Some(Variant::Float),
        VariableContent::Ipv4 => Some(Variant::Ipv4),
        VariableContent::Mac => Some(Variant::Mac),
        _ => None,
    };
    variable.kinds.iter().map(variant).collect()
}

impl Context<'_> {
    /// Refuses to use a variable of the script's that this program does not understand.
    pub fn check_given(&self, index: usize) -> Result<()> {
        let Some(script) = &self.options.of_flow else { return Ok(()) };
        let Some(variable) = script.variables.get(index) else { return Ok(()) };
        if !script.in_section {
            let what = format!("`{}` is a variable of handlers that are general code", variable.name);
            return self.refuse(LowerErrorKind::OfScript { what, help: IN_GENERAL }, Some(&variable.name));
        }
        match self.known.variables.variants(index).is_empty() {
            true => {
                let what = format!("`{}` is {} in the script", variable.name, variable.ty);
                self.refuse(LowerErrorKind::OfScript { what, help: NUMBERS }, Some(&variable.name))
            }
            false => Ok(()),
        }
    }

    /// Refuses to give a variable of the script's other values than the script does.
    pub fn check_assigned(&self, index: usize, variants: &BTreeSet<Variant>, name: &str) -> Result<()> {
        let Some(variable) = self.options.of_flow.as_ref().and_then(|script| script.variables.get(index))
        else {
            return Ok(());
        };
        if variants.is_subset(self.known.variables.variants(index)) {
            return Ok(());
        }
        let what = format!("`{name}` is {} in the script, and is assigned something else here", variable.ty);
        self.refuse(LowerErrorKind::OfScript { what, help: SAME }, Some(name))
    }

    /// Refuses to assign a variable of the script's that its handlers take for a constant.
    pub fn check_assignable(&self, id: &VariableId, name: &str) -> Result<()> {
        if !self.options.of_flow.as_ref().is_some_and(|script| script.has(id)) {
            return Ok(());
        }
        let what = format!("`{name}` is assigned here, and in no handler of the script");
        self.refuse(LowerErrorKind::OfScript { what, help: UNASSIGNED }, Some(name))
    }

    /// Refuses to write by key to a table of the script's that its handlers take for a constant.
    pub fn check_shareable(&self, table: TableId, title: Option<&str>) -> Result<()> {
        let is_scripts = self.options.of_flow.as_ref().is_some_and(|script| script.has_table(table));
        if !is_scripts || self.snapshot.table(table).declaration.is_some() {
            return Ok(());
        }
        let name = self.snapshot.table_name(table);
        let what = format!("the table `{name}` is written here, and in no handler of the script");
        self.refuse(LowerErrorKind::OfScript { what, help: UNWRITTEN }, title)
    }

    /// The section that a variable is in, and its offset there.
    pub fn place_of_variable(&mut self, index: usize) -> (ir::MapId, u32) {
        let given = self.options.of_flow.as_ref().map_or(0, |script| script.variables.len());
        match index.checked_sub(given) {
            Some(own) if given > 0 => (self.output.own_state_map(), own as u32 * ir::Variable::SIZE),
            Some(own) => (self.output.state_map(), own as u32 * ir::Variable::SIZE),
            None => (self.output.state_map(), index as u32 * ir::Variable::SIZE),
        }
    }
}

/// The first variable of the script's that the function of a flow may use, as far as its code says so: general code cannot reach these.
pub fn variable_in_use<'a>(snapshot: &Snapshot, script: &'a OfFlow) -> Option<&'a ir::Variable> {
    let reached = Reached::of(snapshot, snapshot.handlers.iter().map(|handler| handler.closure));
    script.variables.iter().find(|variable| match &variable.home {
        VariableHome::Cell(cell) => reached.cells.contains(cell),
        VariableHome::Field { table, key } => reached.tables.contains(table) && reached.names.contains(key),
    })
}

/// The cells that no handler, and one function only of those that load time has set for flows, can get at. Handlers that are general code have no
/// others in common with functions, so these can be the function's own.
pub fn own_cells(snapshot: &Snapshot) -> BTreeSet<u32> {
    let of_handlers = Reached::of(snapshot, snapshot.handlers.iter().map(|handler| handler.closure)).cells;
    let mut own = BTreeSet::new();
    let mut common = of_handlers;
    // In another table the same function is another program.
    for table in &snapshot.flows {
        let functions: BTreeSet<ClosureId> = table.functions.iter().copied().collect();
        for function in functions {
            for cell in Reached::of(snapshot, std::iter::once(function)).cells {
                if !own.insert(cell) {
                    common.insert(cell);
                }
            }
        }
    }
    &own - &common
}

/// What a function can get at: variables and tables by number, and the strings in its code and that of functions which it may call.
#[derive(Default)]
struct Reached {
    closures: BTreeSet<u32>,
    cells: BTreeSet<u32>,
    tables: BTreeSet<u32>,
    names: BTreeSet<Vec<u8>>,
}

impl Reached {
    /// What these functions can get at.
    fn of(snapshot: &Snapshot, functions: impl Iterator<Item = ClosureId> + Clone) -> Reached {
        let mut reached = Reached::default();
        loop {
            let before = reached.names.len();
            (reached.closures, reached.tables) = Default::default();
            for function in functions.clone() {
                reached.visit(snapshot, &Value::Closure(function));
            }
            if reached.names.len() == before {
                return reached;
            }
        }
    }

    fn visit(&mut self, snapshot: &Snapshot, value: &Value) {
        match value {
            Value::Closure(id) if self.closures.insert(id.0) => {
                let closure = snapshot.closure(*id);
                self.add_names(snapshot, closure.prototype);
                for cell in &closure.upvalues {
                    self.cells.insert(cell.0);
                    self.visit(snapshot, &snapshot.cell(*cell).value);
                }
            }
            Value::Table(id) if self.tables.insert(id.0) && !snapshot.table(*id).is_library => {
                let table = snapshot.table(*id);
                table.array.iter().for_each(|value| self.visit(snapshot, value));
                for (key, value) in &table.entries {
                    // Of the many global functions, those that are called by their names count.
                    let is_named = match key {
                        Value::String(name) => self.names.contains(&**name),
                        _ => true,
                    };
                    if is_named {
                        self.visit(snapshot, value);
                    }
                }
            }
            _ => {}
        }
    }

    fn add_names(&mut self, snapshot: &Snapshot, prototype: PrototypeId) {
        let prototype = snapshot.prototype(prototype);
        for constant in &prototype.constants {
            if let Value::String(name) = constant {
                self.names.insert(name.to_vec());
            }
        }
        prototype.prototypes.iter().for_each(|inner| self.add_names(snapshot, *inner));
    }
}
