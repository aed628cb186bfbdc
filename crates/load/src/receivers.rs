//! Queues whose frames scripts take by `xsk.receive`.

use crate::LoadError;
use crate::locate::locate;
use crate::registry::Registration;
use mlua::Function;
use moonhook_hook::XDP;
use moonhook_snapshot::Source;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The functions by their queues, of which each has the last one. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Receivers(Rc<RefCell<BTreeMap<u32, Function>>>);

impl Receivers {
    pub fn add(&self, queue: u32, function: &Function) {
        self.0.borrow_mut().insert(queue, function.clone());
    }

    pub fn has(&self, queue: u32) -> bool {
        self.0.borrow().contains_key(&queue)
    }

    pub fn queues(&self) -> Vec<u32> {
        self.0.borrow().keys().copied().collect()
    }

    /// Whether a handler can send frames to the queues, if there are any.
    ///
    /// # Errors
    /// `NoSender`, at the function of the first queue.
    pub fn check(&self, registered: &[Registration], sources: &[Source]) -> Result<(), LoadError> {
        let receivers = self.0.borrow();
        let Some((queue, function)) = receivers.first_key_value() else { return Ok(()) };
        if registered.iter().any(|registration| registration.point.hook == &XDP) {
            return Ok(());
        }
        let info = function.info();
        let file = info.source.as_deref().and_then(|source| source.strip_prefix('@')).map(str::to_owned);
        let line = info.line_defined.and_then(|line| u32::try_from(line).ok());
        let failure = locate("", sources, file.zip(line));
        Err(LoadError::NoSender { queue: *queue, place: failure.place.map(Box::new) })
    }
}
