//! Giving up all capabilities but those that programs are loaded and attached with.

use crate::ServeError;
use caps::{CapSet, Capability, CapsHashSet};

/// Loading programs and making maps; attaching to interfaces; comparing pointers.
const KEPT: [Capability; 3] = [Capability::CAP_BPF, Capability::CAP_NET_ADMIN, Capability::CAP_PERFMON];

/// Entering other network namespaces.
const ENTERING: Capability = Capability::CAP_SYS_ADMIN;

/// Keeps the three capabilities, as far as they are there. With `enter_netns`, one more stays permitted, and not in effect: a thread that enters a
/// namespace raises it for that moment. Threads have their own: to be called while there is one. What this process starts (clang, git) gets
/// none.
///
/// # Errors
/// `Privileges`: some may be dropped, and others not.
pub fn drop_others(enter_netns: bool) -> Result<(), ServeError> {
    let failed = |error: caps::errors::CapsError| ServeError::Privileges { problem: error.to_string() };
    let permitted = caps::read(None, CapSet::Permitted).map_err(failed)?;
    let kept: CapsHashSet = KEPT.into_iter().filter(|capability| permitted.contains(capability)).collect();
    let mut stays = kept.clone();
    if enter_netns && permitted.contains(&ENTERING) {
        stays.insert(ENTERING);
    }
    // What root gets by starting another program is bounded by this.
    if permitted.contains(&Capability::CAP_SETPCAP) {
        for capability in caps::read(None, CapSet::Bounding).map_err(failed)? {
            caps::drop(None, CapSet::Bounding, capability).map_err(failed)?;
        }
    }
    caps::clear(None, CapSet::Ambient).map_err(failed)?;
    caps::clear(None, CapSet::Inheritable).map_err(failed)?;
    caps::set(None, CapSet::Effective, &kept).map_err(failed)?;
    caps::set(None, CapSet::Permitted, &stays).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a process that may not drop what it has, nothing is left open: it is an error.
    #[test]
    fn what_cannot_be_dropped_is_an_error() {
        let thread = std::thread::spawn(|| {
            if !caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).unwrap() {
                return None;
            }
            // It has the capability to drop others, and does not use it.
            caps::drop(None, CapSet::Effective, Capability::CAP_SETPCAP).unwrap();
            Some(drop_others(false).unwrap_err().code())
        });
        if let Some(code) = thread.join().unwrap() {
            assert_eq!(code, "MH1003");
        }
    }

    /// On a thread of its own: only that one loses them.
    fn left(enter_netns: bool) -> (CapsHashSet, [CapsHashSet; 2]) {
        let thread = std::thread::spawn(move || {
            let before = caps::read(None, CapSet::Permitted).unwrap();
            drop_others(enter_netns).unwrap();
            (before, [CapSet::Permitted, CapSet::Effective].map(|set| caps::read(None, set).unwrap()))
        });
        thread.join().unwrap()
    }

    #[test]
    fn three_capabilities_stay() {
        let (before, after) = left(false);
        for set in after {
            let expected: CapsHashSet = KEPT.into_iter().filter(|kept| before.contains(kept)).collect();
            assert_eq!(set, expected);
        }
    }

    #[test]
    fn what_entering_takes_is_not_in_effect() {
        let (before, [permitted, effective]) = left(true);
        assert_eq!(permitted.contains(&ENTERING), before.contains(&ENTERING));
        assert!(!effective.contains(&ENTERING));
    }
}
