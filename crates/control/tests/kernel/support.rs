//! A script and a program that has maps for the script's tables, but no handler that uses them.

use moonhook_control::{Answer, Control, Options, Report};
use moonhook_install::{ArenaSection, LoadOptions, Program, Section};
use moonhook_ir::{
    Map, MapDefinition, MapId, MapKind, MapType, Module, SharedTable, Variable, VariableContent,
    VariableHome, VariableKind,
};
use moonhook_load::Loaded;
use moonhook_schema::{Field, Schema, Type, WhenFull};
use std::time::Duration;

/// Whether kernel tests can run here. If not, says why, or fails under MOONHOOK_REQUIRE_KERNEL=1.
pub fn kernel() -> bool {
    let Err(error) = install(&module(&[])) else { return true };
    assert!(std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_none_or(|v| v != "1"), "no kernel tests: {error}");
    println!("skipped: {error}");
    false
}

pub fn schema(key: Type, value: Type) -> Schema {
    Schema { key, value, capacity: 64, when_full: WhenFull::Error, lifetime: None, per_cpu: false }
}

pub fn text(capacity: u16) -> Type {
    Type::Text { capacity }
}

pub fn record(fields: &[(&str, Type)]) -> Type {
    let field = |(name, ty): &(&str, Type)| Field { name: name.to_string(), ty: ty.clone() };
    Type::Record(fields.iter().map(field).collect())
}

fn definition(schema: &Schema) -> MapDefinition {
    let map_type = match (schema.is_prefixes(), schema.when_full, schema.per_cpu) {
        (true, ..) => MapType::LpmTrie,
        (_, WhenFull::Evict, _) => MapType::LruHash,
        (_, _, true) => MapType::PerCpuHash,
        _ => MapType::Hash,
    };
    let (key_size, value_size) = (schema.key_size() as u32, schema.value_size() as u32);
    let flags = u32::from(schema.is_prefixes());
    MapDefinition { map_type, key_size, value_size, max_entries: schema.capacity, flags }
}

/// A module with a program that lets everything pass, and maps of these tables: name, number in the snapshot, schema.
fn module(tables: &[(&str, u32, Schema)]) -> Module {
    let mut module =
        moonhook_ir::parse("function main(v0) program \"xdp\" {\nb0():\n  return 2\n}\n").unwrap();
    for (index, (name, table, schema)) in tables.iter().enumerate() {
        module.maps.push(Map { name: format!("t{index}"), kind: MapKind::Map(definition(schema)) });
        let map = MapId(index as u32);
        let (name, schema) = (name.to_string(), schema.clone());
        module.tables.push(SharedTable { name, map, schema, table: *table, contents: Vec::new() });
    }
    module
}

/// A variable of the handler: its name, what load time left in it as tag and payload, and what it can be.
pub type Described<'a> = (&'a str, [u64; 2], &'a [(u64, VariableContent)]);

/// How far variables are apart: a tag, and a payload for each kind.
pub const APART: usize = 64;

