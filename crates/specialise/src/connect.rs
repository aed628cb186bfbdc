//! Where the forms of what meets are known: each path's variables are encoded into words, the words that differ become parameters of a
//! block, and what is known of them holds behind it as well.

use crate::context::Context;
use crate::looked::LookedUp;
use crate::paths::{Arm, Form, Variable, read_variable, write_variable};
use crate::shared::{Additions, EntryOf, Met};
use crate::state::{Facts, Slot, State};
use crate::value::{Abs, Variant, Word};
use crate::variables::MetSum;
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Range, Words};

/// What meets: variables of the state, and values beside it, each with its form.
pub struct Layout<'f> {
    variables: &'f [Variable],
    forms: &'f [Form],
    /// How many words each form has. To count them again, all its variants would be looked at.
    counts: Vec<usize>,
}

/// The words of a value, by their columns.
type Columns = std::ops::Range<usize>;

impl<'f> Layout<'f> {
    /// The forms are those of the variables, and then of the values beside the state.
    pub fn new(variables: &'f [Variable], forms: &'f [Form]) -> Layout<'f> {
        Layout { variables, forms, counts: forms.iter().map(Form::words).collect() }
    }

    /// Each form with its columns.
    fn columns(&self) -> impl Iterator<Item = (&'f Form, Columns)> {
        let columns = self.counts.iter().scan(0, |at, count| {
            let start = *at;
            *at += count;
            Some(start..*at)
        });
        self.forms.iter().zip(columns)
    }

    /// Which words are tags of what may be nil, and which the other words of the same value.
    fn tags(&self) -> Vec<(usize, Columns)> {
        let may_be_nil =
            |form: &Form| matches!(form, Form::Union(variants) if variants.contains(&Variant::Nil));
        let unions = self.columns().filter(|(form, _)| may_be_nil(form));
        unions.map(|(_, columns)| (columns.start, columns.start + 1..columns.end)).collect()
    }

    /// Writes what meets into the state behind the join; gives the values beside it.
    fn decode(&self, state: &mut State, merged: &[Word]) -> Vec<Abs> {
        let mut values = Vec::new();
        for (index, (form, columns)) in self.columns().enumerate() {
            let value = form.value(&merged[columns]);
            match self.variables.get(index) {
                Some(variable) => write_variable(state, *variable, value),
                None => values.push(value),
            }
        }
        values
    }
}

/// Words that meet.
struct Meeting {
    /// Where they meet.
    block: ir::Block,
    /// The words on each path.
    rows: Vec<Vec<Word>>,
    /// What the words of each column are behind the join.
    merged: Vec<Word>,
    /// The columns that are parameters of the block.
    params: Vec<usize>,
    /// The parameters behind those, which are no part of the state: the word on each path, and the parameter.
    more: Vec<(Vec<Word>, Word)>,
}

impl Meeting {
    fn new(block: ir::Block, rows: Vec<Vec<Word>>) -> Meeting {
        Meeting { block, rows, merged: Vec::new(), params: Vec::new(), more: Vec::new() }
    }

    fn width(&self) -> usize {
        self.rows[0].len()
    }

    fn column(&self, column: usize) -> impl Iterator<Item = Word> {
        self.rows.iter().map(move |row| row[column])
    }

    /// What the first column is that has these words, of those that are merged.
    fn known(&self, words: impl Fn(usize) -> Word) -> Option<Word> {
        let same = |column: &usize| self.column(*column).enumerate().all(|(path, word)| word == words(path));
        (0..self.merged.len()).find(same).map(|column| self.merged[column])
    }

    /// Makes the next column a parameter.
    fn add_param(&mut self, coder: &mut impl Words) {
        let column = self.merged.len();
        let range = self.column(column).map(|word| coder.range(word)).reduce(Range::join);
        let param = coder.code_mut().function.add_param(self.block);
        coder.set_range(param, range.unwrap_or(Range::FULL));
        self.merged.push(Word::Value(param));
        self.params.push(column);
    }

    /// What words that are no part of the state become.
    fn merge(&mut self, coder: &mut impl Words, words: &[Word]) -> Word {
        if words.iter().all(|word| *word == words[0]) {
            return words[0];
        }
        if let Some(known) = self.known(|path| words[path]) {
            return known;
        }
        if let Some((_, known)) = self.more.iter().find(|(known, _)| known == words) {
            return *known;
        }
        let param = coder.code_mut().function.add_param(self.block);
        coder.set_range(param, Range::FULL);
        self.more.push((words.to_vec(), param.into()));
        param.into()
    }

    /// What a path passes to the block.
    fn arguments(&self, path: usize) -> Vec<Word> {
        let own = self.params.iter().map(|column| self.rows[path][*column]);
        own.chain(self.more.iter().map(|(words, _)| words[path])).collect()
    }

