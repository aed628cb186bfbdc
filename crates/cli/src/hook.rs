//! Which of a script's hooks a command is about.

use crate::CliError;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use moonhook_hook::{HOOKS, Hook, Point};
use moonhook_snapshot::Snapshot;

/// A program of a script: its number, and what it is attached to.
#[derive(Clone, Debug)]
pub struct Program {
    pub number: usize,
    pub point: Point,
}

/// `--hook`: a hook by its name.
pub fn parser() -> impl TypedValueParser<Value = &'static Hook> {
    let known = PossibleValuesParser::new(HOOKS.iter().map(|hook| hook.name));
    known.try_map(|name| HOOKS.iter().copied().find(|hook| hook.name == name).ok_or("no such hook"))
}

/// The script's first program for the hook that was asked for, or its first one that gets packets.
///
/// # Errors
/// `NoPackets`.
pub fn program(snapshot: &Snapshot, wanted: Option<&Hook>) -> Result<Program, CliError> {
    let mut points = snapshot.points();
    let is_wanted = |point: &Point| wanted.is_none_or(|hook| point.hook == hook) && !point.hook.is_trace();
    let number = points.iter().position(is_wanted).ok_or(CliError::NoPackets)?;
    Ok(Program { number, point: points.swap_remove(number) })
}