/// The state of `scripts`, whose first handler has these upvalues; fields are `global.field`, globals `_G.name`. Also gives the
/// words of the variables.
pub fn variables(scripts: &[&str], variables: &[Described<'_>]) -> (Control, Section) {
    let (loaded, mut module, bytes) = described(scripts, variables, vec![]);
    module.maps.push(Map { name: "state".into(), kind: MapKind::Data(bytes) });
    let program = install(&module).unwrap();
    let section = program.section(".data.state").unwrap();
    (Control::new(loaded, &module, &program, Options::default()).unwrap(), section)
}

/// The same of general code: the variables lie in an arena behind these bytes. The program has to stay.
pub fn variables_in_arena(
    scripts: &[&str],
    variables: &[Described<'_>],
    before: &[u8],
) -> (Control, Program, ArenaSection) {
    let (loaded, mut module, image) = described(scripts, variables, before.to_vec());
    module.maps.push(Map { name: "arena".into(), kind: MapKind::Arena { pages: 1, image } });
    let program = install(&module).unwrap();
    let arena = program.arena_section().unwrap();
    (Control::new(loaded, &module, &program, Options::default()).unwrap(), program, arena)
}

/// A module with these variables, and their words behind `bytes`.
fn described(scripts: &[&str], variables: &[Described<'_>], mut bytes: Vec<u8>) -> (Loaded, Module, Vec<u8>) {
    let loaded = load_all(scripts);
    let mut module = module(&[]);
    for (name, words, kinds) in variables {
        let kind = |(number, (tag, content)): (usize, &(u64, VariableContent))| VariableKind {
            tag: *tag,
            payload: Variable::PAYLOAD + 8 * number as u32,
            content: content.clone(),
        };
        module.variables.push(Variable {
            name: name.trim_start_matches("_G.").to_string(),
            offset: bytes.len() as u32,
            ty: String::new(),
            portable: true,
            home: home(&loaded, name),
            sums: None,
            is_summed: kinds.iter().any(|(_, content)| *content == VariableContent::Nil),
            kinds: kinds.iter().enumerate().map(kind).collect(),
        });
        let mut own = [0u64; APART / 8];
        own[0] = words[0];
        // Of a single kind the tag does not matter.
        let number = kinds.iter().position(|(tag, _)| *tag == words[0] || kinds.len() == 1);
        number.into_iter().for_each(|number| own[1 + number] = words[1]);
        bytes.extend(own.iter().flat_map(|word| word.to_ne_bytes()));
    }
    (loaded, module, bytes)
}

fn home(loaded: &Loaded, name: &str) -> VariableHome {
    let snapshot = &loaded.snapshot;
    if let Some((table, key)) = name.split_once('.') {
        let table = snapshot.tables.iter().position(|known| known.name.as_deref() == Some(table));
        let table = table.unwrap_or_else(|| panic!("no table of {name}")) as u32;
        return VariableHome::Field { table, key: key.as_bytes().to_vec() };
    }
    let closure = snapshot.closure(snapshot.handlers[0].closure);
    let upvalues = &snapshot.prototype(closure.prototype).upvalues;
    let index = upvalues.iter().position(|upvalue| upvalue.name == name).expect("an upvalue of that name");
    VariableHome::Cell(closure.upvalues[index].0)
}

fn install(module: &Module) -> Result<Program, moonhook_install::InstallError> {
    let object = moonhook_emit::emit(module, &moonhook_emit::Options::default()).unwrap();
    moonhook_install::load(&object.elf, &LoadOptions::default())
}

/// The first script is `x.lua`.
fn load_all(scripts: &[&str]) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let paths = scripts.iter().zip(["x.lua", "y.lua"]).map(|(script, name)| {
        let path = folder.path().join(name);
        std::fs::write(&path, script).unwrap();
        path
    });
    let paths: Vec<_> = paths.collect();
    moonhook_load::load(&paths, &moonhook_load::Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The state of `script`, whose tables of these names are maps. It has to attach a handler that reaches them.
pub fn control(script: &str, tables: &[(&str, Schema)]) -> Control {
    let loaded = load_all(&[script]);
    let number =
        |name: &str| loaded.snapshot.tables.iter().position(|table| table.name.as_deref() == Some(name));
    let number = |name: &str| number(name).unwrap_or_else(|| panic!("no table {name}")) as u32;
    let tables: Vec<_> = tables.iter().map(|(name, schema)| (*name, number(name), schema.clone())).collect();
    let module = module(&tables);
    let program = install(&module).unwrap();
    Control::new(
        loaded,
        &module,
        &program,
        Options { time_limit: Duration::from_secs(2), ..Options::default() },
    )
    .unwrap()
}

/// A state with one table `t` that is a map of this schema.
pub fn one_table(schema: Schema) -> Control {
    control("local t = {old = 1}\nrequire('xdp').attach(function() return t.x end)", &[("t", schema)])
}

/// The results of a piece of text, separated by spaces; an error as its message.
pub fn run(control: &mut Control, code: &str) -> String {
    let Answer { result, .. } = control.exec(code);
    match result {
        Ok(shown) => {
            shown.iter().map(|shown| String::from_utf8_lossy(&shown.text)).collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.message,
    }
}

/// Each piece of text gives what stands behind it.
pub fn expect(control: &mut Control, cases: &[(&str, &str)]) {
    for (code, expected) in cases {
        assert_eq!(run(control, code), *expected, "{code}");
    }
}

/// What one turn reports, errors with `error: ` in front.
pub fn turn(control: &mut Control) -> Vec<String> {
    let mut lines = Vec::new();
    control.turn(&mut |report| lines.push(line(report)));
    lines
}

pub fn line(report: Report) -> String {
    match report {
        Report::Print(line) => String::from_utf8(line).unwrap(),
        Report::Error(error) => format!("error: {}", error.message),
    }
}
