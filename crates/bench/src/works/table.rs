//! All works.

use super::{Work, composed, expanded, general, lunatik, shared};

/// In the order of the table.
pub fn all() -> Vec<Work> {
    let all = [expanded::all(), shared::all(), composed::all(), general::all(), lunatik::all()];
    all.into_iter().flatten().collect()
}
