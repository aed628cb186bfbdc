//! Links of the tc hooks (tcx): a list of programs for each direction of an interface.

use super::kind::Wanted;
use super::of_interface::{Attached, OfInterface, attach_error, has_program};
use crate::interface::Interface;
use crate::{InstallError, sys};
use libbpf_sys::{
    BPF_F_AFTER, BPF_F_BEFORE, BPF_F_ID, BPF_LINK_TYPE_TCX, BPF_TCX_EGRESS, BPF_TCX_INGRESS, bpf_link_info,
};
use moonhook_hook::{Order, Other, TC_EGRESS, TC_INGRESS};
use nix::errno::Errno;
use std::os::fd::BorrowedFd;

pub(super) const INGRESS: OfInterface = OfInterface {
    hook: &TC_INGRESS,
    is: |info| is(info, BPF_TCX_INGRESS),
    attach: |program, interface, wanted| attach(BPF_TCX_INGRESS, program, interface, wanted),
    mode: |_| None,
    is_at: |info, interface| has_program(info, &programs(BPF_TCX_INGRESS, interface)),
    programs: |interface| programs(BPF_TCX_INGRESS, interface),
    index,
};

pub(super) const EGRESS: OfInterface = OfInterface {
    hook: &TC_EGRESS,
    is: |info| is(info, BPF_TCX_EGRESS),
    attach: |program, interface, wanted| attach(BPF_TCX_EGRESS, program, interface, wanted),
    mode: |_| None,
    is_at: |info, interface| has_program(info, &programs(BPF_TCX_EGRESS, interface)),
    programs: |interface| programs(BPF_TCX_EGRESS, interface),
    index,
};

/// The numbers of those that are there, in order.
fn programs(direction: u32, interface: &Interface) -> Vec<u32> {
    let index = i32::try_from(interface.index).unwrap_or(i32::MAX);
    sys::programs_at(index, direction, 0).unwrap_or_default()
}

fn is(info: &bpf_link_info, direction: u32) -> bool {
    // SAFETY: for a link of type tcx the kernel has filled in the `tcx` member.
    info.type_ == BPF_LINK_TYPE_TCX && unsafe { info.__bindgen_anon_1.tcx.attach_type } == direction
}

fn index(info: &bpf_link_info) -> u32 {
    // SAFETY: as in `is`.
    unsafe { info.__bindgen_anon_1.tcx.ifindex }
}

/// Puts a program where it is wanted among those that are there.
fn attach(
    direction: u32,
    program: BorrowedFd<'_>,
    interface: &Interface,
    wanted: &Wanted<'_>,
) -> Result<Attached, InstallError> {
    let relative = |other: &Other| number(direction, other, interface);
    let (flags, other) = match wanted.order {
        Order::Behind => (0, 0),
        Order::First => (BPF_F_BEFORE, 0),
        Order::Last => (BPF_F_AFTER, 0),
        Order::Before(other) => (BPF_F_BEFORE | BPF_F_ID, relative(other)?),
        Order::After(other) => (BPF_F_AFTER | BPF_F_ID, relative(other)?),
    };
    let index = i32::try_from(interface.index).unwrap_or(i32::MAX);
    let netns = wanted.netns;
    match sys::tcx_link_create(program, index, direction, flags, other) {
        Ok(link) => Ok(Attached { link, mode: None, native_refused: None }),
        // The list has no room (`bpf_mprog_attach`, kernel/bpf/mprog.c).
        Err(Errno::ERANGE) => Err(InstallError::HookFull {
            interface: interface.name.clone(),
            netns: netns.map(str::to_string),
            hook: name(direction),
        }),
        Err(errno) => Err(attach_error(errno, interface, netns)),
    }
}

fn name(direction: u32) -> &'static str {
    if direction == BPF_TCX_INGRESS { TC_INGRESS.name } else { TC_EGRESS.name }
}

/// The kernel's number of a program that is at the interface.
fn number(direction: u32, other: &Other, interface: &Interface) -> Result<u32, InstallError> {
    let mut existing = Vec::new();
    for id in programs(direction, interface) {
        let known = sys::name_of_program(id);
        let is_it = match other {
            Other::Number(number) => *number == id,
            Other::Name(name) => known.as_bytes() == &name.as_bytes()[..name.len().min(NAME)],
        };
        if is_it {
            return Ok(id);
        }
        existing.push(format!("{known} (number {id})"));
    }
    let (interface, hook) = (interface.name.clone(), name(direction));
    Err(InstallError::NoSuchProgram { name: other.to_string(), interface, hook, existing })
}

/// Bytes of a program's name that the kernel keeps (`BPF_OBJ_NAME_LEN`, with the NUL behind it).
const NAME: usize = 15;
