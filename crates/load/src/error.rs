//! What can go wrong at load time, and how a person is told.

use crate::control;
use crate::obstacle::Obstacle;
use moonhook_diagnostic::{Diagnostic, Place};

/// An error of the load stage. Where it has a place, that is a line of a script or of one of its modules.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot read {path}: {error}")]
    Unreadable { path: String, error: std::io::Error },
    #[error("{0}")]
    Syntax(Box<Failure>),
    #[error("{0}")]
    Runtime(Box<Failure>),
    #[error("{script} registers no handler")]
    NoHandler { script: String },
    #[error("no handler is for the hook '{hook}'")]
    NoHandlerOfHook { hook: &'static str, others: String },
    #[error("nothing comes to the function for queue {queue}: no handler is for XDP")]
    NoSender { queue: u32, place: Option<Box<Place>> },
    #[error("the script does not finish: it ran {limit} instructions")]
    Instructions { limit: u64, place: Option<Box<Place>> },
    #[error("the script needs more than {} of memory", mebibytes(*.limit))]
    Memory { limit: usize, place: Option<Box<Place>> },
    #[error("{0}")]
    Module(Box<Failure>),
    #[error("{path} is not Lua text but a precompiled chunk")]
    Precompiled { path: String },
    #[error("{0}")]
    TooDeep(Box<Failure>),
    #[error("a function cannot be read back: {reason}")]
    Chunk { reason: String },
    #[error("the Lua state failed: {reason}")]
    State { reason: String },
    #[error("table '{table}' cannot be replaced: {problem}")]
    Content { table: String, problem: &'static str },
    #[error("{failure}")]
    Kernel { failure: Box<Failure>, refused: Refused },
    #[error("{script} has no functions for C: it returns none, and registers no handler")]
    NoFunction { script: String },
    #[error("C cannot call the function '{name}': {obstacle}")]
    Exported { name: String, obstacle: Obstacle, place: Option<Box<Place>> },
    #[error("a handler of netfilter cannot give the verdict {verdict}")]
    Verdict { verdict: &'static str, place: Option<Box<Place>> },
    /// At the point of netfilter with that name, where it is one that has no place at tc.
    #[error("`--at tcx` has no place for a handler that {what}{}", point.map(|point| format!(" at {point}")).unwrap_or_default())]
    NotAtTc { what: String, point: Option<&'static str>, place: Option<Box<Place>> },
    /// A script of eCLAT that this one loads.
    #[error("{}", .0.message)]
    Chain(Box<Diagnostic>),
}

/// What the kernel does not have for a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Nothing of that name; these are like it.
    None { near: Vec<String> },
    /// Nobody says whether it has.
    Unknown { help: &'static str },
    /// Programs of that kind.
    Probe,
}

/// A message of Lua, taken apart.
#[derive(Debug)]
pub struct Failure {
    /// The message without the `file:line:` in front of it.
    pub message: String,
    pub place: Option<Place>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{}:{}: {}", place.file, place.line, self.message),
            None => f.write_str(&self.message),
        }
    }
}

fn mebibytes(bytes: usize) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{bytes} bytes") }
}

