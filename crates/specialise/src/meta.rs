//! Records in front of packets: `pkt.meta = { class = 3 }`, `pkt.meta.class`.

use crate::context::{Context, Result};
use crate::events::Message;
use crate::field_writes::none_to_assign;
use crate::fields::Key;
use crate::value::{Abs, Object, Word};
use moonhook_ir::BinaryOp;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_packet::protocols::meta_record::{self, IS_BOOLEAN, IS_THERE};
use moonhook_packet::protocols::{Kinds, RECORD};
use std::sync::Arc;

pub use crate::meta_fields::{OBJECT, refuse_too_many};

/// The error that something else is assigned.
pub const UNFIT: &str = "bad value for field 'meta' (integer or table of integers and booleans expected)";

/// What to do about it.
const HELP: &str =
    "assign an integer, or a table whose keys are names and whose values are integers or booleans";

/// Whether the value is a table.
pub fn is_table(value: &Abs) -> bool {
    matches!(value, Abs::Object(Object::Table(_) | Object::Made(_) | Object::Stored(_)) | Abs::Entry { .. })
}

/// Assigns a copy of a table.
pub fn assign(context: &mut Context<'_>, table: &Abs) -> Result<()> {
    check_keys(context, table)?;
    let mut fields = Vec::new();
    for name in context.record_names(table)? {
        if !context.state.alive() {
            return Ok(());
        }
        let value = context.record_field(table, &name)?;
        let Some(value) = context.join(value)?.and_then(|values| values.into_iter().next()) else {
            return Ok(());
        };
        let words = words_of(context, &name, &value, UNFIT)?;
        fields.push((name, words));
    }
    if context.known.notes.note_used() {
        context.learned()?;
    }
    refuse_too_many(context)?;
    let mut bits = Word::Imm(0);
    let mut words = vec![Word::Imm(0); context.known.notes.fields().count()];
    for (name, [own, word]) in fields {
        if let Some((number, _)) = context.known.notes.find(&name) {
            let own = context.shl(own, 2 * number as i64);
            bits = context.binary(BinaryOp::Or, bits, own);
            words[number] = word;
        }
    }
    put(context, bits, &words)
}

/// Gives the packet a record: the bits of its fields, and the fields.
pub fn put(context: &mut Context<'_>, bits: Word, words: &[Word]) -> Result<()> {
    if !context.state.alive() {
        return Ok(());
    }
    let mut refused = Default::default();
    meta_record::write(context, bits, words, &mut refused);
    context.forget_keys();
    context.fail_where_refused(refused, RECORD)
}

/// Assigns a field of the packet's record.
pub fn assign_field(context: &mut Context<'_>, name: &[u8], value: &Abs) -> Result<()> {
    let text = String::from_utf8_lossy(name).into_owned();
    if !can_be_assigned(context) {
        let help = "`pkt.meta` is assigned at `xdp`";
        context.certain_error(none_to_assign(&OBJECT, &text), Some(&text), help);
        return Ok(());
    }
    let name: Arc<[u8]> = name.into();
    let words = words_of(context, &name, value, &unfit_field(&text))?;
    put_field(context, &name, words)
}

/// Gives a field of the packet's record its bits and its word.
pub fn put_field(context: &mut Context<'_>, name: &[u8], words: [Word; 2]) -> Result<()> {
    refuse_too_many(context)?;
    if !context.state.alive() {
        return Ok(());
    }
    let number = context.known.notes.find(name).map(|(number, _)| number);
    let mut refused = Default::default();
    meta_record::write_field(context, number, words, &mut refused);
    context.forget_keys();
    context.fail_where_refused(refused, &String::from_utf8_lossy(name))
}

/// Whether records are assigned where the code runs.
pub fn can_be_assigned(context: &Context<'_>) -> bool {
    context.target.hook.context.note.is_some_and(|note| note.adjust.is_some())
}

/// The error that a value is none for a field of a record.
pub fn unfit_field(name: &str) -> String {
    format!("bad value for field '{name}' (integer or boolean expected)")
}

/// A field's bits, and what it is; an error with that message where it is neither an integer nor a boolean nor nil.
fn words_of(context: &mut Context<'_>, name: &Arc<[u8]>, value: &Abs, unfit: &str) -> Result<[Word; 2]> {
    let mut kinds = Kinds::default();
    let found = context.dispatch(value, &mut |context, value| {
        let (bits, word) = match value {
            Abs::Nil => (0, Word::Imm(0)),
            Abs::Int(word) => {
                kinds.integer = true;
                (IS_THERE, word)
            }
            Abs::Bool(word) => {
                kinds.boolean = true;
                (IS_THERE | IS_BOOLEAN, word)
            }
            _ => {
                context.certain_error(unfit, Some(&String::from_utf8_lossy(name)), HELP);
                (0, Word::Imm(0))
            }
        };
        Ok(vec![Abs::int(bits), Abs::Int(word)])
    })?;
    if kinds != Kinds::default() && context.known.notes.note_assigned(name, kinds) {
        context.learned()?;
    }
    Ok(match found.as_slice() {
        [Abs::Int(bits), Abs::Int(word)] => [*bits, *word],
        _ => [Word::Imm(0); 2],
    })
}

/// An error where a table has keys that are no names.
fn check_keys(context: &mut Context<'_>, table: &Abs) -> Result<()> {
    let help = "copy what is needed into a table that is made where it is assigned";
    match table {
        Abs::Object(Object::Made(made)) => {
            let keys = context.state.made_keys(*made).into_iter();
            for key in keys.filter(|key| !matches!(key, Key::Text(_))) {
                let value = context.state.made_field(*made, &key);
                context.dispatch(&value, &mut |context, value| {
                    if value != Abs::Nil {
                        context.certain_error(UNFIT, None, HELP);
                    }
                    Ok(vec![])
                })?;
            }
        }
        Abs::Object(Object::Table(id)) if !context.known.shared.is_shared(context.snapshot, *id) => {
            let known = context.snapshot.table(*id);
            let has_others =
                known.entries.iter().any(|(key, _)| !matches!(key, moonhook_snapshot::Value::String(_)));
            if has_others || !known.array.is_empty() {
                context.certain_error(UNFIT, None, HELP);
            }
        }
        _ => {
            return context.unsupported(
                "a table that outlives packets, or has computed keys, as `pkt.meta`",
                help,
                None,
            );
        }
    }
    Ok(())
}

impl Context<'_> {
    /// Raises the errors that a note was not written, about the field of that name.
    pub fn fail_where_refused(
        &mut self,
        refused: moonhook_packet::Refused<crate::state::State>,
        name: &str,
    ) -> Result<()> {
        self.fail_in(refused.absent, |context| {
            context.fail(Message::new(format!("field '{name}' is not in this packet")));
            Ok(())
        })?;
        self.fail_in(refused.room, |context| {
            context.fail(Message::new(format!("no room for field '{name}' in front of the packet")));
            Ok(())
        })
    }
}
