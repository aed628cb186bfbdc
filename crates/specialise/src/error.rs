//! What the specialiser refuses, and how it says so.

use moonhook_diagnostic::{Diagnostic, Place};
use std::borrow::Cow;

/// A script that cannot become a program. Always has a place in the script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {kind}", place.file, place.line)]
pub struct LowerError {
    pub kind: LowerErrorKind,
    pub place: Box<Place>,
}

/// Why lowering stops.
#[derive(Debug)]
pub enum Stop {
    /// The script is refused.
    Error(Box<LowerError>),
    /// Something was learned without which the code that follows cannot be executed (a loop is to be unrolled): start again with it.
    Restart,
}

pub type Result<T> = std::result::Result<T, Stop>;

/// Why it cannot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerErrorKind {
    #[error("{what} at packet time")]
    Float { what: String, help: String },
    #[error("a table that only general code can make")]
    TableConstructor,
    #[error("the metamethod `{event}` is called at packet time")]
    Metamethod { event: &'static str },
    /// A library function that expanded code has no form for; `general`: general code has one.
    #[error("`{name}` cannot be called {}", if *.general { "in expanded code" } else { "at packet time" })]
    Builtin { name: String, help: String, general: bool },
    #[error("{message}")]
    CertainError { message: String, help: Cow<'static, str> },
    #[error("`{name}` calls itself at packet time")]
    Recursion { name: String },
    #[error("the handler needs more than {limit} instructions before optimisation")]
    TooLarge { limit: usize },
    #[error("expanding the handler takes more than {limit} steps of the compiler")]
    TooMuchWork { limit: usize },
    #[error("`{table}` cannot become a map: {problem}")]
    SharedTable { table: String, problem: String, help: String },
    #[error("the pattern is not known before packets arrive")]
    PatternNotConstant,
    #[error("the pattern has more than {limit} items")]
    LongPattern { limit: usize },
    #[error("{message}")]
    BadPattern { message: String },
    #[error("'{header}' has no field '{field}'")]
    NoSuchField { header: Cow<'static, str>, field: String, help: String },
    /// Of a library's table: a warning only.
    #[error("`{table}` has no `{field}`, this is nil")]
    MissingMember { table: String, field: String, help: String },
    /// A global variable by the name of a verdict: a warning only.
    #[error("there is no global variable `{name}`, this is nil")]
    MissingGlobal { name: String, help: String },
    /// What expanded code cannot do.
    #[error("{what} is not possible in expanded code")]
    Unsupported { what: String, help: String },
    /// What no form of code can do with a shared table.
    #[error("{what} is not possible at packet time")]
    SharedUse { what: String, help: String },
    /// What no form of code can do with an event or a structure of the kernel's.
    #[error("{what} is not possible at packet time")]
    Traced { what: String, help: &'static str },
    /// What no form of code puts in front of a packet.
    #[error("a record with more than {most} fields as `pkt.meta` is not possible at packet time")]
    LargeNote { most: usize },
    #[error("the loop is entered at two places")]
    IrreducibleLoop,
    #[error("a function that captures a loop's variable outlives its iteration")]
    EscapingCapture,
    /// What the function of a flow does to something of the script's, of which the script's handlers know nothing.
    #[error("{what}")]
    OfScript { what: String, help: &'static str },
    #[error("{what} is kept from packet to packet")]
    StateType { what: String, help: &'static str },
    /// `general`: general code may know more.
    #[error("{what} is not known before packets arrive")]
    UnknownTarget { what: &'static str, help: &'static str, general: bool },
    /// A name that a C object does not have, or has in a way that scripts cannot use.
    #[error("{message}")]
    NoMember { message: String, help: String },
    /// What cannot be done with a function of a C object, or with a function that a chain calls.
    #[error("{what} is not possible")]
    Linked { what: String, reason: &'static str, help: &'static str },
    #[error("{message}")]
    Internal { message: String },
}

impl LowerErrorKind {
    pub(crate) fn unsupported(what: impl Into<String>, help: impl Into<String>) -> LowerErrorKind {
        LowerErrorKind::Unsupported { what: what.into(), help: help.into() }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.describe().0
    }

    /// A list of interfaces is made of the packet.
    pub fn unknown_group(general: bool) -> LowerErrorKind {
        let help = "list names and numbers of interfaces that load time knows";
        LowerErrorKind::UnknownTarget { what: "the group", help, general }
    }

    /// The length of a CPU's queue is made of the packet.
    pub fn unknown_queue(general: bool) -> LowerErrorKind {
        let help = "give `queue` a constant, or a variable that handlers do not change";
        LowerErrorKind::UnknownTarget { what: "the length of the queue", help, general }
    }

    /// Whether it is refused in expanded code only.
    pub fn has_general_form(&self) -> bool {
        use LowerErrorKind::*;
        match self {
            Builtin { general, .. } | UnknownTarget { general, .. } => *general,
            Float { .. }
            | TableConstructor
            | Metamethod { .. }
            | Recursion { .. }
            | TooLarge { .. }
            | TooMuchWork { .. }
            | PatternNotConstant
            | LongPattern { .. }
            | BadPattern { .. }
            | Unsupported { .. }
            | IrreducibleLoop
            | EscapingCapture => true,
            // What is wrong with the script itself.
            _ => false,
        }
    }

    /// Code, reason, help. Of what is refused in expanded code only, the help says how to stay with that.
    fn describe(&self) -> (&'static str, &'static str, String) {
        use LowerErrorKind::*;
        match self {
            Float { help, .. } => {
                ("MH0201", "of floats, expanded code has arithmetic and comparisons", help.clone())
            }
            TableConstructor => (
                "MH0202",
                "expanded code makes no such table",
                "under keys from the packet keep integers, booleans, strings, and what load time has made; tables under known keys".into(),
            ),
            Metamethod { .. } => (
                "MH0203",
                "of the metamethods, expanded code calls `__index`, `__len`, `__call`, `__tostring`, and functions that are `__newindex`",
                "call an ordinary function, for example a method of the table".into(),
            ),
            Builtin { help, general: true, .. } => ("MH0204", "it has no expanded form", help.clone()),
            Builtin { help, .. } => ("MH0204", "it has no form that runs in the kernel", help.clone()),
            CertainError { help, .. } => {
                ("MH0205", "this is an error whenever it is reached", help.clone().into_owned())
            }
            Recursion { .. } => (
                "MH0206",
                "expanded code expands calls in place, which would not end",
                "write the function as a loop".into(),
            ),
            TooLarge { .. } => (
                "MH0207",
                "the code grew too much when calls were expanded into it",
                "split the work among several handlers, or call large functions from fewer places".into(),
            ),
            TooMuchWork { .. } => (
                "MH0217",
                "what varies here takes long to find out",
                "let loops change fewer variables, or call large functions from fewer places".into(),
            ),
            SharedTable { help, .. } => (
                "MH0208",
                "a table that handlers write is a map with one type of keys and one of values",
                help.clone(),
            ),
            PatternNotConstant => (
                "MH0209",
                "expanded code has the patterns that load time knows",
                "use a string literal, or a variable that the handler does not change".into(),
            ),
            LongPattern { .. } => (
                "MH0218",
                "each of them becomes code of its own, within that of the one before",
                "match the parts one after another".into(),
            ),
            BadPattern { .. } => ("MH0210", "the pattern is malformed", "see Lua manual § 6.5.1".into()),
            NoSuchField { help, .. } => ("MH0211", "there is no such field", help.clone()),
            MissingMember { help, .. } => ("MH0220", "there is no such field", help.clone()),
            MissingGlobal { help, .. } => ("MH0220", "nothing assigns it", help.clone()),
            Unsupported { help, .. } => ("MH0212", "it has no expanded form", help.clone()),
            SharedUse { help, .. } => ("MH0212", "a map cannot do that", help.clone()),
            Traced { help, .. } => {
                ("MH0212", "events and structures are read field by field", (*help).into())
            }
            LargeNote { .. } => (
                "MH0212",
                "there is no more room in front of packets",
                "put several numbers into the bits of one, or assign only fields that handlers read".into(),
            ),
            IrreducibleLoop => (
                "MH0213",
                "`goto` jumps into the middle of a loop",
                "write the loop with `while` or `repeat`, or jump to its first statement".into(),
            ),
            EscapingCapture => (
                "MH0214",
                "each iteration makes a new variable",
                "call the function within the iteration, or declare the variable outside the loop".into(),
            ),
            UnknownTarget { help, .. } => {
                ("MH0219", "there is a map for each target, which is made before", (*help).into())
            }
            OfScript { help, .. } => (
                "MH0221",
                "what a flow's function has in common with the script is what it is in the script's handlers",
                (*help).into(),
            ),
            NoMember { help, .. } => ("MH0317", "scripts have nothing of that name", help.clone()),
            Linked { reason, help, .. } => ("MH0222", reason, (*help).into()),
            Internal { .. } => ("MH0216", "this is a fault of Moonhook", "report it, with the script".into()),
            StateType { help, .. } => (
                "MH0215",
                "kept between packets are integers, booleans, nil, IPv4 and MAC addresses, and what load time has made",
                (*help).into(),
            ),
        }
    }
}

impl LowerError {
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// What to write instead.
    pub fn help(&self) -> String {
        self.kind.describe().2
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let (code, reason, mut help) = self.kind.describe();
        if self.kind.has_general_form() {
            help = format!("leave out `--form expanded`, or {help}");
        }
        Diagnostic::new(code, self.kind.to_string()).at((*self.place).clone()).reason(reason).help(help)
    }
}
