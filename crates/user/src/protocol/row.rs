//! What a protocol is: a row of [`super::PROTOCOLS`].

use super::assign::Assignment;
use super::frame::Frame;
use super::value::Value;

/// A protocol as a member of the packet: `pkt.NAME`.
pub struct Protocol {
    pub name: &'static str,
    pub view: View,
}

/// What `pkt.NAME` evaluates to.
pub enum View {
    /// A header object with these fields, where `present` holds for the frame; else nil.
    Header { present: fn(Frame<'_>) -> bool, fields: &'static [Field], assignments: &'static [Assignment] },
    /// A value by itself.
    Plain(fn(Frame<'_>) -> Option<Value>),
}

/// A member of a header object. `read` gives `None`, Lua's nil, where the frame has no such value.
pub struct Field {
    pub name: &'static str,
    pub read: fn(Frame<'_>) -> Option<Value>,
}

impl Protocol {
    /// The fields of the header object; none for a plain value.
    pub fn fields(&self) -> &'static [Field] {
        match self.view {
            View::Header { fields, .. } => fields,
            View::Plain(_) => &[],
        }
    }

    /// How a field is assigned, if it can be.
    pub fn assignment(&self, name: &[u8]) -> Option<&'static Assignment> {
        match self.view {
            View::Header { assignments, .. } => {
                assignments.iter().find(|field| field.name.as_bytes() == name)
            }
            View::Plain(_) => None,
        }
    }

    pub fn field(&self, name: &[u8]) -> Option<&'static Field> {
        self.fields().iter().find(|field| field.name.as_bytes() == name)
    }
}
