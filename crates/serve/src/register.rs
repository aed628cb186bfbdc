//! The scripts that run, by their names. A script is there from the moment when it is attached until its thread lets go of its entry.

use crate::ServeError;
use crate::running::Running;
use moonhook_daemon::Name;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub struct Register(Mutex<BTreeMap<Name, Arc<Running>>>);

/// A script's place in the register. Dropped, it leaves the place to whoever has it by then.
pub struct Entry {
    register: Arc<Register>,
    name: Name,
    running: Arc<Running>,
}

impl Register {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<Running>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The script has the name from now on.
    pub fn enter(self: &Arc<Register>, name: &Name, running: &Arc<Running>) -> Entry {
        self.lock().insert(name.clone(), Arc::clone(running));
        Entry { register: Arc::clone(self), name: name.clone(), running: Arc::clone(running) }
    }

    pub fn get(&self, name: &Name) -> Option<Arc<Running>> {
        self.lock().get(name).map(Arc::clone)
    }

    /// # Errors
    /// `NoScript`.
    pub fn find(&self, name: &Name) -> Result<Arc<Running>, ServeError> {
        let running = self.lock();
        running.get(name).map(Arc::clone).ok_or_else(|| ServeError::NoScript {
            name: name.to_string(),
            running: running.keys().map(Name::to_string).collect(),
        })
    }

    pub fn all(&self) -> Vec<Arc<Running>> {
        self.lock().values().map(Arc::clone).collect()
    }

    pub fn count(&self) -> usize {
        self.lock().len()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut running = self.register.lock();
        if running.get(&self.name).is_some_and(|present| Arc::ptr_eq(present, &self.running)) {
            running.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_takes_nobody_elses_entry_with_it() {
        let register = Arc::<Register>::default();
        let name: Name = "x".parse().unwrap();
        let (first, second) = (Running::idle(), Running::idle());
        let late = register.enter(&name, &first);
        let entry = register.enter(&name, &second);
        drop(late);
        assert!(Arc::ptr_eq(&register.find(&name).unwrap(), &second));
        drop(entry);
        assert_eq!((register.count(), register.find(&name).err().unwrap().code()), (0, "MH1005"));
    }
}
