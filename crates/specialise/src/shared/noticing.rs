//! What handlers' values tell of the types of a shared table.

use super::seen::{Room, Seen, SeenType};
use crate::context::{Context, Result};
use crate::value::{Abs, Object, Str, Variant};
use moonhook_snapshot::TableId;

impl Context<'_> {
    /// What kinds of keys or values a value adds to the table.
    pub(super) fn seen(&mut self, table: TableId, value: &Abs) -> Result<Seen> {
        self.seen_within(table, value, &mut Room::default())
    }

    /// As [`Context::seen`], of a value in another.
    pub(super) fn seen_within(&mut self, table: TableId, value: &Abs, room: &mut Room) -> Result<Seen> {
        Ok(match value {
            Abs::Nil => Seen::default(),
            Abs::Bool(_) => Seen::kind(SeenType::Boolean),
            Abs::Int(_) => Seen::kind(SeenType::Integer),
            Abs::Float(_) => Seen::kind(SeenType::Float),
            Abs::Str(Str::Const(text)) => Seen::constant(text),
            Abs::Str(Str::Slice { .. } | Str::Cased { .. }) => Seen::kind(SeenType::Text),
            Abs::Str(Str::Ipv4(_)) => Seen::kind(SeenType::Ipv4),
            Abs::Str(Str::Ipv6(..)) => Seen::kind(SeenType::Ipv6),
            Abs::Str(Str::Mac(_)) => Seen::kind(SeenType::Mac),
            Abs::Object(Object::Text(text)) => Seen::constant(text),
            Abs::Union(union) => {
                let mut seen = Seen::default();
                for variant in union.variants.clone() {
                    let value = match variant {
                        Variant::Object(id) => self.known.objects.value(id),
                        variant => variant.value(union.payload).unwrap_or(Abs::Nil),
                    };
                    seen.add(&self.seen_within(table, &value, room)?);
                }
                seen
            }
            Abs::Object(Object::Made(made)) => self.seen_of_made(table, *made, room)?,
            Abs::Object(_) | Abs::Entry { .. } | Abs::Structure { .. } => {
                return self.refuse_kept(table, value);
            }
        })
    }
}