impl LoadError {
    /// The stable code; `moonhook explain` has a page for each.
    pub fn code(&self) -> &'static str {
        match self {
            LoadError::Unreadable { .. } => "MH0101",
            LoadError::Syntax(_) => "MH0102",
            LoadError::Runtime(_) => "MH0103",
            LoadError::NoHandler { .. } => "MH0104",
            LoadError::Instructions { .. } => "MH0105",
            LoadError::Memory { .. } => "MH0106",
            LoadError::Module(_) => "MH0107",
            LoadError::Precompiled { .. } => "MH0108",
            LoadError::Chunk { .. } => "MH0109",
            LoadError::State { .. } => "MH0110",
            LoadError::Content { .. } => "MH0111",
            LoadError::TooDeep(_) => "MH0112",
            LoadError::NoHandlerOfHook { .. } => "MH0113",
            LoadError::NoSender { .. } => "MH0114",
            LoadError::Kernel { refused: Refused::None { .. }, .. } => "MH0115",
            LoadError::Kernel { refused: Refused::Unknown { .. }, .. } => "MH0116",
            LoadError::Kernel { refused: Refused::Probe, .. } => "MH0117",
            LoadError::NoFunction { .. } => "MH0118",
            LoadError::Exported { .. } => "MH0119",
            LoadError::Verdict { .. } => "MH0120",
            LoadError::NotAtTc { .. } => "MH0121",
            LoadError::Chain(diagnostic) => diagnostic.code,
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        if let LoadError::Chain(diagnostic) = self {
            return (**diagnostic).clone();
        }
        let diagnostic = match self {
            LoadError::Syntax(failure)
            | LoadError::Runtime(failure)
            | LoadError::Module(failure)
            | LoadError::Kernel { failure, .. }
            | LoadError::TooDeep(failure) => {
                located(self.code(), first_line(&failure.message), failure.place.as_ref())
            }
            LoadError::Instructions { place, .. }
            | LoadError::Memory { place, .. }
            | LoadError::Exported { place, .. }
            | LoadError::Verdict { place, .. }
            | LoadError::NotAtTc { place, .. }
            | LoadError::NoSender { place, .. } => located(self.code(), &self.to_string(), place.as_deref()),
            _ => Diagnostic::new(self.code(), self.to_string()),
        };
        match self.reason() {
            Some(reason) => diagnostic.reason(reason),
            None => diagnostic,
        }
        .help(self.help())
    }

    fn reason(&self) -> Option<&'static str> {
        match self {
            LoadError::Syntax(_) => Some("the script cannot be parsed"),
            LoadError::TooDeep(_) => Some("the parser has given up in this line"),
            LoadError::Runtime(_) => Some("load time stopped here"),
            LoadError::Module(_) => Some("no such module"),
            LoadError::Kernel { refused, .. } => refused.reason(),
            LoadError::Instructions { place: Some(_), .. } => Some("it was here when it was stopped"),
            LoadError::Memory { place: Some(_), .. } => Some("it was here when memory ran out"),
            LoadError::Verdict { verdict: "STOLEN", .. } => {
                Some("the packet would be the handler's own for ever")
            }
            LoadError::Verdict { .. } => {
                Some("netfilter would ask again and again, or does not know it any more")
            }
            LoadError::NotAtTc { point: Some(_), .. } => {
                Some("of netfilter's points, tc has PRE_ROUTING (ingress) and POST_ROUTING (egress)")
            }
            LoadError::NotAtTc { .. } => Some("programs at tc cannot do that"),
            _ => None,
        }
    }

    fn help(&self) -> String {
        match self {
            LoadError::Unreadable { .. } => "check the path and its permissions".into(),
            LoadError::Syntax(_) => "correct the line; scripts are Lua 5.5".into(),
            LoadError::Runtime(failure) => runtime_help(failure),
            LoadError::NoHandler { .. } => {
                "register one: `require(\"xdp\").attach(function(pkt, arg) … end)`".into()
            }
            LoadError::NoHandlerOfHook { others, .. } => {
                format!("they are for {others}; give one of those with `--hook`, or register by `attach(f)` what can be at any hook")
            }
            LoadError::Verdict { .. } => {
                "return DROP, ACCEPT, or QUEUE (which hands the packet to the queue with number 0)".into()
            }
            LoadError::NotAtTc { point: Some(_), .. } => {
                "register it for PRE_ROUTING or POST_ROUTING, or have it run in the process: `--at queue`".into()
            }
            LoadError::NotAtTc { .. } => "have it run in the process: `--at queue`".into(),
            LoadError::NoSender { queue, .. } => {
                format!("register one by `xdp.attach` that sends frames there: `return redirect{{socket = {queue}}}`")
            }
            LoadError::Instructions { .. } => "look for an endless loop, or raise the limit with `--load-steps`".into(),
            LoadError::Memory { .. } => "look for a table or string that grows, or raise the limit with `--load-memory`".into(),
            LoadError::Module(failure) if control::is_for_processes(&failure.message) => {
                "that is a module of Lunatik's for processes: run the script with `--root DIR --control`".into()
            }
            LoadError::Module(failure) if control::is_of_lunatik(&failure.message) => {
                "that is a module of Lunatik's: run the script with `--root DIR`".into()
            }
            LoadError::Module(_) => {
                "modules are found in the script's folder (`a.b` is a/b.lua or a/b/init.lua) and in Moonhook's library"
                    .into()
            }
            LoadError::Kernel { refused, .. } => refused.help(),
            LoadError::Chain(diagnostic) => diagnostic.help.clone().unwrap_or_default(),
            LoadError::Content { .. } => {
                "give the table a name of its own: that of the variable that holds it".into()
            }
            LoadError::NoFunction { .. } => {
                "let it end with `return {name = function(pkt, a, b) … end}`; `a` and `b` are integers".into()
            }
            LoadError::Exported { obstacle, .. } => obstacle.help().into(),
            LoadError::TooDeep(_) => {
                "use local variables or `table.concat` for parts of it; operands of `..` count, too".into()
            }
            LoadError::Precompiled { .. } => "give the source text of the script".into(),
            LoadError::Chunk { .. } | LoadError::State { .. } => {
                "this is a bug in Moonhook; please report it with the script".into()
            }
        }
    }
}

