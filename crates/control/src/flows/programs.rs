//! The programs that functions of flows are, by number and by what they were made of.

use super::MadeFunction;
use moonhook_diagnostic::Diagnostic;
use moonhook_flows::{DIRECT, GRACE};
use moonhook_load::FlowText;
use std::any::Any;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

/// What a function was made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    Text(FlowText),
    /// A function of a Lua state: which state it is, and the function's address there.
    Function {
        state: u64,
        address: usize,
    },
}

/// The functions of one table.
#[derive(Default)]
pub struct Programs {
    known: BTreeMap<u32, Program>,
    numbers: HashMap<Content, u32>,
    /// Functions that no flow has any more, which a program may have found before.
    unused: VecDeque<(Instant, u32)>,
    /// The greatest number that was given, and numbers that are free again.
    last: u32,
    free: VecDeque<u32>,
}

struct Program {
    content: Content,
    about: About,
    /// How many flows have it.
    count: u64,
}

/// What a function was compiled to.
pub struct About {
    form: &'static str,
    warnings: Vec<Diagnostic>,
    _held: Box<dyn Any + Send>,
}

impl From<MadeFunction> for About {
    fn from(made: MadeFunction) -> About {
        About { form: made.form, warnings: made.warnings, _held: made.held }
    }
}

impl Programs {
    /// How many functions there are that flows have.
    pub fn used(&self) -> usize {
        self.known.values().filter(|program| program.count > 0).count()
    }

    /// Whether there are none, not even such that flows had a moment ago.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub fn find(&self, content: &Content) -> Option<u32> {
        self.numbers.get(content).copied()
    }

    /// A number that no function has, from 1; `None` if all `most` are used. Low numbers are found sooner; of the others, those that were free for
    /// longest come last, for records of the functions that had them may still be read.
    pub fn reserve(&mut self, most: u32) -> Option<u32> {
        if let Some(at) = self.free.iter().position(|number| *number <= DIRECT) {
            return self.free.remove(at);
        }
        if self.last + 1 < most {
            self.last += 1;
            return Some(self.last);
        }
        self.free.pop_front()
    }

    /// Whether no function has that number, nor is about to get it.
    pub fn is_free(&self, number: u32) -> bool {
        self.free.contains(&number)
    }

    /// Gives back a number that no function got.
    pub fn give_back(&mut self, number: u32) {
        self.free.push_back(number);
    }

    pub fn add(&mut self, number: u32, content: Content, about: About) {
        self.numbers.insert(content.clone(), number);
        self.known.insert(number, Program { content, about, count: 0 });
        self.unused.push_back((Instant::now(), number));
    }

    /// One more flow has the function.
    pub fn hold(&mut self, number: u32) {
        if let Some(program) = self.known.get_mut(&number) {
            program.count += 1;
        }
    }

    /// One flow less has it.
    pub fn release(&mut self, number: u32) {
        if let Some(program) = self.known.get_mut(&number) {
            program.count = program.count.saturating_sub(1);
            if program.count == 0 {
                self.unused.push_back((Instant::now(), number));
            }
        }
    }

    /// Takes out the functions that no flow has, and that no program can be about to call.
    pub fn take_unused(&mut self) -> Vec<u32> {
        let mut gone = Vec::new();
        while let Some((since, number)) = self.unused.front().copied() {
            if since.elapsed() < GRACE {
                break;
            }
            self.unused.pop_front();
            // Another flow may have it by now, or have had it in the meantime.
            let is_unused = self.known.get(&number).is_some_and(|program| program.count == 0);
            if is_unused && !self.unused.iter().any(|(_, other)| *other == number) {
                if let Some(Program { content, .. }) = self.known.remove(&number)
                    && self.find(&content) == Some(number)
                {
                    self.numbers.remove(&content);
                }
                self.free.push_back(number);
                gone.push(number);
            }
        }
        gone
    }

    /// All functions that flows have, which are to be made once more. Those that no flow has are found no more: who gives a flow the same gets it
    /// as it is made now.
    pub fn take_to_remake(&mut self) -> Vec<(u32, Content)> {
        let Programs { known, numbers, .. } = self;
        numbers.retain(|_, number| known.get(number).is_some_and(|program| program.count > 0));
        let used = self.known.iter().filter(|(_, program)| program.count > 0);
        used.map(|(number, program)| (*number, program.content.clone())).collect()
    }

    /// Other programs take the place of a function's.
    pub fn replace(&mut self, number: u32, about: About) {
        if let Some(program) = self.known.get_mut(&number) {
            program.about = about;
        }
    }

    /// What a function was made of and compiled to.
    pub fn about(&self, number: u32) -> (Option<Content>, &'static str) {
        match self.known.get(&number) {
            Some(program) => (Some(program.content.clone()), program.about.form),
            None => (None, ""),
        }
    }

    /// What writers should know of all functions.
    pub fn all_warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.known.values().flat_map(|program| &program.about.warnings)
    }

    /// What its writer should know of a function.
    pub fn warnings(&self, number: u32) -> Vec<Diagnostic> {
        self.known.get(&number).map(|program| program.about.warnings.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    fn text(text: &str) -> Content {
        Content::Text(FlowText { text: text.into(), name: "flow 1".into() })
    }

    #[test]
    fn functions_go_when_no_flow_has_them_for_a_while() {
        let mut programs = Programs::default();
        let (a, b) = (programs.reserve(4).unwrap(), programs.reserve(4).unwrap());
        let made = || About { form: "expanded code", warnings: Vec::new(), _held: Box::new(()) };
        programs.add(a, text("a"), made());
        programs.add(b, text("b"), made());
        [a, a, b].into_iter().for_each(|number| programs.hold(number));
        programs.release(a);
        programs.release(b);
        assert!(programs.take_unused().is_empty());
        assert_eq!((programs.find(&text("a")), programs.find(&text("b"))), (Some(a), Some(b)));
        sleep(GRACE);
        assert_eq!(programs.take_unused(), [b]);
        assert_eq!((programs.find(&text("b")), programs.used()), (None, 1));
        programs.release(a);
        programs.hold(a);
        sleep(GRACE);
        assert!(programs.take_unused().is_empty(), "a flow has it again");
    }

    #[test]
    fn functions_that_no_flow_has_are_not_made_once_more_and_not_found_either() {
        let mut programs = Programs::default();
        let made = || About { form: "expanded code", warnings: Vec::new(), _held: Box::new(()) };
        let (a, b) = (programs.reserve(9).unwrap(), programs.reserve(9).unwrap());
        programs.add(a, text("a"), made());
        programs.add(b, text("b"), made());
        [a, b].into_iter().for_each(|number| programs.hold(number));
        programs.release(b);
        assert_eq!(programs.take_to_remake(), [(a, text("a"))]);
        assert_eq!((programs.find(&text("a")), programs.find(&text("b"))), (Some(a), None));
        // The same text once more is another function; the one before goes alone.
        let c = programs.reserve(9).unwrap();
        programs.add(c, text("b"), made());
        programs.hold(c);
        sleep(GRACE);
        assert_eq!((programs.take_unused(), programs.find(&text("b"))), (vec![b], Some(c)));
    }

    #[test]
    fn numbers_are_used_again() {
        let mut programs = Programs::default();
        assert_eq!([4; 4].map(|most| programs.reserve(most)), [Some(1), Some(2), Some(3), None]);
        programs.give_back(2);
        assert_eq!((programs.reserve(4), programs.reserve(4)), (Some(2), None));
    }
}
