//! How C calls functions that a library of ours has.

/// A declaration in C.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prototype {
    pub result: CType,
    /// Names and types, five at most.
    pub parameters: Vec<(&'static str, CType)>,
    /// The kernel verifies it with each of its callers, and not by itself: then it can have addresses of memory of any length.
    pub is_hidden: bool,
    /// Other objects may have a function of that name: linkers take the first.
    pub is_weak: bool,
}

/// Types of parameters and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CType {
    /// 32 bits.
    Int,
    /// 64 bits: Lua's integers.
    LongLong,
    /// `size_t`: 64 bits without sign.
    Size,
    /// A pointer to the context of the programs that call, a structure of that name.
    Context(&'static str),
    /// `char *`.
    Text,
    /// `void *`.
    Memory,
}
