//! Telling a person, or a program, why a command failed.

use crate::{CliError, Exit, terminal};
use moonhook_daemon::Remark;
use moonhook_diagnostic::{Diagnostic, Place};
use moonhook_session::JsonError;
use std::io::{IsTerminal, Write};

/// Says what went wrong, to standard error or as `{"error": …}` into `out`; gives the exit code.
pub fn failure(error: &CliError, json: bool, out: &mut dyn Write) -> Exit {
    if error.is_broken_pipe() {
        return Exit::Success;
    }
    if error.is_unread() {
        // Standard error may lead to the same place, and nobody would read this either.
        if terminal::error_takes_text() {
            terminal::complain(shown(error));
        }
    } else if json {
        let answer = serde_json::json!({ "error": told(error) });
        let written = writeln!(out, "{answer:#}").and_then(|()| out.flush());
        // Where the answer cannot be written, standard error may be somewhere else.
        if written.is_err() {
            terminal::complain(shown(error));
        }
    } else {
        let _ = out.flush();
        terminal::complain(shown(error));
    }
    error.exit()
}

/// The error as it stands on a terminal.
pub fn shown(error: &CliError) -> String {
    rendered(&told(error).diagnostic)
}

/// The diagnostic as it stands on a terminal.
pub fn rendered(diagnostic: &Diagnostic) -> String {
    diagnostic.render(std::io::stderr().is_terminal() && terminal::colour_wanted())
}

/// Says, to standard error, what a person should know of a script that is compiled all the same.
pub fn warn(warnings: &[Diagnostic]) {
    warnings.iter().for_each(|warning| terminal::complain(rendered_warning(warning)));
}

/// What there is to say of scripts without handlers that have run.
pub fn over(scripts: &str) -> String {
    format!(
        "note: {scripts} has no handlers, and requires no module that registers any: nothing is attached\n"
    )
}

/// A place as it stands before a message.
pub fn place_text(place: &Option<Place>) -> String {
    place.as_ref().map_or(String::new(), |place| format!("{}:{}: ", place.file, place.line))
}

/// A line for each warning, and one for what to do.
pub fn remarks(warnings: &[Remark]) -> String {
    let line = |Remark { code, place, message, help }: &Remark| {
        let help = help.as_ref().map_or(String::new(), |help| format!("\n    help: {help}"));
        format!("  warning[{code}]: {}{message}{help}\n", place_text(place))
    };
    warnings.iter().map(line).collect()
}

/// A warning as it stands on a terminal.
pub fn rendered_warning(warning: &Diagnostic) -> String {
    warning.render_warning(std::io::stderr().is_terminal() && terminal::colour_wanted())
}

/// What is told of the error; the log of a rejection is saved, and the help says where.
pub fn told(error: &CliError) -> JsonError {
    match error {
        CliError::Session(error) => JsonError::new(error),
        other => JsonError { diagnostic: other.diagnostic(), log: None },
    }
}
