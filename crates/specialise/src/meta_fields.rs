//! Fields of records in front of packets (`pkt.meta.class`), as they are read.

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::field_values::arms;
use crate::paths::Arm;
use crate::value::{Abs, Object};
use moonhook_packet::protocols::{MOST_FIELDS, RECORD, meta_record};

/// The record of a packet.
pub const OBJECT: Object = Object::Header(RECORD);

/// A field of the packet's record.
pub fn field(context: &mut Context<'_>, name: &[u8]) -> Result<Vec<Arm>> {
    if context.around.learns() && context.known.notes.note_read(name) {
        context.learned()?;
    }
    match context.known.notes.find(name) {
        Some((number, kinds)) => {
            refuse_too_many(context)?;
            let paths = meta_record::read_field(context, number, kinds)?;
            arms(context, paths)
        }
        None => context.only(Abs::Nil),
    }
}

/// Refuses records that have more fields than there is room for.
pub fn refuse_too_many(context: &mut Context<'_>) -> Result<()> {
    if !context.known.notes.are_too_many() {
        return Ok(());
    }
    if let Some(place) = context.known.notes.place {
        context.code.loc = place;
    }
    context.refuse(LowerErrorKind::LargeNote { most: MOST_FIELDS }, None)
}
