//! The clock (Lua manual § 6.10).

use crate::{Found, Function, Library};

pub const OS: Library = Library {
    name: "os",
    found: Found::Standard,
    constants: &[],
    functions: &[
        Function::load("os.clock").instead("take differences of `linux.time()`, in nanoseconds, of `require \"linux\"`"),
        Function::load("os.date")
            .instead("`linux.time()` of `require \"linux\"` gives nanoseconds since 1970: `linux.time() // 3600000000000 % 24` is the hour"),
        Function::load("os.time")
            .instead("`linux.time()` of `require \"linux\"` gives nanoseconds since 1970: `linux.time() // 1000000000` are seconds"),
    ],
    instead: "call it at load time, outside the handler",
};
