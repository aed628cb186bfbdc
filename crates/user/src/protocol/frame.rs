//! The bytes that protocols are looked for in.

use moonhook_hook::Layer;
use std::ops::Deref;

/// A packet as a hook has it: its bytes, and what it begins with.
#[derive(Clone, Copy)]
pub struct Frame<'f> {
    pub bytes: &'f [u8],
    pub layer: Layer,
}

impl<'f> Frame<'f> {
    /// A frame with an Ethernet header.
    pub fn of_link(bytes: &'f [u8]) -> Frame<'f> {
        Frame { bytes, layer: Layer::Link }
    }
}

impl Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}
