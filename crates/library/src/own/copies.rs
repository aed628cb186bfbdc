//! Copies of packets at netfilter, for handlers that are written for Lunatik: what methods of an `skb` are made of (`load/src/lunatik`).
//!
//! A copy's bytes are a buffer, which packet code has as a string that it writes to: nothing else has that string. [`LINK`] bytes for the link's header come
//! first, of which the last ones are used, then the packet, then room to grow into. Offsets count from the buffer's first byte.

use super::Width;
use super::Width::{B1, B2, B4, B8};
use crate::Function;
use crate::Gives::{Integer, Text};

/// Bytes in front of the packet in a buffer.
pub const LINK: i64 = 32;

/// The most bytes of a packet that its copy has: what is sent has to fit into a record of the ring.
pub const KEPT: i64 = 16_000;

/// Bytes by which a copy can grow.
pub const ROOM: i64 = 2048;

/// A packet's buffer, and how many bytes of it are the link's header: -1 where the packet has none.
pub const MAKE: &str = "skb make";

/// A buffer with the same bytes.
pub const AGAIN: &str = "skb again";

/// The number of the interface that a packet belongs to (`skb->dev`), 0 for none.
pub const DEVICE: &str = "skb device";

/// Bytes of a buffer as a string: from an offset on, so many.
pub const BYTES: &str = "skb bytes";

/// Writes a string into a buffer at an offset.
pub const PUT: &str = "skb put";

/// Writes zeros from an offset on, so many.
pub const CLEAR: &str = "skb clear";

/// The Internet checksum of bytes of a buffer, from an offset on, so many, and of a sum that others have: a number of 16 bits as it is written in
/// network byte order. The sum is below 2^32.
pub const SUM: &str = "skb sum";

/// Sends bytes of a buffer, from an offset on, so many, by the interface with that number: as an event of the name [`SENT`].
pub const SEND: &str = "skb send";

/// The name of events that are frames to be sent; their values are the interface's number and the frame. Scripts send none whose names begin so.
pub const SENT: &str = "\0forward";

/// Integers without sign, but of 64 bits, in the machine's order.
pub const PEEKS: [(&str, Width); 4] =
    [("skb peek8", B1), ("skb peek16", B2), ("skb peek32", B4), ("skb peek64", B8)];
pub const POKES: [(&str, Width); 4] =
    [("skb poke8", B1), ("skb poke16", B2), ("skb poke32", B4), ("skb poke64", B8)];

/// All of them, which are in no table. Whoever calls them has seen to it that offsets and lengths are within the buffer.
pub const FUNCTIONS: [Function; 16] = {
    let mut all = [Function::stub(MAKE, &[Text, Integer]); 16];
    all[1] = Function::stub(AGAIN, &[Text]);
    all[2] = Function::stub(DEVICE, &[Integer]);
    all[3] = Function::stub(BYTES, &[Text]);
    all[4] = Function::stub(PUT, &[]);
    all[5] = Function::stub(CLEAR, &[]);
    all[6] = Function::stub(SUM, &[Integer]);
    all[7] = Function::stub(SEND, &[]);
    let mut number = 0;
    while number < PEEKS.len() {
        all[8 + 2 * number] = Function::stub(PEEKS[number].0, &[Integer]);
        all[9 + 2 * number] = Function::stub(POKES[number].0, &[]);
        number += 1;
    }
    all
};
