//! Why C cannot call a function, and what to do then.

use std::fmt;

/// Why C cannot call a function of a script's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Its place in the table is no name of C's.
    NoName,
    /// The name, and how many bytes it may have.
    TooLong(usize),
    /// The name means something else in C, or in programs that call the kernel's functions.
    Reserved,
    /// All other symbols of the library begin like that.
    Prefix(String),
    /// The handlers' function is called so.
    Handlers,
    /// Programs of Lunatik's call all handlers by that name.
    Called,
    OtherScript,
    /// The handlers' function would be called so, and cannot be.
    Object,
    NotOfScript,
    Variadic,
    NoPacket,
    Parameters(u8),
    Hook(&'static str),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::NoName => out.write_str("its name is none in C"),
            Obstacle::TooLong(most) => write!(out, "its name has more than {most} bytes"),
            Obstacle::Reserved => out.write_str("its name means something else in programs in C"),
            Obstacle::Prefix(prefix) => {
                write!(out, "names that begin with '{prefix}' are those of the library's own symbols")
            }
            Obstacle::Handlers => out.write_str("the function that calls the handlers has that name"),
            Obstacle::Called => {
                out.write_str("programs written for Lunatik call all handlers at XDP by that name")
            }
            Obstacle::OtherScript => out.write_str("another script has one of that name"),
            Obstacle::Object => out.write_str(
                "the handlers' function has the object's name, which means something else in programs in C",
            ),
            Obstacle::NotOfScript => out.write_str("it is none of a script's"),
            Obstacle::Variadic => out.write_str("it takes `...`"),
            Obstacle::NoPacket => out.write_str("it takes no packet"),
            Obstacle::Parameters(count) => write!(out, "it takes {count} integers behind the packet"),
            Obstacle::Hook(hook) => write!(out, "programs at the hook '{hook}' have no packets"),
        }
    }
}

impl Obstacle {
    pub fn help(&self) -> &'static str {
        match self {
            Obstacle::NoName => {
                "let its field in the table that the script returns have letters, digits and `_`, no digit first: `return {count = f}`"
            }
            Obstacle::TooLong(_) | Obstacle::Reserved | Obstacle::Called => {
                "give its field in the table that the script returns another name"
            }
            Obstacle::Prefix(_) | Obstacle::Handlers => {
                "give its field in the table that the script returns another name, or the object (`-o`), from which the library's name is"
            }
            Obstacle::OtherScript => "give one of the two another name",
            Obstacle::Object => "give the object another name (`-o`)",
            Obstacle::NotOfScript => {
                "write a function that calls it: `name = function(pkt, a) return math.abs(a) end`"
            }
            Obstacle::Variadic | Obstacle::NoPacket | Obstacle::Parameters(_) => {
                "C gives functions the packet and up to four integers: `name = function(pkt, a, b) … end`"
            }
            Obstacle::Hook(_) => {
                "make functions for programs at a hook that has packets, such as `--hook tc.ingress`"
            }
        }
    }
}
