//! What this host can do, found out by trying: the table behind `moonhook doctor`.
//!
//! A feature is a row of [`FEATURES`]. Probing leaves nothing behind and touches no interface: programs and maps that it
//! makes are closed again, and links are asked for where there is nothing to attach to, which tells an unknown link
//! type from an absent target, or in a network namespace that is made for it.

mod host;
mod kernel;

use crate::messages;
use serde::Serialize;

/// The oldest kernel that the kernel tier is made for.
pub(crate) const KERNEL_FLOOR: (u32, u32) = (6, 12);
pub(crate) const KERNEL_FLOOR_NAME: &str = "6.12";

/// What a feature is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// Without it no script runs in the kernel.
    Required,
    /// Without it something is slower or cannot be used.
    Useful,
}

/// What trying a feature led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "detail", rename_all = "lowercase")]
pub enum Outcome {
    /// It works; a detail such as a version.
    Works(String),
    /// It does not; why.
    Fails(String),
    /// It could not be tried, because something else is missing.
    Unknown(String),
}

/// A probed feature.
#[derive(Clone, Debug, Serialize)]
pub struct Feature {
    pub name: &'static str,
    /// What Moonhook uses it for.
    pub why: &'static str,
    pub need: Need,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What to change where it does not work.
    pub change: &'static str,
}

/// The host, as [`probe`] found it.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// The kernel's release, as `uname -r` has it.
    pub kernel: String,
    /// The machine, as `uname -m` has it.
    pub machine: String,
    pub features: Vec<Feature>,
}

impl Host {
    /// Whether no required feature fails: then scripts run in the kernel.
    pub fn usable(&self) -> bool {
        self.features.iter().all(|f| f.need == Need::Useful || !matches!(f.outcome, Outcome::Fails(_)))
    }
}

