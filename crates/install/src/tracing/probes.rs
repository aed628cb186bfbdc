//! Perf events of the kernel's functions, where it can have programs there.

use super::TracingError;
use crate::sys;
use nix::errno::Errno;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The kind of perf event (`perf_kprobe`, kernel/events/core.c). It is not there in kernels without `CONFIG_KPROBE_EVENTS`.
const KIND: &str = "/sys/bus/event_source/devices/kprobe";

/// Symbols of the kernel, one a line: address, letter, name, and a module in brackets.
const SYMBOLS: &str = "/proc/kallsyms";

/// The end of what the compiler calls a part of a function that is seldom run.
const COLD: &str = ".cold";

/// When a program is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    Call,
    Return,
}

/// What the kernel has of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probes {
    /// The number of that kind of event (`perf_event_attr.type`).
    kind: u32,
    /// The bit of an event's configuration by which it is one of returns.
    bit_of_returns: u32,
}

impl Probes {
    /// # Errors
    /// `NoProbes`.
    pub fn open() -> Result<Probes, TracingError> {
        Probes::in_folder(Path::new(KIND))
    }

    fn in_folder(folder: &Path) -> Result<Probes, TracingError> {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let kind = read("type").and_then(|text| text.trim().parse().ok());
        let bit = read("format/retprobe").and_then(|text| text.trim().strip_prefix("config:")?.parse().ok());
        let both = kind.zip(bit).ok_or(TracingError::NoProbes);
        both.map(|(kind, bit_of_returns)| Probes { kind, bit_of_returns })
    }

    /// An event of a function.
    pub fn event(self, function: &str, when: When) -> Result<OwnedFd, Errno> {
        let function = CString::new(function).map_err(|_| Errno::EINVAL)?;
        let configuration = if when == When::Return { 1 << self.bit_of_returns } else { 0 };
        sys::function_event(self.kind, configuration, &function)
    }
}

/// Why the kernel has refused an event of a function that its types describe (`create_local_trace_kprobe`, kernel/trace/trace_kprobe.c).
pub(crate) fn why_not(function: &str, errno: Errno) -> String {
    match errno {
        Errno::ENOENT => {
            let symbols = std::fs::read_to_string(SYMBOLS).unwrap_or_default();
            match other_forms(function, &symbols).first() {
                Some(other) => format!("the compiler has made '{other}' of it, which has other arguments"),
                None => "the kernel has no code of that name".to_string(),
            }
        }
        Errno::EADDRNOTAVAIL => "there are several functions of that name".to_string(),
        Errno::EINVAL | Errno::EILSEQ | Errno::EOPNOTSUPP | Errno::EBUSY => {
            "it is one of those in which the kernel allows no probes (notrace, /sys/kernel/debug/kprobes/blacklist)".to_string()
        }
        errno => errno.desc().to_string(),
    }
}

/// Names that the compiler gives to functions that it has changed: `NAME.isra.0`, `NAME.constprop.0`.
fn other_forms<'s>(function: &str, symbols: &'s str) -> Vec<&'s str> {
    let names = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    names
        .filter(|name| name.strip_prefix(function).is_some_and(|rest| rest.starts_with('.')))
        .filter(|name| !name.ends_with(COLD))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kind_of_event_it_is_stands_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Probes::in_folder(folder.path()).unwrap_err(), TracingError::NoProbes);
        std::fs::create_dir(folder.path().join("format")).unwrap();
        std::fs::write(folder.path().join("type"), "8\n").unwrap();
        assert_eq!(Probes::in_folder(folder.path()).unwrap_err(), TracingError::NoProbes);
        std::fs::write(folder.path().join("format/retprobe"), "config:3\n").unwrap();
        let probes = Probes::in_folder(folder.path()).unwrap();
        assert_eq!((probes.kind, probes.bit_of_returns), (8, 3));
    }

    #[test]
    fn functions_that_the_compiler_has_changed_are_found() {
        let symbols = "0000000000000000 t open.isra.0\n0000000000000000 T open_more\n0000000000000000 t open.cold\t[m]\n";
        assert_eq!(other_forms("open", symbols), ["open.isra.0"]);
        assert!(why_not("no_such_function_there", Errno::ENOENT).contains("no code of that name"));
    }
}
