//! Network interfaces of the namespace that the calling thread is in.

use crate::InstallError;
use nix::libc;
use nix::net::if_::if_nameindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use serde::Serialize;
use std::os::fd::{AsRawFd, OwnedFd};

/// How an interface is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceName {
    Name(String),
    Index(u32),
}

impl From<&str> for InterfaceName {
    fn from(name: &str) -> Self {
        InterfaceName::Name(name.to_string())
    }
}

impl From<u32> for InterfaceName {
    fn from(index: u32) -> Self {
        InterfaceName::Index(index)
    }
}

/// An interface that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interface {
    pub name: String,
    pub index: u32,
}

/// The interfaces of the calling thread's namespace, by index.
pub(crate) fn interfaces() -> Vec<Interface> {
    let Ok(list) = if_nameindex() else { return Vec::new() };
    let interface = |entry: &nix::net::if_::Interface| Interface {
        name: entry.name().to_string_lossy().into_owned(),
        index: entry.index(),
    };
    list.iter().map(interface).collect()
}

/// Finds an interface in the calling thread's namespace, which is called `netns` in the error.
pub(crate) fn find(wanted: &InterfaceName, netns: Option<&str>) -> Result<Interface, InstallError> {
    let mut all = interfaces();
    let found = all.iter().position(|interface| match wanted {
        InterfaceName::Name(name) => interface.name == *name,
        InterfaceName::Index(index) => interface.index == *index,
    });
    found.map(|position| all.swap_remove(position)).ok_or_else(|| InstallError::UnknownInterface {
        name: match wanted {
            InterfaceName::Name(name) => name.clone(),
            InterfaceName::Index(index) => format!("number {index}"),
        },
        netns: netns.map(str::to_string),
        existing: interfaces().into_iter().map(|interface| interface.name).collect(),
    })
}

/// The interface's MTU in bytes, link header not counted (`SIOCGIFMTU`).
pub(crate) fn mtu(interface: &Interface) -> Option<u32> {
    let socket = any_socket()?;
    let mut request = request(interface);
    // SAFETY: `request` is an `ifreq` with a terminated name, and the kernel writes within it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) };
    // SAFETY: on success the kernel has filled in this member of the union.
    if result == 0 { u32::try_from(unsafe { request.ifr_ifru.ifru_mtu }).ok() } else { None }
}

/// Whether what the interface carries begins with an Ethernet header (`ARPHRD_ETHER`, `ARPHRD_LOOPBACK` of
/// include/uapi/linux/if_arp.h); true where that cannot be asked.
pub(crate) fn carries_ethernet(interface: &Interface) -> bool {
    let Some(socket) = any_socket() else { return true };
    let mut request = request(interface);
    // SAFETY: `request` is an `ifreq` with a terminated name, and the kernel writes within it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR as _, &raw mut request) };
    // SAFETY: on success the kernel has filled in this member of the union.
    result != 0
        || [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK]
            .contains(&unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

/// `struct ethtool_drvinfo` (include/uapi/linux/ethtool.h), of which only the driver's name is looked at.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// `ETHTOOL_GDRVINFO`.
const GET_DRIVER_INFO: u32 = 3;

/// `struct ethtool_value` (include/uapi/linux/ethtool.h).
#[repr(C)]
struct Setting {
    command: u32,
    value: u32,
}

/// `ETHTOOL_GGRO`.
const GET_GRO: u32 = 0x2b;

/// `ETHTOOL_GTXCSUM`.
const GET_TX_CHECKSUMS: u32 = 0x16;

/// The name of the interface's driver, such as `veth` or `ixgbe`.
pub(crate) fn driver(interface: &Interface) -> Option<String> {
    let mut info = DriverInfo { command: GET_DRIVER_INFO, driver: [0; 32], rest: [0; 160] };
    // SAFETY: the command asks for an `ethtool_drvinfo`.
    unsafe { ethtool(interface, &mut info) }?;
    let name: Vec<u8> = info.driver.into_iter().take_while(|byte| *byte != 0).collect();
    if name.is_empty() { None } else { String::from_utf8(name).ok() }
}

/// Whether the interface puts segments together that it receives (`ethtool -k`, generic-receive-offload).
pub(crate) fn has_gro(interface: &Interface) -> bool {
    is_set(interface, GET_GRO)
}

/// Whether checksums of what it sends are the network card's to compute.
pub(crate) fn has_tx_checksums(interface: &Interface) -> bool {
    is_set(interface, GET_TX_CHECKSUMS)
}

fn is_set(interface: &Interface, command: u32) -> bool {
    let mut setting = Setting { command, value: 0 };
    // SAFETY: the command asks for an `ethtool_value`.
    unsafe { ethtool(interface, &mut setting) }.is_some() && setting.value != 0
}

/// `SIOCETHTOOL`; `None` if the driver cannot say.
///
/// # Safety
/// `T` is what the command in its first word is about, whole.
unsafe fn ethtool<T>(interface: &Interface, question: &mut T) -> Option<()> {
    let socket = any_socket()?;
    let mut request = request(interface);
    request.ifr_ifru.ifru_data = (question as *mut T).cast();
    // SAFETY: `request` is an `ifreq` with a terminated name that points to what the command wants.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    (result == 0).then_some(())
}

fn any_socket() -> Option<OwnedFd> {
    socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).ok()
}

fn request(interface: &Interface) -> libc::ifreq {
    // SAFETY: all bytes zero is a valid `ifreq`: an array and a union of plain data.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().zip(interface.name.bytes().take(room)) {
        *to = from as libc::c_char;
    }
    request
}
