//! Functions of flows: programs of their own, which have the tables, variables and events of the program that looks flows up.

mod events;
mod installed;
mod own_variables;

use self::events::Events;
use self::installed::Installed;
pub use self::own_variables::map_of;
use self::own_variables::{Own, OwnVariables};
use crate::raw::install_raw;
use crate::settings::{has_kernel_types, possible_cpus};
use crate::{EngineError, Form, Kernel, Settings, Timings, duplicate};
use moonhook_control::{FlowMaker, FlowTables, FlowsOfState, FunctionId, MadeFunction};
use moonhook_diagnostic::Diagnostic;
use moonhook_hook::Point;
use moonhook_install::{InstallError, LogDetail, Program, ProgramArray, SharedArray};
use moonhook_ir::maps::{self, sections};
use moonhook_ir::{FlowCalls, Map, MapId, MapKind, Module};
use moonhook_load::Loaded;
use moonhook_records::Decoder;
use moonhook_schema::{Declaration, Schema};
use moonhook_snapshot::{FlowTable, Snapshot, TableId};
use moonhook_specialise::object_maps::is_data_of_object;
use moonhook_specialise::{Caller, OfFlow, own_cells};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// Makes functions of flows for a program that runs.
pub struct FlowCompiler {
    tables: Vec<FlowTable>,
    /// By table.
    parts: Vec<Option<(SharedArray, Vec<ProgramArray>)>>,
    points: Vec<Vec<Point>>,
    /// By table, what calls its functions, and the numbers of these programs.
    callers: Vec<Vec<(Caller, usize)>>,
    shared: Vec<(TableId, Schema, String)>,
    /// Maps and variables of C objects, by name.
    of_objects: Vec<String>,
    maps: Arc<Mutex<CommonMaps>>,
    /// Bytes of the program's region, where functions can have that: there is one program, which nothing interrupts, and which has nothing
    /// there when it calls them.
    region: Option<u32>,
    settings: Settings,
    script: OfFlow,
    decoder: Decoder,
    events: Arc<Mutex<Events>>,
    own: Arc<Mutex<OwnVariables>>,
}

/// The program's maps that its functions have, too, by name.
type CommonMaps = BTreeMap<String, Arc<OwnedFd>>;

/// Maps that programs share whatever their names are.
const COMMON: [&str; 3] = [maps::EVENTS, ".data.opaque", sections::STATE];

