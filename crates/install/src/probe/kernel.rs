//! Probes that ask the kernel to make a map, a program or a link.

use super::Outcome::{self, Fails, Unknown, Works};
use crate::{instructions, sys};
use libbpf_sys as bpf;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

const PASS: i32 = bpf::XDP_PASS as i32;

pub(super) fn map() -> Outcome {
    outcome(sys::map_create(bpf::BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0))
}

pub(super) fn per_cpu_array() -> Outcome {
    outcome(sys::map_create(bpf::BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 1, 0))
}

pub(super) fn ring_buffer() -> Outcome {
    outcome(sys::map_create(bpf::BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 16, 0))
}

pub(super) fn arena() -> Outcome {
    outcome(sys::map_create(bpf::BPF_MAP_TYPE_ARENA, 0, 0, 16, bpf::BPF_F_MMAPABLE))
}

pub(super) fn device_map() -> Outcome {
    outcome(sys::map_create(bpf::BPF_MAP_TYPE_DEVMAP_HASH, 4, 4, 1, 0))
}

pub(super) fn cpu_map() -> Outcome {
    outcome(sys::map_create(bpf::BPF_MAP_TYPE_CPUMAP, 4, 4, 1, 0))
}

pub(super) fn xdp_socket() -> Outcome {
    let map = sys::map_create(bpf::BPF_MAP_TYPE_XSKMAP, 4, 4, 1, 0);
    match map.and_then(|_| crate::xsk::probe()) {
        Ok(()) => Works(String::new()),
        Err(errno) => Fails(errno.to_string()),
    }
}

pub(super) fn xdp() -> Outcome {
    outcome(xdp_program())
}

pub(super) fn may_goto() -> Outcome {
    outcome(sys::program_load(
        bpf::BPF_PROG_TYPE_XDP,
        bpf::BPF_XDP,
        c"moonhook_probe",
        &instructions::endless(PASS),
    ))
}

/// The JIT is on if a loaded program has machine code.
pub(super) fn jit() -> Outcome {
    match xdp_program().and_then(|program| sys::program_info(program.as_fd())) {
        Ok(info) if info.jited_prog_len > 0 => Works(format!("{} bytes", info.jited_prog_len)),
        Ok(_) => Fails("programs are interpreted".to_string()),
        Err(errno) => Unknown(format!("no program could be loaded: {errno}")),
    }
}

pub(super) fn test_run() -> Outcome {
    let program = match xdp_program() {
        Ok(program) => program,
        Err(errno) => return Unknown(format!("no program could be loaded: {errno}")),
    };
    match sys::test_run(program.as_fd(), &[0; 64], &mut [0; 512], 1, None) {
        Ok(run) if run.verdict == bpf::XDP_PASS => Works(String::new()),
        Ok(run) => Fails(format!("a program that passes returned {}", run.verdict)),
        Err(errno) => Fails(errno.to_string()),
    }
}

/// An absent interface is EINVAL here, as an unknown link type is, so this takes a loopback interface of its own.
pub(super) fn xdp_link() -> Outcome {
    const LOOPBACK: i32 = 1;
    let attempt = || {
        if let Err(errno) = unshare(CloneFlags::CLONE_NEWNET) {
            return Unknown(format!("no network namespace to try it in: {errno}"));
        }
        let attach = |program: OwnedFd| {
            sys::link_create(program.as_fd(), LOOPBACK, bpf::BPF_XDP, bpf::XDP_FLAGS_SKB_MODE)
        };
        outcome(xdp_program().and_then(attach))
    };
    match std::thread::Builder::new().spawn(attempt).map(|thread| thread.join()) {
        Ok(Ok(outcome)) => outcome,
        _ => Unknown("no thread to try it on".to_string()),
    }
}

pub(super) fn tcx_link() -> Outcome {
    let program = load(bpf::BPF_PROG_TYPE_SCHED_CLS, bpf::BPF_TCX_INGRESS);
    let attach = |program: &OwnedFd| sys::link_create(program.as_fd(), NOWHERE, bpf::BPF_TCX_INGRESS, 0);
    link(program, attach, Errno::ENODEV)
}

pub(super) fn netfilter_link() -> Outcome {
    let program = sys::program_load(
        bpf::BPF_PROG_TYPE_NETFILTER,
        bpf::BPF_NETFILTER,
        c"moonhook_probe",
        &instructions::returning(1),
    );
    let attach = |program: &OwnedFd| sys::netfilter_link_create(program.as_fd(), NO_FAMILY, 1, 0, false);
    link(program, attach, Errno::EAFNOSUPPORT)
}

/// A descriptor that is none is EBADF; a kernel without such links does not get so far.
pub(super) fn cgroup_link() -> Outcome {
    let program = sys::program_load(
        bpf::BPF_PROG_TYPE_CGROUP_SKB,
        bpf::BPF_CGROUP_INET_INGRESS,
        c"moonhook_probe",
        &instructions::returning(1),
    );
    let attach =
        |program: &OwnedFd| sys::link_create(program.as_fd(), NO_FOLDER, bpf::BPF_CGROUP_INET_INGRESS, 0);
    link(program, attach, Errno::EBADF)
}

/// Such programs need no link: one that goes on with another is what rules use.
pub(super) fn socket_filter() -> Outcome {
    let array = sys::map_create(bpf::BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
    outcome(array.and_then(|array| {
        let code = instructions::going_on(array.as_raw_fd());
        sys::program_load(bpf::BPF_PROG_TYPE_SOCKET_FILTER, 0, c"moonhook_probe", &code)
    }))
}

/// A descriptor that nobody has.
const NO_FOLDER: i32 = i32::MAX;
/// An interface index that no interface has.
const NOWHERE: i32 = i32::MAX;
/// A netfilter family that does not exist (`NFPROTO_NUMPROTO` is 12).
const NO_FAMILY: u32 = 200;

/// A kernel that knows the link type objects to the absent target, with `expected`.
fn link(
    program: Result<OwnedFd, Errno>,
    attach: impl Fn(&OwnedFd) -> Result<OwnedFd, Errno>,
    expected: Errno,
) -> Outcome {
    match program.map(|program| attach(&program)) {
        Err(errno) => Fails(format!("the program cannot be loaded: {errno}")),
        Ok(Err(errno)) if errno == expected => Works(String::new()),
        Ok(Err(errno)) => Fails(errno.to_string()),
        Ok(Ok(_)) => Fails("attached to nothing".to_string()),
    }
}

fn xdp_program() -> Result<OwnedFd, Errno> {
    load(bpf::BPF_PROG_TYPE_XDP, bpf::BPF_XDP)
}

fn load(kind: bpf::bpf_prog_type, attach: bpf::bpf_attach_type) -> Result<OwnedFd, Errno> {
    sys::program_load(kind, attach, c"moonhook_probe", &instructions::returning(PASS))
}

fn outcome(made: Result<OwnedFd, Errno>) -> Outcome {
    match made {
        Ok(_) => Works(String::new()),
        Err(errno) => Fails(errno.to_string()),
    }
}
