//! Where control flow meets: states are merged, and values that differ become block parameters.
//!
//! A [`Form`] says how a variable is represented beyond the join; each arriving value is encoded into the words of that
//! form. For loops the form is widened until what comes round fits (see [`crate::interpret`]).

use crate::code::Range;
use crate::context::{Context, Result, Stop};
use crate::copy_on_write::CopyOnWrite;
use crate::error::LowerErrorKind;
use crate::state::{Looked, Slot, State, Zero, find_near};
use crate::value::{Abs, Shape, Word};
use moonhook_ir as ir;
use std::collections::BTreeSet;

/// Constant strings kept apart in a union; with more of them they become slices of the pool.
pub const MAX_TEXTS: usize = 8;

/// A part of the state that can vary in a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variable {
    Register(usize),
    Cell(u32),
    Budget,
    Scratch,
    Heap,
    /// A word of a header walk: the walk's name and the word's number.
    Walk(&'static str, usize),
}

/// How a variable is represented beyond a join.
#[derive(Clone, PartialEq, Debug)]
pub enum Form {
    /// The same on all ways.
    Same(Abs),
    One(Shape),
    Union(Vec<Shape>),
}

/// One of the ways that meet.
pub struct Arm {
    pub state: State,
    pub values: Vec<Abs>,
}

impl Form {
    /// How many block parameters it takes.
    pub fn words(&self) -> usize {
        match self {
            Form::Same(_) => 0,
            Form::One(shape) => shape.words(),
            Form::Union(shapes) => 1 + shapes.iter().map(|shape| shape.words()).max().unwrap_or(0),
        }
    }
}

