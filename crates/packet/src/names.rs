//! Names of what is inside of a packet, and of what is parsed of it.

pub const NAME: &str = "inner";

/// What the names of headers that are inside begin with.
const PREFIX: &str = "inner.";

/// Whether the name is that of what is inside, or of a header there.
pub fn is_inner(name: &str) -> bool {
    name == NAME || name.starts_with(PREFIX)
}

/// The name of a header as its packet has it, inside or not.
pub fn plain_name(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// What is kept of where it is.
pub const INSIDE: &str = "inside";

/// The type of what is inside where that is a frame: none of a link's header.
pub const FRAME: i64 = 0;
