//! What programs get of the kernel: where packets are, and what is kept beside them.

/// What a program gets.
pub struct Context {
    /// The structure's name, by which the kernel knows a program's context.
    pub structure: &'static str,
    pub packet: Packet,
    /// What the kernel keeps beside the packet.
    pub metadata: &'static [Metadata],
    /// Whom a socket is about to be connected with, where programs are asked about that.
    pub peer: Option<Peer>,
    /// Where it has what programs have put in front of a packet at XDP.
    pub note: Option<Note>,
    /// How what the kernel knows of the packet's connection is found.
    pub connection: Option<Connection>,
}

/// How the entry of the kernel's connection tracking is found that a packet belongs to (`struct nf_conn`).
#[derive(Clone, Copy, Debug)]
pub enum Connection {
    /// By its addresses and ports: a function of the kernel, by its name, that takes the context, these, and options.
    Lookup(&'static str),
    /// The packet has been given it: where the context has the address of the `struct sk_buff`.
    OfPacket(i16),
}

/// Bytes in front of a packet, up to its first one, which stay with it from XDP to tc (`data_meta`).
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// Where the context has the address of the first of them: a word of 32 bits.
    pub start: i16,
    /// The helper that moves that address (`bpf_xdp_adjust_meta`); it takes the context and by how many bytes, and gives 0. Without one they can
    /// only be read, and what else is done with the packet may take them away.
    pub adjust: Option<u32>,
}

/// The other end of a connection that is about to begin: where the context has its address and port, in network byte order, and the protocol's
/// number. Programs can change address and port.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Of IP: 4 or 6.
    pub version: u32,
    /// 4 or 16 bytes.
    pub address: i16,
    /// A word of 32 bits, of which the first two bytes are the port.
    pub port: i16,
    /// A word of 32 bits.
    pub protocol: i16,
}

/// Something that the kernel keeps beside a packet: a number.
#[derive(Clone, Copy, Debug)]
pub struct Metadata {
    /// What scripts call it, as a field of the packet.
    pub name: &'static str,
    pub source: Source,
}

/// Where something is that the kernel keeps.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A word of the context, of 32 or 64 bits.
    Word {
        at: i16,
        bits: u32,
        /// Programs can change it.
        is_written: bool,
    },
    /// In structures of the kernel: the first of these that is not 0.
    Structures(&'static [Path]),
}

/// Where a number is in structures of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Where the context has the address of the first one.
    pub at: i16,
    /// The field of each that has the address of the next one, and at last the one with the number, in the form `structure.field`.
    pub fields: &'static [&'static str],
}

/// Where `struct __sk_buff` has the time at which a packet came in, or is to leave, and the one that the network card has noted.
pub(crate) const TIMESTAMP: i16 = 152;
pub(crate) const HWTIMESTAMP: i16 = 184;

impl Metadata {
    pub(crate) const fn read(name: &'static str, at: i16) -> Metadata {
        Metadata { name, source: Source::Word { at, bits: 32, is_written: false } }
    }

    /// A time, in ns.
    pub(crate) const fn time(name: &'static str, at: i16, is_written: bool) -> Metadata {
        Metadata { name, source: Source::Word { at, bits: 64, is_written } }
    }

    pub(crate) const fn written(name: &'static str, at: i16) -> Metadata {
        Metadata { name, source: Source::Word { at, bits: 32, is_written: true } }
    }

    pub(crate) const fn of_structures(name: &'static str, paths: &'static [Path]) -> Metadata {
        Metadata { name, source: Source::Structures(paths) }
    }

    pub fn is_written(&self) -> bool {
        matches!(self.source, Source::Word { is_written: true, .. })
    }
}

/// How a program gets at the packet's bytes.
#[derive(Clone, Copy)]
pub enum Packet {
    /// They are in memory, between two addresses.
    Between(Addresses, Elsewhere),
    /// They have to be copied.
    Copied(Reader),
}

/// Where the addresses of the packet's first byte and of the one behind its last are in the context: words of 32 bits.
#[derive(Clone, Copy, Default)]
pub struct Addresses {
    pub start: i16,
    pub end: i16,
}

/// Bytes of a packet that are not between start and end.
#[derive(Clone, Copy)]
pub enum Elsewhere {
    Buffers(Buffers),
    Pages(Pull),
}

/// Frames in several buffers, for programs that say that they take them: helpers reach what is behind the first one.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// The section of such programs.
    pub section: &'static str,
    pub reader: Reader,
}

/// What copies a packet's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    pub bytes: Bytes,
    /// The helper that writes bytes (`enum bpf_func_id`); it takes the context, the offset, the address and the length, and gives 0. Without
    /// one, packets can only be read.
    pub store: Option<u32>,
}

/// Where a packet's bytes are copied from.
#[derive(Clone, Copy, Debug)]
pub enum Bytes {
    /// A helper reads them; it takes the context, the offset, the address and the length, and gives 0.
    Helper { load: u32, length: Length },
    /// There are none: what happens is no packet's.
    Nothing,
    /// From the `struct sk_buff` whose address the context has there, through a dynptr over it (Documentation/bpf/kfuncs.rst).
    Dynptr { packet: i16 },
}

/// What knows how many bytes a packet has.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// A helper; it takes the context.
    Helper(u32),
    /// A word of 32 bits of the context.
    Word(i16),
}

/// Packets with bytes in pages of their own, which a helper moves to where the others are.
#[derive(Clone, Copy)]
pub struct Pull {
    /// Where the context has the packet's length: a word of 32 bits.
    pub length: i16,
    /// The helper that moves so many bytes between start and end (`enum bpf_func_id`); it takes the context and the length, and gives 0.
    pub helper: u32,
}

impl Context {
    /// Where the packet's addresses are, if it has any.
    pub fn addresses(&self) -> Option<Addresses> {
        match self.packet {
            Packet::Between(addresses, _) => Some(addresses),
            Packet::Copied(_) => None,
        }
    }

    /// Whether the kernel's verifier makes an address of the word of the context that is there.
    pub fn is_address(&self, at: i16) -> bool {
        self.addresses().is_some_and(|words| [words.start, words.end].contains(&at))
            || self.note.is_some_and(|note| note.start == at)
    }
}
