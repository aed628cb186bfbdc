//! Who counts: what this crate needs of whoever can put something into the kernel.

use std::fmt::Debug;

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counted {
    /// System calls that begin, by number.
    Calls,
    /// System calls that return, by number.
    Returns,
    /// Calls of a function of the kernel; there is one count, 0.
    Function(String),
    /// Returns of a function of the kernel; there is one count, 0.
    FunctionReturns(String),
}

/// Why something cannot be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncounted {
    /// The kernel's error number, positive.
    pub errno: i32,
    /// For people, in one line.
    pub reason: String,
}

/// Counts what the kernel does for all processes but this one.
pub trait Counting: Debug + Send + Sync {
    /// Counts until what it gives is dropped.
    ///
    /// # Errors
    /// Why that is not possible here.
    fn count(&self, counted: &Counted) -> Result<Box<dyn Counts>, Uncounted>;
}

/// Counts that grow.
pub trait Counts: Send {
    /// All that are not 0, by number.
    ///
    /// # Errors
    /// The reason, in one line.
    fn all(&self) -> Result<Vec<(u32, u64)>, String>;

    /// The one with that number.
    ///
    /// # Errors
    /// The reason, in one line.
    fn one(&self, number: u32) -> Result<u64, String>;
}
