//! General code: every construct of the language, for handlers that the expansion in place has no form for.
//!
//! Where [`moonhook_specialise`] executes bytecode symbolically and expands every call, this compiles each function's
//! bytecode one instruction after another. Lua's registers, frames, tables and strings live in a BPF arena: load-time objects in
//! its first part ([`image`]), then a state with a stack and a heap for each CPU ([`program`]). Nothing that the verifier would
//! have to follow is kept in machine registers, so its work grows with the code and no script can be too complicated for it.
//! What takes more than a few instructions is done by routines in runtime Lua (the crate `moonhook_runtime`), by library
//! functions that are themselves Lua, and, for packets and their fields, by [`moonhook_specialise::stubs`] that the symbolic execution makes.

mod accesses;
mod body;
mod compact;
mod computed;
mod counts;
mod ends;
mod entry;
mod exported;
mod functions;
mod heap;
mod image;
mod interfaces;
mod kinds;
mod known;
mod library;
mod members;
mod memory;
mod named;
mod objects_use;
mod ops;
mod own;
mod parts;
mod program;
mod random;
mod reach;
mod routines;
mod script;
mod shared;
mod sites;
mod statics;
mod steps;
mod stores;
mod turns;
mod unit;
mod values;
mod variables;

use entry::Outcome;
pub use members::missing_members;
pub use objects_use::check_objects;

use image::Image;
use moonhook_ir as ir;
use moonhook_ir::FunctionId;
use moonhook_snapshot::{CellId, ClosureId, Snapshot, TableId};
use moonhook_specialise::structures::Structures;
use moonhook_specialise::{Learned, LowerError, Options};
use reach::Reach;
use script::Functions;
use shared::Shared;
use sites::Site;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// How the names of units begin; a number follows.
pub const UNIT: &str = "unit_";

/// Instructions of bytecode in one unit, at most, unless a single function has more.
const UNIT_SIZE: usize = 2000;

/// Instructions in a function whose unit goes on by itself after calls and returns, at most. The verifier walks on from each site
/// to the function's end, as long as it has not done with the loop around them.
const LOOPED: usize = 150;

/// A program under construction.
pub struct General<'a> {
    pub functions: Functions<'a>,
    pub options: &'a Options,
    /// The number of the program whose code is being made, of one for each hook.
    program: usize,
    /// By program, the one whose functions and memory it has.
    representatives: Vec<usize>,
    pub reach: Reach,
    pub image: Image,
    pub sites: Vec<Site>,
    /// Without its functions.
    module: ir::Module,
    /// By id; `None` for those that are only named so far.
    functions_made: Vec<Option<ir::Function>>,
    /// Ids of stubs.
    own: HashMap<String, FunctionId>,
    routines: HashMap<String, FunctionId>,
    uncompiled_routines: Vec<(String, FunctionId)>,
    /// The first thing that a stub could not be made of.
    failure: Option<LowerError>,
    /// Tables that cannot be maps, and do not have to be.
    unfit: BTreeSet<TableId>,
    builtins: HashMap<String, (i64, u64)>,
    /// Canonical names of library functions by their number.
    builtin_names: Vec<String>,
    tables: HashMap<TableId, u64>,
    pending_objects: Vec<heap::Pending>,
    closures: HashMap<ClosureId, u64>,
    cells: HashMap<CellId, u64>,
    /// Objects that packet code can only pass around.
    opaque: HashMap<u32, u64>,
    /// Of tables with fields that packet code assigns: their variables by name.
    fields: HashMap<TableId, variables::Fields>,
    records: HashMap<usize, u64>,
    /// Accesses to fields, by function and instruction.
    accesses: HashMap<(usize, usize), accesses::Access>,
    places: accesses::Places,
    shared: Shared,
    /// Structures of the kernel that values can be.
    structures: Rc<Structures>,
    /// Functions that are interpreted.
    interpreted: BTreeSet<usize>,
    /// What their records do.
    used_steps: BTreeSet<compact::Step>,
    /// Functions with a record whose code is still to be made.
    uncompiled: Vec<usize>,
    /// By function, what it assigns sums to.
    counts: HashMap<usize, Rc<counts::Counts>>,
    /// Variables that are added to.
    sums: counts::Summed,
}

