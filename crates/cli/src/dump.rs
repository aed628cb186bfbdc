//! `moonhook dump`: what a stage made of a script.

use crate::options::ProgramOptions;
use crate::{CliError, Exit, loading};
use moonhook_engine::{Compiled, Learned, Settings};
use std::io::Write;
use std::path::PathBuf;

/// Show what a stage of the compiler makes of scripts
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Stages:
  snapshot  what load time left: handlers and everything they reach
  ir        the program before optimisation
  opt       the program after optimisation
  asm       eBPF instructions below the script lines they come from

Examples:
  moonhook dump --stage asm filter.lua
  diff <(moonhook dump --stage ir filter.lua) <(moonhook dump --stage opt filter.lua)

Exit codes: 0 shown, 1 script refused, 2 usage, 3 file cannot be read, 4 bug in Moonhook")]
pub struct Arguments {
    /// Scripts; several become one program
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// The stage to stop after
    #[arg(long, value_enum, value_name = "STAGE")]
    stage: Stage,
    #[command(flatten)]
    program: ProgramOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Stage {
    Snapshot,
    Ir,
    Opt,
    Asm,
}

pub fn dump(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let settings = arguments.program.settings();
    let text = text(arguments, &settings)?;
    writeln!(out, "{}", text.trim_end())?;
    Ok(Exit::Success)
}

fn text(arguments: &Arguments, settings: &Settings) -> Result<String, CliError> {
    let loaded = loading::load(&arguments.scripts, &settings.load, true, false)?;
    if arguments.stage == Stage::Snapshot {
        return Ok(moonhook_snapshot::dump(&loaded.snapshot));
    }
    let Compiled { module, attempt, .. } = moonhook_engine::compile(&loaded.snapshot, settings)?;
    Ok(match arguments.stage {
        Stage::Snapshot => moonhook_snapshot::dump(&loaded.snapshot),
        Stage::Ir => {
            moonhook_engine::lower(&loaded.snapshot, settings, attempt, &mut Learned::default())?.to_string()
        }
        Stage::Opt => module.to_string(),
        Stage::Asm => {
            let object = moonhook_emit::emit(&module, &moonhook_emit::Options::default())?;
            moonhook_emit::dump(&object, &module)
        }
    })
}
