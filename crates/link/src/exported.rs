//! Which functions of an object are programs that chains call: the section `.hike.exports` has a variable for each, whose name says which
//! (`include/hike.h` of the crate `packages`).

use crate::Object;
use moonhook_btf::{Kind, Member};

/// The section with what an object exports, by the types of variables.
pub const EXPORTS: &str = ".hike.exports";

/// What the name of a variable begins with that exports a program; the function's name follows.
pub const PROGRAM: &str = "moonhook_program_";

impl Object {
    /// The variables in the section [`EXPORTS`].
    pub fn exports(&self) -> Vec<Member<'_>> {
        let section = self.types.find(EXPORTS, |kind| kind == Kind::Section);
        section.map(|section| self.types.members(section)).unwrap_or_default()
    }

    /// Names of the programs that the object exports.
    pub fn exported_programs(&self) -> Vec<&str> {
        self.exports().iter().filter_map(|variable| variable.name.strip_prefix(PROGRAM)).collect()
    }
}
