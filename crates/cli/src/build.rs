//! `moonhook build`: the object file.

mod files;
mod header;
mod remarks;

use crate::options::{ObjectAtOptions, ProgramOptions};
use crate::{CliError, Exit, report};
use moonhook_engine::Settings;
use moonhook_ir::{Function, Module};
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
    #[arg(long, conflicts_with = "on_error")]
    library: bool,
    #[command(flatten)]
    place: ObjectAtOptions,
    #[command(flatten)]
    program: ProgramOptions,
}

pub fn build(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let Arguments { scripts, output, cpus, library, place, program } = arguments;
    let mut settings = Settings { cpus: *cpus, arena: false, ..program.settings() };
    settings.load.at = Some(place.at());
    settings.load.library = library.then(|| files::name(output));
    let header = if *library { files::header_of(output)? } else { None };
    let loaded = crate::loading::load(scripts, &settings.load, false, false)?;
    let compiled = moonhook_engine::compile(&loaded.snapshot, &settings)?;
    report::warn(&compiled.module.warnings);
    files::write(&loaded, (output, &compiled.object.elf), header.as_deref())?;
    let entries = moonhook_engine::entries(&compiled.object)?;
    let names = match library {
        true => functions(&compiled.module),
        false => entries.iter().map(|entry| entry.name.as_str()).collect(),
    };
    let kind = if *library { "function" } else { "program" };
    let which = if names.len() == 1 { kind.to_string() } else { format!("{kind}s") };
    let (size, choice) = (compiled.object.elf.len(), &compiled.choice);
    writeln!(out, "{}: {which} {}, {size} bytes, {choice}", output.display(), names.join(", "))?;
    if let Some(path) = &header {
        writeln!(out, "{}: what C calls", path.display())?;
    }
    for line in remarks::remarks(&loaded, &compiled, &settings) {
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

/// Fails if `output` is one of the files that are read.
pub fn refuse_overwriting(read: &[PathBuf], output: &Path) -> Result<(), CliError> {
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    match read.iter().find(|path| path.canonicalize().is_ok_and(|path| path == output)) {
        Some(path) => Err(CliError::SameFile { path: path.clone() }),
        None => Ok(()),
    }
}
