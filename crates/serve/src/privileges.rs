//! Giving up all capabilities but those that programs are loaded and attached with.

use crate::ServeError;
use caps::{CapSet, Capability, CapsHashSet};

/// Loading programs and making maps; attaching to interfaces; comparing pointers.
const KEPT: [Capability; 3] = [Capability::CAP_BPF, Capability::CAP_NET_ADMIN, Capability::CAP_PERFMON];

/// Keeps the three capabilities, as far as they are there. Threads have their own: to be called while there is one. What this process starts
/// (clang, git) gets none.
///
/// # Errors
/// `Privileges`: some may be dropped, and others not.
pub fn drop_others() -> Result<(), ServeError> {
    let failed = |error: caps::errors::CapsError| ServeError::Privileges { problem: error.to_string() };
    let permitted = caps::read(None, CapSet::Permitted).map_err(failed)?;
    let kept: CapsHashSet = KEPT.into_iter().filter(|capability| permitted.contains(capability)).collect();
    // What root gets by starting another program is bounded by this.
    if permitted.contains(&Capability::CAP_SETPCAP) {
        for capability in caps::read(None, CapSet::Bounding).map_err(failed)? {
            caps::drop(None, CapSet::Bounding, capability).map_err(failed)?;
        }
    }
    caps::clear(None, CapSet::Ambient).map_err(failed)?;
    caps::clear(None, CapSet::Inheritable).map_err(failed)?;
    caps::set(None, CapSet::Effective, &kept).map_err(failed)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own: only that one loses them.
    #[test]
    fn three_capabilities_stay() {
        let thread = std::thread::spawn(|| {
            let before = caps::read(None, CapSet::Permitted).unwrap();
            drop_others().unwrap();
            (before, [CapSet::Permitted, CapSet::Effective].map(|set| caps::read(None, set).unwrap()))
        });
        let (before, after) = thread.join().unwrap();
        for set in after {
            let expected: CapsHashSet = KEPT.into_iter().filter(|kept| before.contains(kept)).collect();
            assert_eq!(set, expected);
        }
    }
}
