//! What scripts name as targets of packets, as far as it is known before packets arrive: groups of interfaces and CPUs' queues.

use crate::error::LowerErrorKind;
use moonhook_ir::Loc;

/// An interface of a group, as scripts name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Interface {
    Name(Vec<u8>),
    Number(u32),
}

/// A group of interfaces, and the line that names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub interfaces: Vec<Interface>,
    pub loc: Loc,
}

/// What general code knows before packets arrive of where they may go.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Targets {
    pub groups: Vec<Group>,
    /// Lengths of queues.
    pub queues: Vec<u32>,
    /// The first that is made of the packet, and where.
    pub unknown: Option<(LowerErrorKind, Loc)>,
}

impl Interface {
    /// Numbers of interfaces are positive, and have 31 bits.
    pub fn of_number(number: i64) -> Option<Interface> {
        i32::try_from(number).ok().filter(|number| *number > 0).map(|number| Interface::Number(number as u32))
    }
}

impl Group {
    /// A text that no other group has: of names the length and the name, of numbers a sign and the number (`prelude/redirect.lua`).
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for interface in &self.interfaces {
            match interface {
                Interface::Name(name) => {
                    text.extend(format!("{}:", name.len()).bytes());
                    text.extend(name);
                }
                Interface::Number(number) => text.extend(format!("#{number}:").bytes()),
            }
        }
        text
    }
}
