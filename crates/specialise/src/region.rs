//! Where what is in the per-CPU region, how much of a frame can be read, and addresses.

use moonhook_packet::FIRST_COPIED;
use moonhook_schema::MAX_KEY;

/// The region's layout in bytes: strings made at packet time, then the event record being built, then a margin that lets
/// 8 bytes be written at any masked offset. The first 8 bytes are not used: 8 bytes before a string's end can be read.
pub const STRINGS_START: i64 = 8;
pub const STRINGS_END: i64 = 0x1_0000;
pub const RECORD_START: i64 = STRINGS_END;
pub const RECORD_SIZE: i64 = 0x4000;
/// Bytes of a record before its arguments, and the most that it has in all.
pub const RECORD_HEADER: i64 = 8;
pub const RECORD_MAX: i64 = RECORD_SIZE - 64;
/// Where frames are copied ([`crate::Options::copies`]), there follow notes of 16 bytes and the copy.
pub const COPY_START: i64 = REGION_SIZE + 16;
/// Keys and values of shared tables that are too large for the stack, with as much behind them as a masked offset reaches.
pub const KEY_START: i64 = RECORD_START + RECORD_SIZE + 64;
pub const VALUE_START: i64 = KEY_START + 2 * MAX_KEY as i64 + 64;
pub const REGION_SIZE: i64 = VALUE_START + 2 * MAX_VALUE as i64 + 64;
/// The verifier takes what is copied after the first bytes to be as long as a frame.
pub const COPY_SIZE: i64 = 16 + 0x1_0000 + FIRST_COPIED + MARGIN;

/// Bytes behind the last masked offset: a short string is read whole from where it begins, as if it had as many bytes as it may have
/// (`shared/texts.rs`).
pub const MARGIN: i64 = UNROLLED as i64 + 64;

/// Up to so many bytes of a string are copied without a loop.
pub const UNROLLED: usize = 128;

/// Bytes of a value at most: it is made in the region.
pub const MAX_VALUE: usize = 4096;
