//! Chains of eCLAT that scripts have loaded, and the objects of the programs that they call.

use mlua::Function;
use moonhook_diagnostic::Diagnostic;
use moonhook_eclat::tree::{Chain, Chains as Script};
use moonhook_link::Object;
use moonhook_snapshot::{
    LoadedCallee, LoadedChain, LoadedFunction, LoadedLoader, LoadedMap, MapContents, ObjectTable, Snapshot,
    Source,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// Everything that was loaded. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Chains(pub Rc<RefCell<LoadedChains>>);

#[derive(Default)]
pub(crate) struct LoadedChains {
    all: Vec<LoadedChain>,
    /// Scripts with the programs that they call.
    scripts: Vec<LoadedScript>,
    loaders: Vec<LoadedLoader>,
    contents: Vec<MapContents>,
    /// Functions and maps of objects.
    functions: Vec<LoadedFunction>,
    pub maps: Vec<LoadedMap>,
    /// Tables with what objects have.
    tables: Vec<ObjectTable>,
    /// The objects of these programs, by names of package and program.
    pub objects: Vec<([String; 2], Arc<Object>)>,
    /// The texts that chains and functions of objects are of.
    sources: Vec<Source>,
    /// What is wrong with others, by the messages that functions have raised.
    refused: Vec<(String, Box<Diagnostic>)>,
    warnings: Vec<Diagnostic>,
}

/// How much of each kind was loaded at a time.
pub(crate) struct Known {
    all: usize,
    scripts: usize,
    sources: usize,
}

/// A script, with the programs that it calls; those in Lua are functions.
#[derive(Clone)]
struct LoadedScript {
    script: Arc<Script>,
    programs: Arc<[LoadedCallee]>,
    functions: Vec<Function>,
    /// Chains that call these, by their numbers.
    in_lua: HashMap<usize, Function>,
    maps: Arc<[LoadedMap]>,
}

impl Chains {
    /// The script in that file, if it was loaded.
    pub fn script(&self, file: &str) -> Option<Arc<Script>> {
        let known = self.0.borrow();
        known.scripts.iter().find(|known| known.script.file == file).map(|known| Arc::clone(&known.script))
    }

    /// What is known now of scripts, their chains and their texts.
    pub fn known(&self) -> Known {
        let known = self.0.borrow();
        Known { all: known.all.len(), scripts: known.scripts.len(), sources: known.sources.len() }
    }

    /// Forgets what of these was added since then, to which nothing refers.
    pub fn forget_since(&self, before: &Known) {
        let mut known = self.0.borrow_mut();
        known.all.truncate(before.all);
        known.scripts.truncate(before.scripts);
        known.sources.truncate(before.sources);
    }

    pub fn add_script(
        &self,
        script: &Arc<Script>,
        (programs, functions, maps): (Vec<LoadedCallee>, Vec<Function>, Vec<LoadedMap>),
        text: String,
    ) {
        let mut known = self.0.borrow_mut();
        let script = Arc::clone(script);
        known.sources.push(Source::new(script.file.clone(), text));
        let (programs, maps) = (programs.into(), maps.into());
        known.scripts.push(LoadedScript { script, programs, functions, in_lua: HashMap::new(), maps });
    }

    /// Adds a chain of a script that was added; gives the number that it has for packet code.
    ///
    /// # Errors
    /// The script was not added.
    pub fn add(&self, script: &Arc<Script>, number: usize) -> Result<usize, String> {
        let LoadedScript { programs, maps, .. } = self.loaded(script).ok_or("the script is not loaded")?;
        let mut known = self.0.borrow_mut();
        known.all.push(LoadedChain { script: Arc::clone(script), number, programs, maps });
        Ok(known.all.len() - 1)
    }

    /// Adds a chain of one step, with the programs and maps of a script that was added; gives the number that it has for packet code.
    pub fn add_step(&self, script: &Arc<Script>, chain: Chain) -> usize {
        let (programs, maps) =
            self.loaded(script).map(|known| (known.programs, known.maps)).unwrap_or_default();
        let Script { file, programs: names, reads, .. } = &**script;
        let own = Script {
            file: file.clone(),
            chains: vec![chain],
            programs: names.clone(),
            reads: reads.clone(),
            ..Script::default()
        };
        let mut known = self.0.borrow_mut();
        known.all.push(LoadedChain { script: Arc::new(own), number: 0, programs, maps });
        known.all.len() - 1
    }

    /// Keeps the functions in Lua that chains of a script are.
    pub fn set_in_lua(&self, script: &Arc<Script>, functions: HashMap<usize, Function>) {
        let mut known = self.0.borrow_mut();
        if let Some(known) = known.scripts.iter_mut().find(|known| Arc::ptr_eq(&known.script, script)) {
            known.in_lua = functions;
        }
    }

    /// The function that a chain of a script is, if it calls others in Lua.
    pub fn in_lua(&self, script: &Arc<Script>, number: usize) -> Option<Function> {
        self.loaded(script)?.in_lua.get(&number).cloned()
    }

    /// Adds a text that functions are of.
    pub fn add_source(&self, name: &str, text: &str) {
        self.0.borrow_mut().sources.push(Source::new(name, text));
    }

    fn loaded(&self, script: &Arc<Script>) -> Option<LoadedScript> {
        self.0.borrow().scripts.iter().find(|known| Arc::ptr_eq(&known.script, script)).cloned()
    }

    /// What the programs of a script that was added are.
    pub fn programs(&self, script: &Arc<Script>) -> Arc<[LoadedCallee]> {
        self.loaded(script).map(|known| known.programs).unwrap_or_default()
    }

    /// The same of the script in that file.
    pub fn programs_of(&self, file: &str) -> Arc<[LoadedCallee]> {
        self.script(file).map(|script| self.programs(&script)).unwrap_or_default()
    }

    /// The functions in Lua among them.
    pub fn functions(&self, script: &Arc<Script>) -> Vec<Function> {
        self.loaded(script).map(|known| known.functions).unwrap_or_default()
    }

    /// Adds a loader that a handler is; gives the number that it has for packet code.
    pub fn add_loader(&self, loader: LoadedLoader) -> usize {
        let mut known = self.0.borrow_mut();
        known.loaders.push(loader);
        known.loaders.len() - 1
    }

    /// Adds entries of a map.
    pub fn add_contents(&self, contents: MapContents) {
        self.0.borrow_mut().contents.push(contents);
    }

    /// The object with that number.
    pub fn object_at(&self, number: usize) -> Arc<Object> {
        Arc::clone(&self.0.borrow().objects[number].1)
    }

    /// The number of the object of a program that was found before.
    pub fn known_object(&self, [package, program]: [&str; 2]) -> Option<usize> {
        let is_it = |names: &[String; 2]| names[0] == package && names[1] == program;
        self.0.borrow().objects.iter().position(|(names, _)| is_it(names))
    }

    /// Adds the object of a program; gives its number.
    ///
    /// # Errors
    /// Its licence.
    pub fn add_program(&self, names: [&str; 2], object: Arc<Object>) -> Result<usize, Box<Diagnostic>> {
        self.keep(names.map(str::to_string), object)
    }

    /// The number of the object in a file; each time it is loaded it is another one, with maps of its own.
    ///
    /// # Errors
    /// Its licence.
    pub fn add_object(&self, file: &str, object: Object) -> Result<usize, Box<Diagnostic>> {
        self.keep([String::new(), file.to_string()], Arc::new(object))
    }

    /// Adds a function of an object; gives the number that it has for packet code.
    pub fn add_function(&self, function: LoadedFunction) -> usize {
        let mut known = self.0.borrow_mut();
        known.functions.push(function);
        known.functions.len() - 1
    }

    /// The same of a map.
    pub fn add_map(&self, map: LoadedMap) -> usize {
        let mut known = self.0.borrow_mut();
        known.maps.push(map);
        known.maps.len() - 1
    }

    /// Adds a table with what an object has; gives the number that it has in [`Chains::object_table`].
    pub fn add_object_table(&self, table: ObjectTable) -> usize {
        let mut known = self.0.borrow_mut();
        known.tables.push(table);
        known.tables.len() - 1
    }

    pub fn object_table(&self, number: usize) -> Option<ObjectTable> {
        self.0.borrow().tables.get(number).cloned()
    }

    fn keep(&self, names: [String; 2], object: Arc<Object>) -> Result<usize, Box<Diagnostic>> {
        check_licence(&object)?;
        let mut known = self.0.borrow_mut();
        for source in sources(&object) {
            match known.sources.iter_mut().find(|other| other.name == source.name) {
                Some(other) => *other = with_lines(other, &source),
                None => known.sources.push(source),
            }
        }
        known.objects.push((names, object));
        Ok(known.objects.len() - 1)
    }

    /// The text of that name that chains or functions of objects are of.
    pub fn text_of(&self, name: &str) -> Option<String> {
        self.0
            .borrow()
            .sources
            .iter()
            .find(|source| source.name == name)
            .map(|source| source.text().to_string())
    }

    /// Keeps what is wrong with a script; gives the message that a function raises.
    pub fn refuse(&self, diagnostic: Box<Diagnostic>) -> String {
        let message = diagnostic.line();
        self.0.borrow_mut().refused.push((message.clone(), diagnostic));
        message
    }

    /// Keeps what a person should know of a script that is loaded all the same.
    pub fn warn(&self, warning: Diagnostic) {
        self.0.borrow_mut().warnings.push(warning);
    }

    /// What belongs to a message that ends with one that was raised.
    pub fn refused(&self, message: &str) -> Option<Box<Diagnostic>> {
        let known = self.0.borrow();
        known
            .refused
            .iter()
            .find(|(known, _)| message.ends_with(known))
            .map(|(_, diagnostic)| diagnostic.clone())
    }

    /// Puts all that was loaded into what load time leaves.
    pub fn put(&self, snapshot: &mut Snapshot) {
        let known = self.0.borrow();
        snapshot.chains.clone_from(&known.all);
        snapshot.loaders.clone_from(&known.loaders);
        snapshot.contents.clone_from(&known.contents);
        snapshot.functions.clone_from(&known.functions);
        snapshot.maps.clone_from(&known.maps);
        snapshot.object_tables.clone_from(&known.tables);
        snapshot.warnings.clone_from(&known.warnings);
        snapshot.objects = known.objects.iter().map(|(_, object)| Arc::clone(object)).collect();
        let is_new = |source: &&Source| !snapshot.sources.iter().any(|known| known.name == source.name);
        let new: Vec<Source> = known.sources.iter().filter(is_new).cloned().collect();
        snapshot.sources.extend(new);
    }
}

/// Our programs are under the GPL as far as the kernel goes (`license_is_gpl_compatible`, include/linux/license.h), and so must be what
/// becomes a part of them.
fn check_licence(object: &Object) -> Result<(), Box<Diagnostic>> {
    const COMPATIBLE: [&str; 6] =
        ["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];
    // What says nothing asks nothing of others.
    let licence = object.licence.as_str();
    let is_free = ["", "BSD", "MIT", "Apache-2.0"].contains(&licence) || licence.starts_with("BSD-");
    if is_free || COMPATIBLE.contains(&licence) {
        return Ok(());
    }
    let message = format!("{} is under the licence '{licence}', which does not go with the GPL", object.name);
    let help = "let it say `char LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\";`, if it may";
    Err(Box::new(Diagnostic::new("MH0314", message).help(help)))
}

/// Lines behind these are not shown: a text has as many lines as the greatest number says.
const MOST_LINES: u32 = 100_000;

/// A source with the lines that another object knows of it, too: an object has those of its code alone.
fn with_lines(known: &Source, other: &Source) -> Source {
    let (mut own, mut more, mut text) = (known.text().lines(), other.text().lines(), String::new());
    loop {
        let line = match (own.next(), more.next()) {
            (None, None) => return Source::new(known.name.clone(), text),
            (None | Some(""), Some(line)) | (Some(line), _) => line,
        };
        text.extend([line, "\n"]);
    }
}

/// The sources that an object was compiled from, as far as its lines tell.
fn sources(object: &Object) -> Vec<Source> {
    let mut files: BTreeMap<&str, BTreeMap<u32, &str>> = BTreeMap::new();
    for line in object.functions.iter().flat_map(|function| &function.lines) {
        if (1..=MOST_LINES).contains(&line.number) {
            files.entry(&line.file).or_default().insert(line.number, &line.text);
        }
    }
    let text = |lines: &BTreeMap<u32, &str>| {
        let last = lines.keys().next_back().copied().unwrap_or_default();
        let line = |number: u32| lines.get(&number).copied().unwrap_or_default();
        (1..=last).flat_map(|number| [line(number), "\n"]).collect::<String>()
    };
    files.iter().map(|(name, lines)| Source::new(*name, text(lines))).collect()
}
