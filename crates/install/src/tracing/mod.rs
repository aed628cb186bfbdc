//! What the running kernel has to be traced: its types, and its tracepoints and functions with what they hand over.

mod format;
mod probes;
mod record;
mod tracefs;

use moonhook_btf::{BtfError, Convention, Event, Types, functions, nearest, raw_tracepoint, raw_tracepoints};
use moonhook_hook::{Hook, KPROBE, KRETPROBE, RAW_TRACEPOINT, TRACEPOINT};
use std::sync::{Arc, OnceLock};

pub(crate) use probes::{Probes, When, why_not};
pub(crate) use tracefs::Tracefs;

/// Why something of the kernel is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracingError {
    #[error("the kernel does not describe its types (/sys/kernel/btf/vmlinux: {problem})")]
    NoTypes { problem: String },
    #[error("the kernel's list of tracepoints cannot be read ({problem})")]
    NoList { problem: String },
    #[error("this kernel has no kprobes (CONFIG_KPROBES, CONFIG_KPROBE_EVENTS)")]
    NoProbes,
    #[error("it is not known how functions get their arguments on this machine")]
    UnknownMachine,
    /// Names that are like it.
    #[error("there is none of that name")]
    None { near: Vec<String> },
}

/// Where the kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The kernel's types, which are read once.
///
/// # Errors
/// `NoTypes`.
pub fn kernel_types() -> Result<Arc<Types>, TracingError> {
    static TYPES_READ: OnceLock<Result<Arc<Types>, TracingError>> = OnceLock::new();
    TYPES_READ.get_or_init(read_types).clone()
}

fn read_types() -> Result<Arc<Types>, TracingError> {
    let no_types = |problem| TracingError::NoTypes { problem };
    let bytes = std::fs::read(TYPES).map_err(|error| no_types(error.to_string()))?;
    Types::parse(bytes).map(Arc::new).map_err(|error: BtfError| no_types(error.to_string()))
}

/// Finds what a place of a hook's hands over, by the place's name.
type Find = fn(&Types, &str) -> Result<Event, TracingError>;

/// How that is found, by hook.
const FINDERS: &[(&Hook, Find)] =
    &[(&RAW_TRACEPOINT, raw_event), (&TRACEPOINT, record_event), (&KPROBE, call), (&KRETPROBE, return_of)];

/// What the place of that name hands to programs of the hook.
///
/// # Errors
/// `NoTypes`, `NoList`, `NoProbes`, `UnknownMachine`, `None`.
pub fn event(hook: &Hook, name: &str) -> Result<Event, TracingError> {
    let types = kernel_types()?;
    let finder = FINDERS.iter().find(|(known, _)| *known == hook);
    finder.map_or_else(|| Err(TracingError::None { near: vec![] }), |(_, find)| find(&types, name))
}

fn raw_event(types: &Types, name: &str) -> Result<Event, TracingError> {
    raw_tracepoint(types, name).ok_or_else(|| none_but(nearest(name, raw_tracepoints(types))))
}

fn record_event(types: &Types, name: &str) -> Result<Event, TracingError> {
    let format = Tracefs::open()?.format(name)?;
    Ok(record::event(types, name, &format))
}

fn call(types: &Types, name: &str) -> Result<Event, TracingError> {
    let found = convention(types)?.call(types, name);
    found.ok_or_else(|| none_but(nearest(name, functions(types))))
}

fn return_of(types: &Types, name: &str) -> Result<Event, TracingError> {
    let found = convention(types)?.return_of(types, name);
    found.ok_or_else(|| none_but(nearest(name, functions(types))))
}

/// How functions get arguments, where programs at them can be told.
fn convention(types: &Types) -> Result<Convention, TracingError> {
    Probes::open()?;
    Convention::of(types).ok_or(TracingError::UnknownMachine)
}

/// The error that there is none of a name, but others.
fn none_but(near: Vec<&str>) -> TracingError {
    TracingError::None { near: near.into_iter().map(str::to_string).collect() }
}
