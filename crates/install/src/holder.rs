//! Who has a hook: program, link and process, as far as this process may look.

use crate::interface::Interface;
use crate::{Holder, sys};
use std::os::fd::AsFd;

/// `XDP_ATTACHED_SKB` and `XDP_ATTACHED_MULTI` of include/uapi/linux/if_link.h.
const ATTACHED_GENERIC: u8 = 2;
const ATTACHED_MULTI: u8 = 4;

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
    let link_id = xdp_link(interface.index, program_id);
    Some(Holder {
        program_id,
        program_name: info.ok().map(|info| sys::program_name(&info)).filter(|name| !name.is_empty()),
        link_id,
        process: link_id.and_then(process_with_link),
        generic,
    })
}

/// The XDP link that has that program on that interface.
fn xdp_link(ifindex: u32, program_id: u32) -> Option<u32> {
    sys::link_ids().find(|id| {
        let Ok(info) = sys::link_by_id(*id).and_then(|link| sys::link_info(link.as_fd())) else {
            return false;
        };
        // SAFETY: for a link of type XDP the kernel has filled in the `xdp` member.
        info.type_ == libbpf_sys::BPF_LINK_TYPE_XDP
            && info.prog_id == program_id
            && unsafe { info.__bindgen_anon_1.xdp.ifindex } == ifindex
    })
}

/// A process that has the link open: the one whose `/proc/PID/fdinfo` shows its id.
fn process_with_link(link_id: u32) -> Option<(u32, String)> {
    let wanted = format!("link_id:\t{link_id}");
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        descriptors.flatten().any(|descriptor| {
            let target = std::fs::read_link(descriptor.path()).unwrap_or_default();
            let number = descriptor.file_name();
            let is_link = target.to_string_lossy().starts_with("anon_inode:bpf");
            let info = || std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", number.to_string_lossy()));
            is_link && info().is_ok_and(|info| info.lines().any(|line| line == wanted))
        })
    };
    let pid = { pids }.find(holds)?;
    let command = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, command.trim().to_string()))
}
