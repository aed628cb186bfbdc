//! The three blocks of pcapng that hold a packet (draft-ietf-opsawg-pcapng §§ 4.3, 4.4, A).
//!
//! Reads a block's body; options after the packet are not looked at, so that a broken comment does not cost a frame.

const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

pub struct Packet {
    pub interface: u32,
    /// In the interface's units; simple packet blocks have none.
    pub timestamp: Option<u64>,
    pub original_length: u32,
    pub data: Vec<u8>,
}

pub enum Parsed {
    Packet(Packet),
    /// Not a packet.
    Other,
    /// The body is shorter than its own lengths say.
    Broken,
}

/// The packet in a block of type `kind`, in the byte order of its section.
pub fn parse(kind: u32, body: &[u8], big_endian: bool) -> Parsed {
    let body = Body { bytes: body, big_endian };
    let packet = match kind {
        ENHANCED_PACKET => body.u32(0).and_then(|interface| body.with_time(interface)),
        PACKET => body.u16(0).and_then(|interface| body.with_time(interface.into())),
        SIMPLE_PACKET => body.simple(),
        _ => return Parsed::Other,
    };
    packet.map_or(Parsed::Broken, Parsed::Packet)
}

struct Body<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl Body<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// After 4 bytes of interface (and drop count): time in two halves, captured length, original length, data.
    fn with_time(&self, interface: u32) -> Option<Packet> {
        let captured = self.u32(12)? as usize;
        Some(Packet {
            interface,
            timestamp: Some(u64::from(self.u32(4)?) << 32 | u64::from(self.u32(8)?)),
            original_length: self.u32(16)?,
            data: self.bytes.get(20..)?.get(..captured)?.to_vec(),
        })
    }

    /// Original length, data; from the section's first interface. The data may end in padding.
    fn simple(&self) -> Option<Packet> {
        let original_length = self.u32(0)?;
        let mut data = self.bytes.get(4..)?.to_vec();
        data.truncate(original_length as usize);
        Some(Packet { interface: 0, timestamp: None, original_length, data })
    }
}