impl FlowCompiler {
    /// For a program that was made of `module` and `snapshot`, if that has flow tables.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn new(
        snapshot: &Snapshot,
        module: &Module,
        (program, decoder): (&Program, &Decoder),
        settings: &Settings,
    ) -> Result<Option<FlowCompiler>, EngineError> {
        if snapshot.flows.is_empty() {
            return Ok(None);
        }
        let (mut parts, mut points, mut callers) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..snapshot.flows.len() {
            let calls: Vec<&FlowCalls> = module.flows.iter().filter(|calls| calls.table == number).collect();
            points.push(points_of(snapshot, &calls));
            let caller = |calls: &&FlowCalls| {
                let FlowCalls { is_undisturbed, says_headers, program, .. } = **calls;
                (Caller { is_undisturbed, says_headers }, program)
            };
            callers.push(calls.iter().map(caller).collect());
            parts.push(part(module, program, &calls)?);
        }
        let shared: Vec<_> = module
            .tables
            .iter()
            .map(|table| (TableId(table.table), table.schema.clone(), module.map(table.map).name.clone()))
            .collect();
        let of_objects = maps_of_objects(module);
        let maps = Arc::new(Mutex::new(common_maps((&shared, &of_objects), program)?));
        let script = OfFlow {
            variables: module.variables.clone(),
            in_section: module.arena().is_none(),
            cells: snapshot.cells.len() as u32,
            tables: snapshot.tables.len() as u32,
            own: if module.arena().is_some() { own_cells(snapshot) } else { Default::default() },
            first_event: 0,
            callers: Vec::new(),
        };
        let is_alone = snapshot.points().len() == 1 && module.arena().is_none();
        let is_undisturbed =
            |callers: &Vec<(Caller, usize)>| callers.iter().all(|(caller, _)| caller.is_undisturbed);
        let is_left = module.flows.iter().all(|calls| calls.leaves_region);
        let region =
            region_size(module).filter(|_| is_alone && is_left && callers.iter().all(is_undisturbed));
        // What is asked of the machine is asked once.
        let settings = Settings {
            count_verdicts: false,
            cpus: Some(settings.cpus.unwrap_or_else(possible_cpus)),
            kernel_types: Some(settings.kernel_types.unwrap_or_else(|| settings.arena && has_kernel_types())),
            ..settings.clone()
        };
        let (tables, decoder) = (snapshot.flows.clone(), decoder.clone());
        let (events, own) = Default::default();
        Ok(Some(FlowCompiler {
            tables,
            parts,
            points,
            callers,
            region,
            shared,
            of_objects,
            maps,
            settings,
            script,
            decoder,
            events,
            own,
        }))
    }

    /// The same once more, for another Lua state of the same script: without the parts, which the first one has.
    pub fn again(&self) -> FlowCompiler {
        FlowCompiler {
            tables: self.tables.clone(),
            parts: Vec::new(),
            points: self.points.clone(),
            callers: self.callers.clone(),
            region: self.region,
            shared: self.shared.clone(),
            of_objects: self.of_objects.clone(),
            maps: Arc::clone(&self.maps),
            settings: self.settings.clone(),
            script: self.script.clone(),
            decoder: self.decoder.clone(),
            events: Arc::clone(&self.events),
            own: Arc::clone(&self.own),
        }
    }

    /// The program has other maps from now on, and so have functions that are made.
    ///
    /// # Errors
    /// `Resource` where there are no descriptors left.
    pub fn follow(&self, kernel: &Kernel) -> Result<(), EngineError> {
        let maps = common_maps((&self.shared, &self.of_objects), &kernel.program)?;
        *self.maps.lock().unwrap_or_else(PoisonError::into_inner) = maps;
        Ok(())
    }

    /// The map of the script's that takes the place of each of a function's own.
    fn common<'a>(&self, maps: &'a CommonMaps, module: &Module, table: usize) -> crate::Maps<'a> {
        let mut common: crate::Maps<'a> = Vec::new();
        for table in &module.tables {
            let of_script = self.shared.iter().find(|(id, ..)| id.0 == table.table);
            if let Some(map) = of_script.and_then(|(_, _, name)| maps.get(name)) {
                common.push((module.map(table.map).name.clone(), map.as_fd()));
            }
        }
        // The programs of functions have numbers of their own.
        let told = self.callers[table].iter().enumerate();
        let told = told.map(|(own, (_, program))| (maps::flow_told(own), maps::flow_told(*program)));
        for (own, of_script) in told {
            if let Some(map) = maps.get(&of_script).filter(|_| module.maps.iter().any(|map| map.name == own))
            {
                common.push((own, map.as_fd()));
            }
        }
        let keys = maps::zeros_section(&maps::flow_keys(table));
        let of_objects = self.of_objects.iter().map(String::as_str);
        for name in COMMON.into_iter().chain([keys.as_str()]).chain(of_objects) {
            let is_there = |map: &Map| maps::goes_by(&map.name, name);
            if let Some(map) = maps.get(name).filter(|_| module.maps.iter().any(is_there)) {
                common.push((name.to_string(), map.as_fd()));
            }
        }
        common
    }

    /// The same where no loader compares sizes: what is counted of lost events, and the region.
    fn common_without_object<'a>(
        &self,
        maps: &'a CommonMaps,
        module: &Module,
        table: usize,
    ) -> crate::Maps<'a> {
        let mut common = self.common(maps, module, table);
        let fits = region_size(module).is_some_and(|own| self.region.is_some_and(|region| own <= region));
        let wanted = [Some(sections::COUNTERS), fits.then_some(maps::REGION)];
        for name in wanted.into_iter().flatten() {
            common.extend(maps.get(name).map(|map| (name.to_string(), map.as_fd())));
        }
        common
    }

    /// Makes a function of the first table, which goes at once; gives how long the stages took, and its instructions.
    ///
    /// # Errors
    /// What a stage refuses.
    pub fn timed(&self, snapshot: &Snapshot) -> Result<(Timings, usize), EngineError> {
        let Installed { timings, instructions, .. } = self.installed(snapshot, (0, 0), None)?;
        Ok((timings, instructions))
    }

    fn installed(
        &self,
        snapshot: &Snapshot,
        id: FunctionId,
        before: Option<&Own>,
    ) -> Result<Installed, EngineError> {
        let table = id.0;
        let first_event = self.events.lock().unwrap_or_else(PoisonError::into_inner).of(id);
        let callers = self.callers[table].iter().map(|(caller, _)| *caller).collect();
        let script = OfFlow { first_event, callers, ..self.script.clone() };
        let mut settings = Settings { of_flow: Some(Arc::new(script)), ..self.settings.clone() };
        let maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let with_own = |mut common, module: &Module| {
            before.inspect(|own| own.add_to(module, &mut common));
            common
        };
        let common = |module: &Module| with_own(self.common(&maps, module, table), module);
        let more = |module: &Module| with_own(self.common_without_object(&maps, module, table), module);
        let mut reason = None;
        if settings.form != Some(Form::General) {
            match install_raw(snapshot, &settings, more) {
                Ok(Some(made)) => return Ok(Installed::from_raw(made)),
                Ok(None) => {}
                Err(error) if error.is_of_form() && settings.form.is_none() => {
                    settings.form = Some(Form::General);
                    reason = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        let installed = crate::install(snapshot, &settings, LogDetail::Nothing, common);
        // Where there is neither form, a person can do something about what has no expanded one.
        let (compiled, program) = installed.map_err(|error| reason.unwrap_or(error))?;
        let kept: Vec<String> = common(&compiled.module).into_iter().map(|(name, _)| name).collect();
        crate::tables::fill(&program, &compiled.module, &|map| kept.iter().any(|kept| kept == map))?;
        Installed::from_object(compiled, program)
    }

    fn made(&mut self, snapshot: &Snapshot, id: FunctionId) -> Result<MadeFunction, EngineError> {
        let known = || self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known().get(&id).cloned();
        let Installed { programs, decoder, own, held, form, warnings, .. } =
            self.installed(snapshot, id, before.as_deref())?;
        match own {
            Some(own) => known().insert(id, Arc::new(own)),
            None => known().remove(&id),
        };
        let first = self.events.lock().unwrap_or_else(PoisonError::into_inner).of(id);
        self.decoder.add_function(first, decoder);
        Ok(MadeFunction { programs, held, form: form.name(), warnings })
    }
}

/// Gives flows the functions that load time has set, of a program that no session runs; `None` if the scripts have no flow tables. They go when the
/// value does.
///
/// # Errors
/// What is wrong with the first function that is refused.
pub fn set_flows(
    loaded: &Loaded,
    module: &Module,
    running: (&Program, &Decoder),
    settings: &Settings,
) -> Result<Option<FlowsOfState>, EngineError> {
    let made = FlowCompiler::new(&loaded.snapshot, module, running, settings)?;
    let (Some(mut maker), Some(base)) = (made, loaded.base.clone()) else { return Ok(None) };
    let tables = Arc::new(Mutex::new(FlowTables::open(&mut maker)));
    let flows = FlowsOfState::new(tables, Box::new(maker), base);
    flows.set_at_load_time((&loaded.lua, &loaded.flows))?;
    Ok(Some(flows))
}

/// The maps that functions of flows have in common with a program.
fn common_maps(
    (shared, of_objects): (&[(TableId, Schema, String)], &[String]),
    program: &Program,
) -> Result<CommonMaps, EngineError> {
    let of_flows = program.map_names().filter(|name| maps::is_of_flows(name)).collect::<Vec<_>>();
    let names = shared.iter().map(|(_, _, name)| name.as_str()).chain(COMMON);
    let names = names.chain(of_objects.iter().map(String::as_str));
    let names = names.chain(of_flows.iter().map(String::as_str)).chain([sections::COUNTERS, maps::REGION]);
    let map = |name: &str| {
        let map = duplicate(program.map_fd(name)?)?;
        Ok((name.to_string(), Arc::new(map)))
    };
    names.filter(|name| program.has_map(name)).map(map).collect()
}

/// Maps and variables of C objects, by the names that they have in a program.
fn maps_of_objects(module: &Module) -> Vec<String> {
    let own: BTreeSet<MapId> = module.object_maps.iter().map(|map| map.map).collect();
    let name = |(index, map): (usize, &Map)| match map.kind {
        MapKind::Data(_) if is_data_of_object(&map.name) => Some(maps::data_section(&map.name)),
        _ => own.contains(&MapId(index as u32)).then(|| map.name.clone()),
    };
    module.maps.iter().enumerate().filter_map(name).collect()
}

/// Bytes of a region of the module's.
fn region_size(module: &Module) -> Option<u32> {
    module.maps.iter().find(|map| map.name == maps::REGION).and_then(|map| match &map.kind {
        MapKind::Map(definition) => Some(definition.value_size),
        _ => None,
    })
}

/// What the programs that call a table are attached to. Functions of a table that nobody calls are made for one of the script's hooks, which has the
/// verdicts that the command line names.
fn points_of(snapshot: &Snapshot, calls: &[&FlowCalls]) -> Vec<Point> {
    let all = snapshot.points();
    if calls.is_empty() {
        return all.iter().find(|point| point.hook.has_packet()).cloned().into_iter().collect();
    }
    calls.iter().map(|calls| all[calls.program].clone()).collect()
}

/// The memory of a table, and the arrays of programs by which it is asked; `None` if no program asks it.
fn part(
    module: &Module,
    program: &Program,
    calls: &[&FlowCalls],
) -> Result<Option<(SharedArray, Vec<ProgramArray>)>, EngineError> {
    let Some(first) = calls.first() else { return Ok(None) };
    let memory = program.shared_array(&maps::zeros_section(&module.map(first.keys).name))?;
    let array = |calls: &&FlowCalls| program.program_array(&module.map(calls.functions).name);
    let arrays = calls.iter().map(array).collect::<Result<_, InstallError>>()?;
    Ok(Some((memory, arrays)))
}

impl FlowMaker for FlowCompiler {
    fn tables(&self) -> &[FlowTable] {
        &self.tables
    }

    fn take_parts(&mut self, table: usize) -> Option<(SharedArray, Vec<ProgramArray>)> {
        self.parts.get_mut(table)?.take()
    }

    fn points(&self, table: usize) -> Vec<Point> {
        self.points.get(table).cloned().unwrap_or_default()
    }

    fn declared(&self) -> Vec<(TableId, Declaration)> {
        let declared = |(id, schema, _): &(TableId, Schema, String)| {
            let declaration = Declaration {
                key: Some(schema.key.clone()),
                value: Some(schema.value.clone()),
                capacity: Some(schema.capacity),
                when_full: schema.when_full,
                lifetime: schema.lifetime,
                per_cpu: schema.per_cpu,
                prefixes: schema.is_prefixes(),
            };
            (*id, declaration)
        };
        self.shared.iter().map(declared).collect()
    }

    fn make(&mut self, snapshot: &Snapshot, id: FunctionId) -> Result<MadeFunction, Box<Diagnostic>> {
        self.made(snapshot, id).map_err(|error| Box::new(error.diagnostic()))
    }

    fn forget(&mut self, id: FunctionId) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        self.events.lock().unwrap_or_else(PoisonError::into_inner).forget(id, &self.decoder);
    }
}
