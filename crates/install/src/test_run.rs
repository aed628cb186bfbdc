//! Running a loaded program on one frame, without any interface (`BPF_PROG_TEST_RUN`).

use crate::{InstallError, Program, sys};
use moonhook_hook::{HOOKS, Hook, NETFILTER, SOCKET, XDP};
use nix::errno::Errno;
use serde::Serialize;
use std::borrow::Cow;
use std::os::fd::BorrowedFd;

/// The kernel runs no frame that is shorter than an Ethernet header (`bpf_test_init`, net/bpf/test_run.c).
pub const FRAME_MIN: usize = 14;

/// The kernel takes an Ethernet header from every frame in front of socket filters, also of those that elsewhere see frames with theirs: one
/// with the type for experiments (IEEE 802 § 9.2.4), behind which it looks for nothing.
const NO_PROTOCOL: [u8; 14] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0xb5];

/// What is kept free before a frame (`XDP_PACKET_HEADROOM`) and after it (`struct skb_shared_info`, aligned).
const HEADROOM: usize = 256;
const TAILROOM: usize = 320;
/// How much longer than before a frame can have become.
const GROWTH: usize = 64 << 10;
/// Buffers that can follow the first one (`MAX_SKB_FRAGS`, CONFIG_MAX_SKB_FRAGS default).
const FRAGMENTS: usize = 17;

/// The longest frame that lies in one buffer, so that `data..data_end` holds all of it: 3520 bytes with 4 KiB pages.
/// Longer ones run too ([`frame_max`]), but a program reaches the rest only with `bpf_xdp_load_bytes`.
pub fn frame_max_linear() -> usize {
    page_size() - HEADROOM - TAILROOM
}

/// The longest frame that the kernel runs: the first buffer and 17 pages.
pub fn frame_max() -> usize {
    frame_max_linear() + FRAGMENTS * page_size()
}

pub(crate) fn page_size() -> usize {
    // SAFETY: takes no pointers. Linux never fails to tell its page size.
    let size = unsafe { nix::libc::sysconf(nix::libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// A hook that the program is of the type for.
fn hook_of(program: BorrowedFd<'_>) -> Option<&'static Hook> {
    let kind = sys::program_info(program).ok()?.type_;
    HOOKS.iter().copied().find(|hook| hook.program_type == kind)
}

/// What a program did to a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestRun {
    /// What the program returned.
    pub verdict: i32,
    /// The frame afterwards.
    pub data: Vec<u8>,
    /// Time per repetition, in nanoseconds; contains the loop's own cost (an empty program shows it).
    pub duration_ns: u32,
}

impl Program {
    /// Runs `program` on `frame`, which is a packet without its Ethernet header at hooks that have it so, `repeat` times (0 counts as
    /// 1). Repetitions get the frame as the one before left it.
    ///
    /// # Errors
    /// `FrameLength` outside of [`FRAME_MIN`]`..=`[`frame_max`]; `NoSuchItem`; `TestRunRefused` for what else the
    /// kernel refuses, such as a program type that cannot be run so.
    pub fn test_run(&self, program: &str, frame: &[u8], repeat: u32) -> Result<TestRun, InstallError> {
        self.run(program, frame, repeat, None)
    }

    /// Runs a program of netfilter on a packet that has come to that point of that family, by the numbers that the kernel has for them (`enum nf_inet_hooks`,
    /// `NFPROTO_IPV4`), by the loopback interface; its frame has an Ethernet header. At `LOCAL_OUT` it is as [`Program::test_run`] has it.
    ///
    /// # Errors
    /// As of [`Program::test_run`].
    pub fn test_run_at(
        &self,
        program: &str,
        frame: &[u8],
        (point, family): (u8, u8),
    ) -> Result<TestRun, InstallError> {
        self.run(program, frame, 1, Some([u32::from_ne_bytes([point, family, 0, 0])]))
    }

    fn run(
        &self,
        program: &str,
        frame: &[u8],
        repeat: u32,
        mut state: Option<sys::NetfilterContext>,
    ) -> Result<TestRun, InstallError> {
        let fd = self.program_fd(program)?;
        let hook = hook_of(fd);
        // Netfilter's programs are given the packet as it is, and it does not come back (`bpf_prog_test_run_nf`): they cannot change it.
        let is_bare = hook == Some(&NETFILTER);
        let (packet, framed, before) = match hook {
            Some(hook) if hook.program_type == SOCKET.program_type => {
                (frame, Cow::Owned([&NO_PROTOCOL, frame].concat()), NO_PROTOCOL.len())
            }
            Some(hook) if !is_bare => (frame, hook.layer.framed(frame), hook.layer.before_packet()),
            _ => (frame, Cow::Borrowed(frame), 0),
        };
        let frame = &*framed;
        let (min, max) = (FRAME_MIN, frame_max());
        // Of what socket filters see no interface hands on less, either.
        let shortest = if before == NO_PROTOCOL.len() { packet.len() } else { frame.len() };
        if shortest < min || frame.len() > max {
            return Err(InstallError::FrameLength { length: shortest.min(frame.len()), min, max });
        }
        let mut data = vec![0; frame.len() + GROWTH];
        let refused = |errno| match errno {
            // Packets of the network stack have something behind that header (`convert___skb_to_skb`, net/bpf/test_run.c).
            Errno::EINVAL if frame.len() == FRAME_MIN => {
                InstallError::FrameLength { length: frame.len(), min: min + 1, max }
            }
            Errno::EPERM => InstallError::permission("running programs", &crate::privilege::LOAD[..1], errno),
            _ => InstallError::TestRunRefused { program: program.to_string(), errno },
        };
        // At XDP what comes back begins with what the program has put in front of the frame, and the context says how much that is.
        let mut context: sys::XdpContext = [0, frame.len() as u32, 0, 0, 0, 0];
        let is_xdp = hook == Some(&XDP);
        let given = match is_xdp {
            true => Some(context.as_mut_slice()),
            false => state.as_mut().map(sys::NetfilterContext::as_mut_slice),
        };
        let run = sys::test_run(fd, frame, &mut data, repeat, given).map_err(refused)?;
        let before = if is_xdp { context[0] as usize } else { before };
        data.truncate(run.length);
        data.drain(..before.min(data.len()));
        if is_bare {
            data = packet.to_vec();
        }
        let verdict = run.verdict.cast_signed() >> hook.map_or(0, Hook::answer_shift);
        Ok(TestRun { verdict, data, duration_ns: run.duration_ns })
    }
}