    /// Takes from the verifier what it knows of tags, and of where strings are. These are other constants on each path to
    /// the join, and once they decide a branch or become part of an address the verifier would walk the code that follows
    /// for each combination of them. Numbers are left alone: their bounds prove accesses. Addresses of entries cannot be hidden; they
    /// tell themselves whether they are nil.
    fn hide_texts(&mut self, coder: &mut impl Words, layout: &Layout<'_>) {
        let has_text =
            |form: &Form| matches!(form, Form::Union(_) | Form::One(Variant::Slice(_) | Variant::Cased(..)));
        let texts = layout.columns().filter(|(form, _)| has_text(form) && form.address().is_none());
        let hidden: Vec<usize> =
            texts.flat_map(|(_, columns)| columns).filter(|column| self.params.contains(column)).collect();
        let words: Vec<Word> = hidden.iter().map(|column| self.merged[*column]).collect();
        for (column, word) in hidden.into_iter().zip(coder.launder(&words)) {
            self.merged[column] = word;
        }
    }
}

/// What is known of the columns that become parameters, of entries of shared tables.
#[derive(Default)]
struct Origins {
    roots: Vec<(usize, ir::Value)>,
    entries: Vec<(usize, EntryOf)>,
    /// For tags: the marker of what is not there where they say nil.
    nils: Vec<(usize, ir::Value)>,
}

impl Origins {
    fn find(&mut self, additions: &Additions, column: usize, is_tag: bool, words: &[(Word, &Facts)]) {
        self.roots.extend(additions.root_of_join(words).map(|root| (column, root)));
        self.entries.extend(additions.entry_of_join(words).map(|entry| (column, entry)));
        if is_tag {
            let nil = additions.nil_of_join(Variant::Nil.tag(), words);
            self.nils.extend(nil.map(|marker| (column, marker)));
        }
    }

    /// Notes it of what the columns have become.
    fn note(self, additions: &mut Additions, merged: &[Word]) {
        for (column, marker) in self.nils {
            additions.set_nil(merged[column], Variant::Nil.tag(), marker);
        }
        self.roots.into_iter().for_each(|(column, root)| additions.set_root(merged[column], root));
        self.entries.into_iter().for_each(|(column, entry)| additions.set_entry(merged[column], entry));
    }
}

