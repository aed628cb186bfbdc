//! Making an AF_XDP socket: memory, rings, and the queue that it is bound to, by setsockopt(2) and bind(2).

use super::ring::{Layout, Mapping, Ring};
use super::{CHUNK, FRAMES, XskMode};
use nix::errno::Errno;
use nix::libc;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Descriptors of the ring that tells what was sent, which nothing is.
const SENT: u32 = 64;

/// Frames may come in several buffers (`XDP_USE_SG`).
const USE_SG: u16 = 1 << 4;

/// A bound socket.
pub(super) struct Parts {
    pub socket: OwnedFd,
    pub memory: Mapping,
    pub fill: Ring<u64>,
    pub sent: Ring<u64>,
    pub received: Ring<libc::xdp_desc>,
}

impl Parts {
    pub fn open(interface: u32, queue: u32, mode: XskMode) -> Result<Parts, Errno> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes no pointers.
        let socket = Errno::result(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?;
        // SAFETY: a descriptor that the kernel has just made, and nobody else has.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let memory = Mapping::anonymous(FRAMES as usize * CHUNK as usize)?;
        register(&socket, &memory)?;
        let sizes = [
            (libc::XDP_UMEM_FILL_RING, FRAMES),
            (libc::XDP_UMEM_COMPLETION_RING, SENT),
            (libc::XDP_RX_RING, FRAMES),
        ];
        for (option, size) in sizes {
            set(&socket, option, &size)?;
        }
        let offsets: libc::xdp_mmap_offsets = get(socket.as_fd(), libc::XDP_MMAP_OFFSETS)?;
        let ring = |offsets, place, size| Layout { offsets, place, size };
        let fill = ring(offsets.fr, libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t, FRAMES);
        let sent = ring(offsets.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t, SENT);
        let received = ring(offsets.rx, libc::XDP_PGOFF_RX_RING, FRAMES);
        let fill = Ring::new(socket.as_fd(), &fill)?;
        let sent = Ring::new(socket.as_fd(), &sent)?;
        let received = Ring::new(socket.as_fd(), &received)?;
        bind(&socket, interface, queue, mode)?;
        Ok(Parts { socket, memory, fill, sent, received })
    }
}

fn register(socket: &OwnedFd, memory: &Mapping) -> Result<(), Errno> {
    // SAFETY: a structure of integers.
    let mut region: libc::xdp_umem_reg = unsafe { zeroed() };
    region.addr = memory.address();
    region.len = u64::from(FRAMES) * u64::from(CHUNK);
    region.chunk_size = CHUNK;
    set(socket, libc::XDP_UMEM_REG, &region)
}

/// Where the driver can write into our memory it does, else frames are copied.
fn bind(socket: &OwnedFd, interface: u32, queue: u32, mode: XskMode) -> Result<(), Errno> {
    // SAFETY: a structure of integers.
    let mut address: libc::sockaddr_xdp = unsafe { zeroed() };
    address.sxdp_family = libc::AF_XDP as u16;
    address.sxdp_ifindex = interface;
    address.sxdp_queue_id = queue;
    address.sxdp_flags = if mode.copies { libc::XDP_COPY } else { 0 } | if mode.frags { USE_SG } else { 0 };
    let size = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
    // SAFETY: the address is as long as is said.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) };
    Errno::result(result).map(drop)
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> Result<(), Errno> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is as long as is said; memory that it names is ours.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, std::ptr::from_ref(value).cast(), size)
    };
    Errno::result(result).map(drop)
}

/// An option that is a structure of integers.
fn get<T>(socket: BorrowedFd<'_>, option: libc::c_int) -> Result<T, Errno> {
    // SAFETY: a structure of integers, see above.
    let mut value: T = unsafe { zeroed() };
    let mut size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes as many bytes as is said at most.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, (&raw mut value).cast(), &raw mut size)
    };
    Errno::result(result).map(|_| value)
}

/// Frames for which there was no memory, which were too long for it, or which found no room in the ring, since the beginning.
pub(super) fn lost(socket: BorrowedFd<'_>) -> Result<u64, Errno> {
    let counts: libc::xdp_statistics = get(socket, libc::XDP_STATISTICS)?;
    Ok(counts.rx_dropped + counts.rx_ring_full)
}
