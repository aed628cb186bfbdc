//! Which of a script's hooks a command is about.

use crate::{CliError, terminal};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use moonhook_hook::{HOOKS, Hook, Layer, Point};
use moonhook_load::At;
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

/// What stands for tc where handlers of netfilter can run there.
const TCX: &str = "tcx";

/// Which program is tried of a script with several.
#[derive(Clone, Debug, clap::Args)]
pub struct ProgramChoice {
    /// The program that is tried of a script with several, by hook and place as `check` and `list` have them: `tc.egress`,
    /// `match second` [default: the first one that gets packets, before those that ask about connections]; with `--root`, `tcx` has handlers of
    /// netfilter run at tc
    #[arg(long, value_name = "PLACE")]
    at: Option<String>,
}

impl ProgramChoice {
    /// Where handlers of netfilter run that are written for Lunatik, if they are: in the kernel.
    pub fn place(&self, load: &moonhook_load::Options) -> Option<At> {
        let is_tcx = load.root.is_some() && self.at.as_deref() == Some(TCX);
        Some(if is_tcx { At::Tcx } else { At::Link })
    }

    /// The script's first program that gets packets and is meant, by its place or by the hook that was asked for. Unless `quiet`, it is said
    /// which others there are.
    ///
    /// # Errors
    /// `NoPackets`, `NoPlace`.
    pub fn program(
        &self,
        snapshot: &Snapshot,
        load: &moonhook_load::Options,
        quiet: bool,
    ) -> Result<Program, CliError> {
        let (hook, is_moved) = (load.hook, load.at == Some(At::Tcx));
        let points = snapshot.points();
        let tried = || points.iter().enumerate().filter(|(_, point)| !point.hook.is_trace());
        let is_meant = |point: &Point| match &self.at {
            Some(_) if is_moved => hook.is_none_or(|hook| point.hook == hook),
            Some(at) => point.to_string() == *at,
            None => hook.is_none_or(|hook| point.hook == hook),
        };
        let mut meant: Vec<_> = tried().filter(|(_, point)| is_meant(point)).collect();
        // The kernel has no test runs of them.
        meant.sort_by_key(|(_, point)| point.hook.layer == Layer::Socket);
        let mut meant = meant.into_iter();
        let Some((number, point)) = meant.next() else {
            return Err(match &self.at {
                Some(at) if !is_moved && tried().next().is_some() => {
                    CliError::NoPlace { at: at.clone(), there: names(tried()) }
                }
                _ => CliError::NoPackets,
            });
        };
        let others = names(meant);
        if !others.is_empty() && !quiet {
            let option = if is_moved { "--hook" } else { "--at" };
            terminal::complain(format_args!(
                "note: only what is at '{point}' is tried; with `{option}`, also what is at {others}"
            ));
        }
        Ok(Program { number, point: point.clone() })
    }
}

fn names<'a>(points: impl Iterator<Item = (usize, &'a Point)>) -> String {
    points.map(|(_, point)| format!("'{point}'")).collect::<Vec<_>>().join(", ")
}
