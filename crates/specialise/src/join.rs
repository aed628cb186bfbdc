//! Where control flow meets: states are merged, and values that differ become block parameters.
//!
//! A [`Form`] says how a variable is represented beyond the join; each arriving value is encoded into the words of that
//! form. For loops the form is widened until what comes round fits (see [`crate::interpret`]).

use crate::context::{Context, Result, Stop};
use crate::error::LowerErrorKind;
use crate::shared::adding::Met;
use crate::state::{Looked, Slot, State, Zero};
use crate::value::{Abs, Str, Variant, Word};
use crate::ways::{Arm, Form, Variable, read_variable, write_variable};
use moonhook_ir as ir;
use moonhook_ir::words::find_near;
use moonhook_ir::words::{Branches, CopyOnWrite, WayState};
use moonhook_ir::words::{Range, Words};
use moonhook_snapshot::TableId;
use std::collections::BTreeSet;

impl Context<'_> {
    /// Merges ways of control flow; the merged state becomes the current one. Gives the merged extra values, `None` if no
    /// way gets here.
    pub fn join(&mut self, arms: Vec<Arm>) -> Result<Option<Vec<Abs>>> {
        let mut arms: Vec<Arm> = arms.into_iter().filter(|arm| arm.state.alive()).collect();
        if arms.len() <= 1 {
            return Ok(match arms.pop() {
                None => {
                    self.state.block = None;
                    None
                }
                Some(arm) => {
                    self.state = arm.state;
                    Some(arm.values)
                }
            });
        }
        if !crate::virtual_tables::align(&mut arms) {
            return self.needs_memory("setmetatable");
        }
        if !self.align_cells(&mut arms) {
            return self.unroll_or_refuse(LowerErrorKind::EscapingCapture, "function");
        }
        let variables = Self::variables_of(&arms);
        let mut forms = Vec::new();
        for variable in &variables {
            let values: Vec<Abs> = arms.iter().map(|arm| read_variable(&arm.state, *variable)).collect();
            let form = self.form_of(&values.iter().collect::<Vec<_>>(), false);
            forms.push(self.naming(*variable, form)?);
        }
        align_held(&mut arms);
        let lists: Vec<_> = arms.iter().map(|arm| arm.state.facts.looked.clone()).collect();
        let mut looked = looked_of(&mut arms);
        let own = arms.iter().map(|arm| arm.values.len()).max().unwrap_or(0);
        let copies = add_copies(&mut arms, &mut looked.all, &lists, own);
        let extra = own + copies;
        for index in 0..extra {
            let values: Vec<Abs> =
                arms.iter().map(|arm| arm.values.get(index).cloned().unwrap_or(Abs::Nil)).collect();
            forms.push(self.form_of(&values.iter().collect::<Vec<_>>(), false)?);
        }
        let mut values = self.connect(arms, &variables, &forms, extra, looked);
        let copied = values.split_off(own.min(values.len()));
        if copies > 0 {
            let places = self.state.facts.looked.iter_mut().flat_map(|looked| looked.copy.iter_mut());
            places.zip(copied).for_each(|(place, value)| place.value = value);
        }
        Ok(Some(values))
    }

    /// Merges ways of which each brings one number; gives the merged one.
    pub fn join_word(&mut self, arms: Vec<Arm>) -> Result<Word> {
        Ok(match self.join(arms)?.as_deref() {
            Some([Abs::Int(word)]) => *word,
            _ => Word::Imm(0),
        })
    }

    /// A refusal that has no name to underline yet is about `variable`.
    fn naming<T>(&self, variable: Variable, result: Result<T>) -> Result<T> {
        result.map_err(|stop| match (stop, variable) {
            (Stop::Error(mut error), Variable::Register(register)) if error.place.name.is_none() => {
                error.place.name = self.register_name(register).map(|(_, name)| name);
                Stop::Error(error)
            }
            (stop, _) => stop,
        })
    }

    /// What may differ between the ways.
    fn variables_of(arms: &[Arm]) -> Vec<Variable> {
        let Some((Arm { state, .. }, others)) = arms.split_first() else { return Vec::new() };
        let mut variables = Vec::new();
        if !others.iter().all(|arm| arm.state.registers.is(&state.registers)) {
            let varies = |register: &usize| {
                let slots = || arms.iter().map(|arm| arm.state.registers.get(*register));
                let slot = state.registers.get(*register);
                slots().any(|other| other != slot)
                    && slots().all(|other| matches!(other, Some(Slot::Direct(_))))
            };
            variables.extend((0..state.registers.len()).filter(varies).map(Variable::Register));
        }
        let mut cells = BTreeSet::new();
        for other in others.iter().filter(|arm| !arm.state.cells.is(&state.cells)) {
            let pairs = state.cells.iter().zip(other.state.cells.iter());
            cells.extend(pairs.filter(|(mine, theirs)| mine != theirs).map(|((cell, _), _)| *cell));
        }
        variables.extend(cells.into_iter().map(Variable::Cell));
        variables.extend([Variable::Budget, Variable::Scratch, Variable::Heap]);
        for (key, words) in state.facts.packet.parsed.iter() {
            let everywhere = arms
                .iter()
                .all(|arm| arm.state.facts.packet.parsed(key).is_some_and(|w| w.len() == words.len()));
            if everywhere {
                variables.extend((0..words.len()).map(|number| Variable::Walk(key, number)));
            }
        }
        variables
    }

    /// Encodes each arm's variables, makes the block where they meet, and its state.
    fn connect(
        &mut self,
        arms: Vec<Arm>,
        variables: &[Variable],
        forms: &[Form],
        extra: usize,
        looked: LookedUp,
    ) -> Vec<Abs> {
        let loc = self.code.loc;
        let mut encoded: Vec<Vec<Word>> = Vec::new();
        let mut states = Vec::new();
        let counts: Vec<usize> = forms.iter().map(Form::words).collect();
        for arm in arms {
            self.state = arm.state;
            let mut words = Vec::new();
            for (index, (form, count)) in forms.iter().zip(&counts).enumerate() {
                let value = match variables.get(index) {
                    Some(variable) => read_variable(&self.state, *variable),
                    None => arm.values.get(index - variables.len()).cloned().unwrap_or(Abs::Nil),
                };
                words.extend(self.encode_as(&value, form, *count));
            }
            words.extend(looked.addresses.iter().map(|(_, ways)| ways[states.len()]));
            encoded.push(words);
            states.push(self.take_state());
        }
        let met = self.meet_sums(&encoded, &mut states);
        let missing = self.missing_where_met(&mut states);
        let block = self.code.function.new_block();
        let columns = encoded[0].len();
        let mut merged = Vec::with_capacity(columns);
        let (mut params, mut roots, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let mut nils = Vec::new();
        let tags = tags_of(forms);
        for column in 0..columns {
            let first = encoded[0][column];
            if encoded.iter().all(|words| words[column] == first) {
                merged.push(first);
                continue;
            }
            let same = |other: &usize| encoded.iter().all(|words| words[*other] == words[column]);
            let of_looked = column + looked.addresses.len() >= columns;
            if let Some(other) = of_looked.then(|| (0..column).find(same)).flatten() {
                merged.push(merged[other]);
                continue;
            }
            let range = encoded.iter().map(|words| self.range(words[column])).reduce(Range::join);
            let ways: Vec<_> = encoded.iter().zip(&states).map(|(w, s)| (w[column], &s.facts)).collect();
            roots.extend(self.known.shared.additions.root_of_join(&ways).map(|root| (column, root)));
            entries.extend(self.known.shared.additions.entry_of_join(&ways).map(|entry| (column, entry)));
            if tags.iter().any(|(tag, _)| *tag == column) {
                let nil = self.known.shared.additions.nil_of_join(Variant::Nil.tag(), &ways);
                nils.extend(nil.map(|marker| (column, marker)));
            }
            let param = self.code.function.add_param(block);
            self.set_range(param, range.unwrap_or(Range::FULL));
            merged.push(Word::Value(param));
            params.push(column);
        }
        let mut more = Vec::new();
        let mut sums = Vec::new();
        for met in &met {
            let address = self.merge_more(block, &met.address, (&encoded, &merged), &mut more);
            let old = met.old.as_ref().map(|old| self.merge_more(block, old, (&encoded, &merged), &mut more));
            sums.push([Some(address), old]);
        }
        let missing = missing.as_ref().map(|missing| {
            let address = self.merge_more(block, &missing.addresses, (&encoded, &merged), &mut more);
            (missing, address)
        });
        let mut result: Option<State> = None;
        for (way, (state, words)) in states.into_iter().zip(&encoded).enumerate() {
            self.state = state;
            let own = params.iter().map(|column| words[*column]);
            let words: Vec<Word> = own.chain(more.iter().map(|(words, _)| words[way])).collect();
            let args = words.into_iter().map(|word| self.value(word)).collect();
            self.terminate(ir::Terminator::Jump(ir::Target::new(block, args)));
            let state = self.state.clone();
            result = Some(match result {
                None => state,
                Some(mut sum) => {
                    let parsed = std::mem::take(&mut sum.facts.packet.parsed);
                    sum.facts = sum.facts.intersect(&state.facts);
                    // Their words are variables of the join.
                    sum.facts.packet.keep_parsed(parsed, &state.facts.packet);
                    let ends = |(register, slot): (usize, &Slot)| {
                        *slot != Slot::Dead
                            && matches!(state.registers.get(register), None | Some(Slot::Dead))
                    };
                    if sum.registers.iter().enumerate().any(ends) {
                        for (register, slot) in sum.registers.iter_mut().enumerate() {
                            if ends((register, slot)) {
                                *slot = Slot::Dead;
                            }
                        }
                    }
                    sum
                }
            });
        }
        self.code.loc = loc;
        let Some(mut state) = result else { return Vec::new() };
        state.block = Some(block);
        let LookedUp { mut all, addresses } = looked;
        let merged_addresses = &merged[columns - addresses.len()..];
        for ((place, _), address) in addresses.iter().zip(merged_addresses) {
            all[*place].address = *address;
        }
        state.facts.looked = all;
        self.state = state;
        if let Some((missing, address)) = missing {
            self.note_missing_of_join(missing, address);
        }
        self.hide_texts(forms, &mut merged, &params);
        for (met, words) in met.iter().zip(&sums) {
            self.known.shared.additions.meet(merged[met.column], &met.meeting, *words);
        }
        for (tag, columns) in &tags {
            if nils.iter().any(|(column, _)| column == tag) {
                continue;
            }
            let marker = self.nil_of_fields(met.iter().zip(&sums), columns);
            nils.extend(marker.map(|marker| (*tag, marker)));
        }
        for (column, marker) in nils {
            self.known.shared.additions.set_nil(merged[column], Variant::Nil.tag(), marker);
        }
        roots
            .into_iter()
            .for_each(|(column, root)| self.known.shared.additions.set_root(merged[column], root));
        entries
            .into_iter()
            .for_each(|(column, entry)| self.known.shared.additions.set_entry(merged[column], entry));
        let mut state = self.state.clone();
        let mut at = 0;
        let mut values = Vec::with_capacity(extra);
        for (index, (form, count)) in forms.iter().zip(&counts).enumerate() {
            let value = self.decode(form, &merged[at..at + count]);
            at += count;
            match variables.get(index) {
                Some(variable) => write_variable(&mut state, *variable, value),
                None => values.push(value),
            }
        }
        self.state = state;
        values
    }

    /// What of the words that meet came from words of shared tables.
    fn meet_sums(&mut self, encoded: &[Vec<Word>], states: &mut [State]) -> Vec<Met> {
        let mut met = Vec::new();
        for column in 0..encoded[0].len() {
            let values: Vec<Word> = encoded.iter().map(|words| words[column]).collect();
            if values.iter().all(|value| *value == values[0]) {
                continue;
            }
            let ways: Vec<_> = values.iter().copied().zip(states.iter().map(|state| &state.facts)).collect();
            for meeting in self.known.shared.additions.meetings(&ways) {
                met.push(self.words_of_meeting(column, meeting, &values, states));
            }
        }
        met
    }

    /// What words that are no part of the state become where the ways meet; `more` gets those that become parameters.
    fn merge_more<'w>(
        &mut self,
        block: ir::Block,
        words: &'w [Word],
        (encoded, merged): (&[Vec<Word>], &[Word]),
        more: &mut Vec<(&'w [Word], Word)>,
    ) -> Word {
        if words.iter().all(|word| *word == words[0]) {
            return words[0];
        }
        let same = |column: &usize| encoded.iter().zip(words).all(|(way, word)| way[*column] == *word);
        if let Some(column) = (0..merged.len()).find(same) {
            return merged[column];
        }
        if let Some((_, known)) = more.iter().find(|(known, _)| *known == words) {
            return *known;
        }
        let param = self.code.function.add_param(block);
        self.set_range(param, Range::FULL);
        more.push((words, param.into()));
        param.into()
    }

    /// Takes from the verifier what it knows of tags, and of where strings are. These are other constants on each way to
    /// the join, and once they decide a branch or become part of an address the verifier would walk the code that follows
    /// for each combination of them. Numbers are left alone: their bounds prove accesses.
    fn hide_texts(&mut self, forms: &[Form], merged: &mut [Word], params: &[usize]) {
        let mut hidden = Vec::new();
        let mut at = 0;
        for form in forms {
            let words = at..at + form.words();
            at = words.end;
            // Addresses of entries cannot be hidden; they tell themselves whether they are nil.
            if form.address().is_some() {
                continue;
            }
            if matches!(form, Form::Union(_) | Form::One(Variant::Slice(_))) {
                hidden.extend(words.filter(|column| params.contains(column)));
            }
        }
        let words: Vec<Word> = hidden.iter().map(|column| merged[*column]).collect();
        for (column, word) in hidden.into_iter().zip(self.launder(&words)) {
            merged[column] = word;
        }
    }
}

