//! Names that are taken before their scripts run: of calls at once, each has its own.

use crate::spec::Spec;
use moonhook_daemon::Name;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names that are claimed, with what is said of their scripts.
#[derive(Default)]
pub struct Claims(Mutex<Vec<(Name, Spec)>>);

/// A name, until this is dropped. Those of whose scripts the same is said share it.
pub struct Claim {
    all: Arc<Claims>,
    pub name: Name,
    spec: Spec,
}

impl Claims {
    fn lock(&self) -> MutexGuard<'_, Vec<(Name, Spec)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the first of these names that `fits`, and that nobody else has claimed.
    pub fn claim(
        self: &Arc<Claims>,
        names: impl Iterator<Item = Name>,
        spec: &Spec,
        fits: impl Fn(&Name) -> bool,
    ) -> Option<Claim> {
        let mut claimed = self.lock();
        let is_free = |name: &Name| claimed.iter().all(|(other, of)| other != name || of == spec);
        let name = names.into_iter().find(|name| is_free(name) && fits(name))?;
        claimed.push((name.clone(), spec.clone()));
        Some(Claim { all: Arc::clone(self), name, spec: spec.clone() })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = self.all.lock();
        let own = claimed.iter().position(|(name, spec)| (name, spec) == (&self.name, &self.spec));
        if let Some(own) = own {
            claimed.swap_remove(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_claimed_until_it_is_let_go_of() {
        let claims = Arc::<Claims>::default();
        let at = |interface: &str| Spec { interfaces: vec![interface.into()], ..Spec::default() };
        let base = Name::of_script(std::path::Path::new("guard.eclat"));
        let names = || (1..4).map(|number| base.numbered(number));
        let claim = |interface: &str| claims.claim(names(), &at(interface), |_| true).unwrap();
        let (first, second, again) = (claim("a"), claim("b"), claim("a"));
        assert_eq!((&first.name, &second.name, &again.name), (&base, &base.numbered(2), &base));
        drop(first);
        assert_eq!(claim("c").name, base.numbered(3), "one of the same is under way");
        drop(again);
        assert_eq!(claim("c").name, base);
        assert!(claims.claim(names(), &at("d"), |_| false).is_none());
    }
}
