//! Methods of packets by offset, with the names and rules of Lunatik's `data` objects (docs/packet.md).

use super::Width;
use super::Width::{B1, B2, B4, B8};
use crate::{COMPUTED, Found, Function, Gives, Library};

pub const DATA: Library =
    Library { name: "data", found: Found::Methods, constants: &[], functions: &FUNCTIONS, instead: COMPUTED };

/// Lua that finds fields in layouts, which are tables: for whoever has objects of bytes.
pub const LAYOUTS: &str = include_str!("layouts.lua");

/// What a method does with the bytes at an offset.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Gives an integer of so many bytes, in the machine's order.
    Read { width: Width, signed: bool },
    /// Writes the low bytes of one.
    Write { width: Width },
    /// Gives a string.
    ReadText,
    /// Writes one.
    WriteText,
}

use Access::{Read, ReadText, Write, WriteText};

/// All of them, by canonical name.
pub const ACCESSES: [(&str, Access); 20] = [
    ("data.getbyte", Read { width: B1, signed: false }),
    ("data.getuint8", Read { width: B1, signed: false }),
    ("data.getint8", Read { width: B1, signed: true }),
    ("data.getuint16", Read { width: B2, signed: false }),
    ("data.getint16", Read { width: B2, signed: true }),
    ("data.getuint32", Read { width: B4, signed: false }),
    ("data.getint32", Read { width: B4, signed: true }),
    ("data.getint64", Read { width: B8, signed: true }),
    ("data.getnumber", Read { width: B8, signed: true }),
    ("data.setbyte", Write { width: B1 }),
    ("data.setuint8", Write { width: B1 }),
    ("data.setint8", Write { width: B1 }),
    ("data.setuint16", Write { width: B2 }),
    ("data.setint16", Write { width: B2 }),
    ("data.setuint32", Write { width: B4 }),
    ("data.setint32", Write { width: B4 }),
    ("data.setint64", Write { width: B8 }),
    ("data.setnumber", Write { width: B8 }),
    ("data.getstring", ReadText),
    ("data.setstring", WriteText),
];

/// Where the kernel would send a packet on: the number of an interface and two MAC addresses; or nil three times and why there is no way.
pub const ROUTE: &str = "data.route";

/// The Internet checksum of bytes.
pub const CHECKSUM: &str = "data.checksum";

/// Computes the packet's checksums.
pub const FIX_CHECKSUMS: &str = "data.fix_checksums";

/// Makes the packet longer.
pub const GROW: &str = "data.grow";

/// Makes it shorter.
pub const SHRINK: &str = "data.shrink";

/// Put a VLAN tag into the packet, and take one away.
pub const PUSH_VLAN: &str = "data.push_vlan";
pub const POP_VLAN: &str = "data.pop_vlan";

/// Put the packet into another one, and take it out.
pub const ENCAP: &str = "data.encap";
pub const DECAP: &str = "data.decap";

/// What general code calls of it: with addresses as arguments, and, with all fields of a table, for each way of carrying packets.
pub const ENCAP_PARTS: [&str; 6] = [
    "prim.encap",
    "prim.encap_ip",
    "prim.encap_gre",
    "prim.encap_vxlan",
    "prim.encap_gue",
    "prim.encap_refused",
];

/// What is not about an integer or a string at an offset.
const OTHERS: [Function; 9] = [
    Function::stub(ROUTE, &[Gives::Mixed, Gives::Mixed, Gives::Mixed, Gives::Mixed]),
    Function::stub(CHECKSUM, &[Gives::Integer]),
    Function::stub(FIX_CHECKSUMS, &[]),
    Function::stub(GROW, &[]),
    Function::stub(SHRINK, &[]),
    Function::stub(PUSH_VLAN, &[]),
    Function::stub(POP_VLAN, &[]),
    Function::both(ENCAP, &[]),
    Function::stub(DECAP, &[]),
];

/// What objects of the module `data` read of packets: an integer of so many bytes at an offset, as [`Access::Read`] gives it without a sign where it has
/// fewer than 8, or nil where not all of them are there.
pub const PEEKS: [(&str, Width); 4] =
    [("packet peek8", B1), ("packet peek16", B2), ("packet peek32", B4), ("packet peek64", B8)];

/// What they write, where all bytes are there: an offset and an integer.
pub const POKES: [(&str, Width); 4] =
    [("packet poke8", B1), ("packet poke16", B2), ("packet poke32", B4), ("packet poke64", B8)];

/// Whether the packet can be written.
pub const WRITABLE: &str = "packet writable";

/// Whether a packet is being handled.
pub const HANDLED: &str = "packet handled";

/// The header of the link, as far as the hook's packets begin behind one of Ethernet that is still there; else a string without bytes.
pub const LINK: &str = "packet link";

/// Those functions, which are in no table.
pub const OF_OBJECTS: [Function; 11] = {
    let mut all = [Function::stub(WRITABLE, &[Gives::Boolean]); 11];
    all[9] = Function::stub(HANDLED, &[Gives::Boolean]);
    all[10] = Function::stub(LINK, &[Gives::Text]);
    let mut number = 0;
    while number < PEEKS.len() {
        all[2 * number] = Function::stub(PEEKS[number].0, &[Gives::Integer]);
        all[2 * number + 1] = Function::stub(POKES[number].0, &[]);
        number += 1;
    }
    all
};

/// How many bytes a function of [`PEEKS`] or [`POKES`] is about, and whether it writes them.
pub fn of_object(name: &str) -> Option<(Width, bool)> {
    let find =
        |rows: &[(&str, Width)]| rows.iter().find(|(known, _)| *known == name).map(|(_, width)| *width);
    find(&PEEKS).map(|width| (width, false)).or(find(&POKES).map(|width| (width, true)))
}

/// What packets have under names that are no methods.
pub const MEMBERS: [&str; 28] = [
    "eth",
    "vlan",
    "arp",
    "ip",
    "tcp",
    "udp",
    "icmp",
    "payload",
    "tls",
    "peer",
    "dns",
    "http",
    "sctp",
    "gre",
    "vxlan",
    "mpls",
    "dhcp",
    "quic",
    "inner",
    "meta",
    "ct",
    "ifindex",
    "mark",
    "priority",
    "queue",
    "rxhash",
    "timestamp",
    "hwtimestamp",
];

const FUNCTIONS: [Function; ACCESSES.len() + OTHERS.len()] = {
    let mut functions = [OTHERS[0]; ACCESSES.len() + OTHERS.len()];
    let mut number = 0;
    while number < ACCESSES.len() {
        let (name, access) = ACCESSES[number];
        functions[number] = Function::stub(name, access.gives());
        number += 1;
    }
    while number < functions.len() {
        functions[number] = OTHERS[number - ACCESSES.len()];
        number += 1;
    }
    functions
};

impl Access {
    const fn gives(self) -> &'static [Gives] {
        match self {
            Read { .. } => &[Gives::Integer],
            ReadText => &[Gives::Text],
            Write { .. } | WriteText => &[],
        }
    }
}

/// What the method with a canonical name does.
pub fn access(name: &str) -> Option<Access> {
    ACCESSES.iter().find(|(known, _)| *known == name).map(|(_, access)| *access)
}