/// What is held without its key on one way has none on the others either.
fn align_held(arms: &mut [Arm]) {
    let is_held = |looked: &&Looked| looked.key == Looked::held_key(looked.address);
    let held: Vec<(TableId, Word)> = arms
        .iter()
        .flat_map(|arm| arm.state.facts.looked.iter().filter(is_held))
        .map(|looked| (looked.table, looked.address))
        .collect();
    if held.is_empty() {
        return;
    }
    for looked in arms.iter_mut().flat_map(|arm| arm.state.facts.looked.iter_mut()) {
        if held.contains(&(looked.table, looked.address)) {
            looked.key = Looked::held_key(looked.address);
        }
    }
}

/// Adds what was copied of entries on all ways to the values that meet, in the order in which `looked` has it then; gives how
/// many there are.
fn add_copies(
    arms: &mut [Arm],
    looked: &mut CopyOnWrite<Vec<Looked>>,
    lists: &[CopyOnWrite<Vec<Looked>>],
    own: usize,
) -> usize {
    arms.iter_mut().for_each(|arm| arm.values.resize(own, Abs::Nil));
    let is_copied = |looked: &Looked| !looked.copy.is_empty();
    let one = lists.iter().all(|list| lists.first().is_some_and(|first| list.is(first)));
    if one || !lists.iter().flat_map(|list| list.iter()).any(is_copied) {
        return 0;
    }
    for looked in looked.iter_mut() {
        let own = |list: &CopyOnWrite<Vec<Looked>>| {
            list.iter().find(|own| (own.table, &own.key) == (looked.table, &looked.key)).cloned()
        };
        let ways: Vec<Option<Looked>> = lists.iter().map(own).collect();
        // Where there is no entry nothing was copied of it, and nothing is read.
        let there = || ways.iter().flatten().filter(|way| way.address != Word::Imm(0));
        looked.copy = there().next().map(|way| way.copy.clone()).unwrap_or_default();
        looked.copy.retain(|copied| there().all(|way| way.copied(copied.disp).is_some()));
        for copied in &looked.copy {
            for (arm, way) in arms.iter_mut().zip(&ways) {
                let value = way.as_ref().and_then(|way| way.copied(copied.disp));
                arm.values.push(value.cloned().unwrap_or_else(|| nothing_like(&copied.value)));
            }
        }
    }
    arms.first().map_or(0, |arm| arm.values.len() - own)
}

