//! Records in front of packets, assigned by general code.

use crate::arena;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::field_writes::none_to_assign;
use crate::meta;
use crate::state::State;
use crate::value::Word;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp};
use moonhook_runtime::layout::{FLAG_SHARED, T_FLAGS, TAG_INT, TAG_NIL, TAG_TABLE};

/// The error that a table is a map, or in one.
const SHARED: &str = "a shared table cannot be put in front of a packet: copy its fields";

/// A value in memory as a field of a record.
struct Field {
    /// 1 unless it is nil.
    there: Word,
    /// [`meta_record`](moonhook_packet::protocols::meta_record)'s bits.
    bits: Word,
    word: Word,
}

impl Context<'_> {
    /// Gives the packet a copy of the table at a place; goes on where there is none.
    pub(super) fn assign_note_table(&mut self, place: Word) -> Result<()> {
        meta::refuse_too_many(self)?;
        let tag = arena::load(self, place);
        let is_table = self.compare(CompareOp::Eq, tag, TAG_TABLE);
        let (table, other) = self.split(is_table);
        self.state = table;
        let address = self.add(place, 8);
        let address = arena::load(self, address);
        let flags = self.add(address, T_FLAGS);
        let flags = arena::load(self, flags);
        let is_shared = self.and(flags, FLAG_SHARED);
        let is_shared = self.compare(CompareOp::Ne, is_shared, 0);
        self.fail_if(is_shared, |context| context.fail(Message::new(SHARED)));
        let mut unfit = Vec::new();
        let (mut bits, mut there) = (Word::Imm(0), Word::Imm(0));
        let mut words = vec![Word::Imm(0); self.known.notes.fields().count()];
        for name in self.known.notes.assigned().cloned().collect::<Vec<_>>() {
            let text = Word::Imm(self.image_string(&name));
            let hash = Word::Imm(moonhook_runtime::text_hash(&name) as i64);
            let place = self.call_routine("table_get_text", &[address, text, hash]);
            let field = self.field_of_note(place, &mut unfit);
            there = self.add(there, field.there);
            if let Some((number, _)) = self.known.notes.find(&name) {
                let own = self.shl(field.bits, 2 * number as i64);
                bits = self.binary(BinaryOp::Or, bits, own);
                words[number] = field.word;
            }
        }
        let all = self.call_routine_without_state("table_filled", &[address]);
        let has_more = self.compare(CompareOp::Ne, all, there);
        self.leave_if(has_more, &mut unfit);
        meta::put(self, bits, &words)?;
        self.give(0);
        self.fail_in(unfit, |context| {
            context.fail(Message::new(meta::UNFIT));
            Ok(())
        })?;
        self.state = other;
        Ok(())
    }

    /// Assigns the value at a place to a field of the packet's record, in the current state, which ends.
    pub(super) fn assign_field_of_note(&mut self, name: &[u8], place: Word) -> Result<()> {
        let text = String::from_utf8_lossy(name).into_owned();
        if !meta::can_be_assigned(self) {
            self.fail(Message::new(none_to_assign(&meta::OBJECT, &text)));
            return Ok(());
        }
        let mut unfit = Vec::new();
        let Field { bits, word, .. } = self.field_of_note(place, &mut unfit);
        meta::put_field(self, name, [bits, word])?;
        self.give(0);
        self.fail_in(unfit, |context| {
            context.fail(Message::new(meta::unfit_field(&text)));
            Ok(())
        })
    }

    /// The value at a place, found without a branch for each kind; leaves, to `unfit`, where it is neither an integer nor a boolean nor nil.
    fn field_of_note(&mut self, place: Word, unfit: &mut Vec<State>) -> Field {
        // The tags are, from 0 on: nil, false, true, integer.
        const { assert!(TAG_NIL == 0 && TAG_INT == 3) };
        let tag = arena::load(self, place);
        let is_other = self.compare(CompareOp::UGt, tag, TAG_INT);
        self.leave_if(is_other, unfit);
        let payload = self.add(place, 8);
        let payload = arena::load(self, payload);
        let there = self.add(tag, 3);
        let there = self.shr(there, 2);
        let is_boolean = self.add(tag, 1);
        let is_boolean = self.shr(is_boolean, 1);
        let is_boolean = self.and(is_boolean, 1);
        let is_integer = self.sub(there, is_boolean);
        let integer = self.sub(0, is_integer);
        let integer = self.and(payload, integer);
        let flag = self.shr(tag, 1);
        let flag = self.and(flag, is_boolean);
        let word = self.binary(BinaryOp::Or, integer, flag);
        let boolean = self.shl(is_boolean, 1);
        let bits = self.binary(BinaryOp::Or, there, boolean);
        Field { there, bits, word }
    }
}