impl Refused {
    fn reason(&self) -> Option<&'static str> {
        match self {
            Refused::None { .. } => Some("nothing has that name"),
            Refused::Unknown { .. } | Refused::Probe => None,
        }
    }

    fn help(&self) -> String {
        match self {
            Refused::None { near } if near.is_empty() => {
                "/sys/kernel/tracing/available_events has the names of tracepoints, /proc/kallsyms those of functions".into()
            }
            Refused::None { near } => format!("did you mean `{}`?", near.join("`, `")),
            Refused::Unknown { help } => (*help).into(),
            Refused::Probe => "use a tracepoint near the function: `trace.on(\"raw_tp/…\", f)`".into(),
        }
    }
}

fn located(code: &'static str, message: &str, place: Option<&Place>) -> Diagnostic {
    match place {
        Some(place) => Diagnostic::new(code, message).at(place.clone()),
        None => Diagnostic::new(code, message),
    }
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or(message)
}

/// What a script may expect from full Lua and does not find here.
const ABSENT: &[(&str, &str)] = &[
    ("debug", "the debug library is not available to scripts"),
    ("execute", "scripts cannot start processes"),
    ("popen", "scripts cannot start processes"),
    ("exit", "scripts cannot end the process; use `error` to stop loading"),
    (
        "getenv",
        "scripts cannot read the environment; put settings into a module or a file next to the script",
    ),
    ("remove", "scripts cannot change files"),
    ("rename", "scripts cannot change files"),
    ("tmpname", "scripts cannot change files"),
    ("tmpfile", "scripts cannot change files"),
    ("setlocale", "scripts run in the C locale"),
    ("write", "scripts cannot write files; `print` writes to standard output"),
    ("loadlib", "scripts cannot load C libraries"),
    ("stdout", "scripts cannot write files; `print` writes to standard output"),
    ("stderr", "scripts cannot write files; `print` writes to standard output"),
    ("stdin", "scripts cannot read standard input; open a file"),
    ("input", "open the file by name: `io.open(path)` or `io.lines(path)`"),
    ("read", "open the file by name: `io.open(path)` or `io.lines(path)`"),
];

fn runtime_help(failure: &Failure) -> String {
    let nil_value = failure.message.starts_with("attempt to") && failure.message.contains("a nil value");
    let name = failure.place.as_ref().and_then(|place| place.name.as_deref());
    let absent = ABSENT.iter().find(|(absent, _)| nil_value && Some(*absent) == name);
    match (absent, name) {
        (Some((_, help)), _) => (*help).into(),
        (None, Some(name)) if nil_value => format!("`{name}` has no value here; assign it before this line"),
        _ => "the script's own code, run once at load time, raised this error".into(),
    }
}
