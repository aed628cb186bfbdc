//! Who has a hook: program, link and process, as far as this process may look.
//!
//! Who looks must not disturb. A descriptor of a link keeps its program in the hook, so that another process which closes its own at
//! that moment would still be attached: links that processes have open are read about in their `/proc/PID/fdinfo` instead. Only
//! links that nobody has open, which are pinned, are opened here.

use crate::interface::Interface;
use crate::{Holder, sys};
use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::Path;

/// `XDP_ATTACHED_SKB` and `XDP_ATTACHED_MULTI` of include/uapi/linux/if_link.h.
const ATTACHED_GENERIC: u8 = 2;
const ATTACHED_MULTI: u8 = 4;

/// Whether what is in the XDP hook of `interface`, in the calling thread's namespace, runs in generic mode.
pub(crate) fn is_generic(interface: &Interface) -> bool {
    sys::xdp_query(interface.index).is_ok_and(|found| found.attach_mode == ATTACHED_GENERIC)
}

/// Whoever has the XDP hook of `interface`, in the calling thread's namespace; `None` if it is free or cannot be asked.
pub(crate) fn of_xdp(interface: &Interface) -> Option<Holder> {
    let found = sys::xdp_query(interface.index).ok()?;
    let generic = found.attach_mode == ATTACHED_GENERIC;
    let program_id = match found.attach_mode {
        ATTACHED_MULTI if found.drv_prog_id != 0 => found.drv_prog_id,
        ATTACHED_MULTI => found.skb_prog_id,
        _ => found.prog_id,
    };
    if program_id == 0 {
        return None;
    }
    let info = sys::program_by_id(program_id).and_then(|program| sys::program_info(program.as_fd()));
    let open = OpenLinks::of_all_processes();
    let link = open.xdp(interface.index, program_id);
    Some(Holder {
        program_id,
        program_name: info.ok().map(|info| sys::program_name(&info)).filter(|name| !name.is_empty()),
        link_id: link.map(|link| link.id).or_else(|| open.other_xdp_link(interface.index, program_id)),
        process: link.map(|link| (link.pid, command(link.pid))),
        generic,
    })
}

/// A link that a process has open, in the words of its fdinfo (`bpf_link_show_fdinfo`, kernel/bpf/syscall.c).
#[derive(Debug, Default, PartialEq, Eq)]
struct OpenLink {
    pid: u32,
    id: u32,
    program_id: u32,
    /// Of an XDP link.
    ifindex: Option<u32>,
}

/// The links that processes have open, as far as this process may look.
struct OpenLinks(Vec<OpenLink>);

impl OpenLinks {
    fn of_all_processes() -> OpenLinks {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        OpenLinks(pids.flat_map(links_of).collect())
    }

    fn xdp(&self, ifindex: u32, program_id: u32) -> Option<&OpenLink> {
        self.0.iter().find(|link| (link.ifindex, link.program_id) == (Some(ifindex), program_id))
    }

    /// The XDP link that has that program on that interface, among those that nobody has open.
    fn other_xdp_link(&self, ifindex: u32, program_id: u32) -> Option<u32> {
        let open: HashSet<u32> = self.0.iter().map(|link| link.id).collect();
        sys::link_ids().filter(|id| !open.contains(id)).find(|id| {
            let Ok(info) = sys::link_by_id(*id).and_then(|link| sys::link_info(link.as_fd())) else {
                return false;
            };
            // SAFETY: for a link of type XDP the kernel has filled in the `xdp` member.
            info.type_ == libbpf_sys::BPF_LINK_TYPE_XDP
                && info.prog_id == program_id
                && unsafe { info.__bindgen_anon_1.xdp.ifindex } == ifindex
        })
    }
}

fn links_of(pid: u32) -> Vec<OpenLink> {
    let process = Path::new("/proc").join(pid.to_string());
    let descriptors = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let link = |descriptor: std::fs::DirEntry| {
        let target = std::fs::read_link(descriptor.path()).ok()?;
        if !target.to_string_lossy().starts_with("anon_inode:bpf") {
            return None;
        }
        let info = std::fs::read_to_string(process.join("fdinfo").join(descriptor.file_name())).ok()?;
        parse(pid, &info)
    };
    descriptors.filter_map(link).collect()
}

/// What the fdinfo of a link says; `None` for other things of BPF.
fn parse(pid: u32, info: &str) -> Option<OpenLink> {
    let field = |name: &str| {
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
        info.lines().find_map(value)
    };
    let is_xdp = info.lines().any(|line| line.split_once(':').is_some_and(is_xdp_type));
    let ifindex = if is_xdp { field("ifindex") } else { None };
    Some(OpenLink { pid, id: field("link_id")?, program_id: field("prog_id")?, ifindex })
}

fn is_xdp_type((name, value): (&str, &str)) -> bool {
    name == "link_type" && value.trim() == "xdp"
}

fn command(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_known_by_their_fdinfo() {
        let head = "pos:\t0\nflags:\t02000000\nmnt_id:\t17\nino:\t1084\n";
        let xdp = "link_type:\txdp\nlink_id:\t7\nprog_tag:\t71dd2f2d66c59a2d\nprog_id:\t40\nifindex:\t3\n";
        let found = parse(9, &format!("{head}{xdp}"));
        assert_eq!(found, Some(OpenLink { pid: 9, id: 7, program_id: 40, ifindex: Some(3) }));
        let tcx = "link_type:\ttcx\nlink_id:\t8\nprog_tag:\t71dd2f2d66c59a2d\nprog_id:\t41\nifindex:\t3\n";
        assert_eq!(parse(9, tcx).and_then(|link| link.ifindex), None);
        assert_eq!(parse(9, &format!("{head}map_type:\t27\nmap_id:\t4\n")), None);
    }
}
