//! The registered handlers, and the programs that they are parts of: one for all that are attached to the same point.

use crate::{Closure, Handler, Snapshot};
use moonhook_hook::{Hook, Place, Point, XDP};
use std::collections::HashMap;
use std::ops::Deref;

/// Handlers in the order in which they were registered, by which they are numbered; and by program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handlers {
    all: Vec<Handler>,
    /// What the programs are attached to, in the order in which the first handler of each was registered.
    points: Vec<Point>,
    /// By program, the numbers of its handlers.
    of_programs: Vec<Vec<usize>>,
    programs: HashMap<Point, usize>,
}

impl Handlers {
    pub fn push(&mut self, handler: Handler) {
        let next = self.points.len();
        let program = *self.programs.entry(handler.point.clone()).or_insert(next);
        if program == next {
            self.points.push(handler.point.clone());
            self.of_programs.push(Vec::new());
        }
        self.of_programs[program].push(self.all.len());
        self.all.push(handler);
    }
}

impl Deref for Handlers {
    type Target = [Handler];

    fn deref(&self) -> &[Handler] {
        &self.all
    }
}

impl FromIterator<Handler> for Handlers {
    fn from_iter<T: IntoIterator<Item = Handler>>(handlers: T) -> Handlers {
        let mut all = Handlers::default();
        handlers.into_iter().for_each(|handler| all.push(handler));
        all
    }
}

/// What a script without handlers has a program for.
static AT_INTERFACE: [Point; 1] = [Point::at(&XDP, Place::Interface)];

impl Snapshot {
    /// What handlers are attached to, in the order in which the first handler of each was registered: a program each. One at least.
    pub fn points(&self) -> &[Point] {
        if self.handlers.points.is_empty() { &AT_INTERFACE } else { &self.handlers.points }
    }

    /// The hook of each program.
    pub fn hooks(&self) -> impl Iterator<Item = &'static Hook> {
        self.points().iter().map(|point| point.hook)
    }

    /// The handlers of the program with that number, in order, each with its number among all.
    pub fn handlers_of(&self, program: usize) -> impl Iterator<Item = (usize, &Handler)> {
        let numbers = self.handlers.of_programs.get(program).into_iter().flatten();
        numbers.map(|number| (*number, &self.handlers[*number]))
    }

    /// The function that is the first handler of the program with that number.
    pub fn first_closure_of(&self, program: usize) -> Option<&Closure> {
        self.handlers_of(program).next().map(|(_, handler)| self.closure(handler.closure))
    }
}