impl Context<'_> {
    /// Connects the arms to a block where they meet, which becomes the current one, with the state that they have in common; gives the
    /// values beside it.
    pub fn connect(&mut self, arms: Vec<Arm>, layout: &Layout<'_>, looked: LookedUp) -> Vec<Abs> {
        let loc = self.code.loc;
        let (rows, mut states) = self.encode_arms(arms, layout, &looked);
        let met = self.meet_sums(&rows, &mut states);
        let missing = self.missing_where_met(&mut states);
        let mut meeting = Meeting::new(self.code.function.new_block(), rows);
        let tags = layout.tags();
        let mut origins = self.merge_columns(&mut meeting, &states, &tags, looked.addresses.len());
        let of_variables = self.sums_of_variables(&meeting, &states);
        let mut sums = Vec::new();
        for met in &met {
            let address = meeting.merge(self, &met.address);
            sums.push([Some(address), met.old.as_ref().map(|old| meeting.merge(self, old))]);
        }
        let missing = missing.map(|missing| (meeting.merge(self, &missing.addresses), missing));
        let Some(state) = self.enter_meeting(&meeting, states) else { return Vec::new() };
        self.code.loc = loc;
        self.state = state;
        let width = meeting.width();
        self.state.facts.looked = looked.with_addresses(&meeting.merged, width);
        if let Some((address, missing)) = missing {
            self.note_missing_of_join(&missing, address);
        }
        meeting.hide_texts(self, layout);
        self.note_sums(&meeting.merged, (&met, &sums), (&tags, &mut origins));
        origins.note(&mut self.known.shared.additions, &meeting.merged);
        for (column, sum) in of_variables {
            self.known.variables.note_sum_of_join(meeting.merged[column], sum);
        }
        layout.decode(&mut self.state, &meeting.merged)
    }

    /// The words of each arm: of what is laid out, and addresses that were looked up.
    fn encode_arms(
        &mut self,
        arms: Vec<Arm>,
        layout: &Layout<'_>,
        looked: &LookedUp,
    ) -> (Vec<Vec<Word>>, Vec<State>) {
        let (mut rows, mut states) = (Vec::new(), Vec::new());
        for arm in arms {
            self.state = arm.state;
            let mut words = Vec::new();
            for (index, (form, count)) in layout.forms.iter().zip(&layout.counts).enumerate() {
                let value = match layout.variables.get(index) {
                    Some(variable) => read_variable(&self.state, *variable),
                    None => arm.values.get(index - layout.variables.len()).cloned().unwrap_or(Abs::Nil),
                };
                words.extend(self.encode_as(&value, form, *count));
            }
            words.extend(looked.addresses.iter().map(|(_, address)| address[states.len()]));
            rows.push(words);
            states.push(self.take_state());
        }
        (rows, states)
    }

    /// What of the words that meet came from words of shared tables.
    fn meet_sums(&mut self, rows: &[Vec<Word>], states: &mut [State]) -> Vec<Met> {
        let mut met = Vec::new();
        for column in 0..rows[0].len() {
            let values: Vec<Word> = rows.iter().map(|words| words[column]).collect();
            if values.iter().all(|value| *value == values[0]) {
                continue;
            }
            let paths: Vec<_> = values.iter().copied().zip(states.iter().map(|state| &state.facts)).collect();
            for meeting in self.known.shared.additions.meetings(&paths) {
                met.push(self.words_of_meeting(column, meeting, &values, states));
            }
        }
        met
    }

    /// Makes parameters of the columns that differ. The last ones, so many, are addresses that were looked up: one that a variable holds
    /// is there once.
    fn merge_columns(
        &mut self,
        meeting: &mut Meeting,
        states: &[State],
        tags: &[(usize, Columns)],
        looked: usize,
    ) -> Origins {
        let mut origins = Origins::default();
        for column in 0..meeting.width() {
            let first = meeting.rows[0][column];
            if meeting.column(column).all(|word| word == first) {
                meeting.merged.push(first);
                continue;
            }
            let is_looked = column + looked >= meeting.width();
            let known = is_looked.then(|| meeting.known(|path| meeting.rows[path][column]));
            if let Some(known) = known.flatten() {
                meeting.merged.push(known);
                continue;
            }
            let words: Vec<_> = meeting.column(column).zip(states.iter().map(|state| &state.facts)).collect();
            let is_tag = tags.iter().any(|(tag, _)| *tag == column);
            origins.find(&self.known.shared.additions, column, is_tag, &words);
            meeting.add_param(self);
        }
        origins
    }

    /// The columns that are sums of a variable that packet code assigns.
    fn sums_of_variables(&self, meeting: &Meeting, states: &[State]) -> Vec<(usize, MetSum)> {
        let paths = |column| meeting.column(column).zip(states.iter().map(|state| &state.facts));
        let sum = |column: &usize| {
            let paths: Vec<_> = paths(*column).collect();
            Some((*column, self.known.variables.sum_of_join(&paths)?))
        };
        meeting.params.iter().filter_map(sum).collect()
    }

    /// Ends the paths where they meet; gives what they have in common, and no path more.
    fn enter_meeting(&mut self, meeting: &Meeting, states: Vec<State>) -> Option<State> {
        let mut common: Option<State> = None;
        for (path, state) in states.into_iter().enumerate() {
            self.state = state;
            let args = meeting.arguments(path).into_iter().map(|word| self.value(word)).collect();
            self.terminate(ir::Terminator::Jump(ir::Target::new(meeting.block, args)));
            let state = self.state.clone();
            common = Some(match common {
                None => state,
                Some(common) => in_common(common, &state),
            });
        }
        common.map(|common| State { block: Some(meeting.block), ..common })
    }

    /// Notes which words behind the join are sums of what was read of shared tables, and markers for what is not there.
    fn note_sums(
        &mut self,
        merged: &[Word],
        (met, sums): (&[Met], &[[Option<Word>; 2]]),
        (tags, origins): (&[(usize, Columns)], &mut Origins),
    ) {
        for (met, words) in met.iter().zip(sums) {
            self.known.shared.additions.meet(merged[met.column], &met.meeting, *words);
        }
        for (tag, columns) in tags {
            if origins.nils.iter().any(|(column, _)| column == tag) {
                continue;
            }
            let marker = self.nil_of_fields(met.iter().zip(sums), columns);
            origins.nils.extend(marker.map(|marker| (*tag, marker)));
        }
    }
}

/// The facts and registers that two paths have in common.
fn in_common(mut state: State, other: &State) -> State {
    let parsed = std::mem::take(&mut state.facts.packet.parsed);
    state.facts = state.facts.intersect(&other.facts);
    // Their words are variables of the join.
    state.facts.packet.keep_parsed(parsed, &other.facts.packet);
    let ends = |(register, slot): (usize, &Slot)| {
        *slot != Slot::Dead && matches!(other.registers.get(register), None | Some(Slot::Dead))
    };
    if state.registers.iter().enumerate().any(ends) {
        for (register, slot) in state.registers.iter_mut().enumerate() {
            if ends((register, slot)) {
                *slot = Slot::Dead;
            }
        }
    }
    state
}
