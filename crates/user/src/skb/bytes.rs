//! Memory of a packet: the link's header, the packet, and room behind it (`struct sk_buff`'s head, data and tail).

use mlua::{Lua, Value, ffi};
use moonhook_hook::{Hook, QUEUE, QUEUE_FROM_LINK};
use std::ptr::{null_mut, slice_from_raw_parts_mut};

/// Room behind a packet, in bytes, by which it can grow. The kernel's own differs with how a packet came.
const ROOM: usize = 2048;

/// The most bytes of a packet that its queue takes back: those of an attribute of netlink, without the header.
const LONGEST: usize = 0xffff - 4;

/// A block of Lua's memory without a finaliser: objects that show its bytes keep it, and so does this value.
pub struct Bytes {
    block: Value,
    memory: *mut [u8],
    /// How many bytes the link's header has; `None`: there is none that is known.
    header: Option<usize>,
    /// Of the packet, which begins behind it.
    length: usize,
}

impl Bytes {
    /// # Errors
    /// Lua has no memory left.
    pub fn new(lua: &Lua, header: Option<&[u8]>, packet: &[u8]) -> mlua::Result<Bytes> {
        let start = header.map_or(0, <[u8]>::len);
        let capacity = start + packet.len() + ROOM;
        let mut first: *mut u8 = null_mut();
        // SAFETY: the closure leaves one value on the stack, and owns nothing.
        let block =
            unsafe { lua.exec_raw((), |state| first = ffi::lua_newuserdatauv(state, capacity, 0).cast()) }?;
        let memory = slice_from_raw_parts_mut(first, capacity);
        let mut bytes = Bytes { block, memory, header: header.map(<[u8]>::len), length: packet.len() };
        let all = bytes.all_mut();
        all[..start].copy_from_slice(header.unwrap_or_default());
        all[start..start + packet.len()].copy_from_slice(packet);
        all[start + packet.len()..].fill(0);
        Ok(bytes)
    }

    /// The same bytes at another place.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn copy(&self, lua: &Lua) -> mlua::Result<Bytes> {
        Bytes::new(lua, self.header.map(|length| &self.all()[..length]), self.packet())
    }

    /// What keeps the bytes where they are.
    pub fn block(&self) -> Value {
        self.block.clone()
    }

    fn all(&self) -> &[u8] {
        // SAFETY: the block lives as long as this value, and no Lua runs while the slice is in use.
        unsafe { &*self.memory }
    }

    fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `all`.
        unsafe { &mut *self.memory }
    }

    fn start(&self) -> usize {
        self.header.unwrap_or(0)
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// From the IP header on.
    pub fn packet(&self) -> &[u8] {
        &self.all()[self.start()..self.start() + self.length]
    }

    pub fn packet_mut(&mut self) -> &mut [u8] {
        let start = self.start();
        let length = self.length;
        &mut self.all_mut()[start..start + length]
    }

    /// From the link's header on, if it is known.
    pub fn frame(&self) -> Option<&[u8]> {
        self.header.map(|length| &self.all()[..length + self.length])
    }

    /// What shows these bytes: the hook as whose packet, and where they are; `None` without the link's header where that is wanted.
    pub fn window(&mut self, from_link: bool) -> Option<(&'static Hook, *mut [u8])> {
        let (start, length) = (self.start(), self.length);
        match (from_link, self.header) {
            (false, _) => Some((&QUEUE, &raw mut self.all_mut()[start..start + length])),
            // Of links without headers it is the packet.
            (true, Some(0)) => Some((&QUEUE, &raw mut self.all_mut()[..length])),
            (true, Some(header)) => Some((&QUEUE_FROM_LINK, &raw mut self.all_mut()[..header + length])),
            (true, None) => None,
        }
    }

    /// Whether there is room for so many bytes: the packet has as many then. What it grows by is zeros, unless it had been longer.
    pub fn resize(&mut self, length: usize) -> bool {
        let fits = length <= (self.all().len() - self.start()).min(LONGEST);
        if fits {
            self.length = length;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_grows_into_the_room_behind_it() {
        let lua = Lua::new();
        let mut bytes = Bytes::new(&lua, Some(&[1; 14]), &[2; 20]).unwrap();
        assert_eq!((bytes.packet().len(), bytes.frame().map(<[u8]>::len)), (20, Some(34)));
        assert!(bytes.resize(20 + ROOM) && !bytes.resize(21 + ROOM));
        assert_eq!(bytes.packet()[18..22], [2, 2, 0, 0]);
        assert!(bytes.resize(3));
        assert_eq!(bytes.copy(&lua).unwrap().frame().map(<[u8]>::len), Some(17));
    }

    #[test]
    fn a_packet_grows_to_what_its_queue_takes_at_most() {
        let mut bytes = Bytes::new(&Lua::new(), None, &[0; 65_000]).unwrap();
        assert!(bytes.resize(LONGEST) && !bytes.resize(LONGEST + 1));
    }

    #[test]
    fn windows_are_of_the_link_where_it_is_known() {
        let lua = Lua::new();
        let mut known = Bytes::new(&lua, Some(&[1; 14]), &[2; 20]).unwrap();
        let lengths = [false, true].map(|from_link| known.window(from_link).map(|(_, bytes)| bytes.len()));
        assert_eq!(lengths, [Some(20), Some(34)]);
        assert_eq!(
            Bytes::new(&lua, Some(&[]), &[2; 20]).unwrap().window(true).map(|(_, bytes)| bytes.len()),
            Some(20)
        );
        assert!(Bytes::new(&lua, None, &[2; 20]).unwrap().window(true).is_none());
    }
}