/// Lowers all handlers of a snapshot to a program of general code for each hook. They have one image, in which functions are the sites of
/// their entries, so that the code for functions has the same sites in all.
///
/// With `compact`, the script's functions are interpreted, so that the program's size does not depend on them. It takes from `learned` what an earlier attempt at expanded code put there; where there was none, it finds that out itself.
///
/// # Errors
/// The first construct that has no form at packet time.
pub fn lower(
    snapshot: &Snapshot,
    options: &Options,
    compact: bool,
    learned: &mut Learned,
) -> Result<ir::Module, LowerError> {
    let mut constant = BTreeSet::new();
    loop {
        match lower_with(snapshot, (options, compact), learned, &constant)? {
            Outcome::Module(module) => return Ok(*module),
            Outcome::Unfit(tables) => constant.extend(tables),
        }
    }
}

/// The same, where these tables are constant: to assign them by key is a run-time error.
fn lower_with(
    snapshot: &Snapshot,
    (options, compact): (&Options, bool),
    learned: &mut Learned,
    constant: &BTreeSet<TableId>,
) -> Result<Outcome, LowerError> {
    let known = learned.tables(snapshot, options);
    let functions = Functions::new(snapshot, moonhook_runtime::prelude());
    let reach = Reach::new(&functions, computed::names);
    let is_mentioned = |name: &str| reach.mentions.contains(name.as_bytes());
    let structures = Rc::new(Structures::new(snapshot, is_mentioned));
    let shared = Shared::new(&functions, &reach, (options, &structures), known, constant);
    let interpreted = compact::choose(&functions, &reach, compact);
    let module = ir::Module {
        maps: interfaces::named(&functions, &reach).into_iter().collect(),
        ..ir::Module::default()
    };
    let (counts, sums) = counts::find(&functions, &reach);
    let representatives = moonhook_specialise::exported::representatives(functions.snapshot, options);
    let general = General {
        functions,
        options,
        program: 0,
        representatives,
        reach,
        image: Image::new(),
        sites: vec![Site::default()],
        module,
        functions_made: vec![None; 2 * snapshot.points().len()],
        own: HashMap::new(),
        routines: HashMap::new(),
        uncompiled_routines: Vec::new(),
        failure: None,
        unfit: BTreeSet::new(),
        builtins: HashMap::new(),
        builtin_names: moonhook_runtime::OF_FRAMES.map(str::to_string).to_vec(),
        tables: HashMap::new(),
        pending_objects: Vec::new(),
        closures: HashMap::new(),
        cells: HashMap::new(),
        opaque: HashMap::new(),
        fields: HashMap::new(),
        records: HashMap::new(),
        accesses: HashMap::new(),
        places: accesses::Places::default(),
        shared,
        structures,
        interpreted,
        used_steps: BTreeSet::new(),
        uncompiled: Vec::new(),
        counts,
        sums,
    };
    general.build()
}

impl General<'_> {
    /// How many programs there are: the first functions.
    fn programs(&self) -> usize {
        self.representatives.len()
    }

    /// The program's subprogram that calls library functions by their numbers: those of all programs follow the programs.
    pub fn call_builtin(&self) -> FunctionId {
        FunctionId((self.programs() + self.program) as u32)
    }

    fn reserve(&mut self) -> FunctionId {
        self.functions_made.push(None);
        FunctionId(self.functions_made.len() as u32 - 1)
    }

    fn place(&mut self, id: FunctionId, function: ir::Function) {
        self.functions_made[id.0 as usize] = Some(function);
    }
}
