//! eCLAT: a small language, like Python to look at, whose chains call programs for packets that were written in C or Lua.
//!
//! Source becomes words ([`token`]), words a tree ([`ast`], [`parse`]).

pub mod ast;
mod check;
mod define;
pub mod error;
pub mod eval;
mod parse;
pub mod token;
pub mod tree;

use moonhook_diagnostic::Diagnostic;

pub use check::check;
pub use define::defined;
pub use error::{CheckError, CheckErrorKind, SyntaxError, SyntaxErrorKind};
pub use parse::parse;

/// The chains of a script that is called `file`.
///
/// # Errors
/// What is wrong with it, as a person is told.
pub fn read(source: &str, file: &str) -> Result<tree::Chains, Box<Diagnostic>> {
    let script = parse(source).map_err(|error| Box::new(error.diagnostic(file, source)))?;
    check(&script, file).map_err(|error| Box::new(error.diagnostic(file, source)))
}
