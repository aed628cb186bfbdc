//! Where control flow meets: states are merged, and values that differ become block parameters.
//!
//! A [`Form`] says how a variable is represented beyond the join; each arriving value is encoded into the words of that
//! form. For loops the form is widened until what comes round fits (see [`crate::interpret`]).

use crate::code::Range;
use crate::context::{Context, Result, Stop};
use crate::error::LowerErrorKind;
use crate::state::{Slot, State};
use crate::value::{Abs, Object, Shape, Space, Str, Union, Word};
use moonhook_ir as ir;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Constant strings kept apart in a union; with more of them they become slices of the pool.
const MAX_TEXTS: usize = 8;

/// A part of the state that can vary in a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variable {
    Register(usize),
    Cell(u32),
    Budget,
    Scratch,
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

impl Context<'_> {
    /// The shapes a value may have; `None` for floats, which have none.
    fn shapes(&mut self, value: &Abs) -> Option<Vec<Shape>> {
        Some(match value {
            Abs::Nil => vec![Shape::Nil],
            Abs::Bool(_) => vec![Shape::Bool],
            Abs::Int(_) => vec![Shape::Int],
            Abs::Float(_) => return None,
            Abs::Str(Str::Const(text)) => vec![Shape::Object(self.intern(&Object::Text(text.clone())))],
            Abs::Str(Str::Slice { space, .. }) => vec![Shape::Slice(*space)],
            Abs::Str(Str::Ipv4(_)) => vec![Shape::Ipv4],
            Abs::Str(Str::Ipv6(..)) => vec![Shape::Ipv6],
            Abs::Str(Str::Mac(_)) => vec![Shape::Mac],
            Abs::Object(object) => vec![Shape::Object(self.intern(object))],
            Abs::Union(union) => union.shapes.clone(),
        })
    }

    /// The form that all of `values` fit into. `varying` asks for a form that can take another value of the same shape.
    pub fn form_of(&mut self, values: &[&Abs], varying: bool) -> Result<Form> {
        let Some(first) = values.first() else { return Ok(Form::Same(Abs::Nil)) };
        if !varying && values.iter().all(|value| value == first) {
            return Ok(Form::Same((*first).clone()));
        }
        let mut shapes = BTreeSet::new();
        for value in values {
            match self.shapes(value) {
                Some(more) => shapes.extend(more),
                None => {
                    let what = "a float in a variable that changes".to_string();
                    let help = "use integers: `//` divides them".to_string();
                    return self.refuse(LowerErrorKind::Float { what, help }, None);
                }
            }
        }
        Ok(self.form_of_shapes(shapes))
    }

    fn is_text(&self, shape: &Shape) -> bool {
        matches!(shape, Shape::Object(id) if matches!(self.objects.get(*id as usize), Some(Object::Text(_))))
    }

    fn form_of_shapes(&self, mut shapes: BTreeSet<Shape>) -> Form {
        let texts = shapes.iter().filter(|shape| self.is_text(shape)).count();
        let pool = Shape::Slice(Space::Pool);
        if texts > MAX_TEXTS || (texts > 0 && shapes.contains(&pool)) {
            shapes.retain(|shape| !self.is_text(shape));
            shapes.insert(pool);
        }
        let shapes: Vec<Shape> = shapes.into_iter().collect();
        match shapes.as_slice() {
            [shape] => match shape {
                Shape::Nil => Form::Same(Abs::Nil),
                Shape::Object(id) => Form::Same(self.object_value(*id)),
                shape => Form::One(*shape),
            },
            _ => Form::Union(shapes),
        }
    }

    /// The abstract value that an interned object stands for.
    pub fn object_value(&self, id: u32) -> Abs {
        match self.objects.get(id as usize) {
            Some(Object::Text(text)) => Abs::Str(Str::Const(text.clone())),
            Some(object) => Abs::Object(object.clone()),
            None => Abs::Nil,
        }
    }

    /// The form that takes what both take.
    pub fn widen(&mut self, a: &Form, b: &Form) -> Result<Form> {
        if a == b {
            return Ok(a.clone());
        }
        let mut shapes = BTreeSet::new();
        for form in [a, b] {
            match form {
                Form::Same(value) => {
                    // Two different constants of one shape: the shape varies.
                    if let Form::One(shape) = self.form_of(&[value], true)? {
                        shapes.insert(shape);
                    } else if let Some(more) = self.shapes(value) {
                        shapes.extend(more);
                    }
                }
                Form::One(shape) => {
                    shapes.insert(*shape);
                }
                Form::Union(more) => shapes.extend(more.iter().copied()),
            }
        }
        Ok(self.form_of_shapes(shapes))
    }

    /// Encodes `value` into the words of `form`, which takes it. Appends to the current block.
    pub fn encode(&mut self, value: &Abs, form: &Form) -> Vec<Word> {
        match form {
            Form::Same(_) => vec![],
            Form::One(shape) => {
                let (_, payload) = self.encode_shape(value, std::slice::from_ref(shape));
                payload[..shape.words()].to_vec()
            }
            Form::Union(shapes) => {
                let (tag, payload) = self.encode_shape(value, shapes);
                let mut words = vec![tag];
                words.extend(&payload[..form.words() - 1]);
                words
            }
        }
    }

    /// Tag and payload of a value among `shapes`.
    pub fn encode_shape(&mut self, value: &Abs, shapes: &[Shape]) -> (Word, [Word; 2]) {
        let none = Word::Imm(0);
        let (shape, payload) = match value {
            Abs::Nil | Abs::Float(_) => (Shape::Nil, [none; 2]),
            Abs::Bool(word) => (Shape::Bool, [*word, none]),
            Abs::Int(word) => (Shape::Int, [*word, none]),
            Abs::Str(Str::Slice { space, start, length }) => (Shape::Slice(*space), [*start, *length]),
            Abs::Str(Str::Ipv4(word)) => (Shape::Ipv4, [*word, none]),
            Abs::Str(Str::Ipv6(high, low)) => (Shape::Ipv6, [*high, *low]),
            Abs::Str(Str::Mac(word)) => (Shape::Mac, [*word, none]),
            Abs::Str(Str::Const(text)) => {
                let object = Shape::Object(self.intern(&Object::Text(text.clone())));
                if shapes.contains(&object) {
                    (object, [none; 2])
                } else {
                    let start = i64::from(self.pool.intern(text));
                    (Shape::Slice(Space::Pool), [Word::Imm(start), Word::Imm(text.len() as i64)])
                }
            }
            Abs::Object(object) => (Shape::Object(self.intern(object)), [none; 2]),
            Abs::Union(union) => return self.encode_union(&union.clone(), shapes),
        };
        (Word::Imm(shape.tag()), payload)
    }

    /// A union into a wider one: only constant strings may have to change their shape.
    fn encode_union(&mut self, union: &Union, shapes: &[Shape]) -> (Word, [Word; 2]) {
        let missing: Vec<Shape> = union.shapes.iter().filter(|s| !shapes.contains(s)).copied().collect();
        let (mut tag, mut payload) = (union.tag, union.payload);
        for shape in missing {
            let Shape::Object(id) = shape else { continue };
            let Some(Object::Text(text)) = self.objects.get(id as usize).cloned() else { continue };
            let start = i64::from(self.pool.intern(&text));
            // Branch-free: mask is all ones exactly if the tag is this text's.
            let is = self.compare(ir::CompareOp::Eq, tag, shape.tag());
            let is = self.condition_word(is);
            let mask = self.unary(ir::UnaryOp::Neg, is);
            let choose = |context: &mut Self, old: Word, new: i64| {
                let change = context.binary(ir::BinaryOp::Xor, old, new);
                let change = context.and(change, mask);
                context.binary(ir::BinaryOp::Xor, old, change)
            };
            payload[0] = choose(self, payload[0], start);
            payload[1] = choose(self, payload[1], text.len() as i64);
            tag = choose(self, tag, Shape::Slice(Space::Pool).tag());
        }
        (tag, payload)
    }

    /// The abstract value that the words of a form stand for.
    pub fn decode(&self, form: &Form, words: &[Word]) -> Abs {
        let word = |index: usize| words.get(index).copied().unwrap_or(Word::Imm(0));
        match form {
            Form::Same(value) => value.clone(),
            Form::One(shape) => shape.value([word(0), word(1)]).unwrap_or(Abs::Nil),
            Form::Union(shapes) => Abs::Union(Rc::new(Union {
                shapes: shapes.clone(),
                tag: word(0),
                payload: [word(1), word(2)],
            })),
        }
    }

    /// Whether a value fits a form without widening it.
    pub fn fits(&mut self, value: &Abs, form: &Form) -> bool {
        match form {
            Form::Same(same) => value == same,
            Form::One(_) | Form::Union(_) => {
                let accepted: &[Shape] = match form {
                    Form::One(shape) => std::slice::from_ref(shape),
                    Form::Union(shapes) => shapes,
                    Form::Same(_) => &[],
                };
                let pool = accepted.contains(&Shape::Slice(Space::Pool));
                match self.shapes(value) {
                    Some(shapes) => shapes.iter().all(|s| accepted.contains(s) || (pool && self.is_text(s))),
                    None => false,
                }
            }
        }
    }

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
        self.align_cells(&mut arms);
        let variables = Self::variables_of(&arms);
        let mut forms = Vec::new();
        for variable in &variables {
            let values: Vec<Abs> = arms.iter().map(|arm| read_variable(&arm.state, *variable)).collect();
            let form = self.form_of(&values.iter().collect::<Vec<_>>(), false);
            forms.push(self.naming(*variable, form)?);
        }
        let extra = arms.iter().map(|arm| arm.values.len()).max().unwrap_or(0);
        for index in 0..extra {
            let values: Vec<Abs> =
                arms.iter().map(|arm| arm.values.get(index).cloned().unwrap_or(Abs::Nil)).collect();
            forms.push(self.form_of(&values.iter().collect::<Vec<_>>(), false)?);
        }
        Ok(Some(self.connect(arms, &variables, &forms, extra)))
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

    fn variables_of(arms: &[Arm]) -> Vec<Variable> {
        let state = &arms[0].state;
        let registers = (0..state.registers.len())
            .filter(|r| arms.iter().all(|arm| matches!(arm.state.registers.get(*r), Some(Slot::Direct(_)))));
        let mut variables: Vec<Variable> = registers.map(Variable::Register).collect();
        variables.extend(state.cells.keys().map(|id| Variable::Cell(*id)));
        variables.extend([Variable::Budget, Variable::Scratch]);
        for (key, words) in &state.facts.walks {
            let everywhere =
                arms.iter().all(|arm| arm.state.facts.walk(key).is_some_and(|w| w.len() == words.len()));
            if everywhere {
                variables.extend((0..words.len()).map(|number| Variable::Walk(key, number)));
            }
        }
        variables
    }

    /// Encodes each arm's variables, makes the block where they meet, and its state.
    fn connect(&mut self, arms: Vec<Arm>, variables: &[Variable], forms: &[Form], extra: usize) -> Vec<Abs> {
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
            encoded.push(words);
            states.push(self.take_state());
        }
        let block = self.function.new_block();
        let columns = encoded[0].len();
        let mut merged = Vec::with_capacity(columns);
        let mut params = Vec::new();
        for column in 0..columns {
            let first = encoded[0][column];
            if encoded.iter().all(|words| words[column] == first) {
                merged.push(first);
                continue;
            }
            let range = encoded.iter().map(|words| self.range(words[column])).reduce(Range::join);
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
                    sum.facts.walks.retain(|(key, words)| {
                        state.facts.walk(key).is_some_and(|other| other.len() == words.len())
                    });
                    for (register, slot) in sum.registers.iter_mut().enumerate() {
                        if matches!(state.registers.get(register), None | Some(Slot::Dead)) {
                            *slot = Slot::Dead;
                        }
                    }
                    sum
                }
            });
        }
        self.loc = loc;
        let Some(mut state) = result else { return Vec::new() };
        state.block = Some(block);
        self.state = state;
        self.hide_texts(forms, &mut merged, &params);
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
            if matches!(form, Form::Union(_) | Form::One(Shape::Slice(_))) {
                hidden.extend(words.filter(|column| params.contains(column)));
            }
        }
        let words: Vec<Word> = hidden.iter().map(|column| merged[*column]).collect();
        for (column, word) in hidden.into_iter().zip(self.launder(&words)) {
            merged[column] = word;
        }
    }

    /// Makes the arms agree on which registers are captured and which cells there are.
    fn align_cells(&mut self, arms: &mut [Arm]) {
        let registers = arms.iter().map(|arm| arm.state.registers.len()).max().unwrap_or(0);
        for arm in arms.iter_mut() {
            arm.state.registers.resize(registers, Slot::Dead);
        }
        for register in 0..registers {
            let cell = arms.iter().find_map(|arm| match arm.state.registers[register] {
                Slot::Cell(cell) => Some(cell),
                _ => None,
            });
            let Some(cell) = cell else { continue };
            for arm in arms.iter_mut() {
                if let Slot::Direct(value) = &arm.state.registers[register] {
                    let value = value.clone();
                    arm.state.cells.insert(cell, value);
                    arm.state.registers[register] = Slot::Cell(cell);
                }
            }
        }
        let cells: BTreeSet<u32> = arms.iter().flat_map(|arm| arm.state.cells.keys().copied()).collect();
        for arm in arms.iter_mut() {
            for cell in &cells {
                arm.state.cells.entry(*cell).or_insert(Abs::Nil);
            }
        }
    }
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
        (Variable::Walk(key, number), Abs::Int(word)) => {
            let words = state.facts.walks.iter_mut().find(|(k, _)| *k == key);
            if let Some(place) = words.and_then(|(_, words)| words.get_mut(number)) {
                *place = word;
            }
        }
        _ => {}
    }
}
