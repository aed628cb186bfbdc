//! Capabilities of this process, and what each is for. No root is needed as such.

use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// A capability that installing can need, with its number (include/uapi/linux/capability.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Capability {
    /// Attaching to network interfaces; loading networking programs.
    NetAdmin = 12,
    /// Sockets that get copies of an interface's frames.
    NetRaw = 13,
    /// Entering network namespaces, and looking at other processes' programs and links.
    SysAdmin = 21,
    /// Lets programs compare and subtract pointers, and spares them the guards against speculation.
    Perfmon = 38,
    /// Loading programs and making maps.
    Bpf = 39,
}

/// What loading and attaching take.
pub(crate) const LOAD: [Capability; 3] = [Capability::Bpf, Capability::NetAdmin, Capability::Perfmon];

impl Display for Capability {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::NetAdmin => "CAP_NET_ADMIN",
            Capability::NetRaw => "CAP_NET_RAW",
            Capability::SysAdmin => "CAP_SYS_ADMIN",
            Capability::Perfmon => "CAP_PERFMON",
            Capability::Bpf => "CAP_BPF",
        })
    }
}

/// The effective capabilities of the calling thread as a bit mask; 0 where /proc cannot be read.
pub fn effective_capabilities() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Those of `needed` that the calling thread does not have. CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON
/// (`bpf_capable`, `perfmon_capable` in include/linux/capability.h).
pub(crate) fn missing(needed: &[Capability]) -> Vec<Capability> {
    let mask = effective_capabilities();
    needed.iter().copied().filter(|capability| !granted(mask, *capability)).collect()
}

pub(crate) fn granted(mask: u64, capability: Capability) -> bool {
    let has = |capability: Capability| mask & (1 << capability as u32) != 0;
    match capability {
        Capability::Bpf | Capability::Perfmon => has(capability) || has(Capability::SysAdmin),
        _ => has(capability),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sys_admin_stands_for_bpf_and_perfmon_but_not_for_net_admin() {
        let mask = 1 << Capability::SysAdmin as u32;
        assert!(granted(mask, Capability::Bpf) && granted(mask, Capability::Perfmon));
        assert!(!granted(mask, Capability::NetAdmin));
        assert!(!granted(1 << Capability::Bpf as u32, Capability::Perfmon));
    }
}
