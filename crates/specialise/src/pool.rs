//! The pool of constants: strings that are known before packets arrive, as bytes of read-only data.

use moonhook_ir as ir;
use std::collections::HashMap;

/// Bytes behind the last string of the pool, at least.
pub const TAIL: i64 = 8;

/// Stands for the mask of an offset into the pool until the pool's size is known ([`crate::output::Output::finish_pool`]).
pub const POOL_MASK: ir::Operand = ir::Operand::Imm(0);

/// Constant bytes that string slices point into. Each string is there once. The first 8 bytes are not used, so that the
/// 8 bytes before a string's end can always be read.
#[derive(Default, Debug)]
pub struct Pool {
    pub bytes: Vec<u8>,
    index: HashMap<Vec<u8>, u32>,
    /// Bytes that are read from an offset on that is known at packet time only, at most.
    pub reach: u32,
}

impl Pool {
    /// The string's offset.
    pub fn intern(&mut self, text: &[u8]) -> u32 {
        if let Some(offset) = self.index.get(text) {
            return *offset;
        }
        if self.bytes.is_empty() {
            self.bytes.resize(8, 0);
        }
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text);
        self.index.insert(text.to_vec(), offset);
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_string_is_there_once_behind_eight_bytes() {
        let mut pool = Pool::default();
        assert_eq!([pool.intern(b"eth0"), pool.intern(b""), pool.intern(b"eth0")], [8, 12, 8]);
        assert_eq!(pool.bytes, b"\0\0\0\0\0\0\0\0eth0");
    }
}
