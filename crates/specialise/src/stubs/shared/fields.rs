//! Tables in arena memory on their way into a map: field by field into the bytes of a value, so that one field is in registers at a
//! time, however many there are. The tables are then the entry's records.

use super::Record;
use crate::arena;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::shared::map_calls::zero;
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size};
use moonhook_runtime::layout::{FAIL, T_COUNT, T_LIVE, TAG_TABLE};
use moonhook_schema::{Field, Type};
use moonhook_snapshot::TableId;

/// A table that is to become a record of an entry with a key.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub table: TableId,
    /// Where the key is.
    pub key: Word,
    /// Where the outermost table is.
    pub place: Word,
}

impl Context<'_> {
    /// Assigns the table at a place, which is not nil, to a key; gives where that was done.
    pub(super) fn write_record(&mut self, key: &Abs, record: &Record, source: Source) -> Result<Vec<State>> {
        let Source { table, key: key_place, .. } = source;
        let bytes = self.room_for_value(table)?;
        let same = self.put_table(record, source, bytes)?;
        let mut done = Vec::new();
        let assigning = self.take_state();
        self.enter(same)?;
        for arm in self.read_shared(table, key)? {
            self.state = arm.state;
            if let Some(Abs::Entry { base, .. }) = arm.values.first() {
                let base = self.value(*base);
                self.prolong(table, base)?;
            }
            done.push(self.take_state());
        }
        self.state = assigning;
        if !self.state.alive() {
            return Ok(done);
        }
        self.forget_entry(table, record, key_place)?;
        self.assign_bytes(table, key, bytes)?;
        self.become_entries(record, source)?;
        done.push(self.take_state());
        Ok(done)
    }

    /// Writes the table at a place as the record's bytes; gives where it is that very record already. An error where it cannot be
    /// copied.
    pub(super) fn put_table(&mut self, record: &Record, source: Source, to: Address) -> Result<Vec<State>> {
        self.put_part(record, record, source, to)
    }

    /// [`Context::put_table`] for `record` or for one inside it.
    fn put_part(
        &mut self,
        record: &Record,
        part: &Record,
        source: Source,
        to: Address,
    ) -> Result<Vec<State>> {
        let place = self.place_within(record, part, source.place);
        let (mut address, same) = self.copyable(part, source, place)?;
        self.store(to.base, to.disp, Size::B8, 0);
        let mut disp = to.disp + 8;
        for (number, (name, ty, inside)) in part.fields.iter().enumerate() {
            let place = self.field_place(address, name);
            let nil = self.leave_deletion(place);
            let field = Address { disp, ..to };
            match inside {
                None => self.put_fitting(source.table, ty, place, field)?,
                Some(inside) => self.put_inside(record, inside, source, field)?,
            }
            self.note_there(to, number);
            let put = self.take_state();
            self.state = nil;
            zero(self, field, ty.size());
            let zeros = self.take_state();
            self.enter(vec![put, zeros])?;
            // Found anew behind a record, so that the depth has no bearing on the stack either.
            if inside.is_some() {
                let place = self.place_within(record, part, source.place);
                address = table_at(self, place);
            }
            disp += ty.size() as i16;
        }
        self.check_no_more(source.table, part, address, to);
        Ok(same)
    }

    /// The table at a place, of which a record is to be made, and where it is that record already.
    fn copyable(&mut self, record: &Record, source: Source, place: Word) -> Result<(Word, Vec<State>)> {
        let tag = arena::load(self, place);
        let mut others = Vec::new();
        let other = self.compare(CompareOp::Ne, tag, TAG_TABLE);
        self.leave_if(other, &mut others);
        let inside = self.take_state();
        self.enter(others)?;
        self.raise_unfit(source.table, "value", &record.ty(), tag)?;
        self.state = inside;
        let address = table_at(self, place);
        let name =
            Word::Imm(self.image_string(self.snapshot.table_name(source.table).to_string().as_bytes()));
        let args = [address, record.number_word(), source.key, name];
        let found = self.call_routine("entry_source", &args);
        let failed = self.compare(CompareOp::SLt, found, 0);
        self.fail_if(failed, |context| context.give(FAIL));
        let mut same = Vec::new();
        let is_same = self.compare(CompareOp::Ne, found, 0);
        self.leave_if(is_same, &mut same);
        Ok((address, same))
    }

    /// Where the value is that one of a record's parts is made of, if the tables around it are there.
    fn place_within(&mut self, record: &Record, part: &Record, place: Word) -> Word {
        let names = part.path.iter().skip(record.path.len());
        names.fold(place, |place, name| {
            let address = table_at(self, place);
            self.field_place(address, name)
        })
    }

    /// Where the value of a field of a table is.
    fn field_place(&mut self, address: Word, name: &str) -> Word {
        let text = Word::Imm(self.image_string(name.as_bytes()));
        let hash = Word::Imm(moonhook_runtime::text_hash(name.as_bytes()) as i64);
        self.call_routine("table_get_text", &[address, text, hash])
    }

    fn put_fitting(&mut self, table: TableId, ty: &Type, place: Word, to: Address) -> Result<()> {
        match self.fitting(table, ty, place)? {
            Some(value) => self.put_checked(table, to, ty, &value),
            None => Ok(()),
        }
    }

    fn put_inside(&mut self, record: &Record, inside: &Record, source: Source, to: Address) -> Result<()> {
        let same = self.put_part(record, inside, source, to)?;
        let rest = self.take_state();
        self.enter(same)?;
        let name = self.snapshot.table_name(source.table);
        let message = format!("an entry of a shared table cannot be kept in table '{name}'");
        self.fail(Message::new(message));
        self.state = rest;
        Ok(())
    }

    /// Sets the bit of a field that is there in a record's first word.
    fn note_there(&mut self, record: Address, number: usize) {
        if self.state.alive() {
            let there = self.load(record.base, record.disp, Size::B8, false);
            let there = self.binary(BinaryOp::Or, there, 1i64 << number);
            self.store(record.base, record.disp, Size::B8, there);
        }
    }

    /// An error where a table has more fields than were found.
    fn check_no_more(&mut self, table: TableId, record: &Record, address: Word, to: Address) {
        let [count, live] = [T_COUNT, T_LIVE].map(|field| {
            let place = self.add(address, field);
            arena::load(self, place)
        });
        let all = self.add(count, live);
        let there = self.load(to.base, to.disp, Size::B8, false);
        let there = ones(self, there);
        let more = self.compare(CompareOp::Ne, all, there);
        let expected = record.ty();
        let message = format!(
            "bad value for table '{}' ({expected} expected, got other fields)",
            self.snapshot.table_name(table)
        );
        self.fail_if(more, |context| context.fail(Message::new(message)));
    }

    /// The table at a place, and those in its fields, are the entry's records from now on.
    pub(super) fn become_entries(&mut self, record: &Record, source: Source) -> Result<()> {
        for part in record.inner_first() {
            let mut missing = Vec::new();
            let mut place = source.place;
            for name in part.path.iter().skip(record.path.len()) {
                let address = table_at(self, place);
                place = self.field_place(address, name);
                missing.push(self.leave_deletion(place));
            }
            let address = table_at(self, place);
            let failed = self.call_routine("entry_become", &[address, part.number_word(), source.key]);
            let failed = self.compare(CompareOp::SLt, failed, 0);
            self.fail_if(failed, |context| context.give(FAIL));
            missing.push(self.take_state());
            self.enter(missing)?;
        }
        Ok(())
    }
}

