//! Where a program stands among others at the same place.

use std::fmt;
use std::sync::Arc;

/// Where a program is put in a list of programs, when it is attached.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// Behind those that are there, and those that come later behind it.
    #[default]
    Behind,
    First,
    Last,
    Before(Other),
    After(Other),
}

/// A program of somebody's.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Other {
    /// The kernel's number of it.
    Number(u32),
    /// Its name, of which the kernel keeps 15 bytes.
    Name(Arc<str>),
}

impl Order {
    /// The order that is written so by [`fmt::Display`].
    pub fn parse(text: &str) -> Option<Order> {
        let other = |name: &str| match name.parse() {
            Ok(number) => Other::Number(number),
            Err(_) => Other::Name(name.into()),
        };
        match text.split_once(' ') {
            None if text.is_empty() => Some(Order::Behind),
            None if text == "first" => Some(Order::First),
            None if text == "last" => Some(Order::Last),
            Some(("before", name)) => Some(Order::Before(other(name))),
            Some(("after", name)) => Some(Order::After(other(name))),
            _ => None,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Behind => Ok(()),
            Order::First => f.write_str("first"),
            Order::Last => f.write_str("last"),
            Order::Before(other) => write!(f, "before {other}"),
            Order::After(other) => write!(f, "after {other}"),
        }
    }
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Other::Number(number) => write!(f, "{number}"),
            Other::Name(name) => f.write_str(name),
        }
    }
}
