//! What a place in the kernel's code hands to a program.

use crate::content::Content;
use std::sync::Arc;

/// What happens at a place, as a program gets to see it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Event {
    /// What has the arguments, where it is a structure of the kernel's: its name.
    pub structure: Option<Arc<str>>,
    pub arguments: Vec<Argument>,
}

/// Something that is handed over.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    pub name: Arc<str>,
    pub content: Content,
    pub place: Place,
}

/// Where an argument is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A word of 64 bits of the context, from this byte on, whose low bytes it is.
    Word(u32),
    /// A field of the record that the context is, from this byte on. `is_described`: the event's structure has it under its name.
    Record { offset: u32, is_described: bool },
    /// A text in the record, and a word of 32 bits from this byte on that says where: the low half has the offset, counted from
    /// the record's beginning, or, where `is_relative`, from behind the word; the high half has the length with the NUL
    /// (`__data_loc`, `__rel_loc`, include/trace/stages).
    Located { offset: u32, is_relative: bool, is_described: bool },
}

impl Event {
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| *argument.name == *name)
    }
}
