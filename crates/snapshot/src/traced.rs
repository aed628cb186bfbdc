//! What the kernel tells handlers of tracepoints and functions.

use moonhook_btf::{Event, Types};
use moonhook_hook::Point;
use std::sync::Arc;

/// What was asked of the kernel for a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traced {
    /// The kernel's types; `None` where no handler is one of these.
    types: Option<Arc<Types>>,
    events: Vec<(Point, Arc<Event>)>,
}

impl Traced {
    pub fn add(&mut self, types: Arc<Types>, point: Point, event: Event) {
        self.types = Some(types);
        self.events.push((point, Arc::new(event)));
    }

    pub fn types(&self) -> Option<&Arc<Types>> {
        self.types.as_ref()
    }

    /// What a tracepoint or function hands to programs.
    pub fn event(&self, point: &Point) -> Option<&Arc<Event>> {
        self.events.iter().find(|(known, _)| known == point).map(|(_, event)| event)
    }
}
