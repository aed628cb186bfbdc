//! Sending frames out of interfaces: a raw socket (packet(7)) that receives nothing.

use crate::privilege::Capability;
use crate::{InstallError, netns};
use nix::errno::Errno;
use nix::libc;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The longest name of an interface (`IFNAMSIZ`), with the zero behind it.
const LONGEST: usize = 16;

/// Sends whole Ethernet frames, in the network namespace where it was made.
#[derive(Debug)]
pub struct FrameSender(OwnedFd);

impl FrameSender {
    /// In the network namespace `netns` (`None`: the caller's).
    ///
    /// # Errors
    /// `Privilege` (CAP_NET_RAW); those of [`netns::within`]; `AttachFailed` for what is left.
    pub fn open(netns: Option<&str>) -> Result<FrameSender, InstallError> {
        netns::within(netns, open)?.map(FrameSender).map_err(|errno| match errno {
            Errno::EPERM => InstallError::permission("opening a raw socket", &[Capability::NetRaw], errno),
            errno => InstallError::AttachFailed { place: "packet socket".to_string(), errno },
        })
    }

    /// The number of the interface of that name, if there is one.
    pub fn interface(&self, name: &str) -> Option<u32> {
        let bytes = name.as_bytes();
        if bytes.len() >= LONGEST || bytes.contains(&0) {
            return None;
        }
        // SAFETY: integers and an array of them.
        let mut request: libc::ifreq = unsafe { zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        // SAFETY: the kernel reads the name, which ends with a zero, and writes the number.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SIOCGIFINDEX, &raw mut request) };
        // SAFETY: the kernel has filled in that field.
        Errno::result(result).ok().and_then(|_| u32::try_from(unsafe { request.ifr_ifru.ifru_ifindex }).ok())
    }

    /// Sends a frame by the interface with that number, as any packet that goes out there.
    ///
    /// # Errors
    /// What the kernel says (packet(7)): `ENXIO` where there is no such interface, `ENETDOWN` where it is down, `EMSGSIZE` for a frame that is
    /// too long, `EINVAL` for one without a whole header, `ENOBUFS` and `EAGAIN` where there is no room.
    pub fn send(&self, interface: u32, frame: &[u8]) -> Result<(), Errno> {
        // SAFETY: a structure of integers.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = i32::try_from(interface).map_err(|_| Errno::ENXIO)?;
        address.sll_protocol = frame.get(12..14).map_or(0, |kind| u16::from_ne_bytes([kind[0], kind[1]]));
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: frame and address are as long as is said.
        let sent = unsafe {
            libc::sendto(
                self.0.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                libc::MSG_DONTWAIT,
                (&raw const address).cast(),
                size,
            )
        };
        Errno::result(sent).map(drop)
    }
}

/// A socket for no protocol gets nothing.
fn open() -> Result<OwnedFd, Errno> {
    // SAFETY: takes no pointers.
    let socket =
        Errno::result(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: a descriptor that the kernel has just made, and nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}
