//! eCLAT: a small language, like Python to look at, whose chains call programs for packets that were written in C or Lua.
//!
//! Source becomes words ([`token`]), words a tree ([`ast`], [`parse`]).

pub mod ast;
mod check;
mod define;
pub mod error;
pub mod eval;
pub mod lua;
mod parse;
pub mod token;
pub mod tree;

use moonhook_diagnostic::Diagnostic;

pub use check::check;
pub use define::defined;
pub use error::{CheckError, CheckErrorKind, SyntaxError, SyntaxErrorKind};
pub use parse::parse;

/// What some editors begin files in UTF-8 with. Lua passes over it, too (`skipBOM`, lauxlib.c).
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The chains of a script that is called `file`.
///
/// # Errors
/// What is wrong with it, as a person is told.
pub fn read(source: &str, file: &str) -> Result<tree::Chains, Box<Diagnostic>> {
    let source = source.strip_prefix(BYTE_ORDER_MARK).unwrap_or(source);
    let script = parse(source).map_err(|error| Box::new(error.diagnostic(file, source)))?;
    check(&script, file).map_err(|error| Box::new(error.diagnostic(file, source)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_the_byte_order_is_passed_over() {
        assert_eq!(read("\u{feff}def main(): return 1\n", "a").map(|chains| chains.chains.len()), Ok(1));
        let places = ["\u{feff}x", "x"].map(|source| read(source, "a").map(|_| ()).expect_err(source).place);
        assert_eq!(places[0], places[1]);
        let inside = "def f(): return 1\n\u{feff}def g(): return 1\n";
        assert!(read(inside, "a").is_err() && read("\u{feff}\u{feff}def f(): pass", "a").is_err());
    }
}
