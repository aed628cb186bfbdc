//! The bytes that protocols are looked for in.

use moonhook_hook::{Hook, Layer};
use std::net::IpAddr;
use std::ops::Deref;

/// A packet as a hook has it: its bytes, and what it begins with.
#[derive(Clone, Copy)]
pub struct Frame<'f> {
    pub bytes: &'f [u8],
    pub layer: Layer,
    /// It is as the wire carries it ([`moonhook_hook::Hook::is_of_wire`]).
    pub is_of_wire: bool,
    /// A VLAN tag that the kernel keeps beside the packet.
    pub beside: Option<Beside>,
    /// Whom a socket is about to be connected with, where that is what a hook is about.
    pub peer: Option<Peer>,
}

/// Such a tag.
#[derive(Clone, Copy)]
pub struct Beside {
    /// Its control information.
    pub control: u16,
    /// It cannot be exchanged: the packet has another tag among its bytes, which is cut off.
    pub is_fixed: bool,
}

/// The other end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    pub address: IpAddr,
    pub port: u16,
    /// 6 or 17.
    pub protocol: u8,
}

impl<'f> Frame<'f> {
    /// A frame with an Ethernet header.
    pub fn of_link(bytes: &'f [u8]) -> Frame<'f> {
        Frame::new(bytes, Layer::Link)
    }

    /// A packet as a hook has it, with nothing beside it.
    pub fn at(hook: &Hook, bytes: &'f [u8]) -> Frame<'f> {
        Frame { is_of_wire: hook.is_of_wire(), ..Frame::new(bytes, hook.layer) }
    }

    /// A packet with nothing beside it.
    pub fn new(bytes: &'f [u8], layer: Layer) -> Frame<'f> {
        Frame { bytes, layer, is_of_wire: false, beside: None, peer: None }
    }
}

impl Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}
