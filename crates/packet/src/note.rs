//! What records in front of packets are made of ([`crate::protocols::meta_record`]).

use moonhook_ir::Size;

/// Fields of a record, at most.
pub const MOST_FIELDS: usize = 24;

/// So many have their bits in 4 bytes.
const FEW: usize = 16;

/// Where a field's bits say that it is there, and that it is a boolean.
pub const IS_THERE: i64 = 1;
pub const IS_BOOLEAN: i64 = 2;

/// Where the bits of the fields are.
pub const BITS: i16 = 4;

/// The records of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Records {
    /// How many fields they have, [`MOST_FIELDS`] at most.
    pub count: usize,
    pub signature: u32,
}

/// What a field may be.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Kinds {
    pub integer: bool,
    pub boolean: bool,
}

impl Records {
    pub fn size_of_bits(self) -> Size {
        if self.count <= FEW { Size::B4 } else { Size::B8 }
    }

    /// Where a field is.
    pub fn field(self, number: usize) -> i16 {
        BITS + self.size_of_bits() as i16 + 8 * number as i16
    }

    /// Bytes of the note.
    pub fn length(self) -> i64 {
        self.field(self.count).into()
    }
}
