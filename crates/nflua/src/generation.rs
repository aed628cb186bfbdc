//! The two generations of NFLua.

/// Whose NFLua something is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// That of 2019: states have names, rules say which one; functions get a packet.
    Of2019,
    /// CUJO's, its successor: one state for each network namespace, called `nflua` here; functions get the frame and the packet as objects of bytes with layouts.
    Cujo,
}