/// A value of the same type.
fn nothing_like(value: &Abs) -> Abs {
    match value {
        Abs::Str(Str::Slice { space, .. }) => {
            Abs::Str(Str::Slice { space: *space, start: Word::Imm(0), length: Word::Imm(0) })
        }
        _ => Abs::int(0),
    }
}

/// Which words of the forms are tags of what may be nil, and which the other words of the same value.
fn tags_of(forms: &[Form]) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut at = 0;
    let mut tags = Vec::new();
    for form in forms {
        if matches!(form, Form::Union(variants) if variants.contains(&Variant::Nil)) {
            tags.push((at, at + 1..at + form.words()));
        }
        at += form.words();
    }
    tags
}

/// What is known of looked up entries where ways meet.
struct LookedUp {
    all: CopyOnWrite<Vec<Looked>>,
    /// The addresses that differ: their places in `all`, and what they are on each way.
    addresses: Vec<(usize, Vec<Word>)>,
}

/// Takes from the ways what they know of looked up entries.
fn looked_of(arms: &mut [Arm]) -> LookedUp {
    let lists: Vec<CopyOnWrite<Vec<Looked>>> =
        arms.iter_mut().map(|arm| std::mem::take(&mut arm.state.facts.looked)).collect();
    let Some((first, others)) = lists.split_first() else {
        return LookedUp { all: CopyOnWrite::default(), addresses: Vec::new() };
    };
    if others.iter().all(|other| other.is(first)) {
        return LookedUp { all: first.clone(), addresses: Vec::new() };
    }
    let same = |a: &Looked, b: &Looked| (a.table, &a.key) == (b.table, &b.key);
    let mut all: Vec<Looked> = first.to_vec();
    for other in others {
        let mut near = 0;
        for looked in other {
            if find_near(&all, &mut near, |known| same(known, looked)).is_none() {
                all.push(looked.clone());
            }
        }
    }
    let mut near = vec![0; lists.len()];
    let (mut kept, mut addresses) = (Vec::with_capacity(all.len()), Vec::new());
    for mut looked in all {
        let mut on = |(list, near): (&CopyOnWrite<Vec<Looked>>, &mut usize)| {
            let own = find_near(list, near, |own| same(own, &looked));
            own.map_or((Zero::Unknown, Word::Imm(0)), |own| (own.zero, own.address))
        };
        let ways: Vec<(Zero, Word)> = lists.iter().zip(&mut near).map(&mut on).collect();
        looked.zero = ways.iter().map(|(zero, _)| *zero).max().unwrap_or(Zero::Unknown);
        // Where nothing is known, nothing is to be remembered.
        if looked.zero == Zero::Unknown && looked.address == Word::Imm(0) {
            continue;
        }
        if ways.iter().any(|(_, address)| *address != ways[0].1) {
            addresses.push((kept.len(), ways.into_iter().map(|(_, address)| address).collect()));
        } else {
            looked.address = ways[0].1;
        }
        kept.push(looked);
    }
    LookedUp { all: kept.into(), addresses }
}
