//! Lua's libraries (Lua manual § 6.2 and 6.4–6.10), without what starts processes, writes files, loads code that is not text, or looks
//! into running functions. What else is in them is out of scripts' reach. `warn` is no row: it is Lua, compiled like a script.

mod base;
mod coroutine;
mod io;
mod math;
mod os;
mod string;
mod table;
mod utf8;

pub use self::base::BASE;
pub use self::coroutine::COROUTINE;
pub use self::io::IO;
pub use self::math::MATH;
pub use self::os::OS;
pub use self::string::STRING;
pub use self::table::TABLE;
pub use self::utf8::UTF8;

use crate::Function;

/// Functions without names of their own, which others give.
pub const ITERATORS: &[&Function] = &[&base::NEXT_OF_LIST, &string::NEXT_MATCH, &utf8::NEXT_CODE];
