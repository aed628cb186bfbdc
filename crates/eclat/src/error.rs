//! What can be wrong in an eCLAT script, and how a person is told.

use crate::token::At;
use moonhook_diagnostic::{Diagnostic, Place};

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}: {kind}", at.line)]
pub struct SyntaxError {
    pub kind: SyntaxErrorKind,
    pub at: At,
}

/// What is no eCLAT.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxErrorKind {
    #[error("the line is neither in the block before it nor in one around that")]
    Indentation,
    #[error("a bracket is not closed before the script ends")]
    Unclosed,
    #[error("a text is not closed before its line ends")]
    UnclosedText,
    #[error("'{text}' is no word of the language")]
    NoWord { text: String },
    #[error("'{text}' is no number of 64 bits")]
    NoNumber { text: String },
    #[error("'{text}' would be an octal number in C")]
    Octal { text: String },
    #[error("'{text}' is no whole number")]
    Fraction { text: String },
    #[error("{found} where {expected} is expected")]
    Unexpected { found: String, expected: &'static str },
    #[error("a chain takes no more than {most} parameters")]
    Parameters { most: usize },
    #[error("the line is nested too deeply")]
    TooDeep,
    #[error("'{text}' stands outside of chains")]
    Outside { text: &'static str },
}

impl SyntaxErrorKind {
    pub fn at(self, at: At) -> SyntaxError {
        SyntaxError { kind: self, at }
    }

    /// The stable code; `moonhook explain` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            SyntaxErrorKind::Indentation | SyntaxErrorKind::Unclosed | SyntaxErrorKind::UnclosedText => {
                "MH0301"
            }
            SyntaxErrorKind::NoWord { .. } | SyntaxErrorKind::Unexpected { .. } => "MH0302",
            SyntaxErrorKind::NoNumber { .. }
            | SyntaxErrorKind::Octal { .. }
            | SyntaxErrorKind::Fraction { .. } => "MH0303",
            SyntaxErrorKind::Parameters { .. } | SyntaxErrorKind::TooDeep => "MH0304",
            SyntaxErrorKind::Outside { .. } => "MH0305",
        }
    }

    fn help(&self) -> &'static str {
        match self {
            SyntaxErrorKind::Indentation => {
                "let the lines of a block begin in one column; a tab is four spaces"
            }
            SyntaxErrorKind::Unclosed => "close what begins with `(`, `[` or `{`",
            SyntaxErrorKind::UnclosedText => "close the text with the quotation mark that it begins with",
            SyntaxErrorKind::NoWord { .. } => {
                "leave it out; texts stand in quotation marks, comments behind `#`"
            }
            SyntaxErrorKind::NoNumber { .. } => {
                "write a number from 0 to 18446744073709551615, or up to 0xffffffffffffffff"
            }
            SyntaxErrorKind::Octal { .. } => "leave out the zeros in front, or write it in hexadecimal",
            SyntaxErrorKind::Fraction { .. } => {
                "write a whole number: programs in the kernel have no fractions"
            }
            SyntaxErrorKind::Unexpected { found, .. } => {
                instead_of(found.trim_matches('\'')).unwrap_or("docs/eclat.md describes the language")
            }
            SyntaxErrorKind::Parameters { .. } => "put what belongs together into one number",
            SyntaxErrorKind::TooDeep => {
                "give parts of expressions to variables, and inner blocks to other chains"
            }
            SyntaxErrorKind::Outside { .. } => "put it into a chain: `def name():` and a block",
        }
    }
}

impl SyntaxError {
    /// As a person is told, of a script that is called `file` and has that text.
    pub fn diagnostic(&self, file: &str, source: &str) -> Diagnostic {
        let place = place(self.at, file, source);
        Diagnostic::new(self.kind.code(), self.kind.to_string()).at(place).help(self.kind.help())
    }
}

impl CheckError {
    /// As [`SyntaxError::diagnostic`].
    pub fn diagnostic(&self, file: &str, source: &str) -> Diagnostic {
        let place = place(self.at, file, source);
        Diagnostic::new(self.kind.code(), self.kind.to_string()).at(place).help(self.kind.help())
    }
}

/// What to write instead of a word that Python has and eCLAT has not.
pub fn instead_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "True" => "write `true`, or 1",
        "False" => "write `false`, or 0",
        "None" => "there are numbers only: write 0, or another one that says so",
        "break" => "let the condition say when the loop ends: `while n < 8 and more:`",
        "continue" => "put what follows into an `if`",
        "import" => "write `from programs.PACKAGE import NAME`",
        "as" => "programs have their own names: leave `as …` out",
        "is" => "write `==`",
        _ => return None,
    })
}

fn place(at: At, file: &str, source: &str) -> Place {
    let text = source.lines().nth(at.line.saturating_sub(1) as usize).unwrap_or_default().to_string();
    let is_part = |c: char| c.is_alphanumeric() || "_.".contains(c);
    let word = text.get(at.column..).map(|rest| {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        rest[..end.max(rest.chars().next().map_or(0, char::len_utf8))].to_string()
    });
    Place { file: file.into(), line: at.line, name: word.filter(|word| !word.trim().is_empty()), text }
}

