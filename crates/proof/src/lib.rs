//! Proof: one script, two tiers, the same frames, and everything that can be seen of them compared.
//!
//! A [`Pair`] is a script compiled and loaded into the kernel beside the same script in real Lua (the user tier). It runs a
//! frame through both and reports any difference in verdict, frame, printed lines or error. The other modules supply it with
//! work: [`cases`] reads scripts with the frames they name, [`frames`] makes frames from short descriptions.
//!
//! For tests only: nothing here is part of the `moonhook` command.

pub mod cases;
pub mod check;
pub mod corpus;
pub mod error;
pub mod frames;
pub mod generator;
pub mod host;
pub mod kernel;
pub mod large;
/// Headers, one function each. The user tier's own tests lay their frames out with the same ones.
#[path = "../../user/tests/common/frames.rs"]
pub mod layers;
pub mod ledger;
pub mod outcome;
pub mod pair;
pub mod patterns;
pub mod random;
mod shared;
pub mod shrink;
pub mod times;
pub mod trial;

pub use error::ProofError;
pub use outcome::Difference;
pub use pair::Pair;
