//! Which of a script's hooks a command is about.

use crate::CliError;
use clap::builder::PossibleValuesParser;
use moonhook_hook::{HOOKS, Hook};
use moonhook_snapshot::Snapshot;

#[derive(Clone, Debug, clap::Args)]
pub struct HookOption {
    /// The hook whose handlers are meant [default: that of the first handler]
    #[arg(long, value_name = "HOOK", value_parser = names())]
    hook: Option<String>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(HOOKS.iter().map(|hook| hook.name))
}

impl HookOption {
    /// The hook that was asked for, or the script's first one.
    ///
    /// # Errors
    /// `NoHandlers` if the script has none for it.
    pub fn of(&self, snapshot: &Snapshot) -> Result<&'static Hook, CliError> {
        let hooks = snapshot.hooks();
        let Some(wanted) = &self.hook else { return Ok(hooks[0]) };
        let others = || hooks.iter().map(|hook| hook.name).collect::<Vec<_>>().join(", ");
        let found = hooks.iter().find(|hook| hook.name == wanted);
        found.copied().ok_or_else(|| CliError::NoHandlers { hook: wanted.clone(), others: others() })
    }
}
