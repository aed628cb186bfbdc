//! Which of a script's hooks a command is about.

use crate::CliError;
use clap::builder::PossibleValuesParser;
use moonhook_hook::{HOOKS, Point};
use moonhook_snapshot::Snapshot;

#[derive(Clone, Debug, clap::Args)]
pub struct HookOption {
    /// The hook whose handlers are meant [default: that of the first handler]
    #[arg(long, value_name = "HOOK", value_parser = names())]
    hook: Option<String>,
}

/// A program of a script: its number, and what it is attached to.
#[derive(Clone, Debug)]
pub struct Program {
    pub number: usize,
    pub point: Point,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(HOOKS.iter().map(|hook| hook.name))
}

impl HookOption {
    /// The script's first program for the hook that was asked for, or its first one at all.
    ///
    /// # Errors
    /// `NoHandlers` if the script has none for it.
    pub fn of(&self, snapshot: &Snapshot) -> Result<Program, CliError> {
        let points = snapshot.points();
        let Some(wanted) = &self.hook else { return Ok(Program { number: 0, point: points[0].clone() }) };
        let others = || points.iter().map(|point| point.hook.name).collect::<Vec<_>>().join(", ");
        let found = points.iter().position(|point| point.hook.name == wanted);
        let program = found.map(|number| Program { number, point: points[number].clone() });
        program.ok_or_else(|| CliError::NoHandlers { hook: wanted.clone(), others: others() })
    }
}
