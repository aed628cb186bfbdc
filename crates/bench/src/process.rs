//! Runs other programs to their end.

use std::process::Command;

use crate::error::Error;

/// Gives what the command printed; an exit status other than 0 is an error that shows what it said.
pub fn run(command: &mut Command) -> Result<String, Error> {
    let shown = shown(command);
    let output = command.output().map_err(Error::system(format!("start `{shown}`")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::Command { command: shown, output: String::from_utf8_lossy(&output.stderr).into_owned() })
}

/// Runs a command given as words.
pub fn words(words: &[&str]) -> Result<String, Error> {
    match words {
        [program, arguments @ ..] => run(Command::new(program).args(arguments)),
        [] => Ok(String::new()),
    }
}

/// As a person would type it.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