/// What C would refuse, or what names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}: {kind}", at.line)]
pub struct CheckError {
    pub kind: CheckErrorKind,
    pub at: At,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckErrorKind {
    #[error("nothing is called '{name}'")]
    Unknown { name: String },
    #[error("'{name}' is a variable of the block that begins in line {line}, which has ended")]
    Gone { name: String, line: u32 },
    #[error("'{name}' is assigned before it has a type")]
    Untyped { name: String },
    #[error("'{name}' is a constant")]
    Constant { name: String },
    #[error("there is a '{name}' already")]
    Twice { name: String },
    #[error("another '{name}' is imported in line {line}")]
    Imported { name: String, line: u32 },
    #[error("a constant is a number")]
    NoConstant,
    #[error("there is no '{owner}.{name}'")]
    NoFunction { owner: String, name: String },
    #[error("'{name}' takes {wanted} arguments, not {count}")]
    Arguments { name: String, wanted: usize, count: usize },
    #[error("a text is no number")]
    Text,
    #[error("'{name}' is a loader, which starts chains and is called by none")]
    Loader { name: String },
    #[error("'{owner}' has no map '{map}'")]
    NoMap { owner: String, map: String },
    #[error("'{name}' is no loader, and cannot be attached")]
    NoLoader { name: String },
    #[error("'{mode}' is no mode of attaching")]
    NoMode { mode: String },
    #[error("the line does nothing")]
    Useless,
    #[error("the chain '{chain}' calls itself")]
    Recursive { chain: String },
    #[error("the chain '{chain}' is nested too deeply with those that it calls")]
    TooDeep { chain: String },
    #[error("the step of `range` is a number other than 0")]
    Step,
}

impl CheckErrorKind {
    pub fn at(self, at: At) -> CheckError {
        CheckError { kind: self, at }
    }

    fn help(&self) -> &'static str {
        match self {
            CheckErrorKind::Unknown { name } => {
                instead_of(name).unwrap_or("import it, or write a chain or a variable of that name before")
            }
            CheckErrorKind::Gone { .. } => "give it its type before the block",
            CheckErrorKind::Untyped { .. } => {
                "write its type before it: `u64: name = …`; names in capitals are constants"
            }
            CheckErrorKind::Constant { .. } => "use a variable: `u64: name = …`, in small letters",
            CheckErrorKind::Twice { .. } => "give one of them another name",
            CheckErrorKind::Imported { .. } => "import one of them: programs have no other names in a script",
            CheckErrorKind::NoConstant => "write a number, or use a variable with a type",
            CheckErrorKind::NoFunction { .. } => {
                "`Packet` has readU8, readU16, readU32, readU64 and writeU8, writeU16, writeU32, writeU64"
            }
            CheckErrorKind::Arguments { .. } => "give it as many as its definition has",
            CheckErrorKind::Text => "write a number",
            CheckErrorKind::Loader { .. } => "attach it: `name.attach('eth0', 'xdp')`",
            CheckErrorKind::NoMap { .. } => "name a map that the program has",
            CheckErrorKind::NoLoader { .. } => "import a loader: `from loaders.basic import ip6_sc`",
            CheckErrorKind::NoMode { .. } => "write 'xdp', 'xdpgeneric' or 'xdpdrv'",
            CheckErrorKind::Useless => "call a program or a chain, or assign the value to a variable",
            CheckErrorKind::Recursive { .. } => "repeat with `while` or `for`",
            CheckErrorKind::TooDeep { .. } => {
                "let a chain call others one after another, or give parts of expressions to variables"
            }
            CheckErrorKind::Step => "write the step as a number: `range(10, 0, -1)`",
        }
    }

    /// The stable code; `moonhook explain` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            CheckErrorKind::Unknown { .. }
            | CheckErrorKind::Gone { .. }
            | CheckErrorKind::NoFunction { .. } => "MH0306",
            CheckErrorKind::Untyped { .. }
            | CheckErrorKind::Constant { .. }
            | CheckErrorKind::Twice { .. }
            | CheckErrorKind::Imported { .. } => "MH0307",
            CheckErrorKind::NoConstant | CheckErrorKind::Text | CheckErrorKind::Step => "MH0308",
            CheckErrorKind::Arguments { .. }
            | CheckErrorKind::Loader { .. }
            | CheckErrorKind::NoLoader { .. }
            | CheckErrorKind::NoMode { .. }
            | CheckErrorKind::Useless => "MH0309",
            CheckErrorKind::NoMap { .. } => "MH0310",
            CheckErrorKind::Recursive { .. } => "MH0311",
            CheckErrorKind::TooDeep { .. } => "MH0304",
        }
    }
}