/// A row of the table: name, why, need, how to try it, and what to change.
struct Row(&'static str, &'static str, Need, fn() -> Outcome, &'static str);

const CAPABILITIES: &str = "run as root, or `setcap cap_bpf,cap_net_admin,cap_perfmon+ep` on the program";
const NEWER: &str = "boot Linux 6.12 or newer";

use Need::{Required, Useful};

#[rustfmt::skip]
const FEATURES: &[Row] = &[
    Row("kernel version", "may_goto, tcx and the verifier's loop handling", Required, host::version, NEWER),
    Row("bpf()", "making maps and loading programs", Required, kernel::map,
        "allow bpf() in the container's seccomp profile; `kernel.unprivileged_bpf_disabled` does not matter with CAP_BPF"),
    Row("CAP_BPF", "making maps and loading programs", Required, host::cap_bpf, CAPABILITIES),
    Row("CAP_NET_ADMIN", "networking programs, attaching to interfaces", Required, host::cap_net_admin, CAPABILITIES),
    Row("CAP_PERFMON", "programs that compare and subtract pointers", Required, host::cap_perfmon, CAPABILITIES),
    Row("CAP_NET_RAW", "`socket.filter`, `xsk.receive` and `xsk.send`", Useful, host::cap_net_raw,
        "run as root, or `setcap cap_bpf,cap_net_admin,cap_net_raw,cap_perfmon+ep` on the program"),
    Row("CAP_SYS_ADMIN", "`--netns`, and the names of others' programs", Useful, host::cap_sys_admin,
        "run as root, or from inside the namespace with `nsenter`"),
    Row("XDP programs", "filtering at the driver", Required, kernel::xdp, "use a kernel with CONFIG_BPF_SYSCALL and CONFIG_NET"),
    Row("JIT", "speed: the interpreter is many times slower", Useful, kernel::jit, "`sysctl net.core.bpf_jit_enable=1`"),
    Row("test runs", "`moonhook replay` and `bench`", Required, kernel::test_run, NEWER),
    Row("may_goto", "loops without a bound that the verifier can see", Required, kernel::may_goto, NEWER),
    Row("ring buffer", "`print` and errors of handlers", Required, kernel::ring_buffer, "boot Linux 5.8 or newer"),
    Row("per-CPU counters", "verdict counters", Required, kernel::per_cpu_array, NEWER),
    Row("XDP links", "detaching when the process ends, replacing without loss", Required, kernel::xdp_link, "boot Linux 5.9 or newer"),
    Row("veth", "`TX` at one end, for which the other has to have a program", Useful, host::veths, "run scripts with `--peer`"),
    Row("maps of interfaces", "`redirect{group = …}`", Useful, kernel::device_map, "boot Linux 5.14 or newer"),
    Row("maps of CPUs", "`redirect{cpu = …}`", Useful, kernel::cpu_map, "use a kernel with CONFIG_BPF_SYSCALL and CONFIG_NET"),
    Row("AF_XDP sockets", "`redirect{socket = …}`", Useful, kernel::xdp_socket, "use a kernel with CONFIG_XDP_SOCKETS"),
    Row("tcx links", "handlers at tc", Useful, kernel::tcx_link, "use a kernel (6.6 or newer) with CONFIG_NET_XGRESS"),
    Row("control group links", "handlers of control groups", Useful, kernel::cgroup_link,
        "use a kernel with CONFIG_CGROUP_BPF"),
    Row("control groups", "handlers of control groups", Useful, host::cgroups, "`mount -t cgroup2 none /sys/fs/cgroup`"),
    Row("netfilter links", "handlers at netfilter", Useful, kernel::netfilter_link,
        "use a kernel (6.4 or newer) with CONFIG_NETFILTER_BPF_LINK"),
    Row("connections in queues", "`skb:connmark()` of handlers that run in the process (NFQUEUE)", Useful, host::queued_connections,
        "use a kernel with CONFIG_NETFILTER_NETLINK_GLUE_CT"),
    Row("socket filters", "`match` and `socket.filter`", Useful, kernel::socket_filter, "use a kernel with CONFIG_NET"),
    Row("arena", "tables made at packet time", Useful, kernel::arena, "boot Linux 6.9 or newer"),
    Row("kernel BTF", "kernel functions (kfuncs), the kernel's own structures", Useful, host::btf, "use a kernel with CONFIG_DEBUG_INFO_BTF"),
    Row("bpffs", "pinning", Useful, host::bpffs, "`mount -t bpf bpf /sys/fs/bpf`"),
    Row("memory limit", "maps of any size", Useful, host::memlock, "raise `ulimit -l`, or boot Linux 5.11 or newer"),
];

pub use host::{queues_have_connections, without_marks};

/// Tries every feature. Takes some milliseconds.
pub fn probe() -> Host {
    let row = |Row(name, why, need, attempt, change): &Row| {
        let (outcome, _) = messages::collect(attempt);
        Feature { name, why, need: *need, outcome, change }
    };
    let machine = nix::sys::utsname::uname().map(|name| name.machine().to_string_lossy().into_owned());
    Host {
        kernel: release(),
        machine: machine.unwrap_or_default(),
        features: FEATURES.iter().map(row).collect(),
    }
}

/// The running kernel's release.
pub(crate) fn release() -> String {
    nix::sys::utsname::uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default()
}

/// Major and minor number of a kernel release such as `6.12.41+deb13-amd64`.
pub fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_versions() {
        for (release, expected) in [
            ("6.12.41+deb13-amd64", Some((6, 12))),
            ("6.18.44-fc-v657", Some((6, 18))),
            ("7.0-rc1", Some((7, 0))),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(kernel_version(release), expected, "{release}");
        }
        assert!((6, 9) < KERNEL_FLOOR && (7, 0) > KERNEL_FLOOR);
    }

    #[test]
    fn usable_asks_for_required_features_only() {
        let feature = |need, outcome| Feature { name: "x", why: "", need, outcome, change: "" };
        let host = |features| Host { kernel: String::new(), machine: String::new(), features };
        let fails = || Outcome::Fails(String::new());
        assert!(host(vec![feature(Useful, fails())]).usable());
        assert!(!host(vec![feature(Required, fails())]).usable());
        assert!(host(vec![feature(Required, Outcome::Unknown(String::new()))]).usable());
    }
}
