//! The names that can be used at a place, and what their values are.

use super::tree::{Expression, ExpressionKind};
use super::{Generator, WORK_OF_CLOSURE};

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Integer,
    Float,
    /// An integer or a float.
    Number,
    Boolean,
    Text,
    /// A sequence of integers.
    List,
    /// A sequence of strings.
    Texts,
    /// A table of integers by names of [`super::records::KEYS`].
    Record,
    /// An instance of the class of that number.
    Object(usize),
    /// A function of that many integers that gives one.
    Function(usize),
    /// An integer that says how deep a recursion may still go.
    Depth,
    /// The packet.
    Packet,
    /// An integer that says where in the frame a header starts.
    Place,
}

#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub sort: Sort,
    /// May be assigned; of tables: their content may.
    pub assignable: bool,
}

#[derive(Clone, Default)]
pub struct Scope {
    pub variables: Vec<Variable>,
    /// The packet can be used: not so in most helper functions.
    pub packet: bool,
    /// A loop is around the place.
    pub looping: bool,
    /// The label that ends the iteration of the innermost loop.
    pub label: Option<String>,
    /// Results that a `return` must have; `None` in a handler, whose result is a verdict.
    pub results: Option<usize>,
    /// `...` can be used.
    pub varargs: bool,
    /// The place is in a handler, and reached as often as the estimate says: flow tables can be called.
    pub handling: bool,
    /// The place is in the function of a coroutine, which may yield.
    pub yields: bool,
}

impl Scope {
    pub fn add(&mut self, name: &str, sort: Sort, assignable: bool) {
        self.variables.push(Variable { name: name.to_string(), sort, assignable });
    }

    /// What a nested function cannot leave or see.
    pub fn enter_function(&mut self) {
        self.looping = false;
        self.label = None;
        self.varargs = false;
        self.yields = false;
        self.results = Some(1);
    }
}

impl Generator {
    /// What stands in a function without extra arguments, of which `make` makes a part.
    pub(super) fn in_function<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let (varargs, yields) = (self.scope.varargs, self.scope.yields);
        (self.scope.varargs, self.scope.yields) = (false, false);
        let made = make(self);
        (self.scope.varargs, self.scope.yields) = (varargs, yields);
        made
    }

    /// A variable of that sort, rather a recent one.
    pub(super) fn variable(&mut self, sort: Sort) -> Option<String> {
        self.variable_where(|variable| variable.sort == sort)
    }

    pub(super) fn assignable(&mut self, sort: Sort) -> Option<String> {
        self.variable_where(|variable| variable.sort == sort && variable.assignable)
    }

    pub(super) fn variable_where(&mut self, wanted: impl Fn(&Variable) -> bool) -> Option<String> {
        let names: Vec<String> =
            self.scope.variables.iter().filter(|v| wanted(v)).map(|v| v.name.clone()).collect();
        if names.is_empty() {
            return None;
        }
        let recent = if self.random.once_in(3) { 0 } else { names.len().saturating_sub(4) };
        Some(self.random.pick(&names[recent..]).clone())
    }

    /// An expression for a value of that sort.
    pub(super) fn value(&mut self, sort: Sort, depth: usize) -> Expression {
        match sort {
            Sort::Integer => self.integer(depth),
            Sort::Float | Sort::Number => self.float(depth),
            Sort::Boolean => self.condition(depth),
            Sort::Text => self.text(depth),
            Sort::List => self.list(depth),
            Sort::Texts => self.texts(depth),
            Sort::Record => self.record(depth),
            Sort::Object(class) => self.object(class, depth),
            Sort::Function(arity) => self.function(arity, WORK_OF_CLOSURE),
            Sort::Depth => super::tree::expr!(Integer, "($ & 7)", self.integer(depth)),
            Sort::Place => super::tree::expr!(Integer, "($ & 63)", self.integer(depth)),
            Sort::Packet => Expression::leaf(ExpressionKind::Any, "pkt"),
        }
    }

    /// Any value that can be printed.
    pub(super) fn printable(&mut self, depth: usize) -> Expression {
        match self.random.below(14) {
            0..=1 => self.condition(1),
            2 => super::tree::expr!(Text, "\"x\" .. $", self.integer(1)),
            3..=6 if self.has(super::Features::TEXTS) => self.text(depth),
            7 if !self.is_plain() => {
                let sort = *self.random.pick(&[Sort::Integer, Sort::Boolean, Sort::Text]);
                super::tree::expr!(Text, "type($)", self.value(sort, 1))
            }
            _ => self.integer(depth),
        }
    }
}
