//! A program for rules of xt_bpf, made by hand.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Pins a socket filter that gives one number for all packets.
pub fn pin(path: &Path, result: i32) {
    use libbpf_sys::{BPF_ALU64, BPF_EXIT, BPF_JMP, BPF_K, BPF_MOV, BPF_PROG_TYPE_SOCKET_FILTER, bpf_insn};
    let instruction = |code: u32, imm| bpf_insn { code: code as u8, imm, ..bpf_insn::default() };
    let program = [instruction(BPF_ALU64 | BPF_MOV | BPF_K, result), instruction(BPF_JMP | BPF_EXIT, 0)];
    let (license, path) = (c"GPL", CString::new(path.as_os_str().as_bytes()).expect("no NUL"));
    // SAFETY: all pointers are to values that outlive the calls, the count is the array's, and no options are given.
    let pinned = unsafe {
        let fd = libbpf_sys::bpf_prog_load(
            BPF_PROG_TYPE_SOCKET_FILTER,
            std::ptr::null(),
            license.as_ptr(),
            program.as_ptr(),
            program.len() as u64,
            std::ptr::null_mut(),
        );
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        let pinned = libbpf_sys::bpf_obj_pin(fd, path.as_ptr());
        nix::libc::close(fd);
        pinned
    };
    assert_eq!(pinned, 0, "{}", std::io::Error::last_os_error());
}