impl Form {
    /// Which of its words may be an entry's address.
    pub fn address(&self) -> Option<usize> {
        let is_entry = |shape: &Shape| matches!(shape, Shape::Entry(_));
        match self {
            Form::One(shape) if is_entry(shape) => Some(0),
            Form::Union(shapes) if shapes.iter().any(is_entry) => Some(1),
            _ => None,
        }
    }
}

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
        if !crate::made::align(&mut arms) {
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
        let looked = looked_of(&mut arms);
        let extra = arms.iter().map(|arm| arm.values.len()).max().unwrap_or(0);
        for index in 0..extra {
            let values: Vec<Abs> =
                arms.iter().map(|arm| arm.values.get(index).cloned().unwrap_or(Abs::Nil)).collect();
            forms.push(self.form_of(&values.iter().collect::<Vec<_>>(), false)?);
        }
        Ok(Some(self.connect(arms, &variables, &forms, extra, looked)))
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
        for (key, words) in state.facts.walks.iter() {
            let everywhere =
                arms.iter().all(|arm| arm.state.facts.walk(key).is_some_and(|w| w.len() == words.len()));
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
        let loc = self.loc;
        let mut encoded: Vec<Vec<Word>> = Vec::new();
        let mut states = Vec::new();
        for arm in arms {
            self.state = arm.state;
            let mut words = Vec::new();
            for (index, form) in forms.iter().enumerate() {
                let value = match variables.get(index) {
                    Some(variable) => read_variable(&self.state, *variable),
                    None => arm.values.get(index - variables.len()).cloned().unwrap_or(Abs::Nil),
                };
                words.extend(self.encode(&value, form));
            }
            words.extend(looked.addresses.iter().map(|(_, ways)| ways[states.len()]));
            encoded.push(words);
            states.push(self.take_state());
        }
        let block = self.function.new_block();
        let columns = encoded[0].len();
        let mut merged = Vec::with_capacity(columns);
        let (mut params, mut sums, mut entries) = (Vec::new(), Vec::new(), Vec::new());
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
            sums.extend(self.shared.additions.of_join(&ways).map(|sum| (column, sum)));
            entries.extend(self.shared.additions.entry_of_join(&ways).map(|entry| (column, entry)));
            let param = self.function.add_param(block);
            self.set_range(param, range.unwrap_or(Range::FULL));
            merged.push(Word::Value(param));
            params.push(column);
        }
        let mut result: Option<State> = None;
        for (state, words) in states.into_iter().zip(&encoded) {
            self.state = state;
            let args = params.iter().map(|column| self.value(words[*column])).collect();
            self.terminate(ir::Terminator::Jump(ir::Target::new(block, args)));
            let state = self.state.clone();
            result = Some(match result {
                None => state,
                Some(mut sum) => {
                    let walks = std::mem::take(&mut sum.facts.walks);
                    sum.facts = sum.facts.intersect(&state.facts);
                    // Their words are variables of the join.
                    sum.facts.walks = walks;
                    let stays = |(key, words): &(&'static str, Vec<Word>)| {
                        state.facts.walk(key).is_some_and(|other| other.len() == words.len())
                    };
                    if !sum.facts.walks.iter().all(stays) {
                        sum.facts.walks.retain(stays);
                    }
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
        self.loc = loc;
        let Some(mut state) = result else { return Vec::new() };
        state.block = Some(block);
        let LookedUp { mut all, addresses } = looked;
        let merged_addresses = &merged[columns - addresses.len()..];
        for ((place, _), address) in addresses.iter().zip(merged_addresses) {
            all[*place].address = *address;
        }
        state.facts.looked = all;
        self.state = state;
        self.hide_texts(forms, &mut merged, &params);
        sums.into_iter().for_each(|(column, sum)| self.shared.additions.set(merged[column], sum));
        entries
            .into_iter()
            .for_each(|(column, entry)| self.shared.additions.set_entry(merged[column], entry));
        let mut state = self.state.clone();
        let mut at = 0;
        let mut values = Vec::with_capacity(extra);
        for (index, form) in forms.iter().enumerate() {
            let value = self.decode(form, &merged[at..at + form.words()]);
            at += form.words();
            match variables.get(index) {
                Some(variable) => write_variable(&mut state, *variable, value),
                None => values.push(value),
            }
        }
        self.state = state;
        values
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
            if matches!(form, Form::Union(_) | Form::One(Shape::Slice(_))) {
                hidden.extend(words.filter(|column| params.contains(column)));
            }
        }
        let words: Vec<Word> = hidden.iter().map(|column| merged[*column]).collect();
        for (column, word) in hidden.into_iter().zip(self.launder(&words)) {
            merged[column] = word;
        }
    }
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

pub fn read_variable(state: &State, variable: Variable) -> Abs {
    match variable {
        Variable::Register(register) => match state.registers.get(register) {
            Some(Slot::Direct(value)) => value.clone(),
            Some(Slot::Cell(cell)) => state.cells.get(cell).cloned().unwrap_or(Abs::Nil),
            Some(Slot::Dead) | None => Abs::Nil,
        },
        Variable::Cell(cell) => state.cells.get(&cell).cloned().unwrap_or(Abs::Nil),
        Variable::Budget => Abs::Int(state.budget),
        Variable::Scratch => Abs::Int(state.scratch),
        Variable::Heap => Abs::Int(state.heap),
        Variable::Walk(key, number) => {
            let word = state.facts.walk(key).and_then(|words| words.get(number)).copied();
            Abs::Int(word.unwrap_or(Word::Imm(0)))
        }
    }
}

pub fn write_variable(state: &mut State, variable: Variable, value: Abs) {
    match (variable, value) {
        (Variable::Register(register), value) => state.registers[register] = Slot::Direct(value),
        (Variable::Cell(cell), value) => {
            state.cells.insert(cell, value);
        }
        (Variable::Budget, Abs::Int(word)) => state.budget = word,
        (Variable::Scratch, Abs::Int(word)) => state.scratch = word,
        (Variable::Heap, Abs::Int(word)) => state.heap = word,
        (Variable::Walk(key, number), Abs::Int(word)) => {
            let words = state.facts.walks.iter_mut().find(|(k, _)| *k == key);
            if let Some(place) = words.and_then(|(_, words)| words.get_mut(number)) {
                *place = word;
            }
        }
        _ => {}
    }
}
