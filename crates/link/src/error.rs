//! What can be wrong with an object.

use moonhook_btf::BtfError;
use moonhook_diagnostic::Diagnostic;

/// What is wrong, and with which object.
#[derive(Debug, thiserror::Error)]
#[error("{object}: {kind}")]
pub struct LinkError {
    pub object: String,
    pub kind: LinkErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum LinkErrorKind {
    #[error("it is no object file: {problem}")]
    Malformed { problem: String },
    #[error("it is no object file of eBPF, but of {what}")]
    Foreign { what: String },
    #[error("it has no types: no section .BTF")]
    NoTypes,
    #[error("its types cannot be read: {0}")]
    Types(#[from] BtfError),
    #[error("the function '{function}' is not made of whole instructions")]
    Cut { function: String },
    #[error("'{function}' calls what is no function's start")]
    NoFunction { function: String },
    #[error("'{function}' calls the kernel function '{name}'")]
    KernelFunction { function: String, name: String },
    #[error("'{function}' refers to '{name}', which is in no section that a program can have")]
    NoPlace { function: String, name: String },
    #[error("the map '{map}' {problem}")]
    Map { map: String, problem: &'static str },
    #[error("'{function}' has fields placed for the kernel that it runs on (CO-RE)")]
    Relocatable { function: String },
}

impl LinkErrorKind {
    pub fn of(self, object: &str) -> LinkError {
        LinkError { object: object.to_string(), kind: self }
    }
}

impl LinkError {
    /// The stable code; `moonhook explain` has a page about it.
    pub fn code(&self) -> &'static str {
        match self.kind {
            LinkErrorKind::Malformed { .. } | LinkErrorKind::Foreign { .. } => "MH0901",
            LinkErrorKind::NoTypes | LinkErrorKind::Types(_) => "MH0902",
            LinkErrorKind::Cut { .. } | LinkErrorKind::NoFunction { .. } => "MH0903",
            LinkErrorKind::KernelFunction { .. }
            | LinkErrorKind::NoPlace { .. }
            | LinkErrorKind::Relocatable { .. } => "MH0904",
            LinkErrorKind::Map { .. } => "MH0905",
        }
    }

    fn help(&self) -> &'static str {
        match self.kind {
            LinkErrorKind::Malformed { .. } | LinkErrorKind::Foreign { .. } => {
                "compile it: clang -O2 -g -target bpf -mcpu=v3 -c file.bpf.c -o file.bpf.o"
            }
            LinkErrorKind::NoTypes | LinkErrorKind::Types(_) => "compile it with types: clang -g",
            LinkErrorKind::Cut { .. } | LinkErrorKind::NoFunction { .. } => "compile it once more",
            LinkErrorKind::KernelFunction { .. } => "use a helper (`bpf_…`), or let a handler in Lua do it",
            LinkErrorKind::NoPlace { .. } => "define it in the object, or leave it out",
            LinkErrorKind::Relocatable { .. } => {
                "leave out `preserve_access_index`: structures of packets are the same everywhere"
            }
            LinkErrorKind::Map { .. } => {
                "define it as libbpf has it: `struct { __uint(type, …); … } name SEC(\".maps\")`"
            }
        }
    }

    /// As a person is told.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(self.code(), self.to_string()).help(self.help())
    }
}
