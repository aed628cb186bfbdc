//! Which of a script's hooks a command is about.

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

/// The script's first program for the hook that was asked for, or its first one at all.
pub fn program(snapshot: &Snapshot, wanted: Option<&Hook>) -> Program {
    let mut points = snapshot.points();
    let number = wanted.and_then(|hook| points.iter().position(|point| point.hook == hook)).unwrap_or(0);
    Program { number, point: points.swap_remove(number) }
}
