//! Links of the tc hooks (tcx): a list of programs for each direction of an interface.

use super::of_interface::{Attached, OfInterface, attach_error, create, has_program};
use super::xdp::RequestedMode;
use crate::interface::Interface;
use crate::{InstallError, sys};
use libbpf_sys::{BPF_LINK_TYPE_TCX, BPF_TCX_EGRESS, BPF_TCX_INGRESS, bpf_link_info};
use moonhook_hook::{TC_EGRESS, TC_INGRESS};
use nix::errno::Errno;
use std::os::fd::BorrowedFd;

pub(super) const INGRESS: OfInterface = OfInterface {
    hook: &TC_INGRESS,
    is: |info| is(info, BPF_TCX_INGRESS),
    attach: |program, interface, _: RequestedMode, netns| attach(BPF_TCX_INGRESS, program, interface, netns),
    mode: |_| None,
    is_at: |info, interface| is_at(BPF_TCX_INGRESS, info, interface),
    index,
};

pub(super) const EGRESS: OfInterface = OfInterface {
    hook: &TC_EGRESS,
    is: |info| is(info, BPF_TCX_EGRESS),
    attach: |program, interface, _: RequestedMode, netns| attach(BPF_TCX_EGRESS, program, interface, netns),
    mode: |_| None,
    is_at: |info, interface| is_at(BPF_TCX_EGRESS, info, interface),
    index,
};

fn is_at(direction: u32, info: &bpf_link_info, interface: &Interface) -> bool {
    sys::programs_at(interface.index, direction).is_ok_and(|programs| has_program(info, &programs))
}

fn is(info: &bpf_link_info, direction: u32) -> bool {
    // SAFETY: for a link of type tcx the kernel has filled in the `tcx` member.
    info.type_ == BPF_LINK_TYPE_TCX && unsafe { info.__bindgen_anon_1.tcx.attach_type } == direction
}

fn index(info: &bpf_link_info) -> u32 {
    // SAFETY: as in `is`.
    unsafe { info.__bindgen_anon_1.tcx.ifindex }
}

/// Puts a program behind those that are there.
fn attach(
    direction: u32,
    program: BorrowedFd<'_>,
    interface: &Interface,
    netns: Option<&str>,
) -> Result<Attached, InstallError> {
    match create(program, interface, direction, 0) {
        Ok(link) => Ok(Attached { link, mode: None, native_refused: None }),
        // The list has no room (`bpf_mprog_attach`, kernel/bpf/mprog.c).
        Err(Errno::ERANGE) => Err(InstallError::HookFull {
            interface: interface.name.clone(),
            netns: netns.map(str::to_string),
            hook: if direction == BPF_TCX_INGRESS { TC_INGRESS.name } else { TC_EGRESS.name },
        }),
        Err(errno) => Err(attach_error(errno, interface, netns)),
    }
}
