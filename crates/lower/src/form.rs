//! Forms of values beyond a join: which one fits, and how values are encoded into a form's words and decoded from them.

use crate::context::{Context, Result};
use crate::value::{Abs, Object, Shape, Space, Str, Union, Word};
use crate::ways::{Form, MAX_TEXTS};
use moonhook_ir as ir;
use std::collections::BTreeSet;
use std::rc::Rc;

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
            Abs::Entry { path, .. } => vec![Shape::Entry(*path)],
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
                    let help = "use integers: `math.maxinteger` in the place of `math.huge`";
                    return self.unsupported("a float in a variable that changes", help, None);
                }
            }
        }
        self.check_entries(&shapes)?;
        Ok(self.form_of_shapes(shapes))
    }

    /// An entry stands alone, or with what takes no words.
    fn check_entries(&self, shapes: &BTreeSet<Shape>) -> Result<()> {
        let entries = shapes.iter().filter(|shape| matches!(shape, Shape::Entry(_))).count();
        let words =
            shapes.iter().filter(|shape| !matches!(shape, Shape::Entry(_)) && shape.words() > 0).count();
        if entries > 1 || entries == 1 && words > 0 {
            return self.unsupported(
                "a variable that holds an entry of a shared table or something else",
                "use a variable for each",
                None,
            );
        }
        Ok(())
    }

    fn is_text(&self, shape: &Shape) -> bool {
        matches!(shape, Shape::Object(id) if matches!(self.known.objects.get_index(*id as usize), Some(Object::Text(_))))
    }

    /// The empty string, which is an empty slice of any space.
    fn is_empty_text(&self, shape: &Shape) -> bool {
        matches!(shape, Shape::Object(id) if matches!(self.known.objects.get_index(*id as usize), Some(Object::Text(text)) if text.is_empty()))
    }

    /// Where a constant string that has no shape of its own among `shapes` is, as a slice.
    fn slice_of_text(&mut self, text: &[u8], shapes: &[Shape]) -> (Shape, i64) {
        let slice = shapes.iter().find(|shape| matches!(shape, Shape::Slice(_)));
        match slice {
            Some(slice) if text.is_empty() => (*slice, 0),
            _ => (Shape::Slice(Space::Pool), i64::from(self.pool.intern(text))),
        }
    }

    fn form_of_shapes(&self, mut shapes: BTreeSet<Shape>) -> Form {
        if shapes.iter().any(|shape| matches!(shape, Shape::Slice(_))) {
            shapes.retain(|shape| !self.is_empty_text(shape));
        }
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
        match self.known.objects.get_index(id as usize) {
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
        self.check_entries(&shapes)?;
        Ok(self.form_of_shapes(shapes))
    }

    /// Encodes `value` into the words of `form`, which takes it. Appends to the current block.
    pub fn encode(&mut self, value: &Abs, form: &Form) -> Vec<Word> {
        self.encode_as(value, form, form.words())
    }

    /// [`Context::encode`] into a form that is known to have `count` words. To count them all its shapes are looked at, of which there
    /// can be as many as there are values to encode.
    pub fn encode_as(&mut self, value: &Abs, form: &Form, count: usize) -> Vec<Word> {
        match form {
            Form::Same(_) => vec![],
            Form::One(shape) => {
                let (_, payload) = self.encode_shape(value, std::slice::from_ref(shape));
                payload[..count].to_vec()
            }
            Form::Union(shapes) => {
                let (tag, payload) = self.encode_shape(value, shapes);
                let mut words = vec![tag];
                words.extend(&payload[..count - 1]);
                words
            }
        }
    }

    /// Tag and payload of a value among `shapes`, which are sorted.
    pub fn encode_shape(&mut self, value: &Abs, shapes: &[Shape]) -> (Word, [Word; 2]) {
        let none = Word::Imm(0);
        let (shape, payload) = match value {
            Abs::Nil | Abs::Float(_) => (Shape::Nil, [none; 2]),
            Abs::Bool(word) => (Shape::Bool, [*word, none]),
            Abs::Int(word) => (Shape::Int, [*word, none]),
            Abs::Str(Str::Slice { space, start, length }) => (Shape::Slice(*space), [*start, *length]),
            Abs::Str(Str::Ipv4(word)) => (Shape::Ipv4, [none, *word]),
            Abs::Str(Str::Ipv6(high, low)) => (Shape::Ipv6, [*high, *low]),
            Abs::Str(Str::Mac(word)) => (Shape::Mac, [*word, none]),
            Abs::Str(Str::Const(text)) => {
                let object = Shape::Object(self.intern(&Object::Text(text.clone())));
                if shapes.binary_search(&object).is_ok() {
                    (object, [none; 2])
                } else {
                    let (slice, start) = self.slice_of_text(text, shapes);
                    (slice, [Word::Imm(start), Word::Imm(text.len() as i64)])
                }
            }
            Abs::Object(object) => (Shape::Object(self.intern(object)), [none; 2]),
            Abs::Entry { path, base } => (Shape::Entry(*path), [*base, none]),
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
            let Some(Object::Text(text)) = self.known.objects.get_index(id as usize).cloned() else {
                continue;
            };
            let (slice, start) = self.slice_of_text(&text, shapes);
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
            tag = choose(self, tag, slice.tag());
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
                let slice = accepted.iter().any(|shape| matches!(shape, Shape::Slice(_)));
                let fits = |context: &Self, shape: &Shape| {
                    let as_slice =
                        (pool && context.is_text(shape)) || (slice && context.is_empty_text(shape));
                    accepted.contains(shape) || as_slice
                };
                match self.shapes(value) {
                    Some(shapes) => shapes.iter().all(|shape| fits(self, shape)),
                    None => false,
                }
            }
        }
    }
}
