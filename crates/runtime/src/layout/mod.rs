//! Constants of runtime Lua: where things are in arena memory, and what the tags of values mean.
//!
//! Runtime Lua uses their names ([`constants`]) like globals; Rust code uses the constants themselves. All sizes and offsets
//! are in bytes. Addresses are offsets in the arena; 0 is no address.

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: i64 = $value;)*

        /// Every one of them with its name.
        pub(super) const CONSTANTS: &[(&str, i64)] = &[$((stringify!($name), $name)),*];
    };
}

mod frames;
mod patterns;
mod state;
mod statuses;
mod texts;
mod values;

pub use frames::*;
pub use patterns::*;
pub use state::*;
pub use statuses::*;
pub use texts::*;
pub use values::*;

/// Every constant with its name.
pub fn constants() -> impl Iterator<Item = (&'static str, i64)> {
    let all = [
        frames::CONSTANTS,
        patterns::CONSTANTS,
        state::CONSTANTS,
        statuses::CONSTANTS,
        texts::CONSTANTS,
        values::CONSTANTS,
    ];
    all.into_iter().flatten().copied()
}

/// The constant called `name`.
pub fn constant(name: &str) -> Option<i64> {
    constants().find(|(known, _)| *known == name).map(|(_, value)| value)
}

// A variable has a payload for each tag that a value of load time can have.
const _: () = assert!(V_INT == V_SLOTS + 8 * TAG_INT);
const _: () = assert!(V_SUMS == V_SLOTS + 8 * (TAG_OPAQUE + 1) && V_SIZE == V_SUMS + 8);