/// The table whose value is at a place.
fn table_at(words: &mut impl Words, place: Word) -> Word {
    let payload = words.add(place, 8);
    arena::load(words, payload)
}

/// How many bits of a word are set: summed in pairs, then in fours, then in bytes.
fn ones(words: &mut impl Words, word: Word) -> Word {
    const PAIRS: i64 = 0x5555_5555_5555_5555;
    const FOURS: i64 = 0x3333_3333_3333_3333;
    const BYTES: i64 = 0x0f0f_0f0f_0f0f_0f0f;
    const EACH: i64 = 0x0101_0101_0101_0101;
    let odd = words.shr(word, 1);
    let odd = words.and(odd, PAIRS);
    let pairs = words.sub(word, odd);
    let [low, high] = [pairs, words.shr(pairs, 2)].map(|pairs| words.and(pairs, FOURS));
    let fours = words.add(low, high);
    let high = words.shr(fours, 4);
    let bytes = words.add(fours, high);
    let bytes = words.and(bytes, BYTES);
    let sum = words.binary(BinaryOp::Mul, bytes, EACH);
    words.shr(sum, 56)
}

impl Record {
    /// All records inside it and it itself, each behind those inside.
    fn inner_first(&self) -> Vec<&Record> {
        let inside = self.fields.iter().filter_map(|(.., record)| record.as_ref());
        inside.flat_map(Record::inner_first).chain([self]).collect()
    }

    fn number_word(&self) -> Word {
        Word::Imm(self.number as i64)
    }

    fn ty(&self) -> Type {
        let field =
            |(name, ty, _): &(String, Type, Option<Record>)| Field { name: name.clone(), ty: ty.clone() };
        Type::Record(self.fields.iter().map(field).collect())
    }
}
