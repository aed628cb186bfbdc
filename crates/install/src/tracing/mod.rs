//! What the running kernel has to be traced: its types, and its tracepoints with what they hand over.

mod format;
mod record;
mod tracefs;

use moonhook_btf::{BtfError, Event, Types, nearest, raw_tracepoint, raw_tracepoints};
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub(crate) use tracefs::Tracefs;

/// Why something of the kernel is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracingError {
    #[error("the kernel does not describe its types (/sys/kernel/btf/vmlinux: {problem})")]
    NoTypes { problem: String },
    #[error("the kernel's list of tracepoints cannot be read ({problem})")]
    NoList { problem: String },
    /// Names that are like it.
    #[error("there is no such tracepoint")]
    NoTracepoint { near: Vec<String> },
}

/// Where the kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Where there is a kind of perf event for functions of the kernel, if it can have programs there (kernel/trace/trace_kprobe.c).
const PROBES: &str = "/sys/bus/event_source/devices/kprobe";

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

/// What the raw tracepoint of that name hands over.
///
/// # Errors
/// `NoTypes`, `NoTracepoint`.
pub fn raw_event(name: &str) -> Result<Event, TracingError> {
    let types = kernel_types()?;
    raw_tracepoint(&types, name).ok_or_else(|| {
        let near = nearest(name, raw_tracepoints(&types));
        TracingError::NoTracepoint { near: near.into_iter().map(str::to_string).collect() }
    })
}

/// What the tracepoint of that name, `GROUP/NAME`, hands over.
///
/// # Errors
/// `NoTypes`, `NoList`, `NoTracepoint`.
pub fn event(name: &str) -> Result<Event, TracingError> {
    let types = kernel_types()?;
    let format = Tracefs::open()?.format(name)?;
    Ok(record::event(&types, name, &format))
}

/// Whether the kernel can have programs at its functions.
pub fn has_probes() -> bool {
    Path::new(PROBES).exists()
}
