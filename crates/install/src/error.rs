//! What can go wrong while installing. `diagnostic.rs` says it to a person.

use crate::privilege::Capability;
use moonhook_diagnostic::Place;
use nix::errno::Errno;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Who has a hook that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The id of the program in the hook.
    pub program_id: u32,
    /// Its name, if this process may ask for it (CAP_SYS_ADMIN).
    pub program_name: Option<String>,
    /// The link that holds it there, if there is one and this process may see it.
    pub link_id: Option<u32>,
    /// A process that has the link open, and its command name.
    pub process: Option<(u32, String)>,
    /// Attached in generic mode.
    pub generic: bool,
}

/// What the verifier has against a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    pub program: String,
    /// The last meaningful line of the log.
    pub message: String,
    /// The source line that the verifier was at.
    pub place: Option<Place>,
    /// The instruction that the verifier was at.
    pub instruction: Option<u32>,
    /// There is no other form of code that could be advised: that was tried, or is this one.
    #[serde(skip)]
    pub is_last_form: bool,
    /// The whole log.
    pub log: String,
}

impl Rejection {
    /// The verifier gave up: the program has too many paths through it (`BPF_COMPLEXITY_LIMIT_INSNS`,
    /// `BPF_COMPLEXITY_LIMIT_JMP_SEQ` in kernel/bpf/verifier.c).
    pub fn is_too_complex(&self) -> bool {
        self.message.contains("program is too large") || self.message.contains("is too complex")
    }

    /// What a person can do; where the log is saved, `log` says in which file.
    pub fn help(&self, log: Option<&Path>) -> String {
        let log = log.map(|log| format!(", {}", log.display())).unwrap_or_default();
        match (self.is_too_complex(), self.is_last_form) {
            (true, false) => format!(
                "use `--form general`, or split the handlers over several scripts; and report it with the script and the verifier's log{log}"
            ),
            (true, true) => format!(
                "split the handlers over several scripts; and report it with the script and the verifier's log{log}"
            ),
            (false, false) => format!(
                "`--form general` may do meanwhile; report it with the script and the verifier's log{log}"
            ),
            (false, true) => format!("report it with the script and the verifier's log{log}"),
        }
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum InstallError {
    /// EPERM, and capabilities that `doing` takes are missing.
    #[error("{doing} needs {}", list(missing))]
    Privilege { doing: &'static str, missing: Vec<Capability> },
    /// EPERM or ENOSYS although no capability is missing: seccomp, lockdown, a user namespace, no CONFIG_BPF_SYSCALL.
    #[error("this host does not allow {doing} ({errno})")]
    BpfRefused { doing: &'static str, errno: Errno },
    #[error("the kernel is {running}, older than {floor}")]
    KernelTooOld { running: String, floor: &'static str, message: String },
    #[error("the object cannot be read: {message}")]
    MalformedObject { message: String },
    #[error("the kernel's verifier rejects program '{}': {}", .0.program, .0.message)]
    Rejected(Box<Rejection>),
    /// Not the verifier's doing: a map could not be made, BTF was refused, memory ran out.
    #[error("the kernel cannot load the object: {message}")]
    LoadFailed {
        message: String,
        /// All that libbpf said, with the kernel's log about BTF if it has one.
        messages: String,
    },
    #[error("the object has no {kind} '{name}'")]
    NoSuchItem { kind: &'static str, name: String, existing: Vec<String> },
    #[error("map '{map}': {problem}")]
    MapAccess { map: String, problem: String },
    #[error("a frame of {length} bytes cannot be run: {min} to {max} bytes can")]
    FrameLength { length: usize, min: usize, max: usize },
    #[error("the kernel refuses to run '{program}' on the frame ({errno})")]
    TestRunRefused { program: String, errno: Errno },
    #[error("there is no network interface '{name}'")]
    UnknownInterface { name: String, netns: Option<String>, existing: Vec<String> },
    #[error("there is no network namespace '{name}'")]
    UnknownNetns { name: String, existing: Vec<String> },
    #[error("cannot enter the network namespace '{name}' ({errno})")]
    Netns { name: String, errno: Errno },
    #[error("the XDP hook of '{interface}' is taken")]
    HookBusy { interface: String, netns: Option<String>, holder: Option<Box<Holder>> },
    #[error("'{interface}' cannot run XDP in native mode: {why}")]
    NativeRefused { interface: String, why: String, errno: Errno },
    #[error("the MTU of '{interface}' ({mtu}) is too large for XDP in native mode")]
    MtuTooLarge {
        interface: String,
        mtu: u32,
        /// The other end's MTU counts.
        peer: bool,
    },
    #[error("cannot attach to '{place}' ({errno})")]
    AttachFailed { place: String, errno: Errno },
    #[error("the {hook} hook of '{interface}' is full")]
    HookFull { interface: String, netns: Option<String>, hook: &'static str },
    #[error("there is no program '{name}' at {hook} of '{interface}'")]
    NoSuchProgram { name: String, interface: String, hook: &'static str, existing: Vec<String> },
    #[error("'{interface}' has no other end that a program could be put to: {why}")]
    NoPeer { interface: String, why: &'static str },
    #[error("what '{interface}' carries does not begin with an Ethernet header")]
    NoEthernet { interface: String },
    #[error("cannot replace the program at '{place}' ({errno})")]
    UpdateFailed { place: String, errno: Errno },
    #[error("the kernel's verifier takes more than {} ms for program '{program}'", patience.as_millis())]
    OutOfPatience { program: String, patience: Duration },
    /// Not by us: `BPF_F_REPLACE` found another program.
    #[error("somebody else has replaced the program at '{place}': program {program_id} is there now")]
    Replaced { place: String, program_id: u32 },
    #[error("cannot pin {} ({errno})", path.display())]
    PinFailed { path: PathBuf, errno: Errno },
    #[error("the pinned link {} is attached to something else ({at})", path.display())]
    PinnedElsewhere { path: PathBuf, at: String },
    #[error("handlers of {hook} run on an interface, and none is named")]
    NoInterface { hook: &'static str },
    #[error("there is no tracepoint '{name}' to attach to{}", problem.as_ref().map(|p| format!(": {p}")).unwrap_or_default())]
    NoTracepoint { name: String, problem: Option<String> },
    #[error("'{name}' cannot be handled: {why}")]
    NotProbed { name: String, why: String },
    #[error("there is no control group {}", path.display())]
    NoCgroup {
        path: PathBuf,
        /// Control groups are mounted somewhere.
        is_mounted: bool,
    },
    #[error("what a socket of this process gets cannot be pinned")]
    NotPinned,
    #[error("'{interface}' has no queue {queue}")]
    NoQueue { interface: String, queue: u32 },
    #[error("queue {queue} of '{interface}' has a socket already")]
    QueueBusy { interface: String, queue: u32 },
}

impl InstallError {
    /// What an EPERM from `doing` means, for a process that lacks some of `needed` or none of them.
    pub(crate) fn permission(doing: &'static str, needed: &[Capability], errno: Errno) -> Self {
        match crate::privilege::missing(needed) {
            missing if missing.is_empty() => InstallError::BpfRefused { doing, errno },
            missing => InstallError::Privilege { doing, missing },
        }
    }
}

/// `A`, `A and B`, `A, B and C`.
pub(crate) fn list<T: std::fmt::Display>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [only] => only.to_string(),
        [front @ .., last] => {
            let front: Vec<String> = front.iter().map(T::to_string).collect();
            format!("{} and {last}", front.join(", "))
        }
    }
}
