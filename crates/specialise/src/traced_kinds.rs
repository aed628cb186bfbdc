//! Of what kind values are that events and structures have under a name, whichever of them it is.

use crate::shared::seen::Seen;
use crate::structures::Structures;
use crate::trace;
use crate::value::{Abs, Space, Str, Word};
use moonhook_btf::Content;
use moonhook_snapshot::Snapshot;

/// What is read under that name; a number is that of an element.
pub fn kinds(snapshot: &Snapshot, structures: &Structures, name: &str) -> Seen {
    let mut seen = Seen::default();
    let Some(types) = snapshot.traced.types() else { return seen };
    let events = snapshot.points().iter().filter_map(|point| snapshot.traced.event(point).cloned());
    let arguments = events.filter_map(|event| Some(event.argument(name)?.content));
    let fields = structures.all().filter_map(|(_, id)| Some(types.field(id, name)?.content));
    let elements = structures.arrays(types).into_iter().filter_map(|(_, id)| types.element(id));
    let elements = elements.filter(|_| name.parse::<u32>().is_ok());
    let current = trace::current_content(name).into_iter();
    for value in arguments.chain(fields).chain(elements).chain(current).filter_map(example) {
        seen.add(&Seen::of_field(&value));
    }
    seen
}

/// A value of that kind; none of structures, which are no keys and no entries.
fn example(content: Content) -> Option<Abs> {
    match content {
        Content::Number { .. } | Content::Address => Some(Abs::int(0)),
        Content::Flag => Some(Abs::TRUE),
        Content::Text | Content::Characters(_) | Content::Bytes(_) => {
            Some(Abs::Str(Str::Slice { space: Space::Scratch, start: Word::Imm(0), length: Word::Imm(0) }))
        }
        Content::Structure(_) | Content::Part(_) | Content::Nothing => None,
    }
}
