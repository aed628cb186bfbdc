//! Probes of what surrounds the kernel's BPF: version, capabilities, files, limits.

use super::Outcome::{self, Fails, Unknown, Works};
use super::{KERNEL_FLOOR, KERNEL_FLOOR_NAME, kernel_version, release};
use crate::interface;
use crate::peer::{Sent, is_lost};
use crate::privilege::{Capability, effective_capabilities, granted};
use moonhook_diagnostic::Diagnostic;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use std::io::Read;

pub(super) fn version() -> Outcome {
    let release = release();
    match kernel_version(&release) {
        Some(version) if version >= KERNEL_FLOOR => Works(release),
        _ => Fails(format!("{release} is older than {KERNEL_FLOOR_NAME}")),
    }
}

pub(super) fn cap_bpf() -> Outcome {
    capability(Capability::Bpf)
}

pub(super) fn cap_net_admin() -> Outcome {
    capability(Capability::NetAdmin)
}

pub(super) fn cap_net_raw() -> Outcome {
    capability(Capability::NetRaw)
}

pub(super) fn cap_perfmon() -> Outcome {
    capability(Capability::Perfmon)
}

pub(super) fn cap_sys_admin() -> Outcome {
    capability(Capability::SysAdmin)
}

fn capability(capability: Capability) -> Outcome {
    if granted(effective_capabilities(), capability) {
        Works(String::new())
    } else {
        Fails("not in the effective set of this process".to_string())
    }
}

/// Whether packets come out of queues with what is known of their connections: by functions of nf_conntrack_netlink (`ctnetlink_glue_hook`,
/// net/netfilter/nf_conntrack_netlink.c), which there are with `CONFIG_NETFILTER_NETLINK_GLUE_CT` only.
pub(super) fn queued_connections() -> Outcome {
    let path = "/proc/kallsyms";
    match std::fs::read_to_string(path) {
        Ok(symbols) => glue(&symbols),
        Err(error) => Unknown(format!("{path}: {error}")),
    }
}

/// The same for who has handlers of such packets; `None` where nothing tells.
pub fn queues_have_connections() -> Option<bool> {
    match queued_connections() {
        Works(_) => Some(true),
        Fails(_) => Some(false),
        Unknown(_) => None,
    }
}

/// What a person should know of handlers in a process that use the marks of connections, where packets in queues come without.
pub fn without_marks() -> Diagnostic {
    Diagnostic::new("MH1104", "this kernel has no marks of connections for handlers in the process")
        .reason("nil, and what is set is lost")
        .help("use a kernel with CONFIG_NETFILTER_NETLINK_GLUE_CT; or have the handler run in the kernel: at PRE_ROUTING and POST_ROUTING by `--at tcx`, elsewhere by `--at link` if it only reads the mark")
}

fn glue(symbols: &str) -> Outcome {
    let names = || symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    if names().any(|name| name.starts_with("ctnetlink_glue_")) {
        return Works(String::new());
    }
    match names().any(|name| name.starts_with("ctnetlink_")) {
        true => Fails("the kernel is built without".to_string()),
        false => Unknown("nf_conntrack_netlink is not there, or not loaded".to_string()),
    }
}

/// The first bytes of BTF are its magic number (`struct btf_header`).
pub(super) fn btf() -> Outcome {
    const MAGIC: [u8; 2] = 0xeb9fu16.to_ne_bytes();
    let path = "/sys/kernel/btf/vmlinux";
    let mut start = [0; 2];
    match std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)) {
        Ok(()) if start == MAGIC => Works(path.to_string()),
        Ok(()) => Fails(format!("{path} is not BTF")),
        Err(error) => Fails(format!("{path}: {error}")),
    }
}

/// The interfaces out of which what XDP sends back does not arrive as things are.
pub(super) fn veths() -> Outcome {
    let all = interface::interfaces().into_iter().map(|interface| interface.name);
    let lost: Vec<_> = all.filter(|name| is_lost(name, None, Sent::Back)).collect();
    Works(match lost.is_empty() {
        true => "nothing to do".to_string(),
        false => format!("for {}, run scripts with `--peer`", lost.join(", ")),
    })
}

/// Where the kernel has the groups of version 2.
pub(super) fn cgroups() -> Outcome {
    match crate::link::cgroups_mounted() {
        Some(path) => Works(path.display().to_string()),
        None => Fails("version 2 is not mounted".to_string()),
    }
}

pub(super) fn bpffs() -> Outcome {
    let path = "/sys/fs/bpf";
    match statfs(path) {
        Ok(found) if found.filesystem_type() == BPF_FS_MAGIC => Works(path.to_string()),
        Ok(_) => Fails(format!("not mounted at {path}")),
        Err(errno) => Fails(format!("{path}: {errno}")),
    }
}

/// Since 5.11 BPF memory counts towards the memory cgroup, and RLIMIT_MEMLOCK only where that is not compiled in.
pub(super) fn memlock() -> Outcome {
    let recent = kernel_version(&release()).is_some_and(|version| version >= (5, 11));
    match getrlimit(Resource::RLIMIT_MEMLOCK) {
        _ if recent => Works("RLIMIT_MEMLOCK does not matter".to_string()),
        Ok((RLIM_INFINITY, _)) => Works("unlimited".to_string()),
        Ok((limit, _)) => Fails(format!("{limit} bytes")),
        Err(errno) => Fails(errno.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_tell_of_connections_in_queues() {
        let line = |name: &str| format!("0000000000000000 t {name}\t[nf_conntrack_netlink]\n");
        let symbols = |names: &[&str]| names.iter().map(|name| line(name)).collect::<String>();
        assert!(matches!(glue(&symbols(&["ctnetlink_dump", "ctnetlink_glue_build"])), Works(_)));
        assert!(matches!(glue(&symbols(&["vfs_read", "ctnetlink_dump"])), Fails(_)));
        assert!(matches!(glue(&symbols(&["vfs_read"])), Unknown(_)));
        assert!(matches!(glue(""), Unknown(_)));
    }
}
