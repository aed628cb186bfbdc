//! `moonhook build`: the object file.

mod header;

use crate::options::ProgramOptions;
use crate::{CliError, Exit, report};
use moonhook_engine::{Compiled, Settings};
use moonhook_hook::Place;
use moonhook_ir::{Function, Map, MapKind, Module};
use moonhook_load::Loaded;
use moonhook_passes::without_arena;
use moonhook_session::SessionError;
use moonhook_snapshot::Snapshot;
use moonhook_specialise::exported;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Compile scripts to an ELF object for other loaders: bpftool, ip, libbpf, cilium/ebpf, aya
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The object holds everything: program, BTF, line information, and the data that load time produced, except entries of
tables that handlers assign. docs/objects.md says which loaders take it.

Examples:
  moonhook build filter.lua -o filter.bpf.o
  bpftool prog load filter.bpf.o /sys/fs/bpf/filter && bpftool prog dump xlated pinned /sys/fs/bpf/filter linum
  moonhook build --library limits.lua -o limits.bpf.o   # and limits.h; docs/c-objects.md

Exit codes: 0 written, 1 script refused, 2 usage, 3 file cannot be read or written, 4 bug in Moonhook")]
pub struct Arguments {
    /// Scripts; several become one program
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// CPUs that the program has memory for [default: as many as this machine can have]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    cpus: Option<u32>,
    /// Make functions for programs in C, of what the scripts return and of their handlers, and a header beside the object
    #[arg(long)]
    library: bool,
    #[command(flatten)]
    program: ProgramOptions,
}

pub fn build(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let Arguments { scripts, output, cpus, library, program } = arguments;
    let mut settings = Settings { cpus: *cpus, arena: false, ..program.settings() };
    settings.load.library = *library;
    let loaded = crate::loading::load(scripts, &settings.load, false, false)?;
    let compiled = moonhook_engine::compile(&loaded.snapshot, &settings)?;
    report::warn(&compiled.module.warnings);
    refuse_overwriting(&loaded.files, output)?;
    moonhook_replace::replace_file(output, &compiled.object.elf)
        .map_err(|source| SessionError::Unwritable { path: output.clone(), source })?;
    let entries = moonhook_engine::entries(&compiled.object)?;
    let names = match library {
        true => functions(&compiled.module),
        false => entries.iter().map(|entry| entry.name.as_str()).collect(),
    };
    let kind = if *library { "function" } else { "program" };
    let which = if names.len() == 1 { kind.to_string() } else { format!("{kind}s") };
    let (size, choice) = (compiled.object.elf.len(), &compiled.choice);
    writeln!(out, "{}: {which} {}, {size} bytes, {choice}", output.display(), names.join(", "))?;
    if *library {
        let path = header::path(output);
        write_header(&loaded, output, &path)?;
        writeln!(out, "{}: what C calls", path.display())?;
    }
    for line in remarks(&loaded.snapshot, &compiled, &settings) {
        writeln!(out, "  {line}")?;
    }
    Ok(Exit::Success)
}

/// The functions that C can call, but for those that others of them call.
fn functions(module: &Module) -> Vec<&str> {
    let called: Vec<usize> = (module.functions.iter().filter(|function| function.prototype.is_some()))
        .flat_map(|function| function.callees().map(|id| id.0 as usize))
        .collect();
    let is_one =
        |(index, function): &(usize, &Function)| function.prototype.is_some() && !called.contains(index);
    module.functions.iter().enumerate().filter(is_one).map(|(_, function)| function.name.as_str()).collect()
}

fn write_header(loaded: &Loaded, object: &Path, path: &Path) -> Result<(), CliError> {
    refuse_overwriting(&loaded.files, path)?;
    let text = header::text(&loaded.snapshot, object);
    let unwritable = |source| SessionError::Unwritable { path: path.to_path_buf(), source };
    Ok(moonhook_replace::replace_file(path, text.as_bytes()).map_err(unwritable)?)
}

/// What whoever loads the object has to know.
fn remarks(snapshot: &Snapshot, compiled: &Compiled, settings: &Settings) -> Vec<String> {
    let module = &compiled.module;
    let mut remarks = Vec::new();
    let is_memory =
        |map: &Map| map.name.ends_with(without_arena::NAME) && matches!(map.kind, MapKind::Data(_));
    if module.maps.iter().any(is_memory) {
        let cpus = settings.cpus.unwrap_or_else(moonhook_engine::possible_cpus);
        remarks
            .push(format!("general code with memory for {cpus} CPUs; frames on others are errors (--cpus)"));
    }
    let is_called = snapshot.points().iter().any(|point| point.place == Place::Called);
    if is_called && !module.functions.iter().any(|function| function.name == exported::keyed::NAME) {
        let longest = exported::keyed::LONGEST;
        remarks.push(format!(
            "no {}: the script's path, which is its key, has more than {longest} bytes",
            exported::keyed::NAME
        ));
    }
    let of_objects = module.fillings.iter().filter(|filling| !filling.entries.is_empty()).map(|filling| {
        let (map, entries) = (&module.map(filling.map).name, filling.entries.len());
        let each = if entries == 1 {
            "entry that the script gives it is"
        } else {
            "entries that the script gives it are"
        };
        format!("map '{map}': {entries} {each} not in the object, to be added before attaching")
    });
    remarks.extend(of_objects);
    let filled = module.tables.iter().filter(|table| !table.contents.is_empty());
    remarks.extend(filled.map(|table| {
        let (name, map) = (&table.name, &module.map(table.map).name);
        let entries = table.contents.len();
        format!("table '{name}': its {entries} entries are not in the object, add them to the map {map} before attaching")
    }));
    remarks.extend(snapshot.flows.iter().map(|table| {
        let name = &table.name;
        format!("flow table '{name}': its flows and their functions are not in the object, all packets go to the default")
    }));
    remarks
}

/// Fails if `output` is one of the files that are read.
pub fn refuse_overwriting(read: &[PathBuf], output: &Path) -> Result<(), CliError> {
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    match read.iter().find(|path| path.canonicalize().is_ok_and(|path| path == output)) {
        Some(path) => Err(CliError::SameFile { path: path.clone() }),
        None => Ok(()),
    }
}
