//! Packages of programs: where they lie, how their C programs become objects, and what objects export.
//!
//! Reads folders and sources as HIKe's packages have them, which are compiled unchanged (`include/hike.h`). Adds objects to a cache, and
//! packages to a folder; both appear whole or not at all. Needs clang where an object is not in the cache, and git for packages that are not
//! there. Knows neither scripts nor the kernel.

mod build;
mod cache;
mod clang;
mod error;
mod exports;
mod fetch;
mod include;
mod index;
mod list;
mod process;
mod scratch;
mod settings;
mod sources;

pub use build::{Built, build, built};
pub use error::PackageError;
pub use exports::{Exports, Program};
pub use fetch::{Fetched, fetch};
pub use list::{Listed, list};
pub use scratch::abandon;
pub use settings::{Settings, default_cache};
pub use sources::{Found, Kind, Sources};
