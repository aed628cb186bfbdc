//! `moonhook build`: the object file.

use crate::options::ProgramOptions;
use crate::{CliError, Exit, report};
use moonhook_engine::Settings;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Compile scripts to an ELF object that any libbpf program can load
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The object holds everything: program, BTF, line information, and the data that load time produced.

Examples:
  moonhook build filter.lua -o filter.bpf.o
  bpftool prog load filter.bpf.o /sys/fs/bpf/filter && bpftool prog dump xlated pinned /sys/fs/bpf/filter linum

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
    #[command(flatten)]
    program: ProgramOptions,
}

pub fn build(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let Arguments { scripts, output, cpus, program } = arguments;
    let settings = Settings { cpus: *cpus, ..program.settings() };
    let loaded = crate::loading::load(scripts, &settings.load, false, false)?;
    let compiled = moonhook_engine::compile(&loaded.snapshot, &settings)?;
    report::warn(&compiled.module.warnings);
    refuse_overwriting(&loaded.files, output)?;
    moonhook_replace::replace_file(output, &compiled.object.elf)
        .map_err(|source| CliError::Unwritable { path: output.clone(), source })?;
    let name = &moonhook_engine::xdp_program(&compiled.object)?.name;
    let (size, choice) = (compiled.object.elf.len(), &compiled.choice);
    writeln!(out, "{}: program {name}, {size} bytes, {choice}", output.display())?;
    Ok(Exit::Success)
}

/// Fails if `output` is one of the files that are read.
pub fn refuse_overwriting(read: &[PathBuf], output: &Path) -> Result<(), CliError> {
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    match read.iter().find(|path| path.canonicalize().is_ok_and(|path| path == output)) {
        Some(path) => Err(CliError::SameFile { path: path.clone() }),
        None => Ok(()),
    }
}
