//! Classes: tables of methods and metamethods that load time makes, with inheritance; instances that packet code makes.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, at_least, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

/// A class of the script.
#[derive(Clone)]
pub(super) struct Class {
    pub name: String,
    /// Events (manual § 2.4) that it answers.
    pub events: Vec<&'static str>,
    /// Arithmetic gives instances, not integers.
    pub closed: bool,
    /// `__index` is a function.
    pub computed: bool,
    /// `__metatable` is set.
    pub locked: bool,
    /// Whether the constructor may be used: derived classes change metatables.
    parent: Option<String>,
}

/// Events of two operands, with the expression of the operands' integers.
pub(super) const BINARY: [(&str, &str, &str); 10] = [
    ("__add", "+", "value(a) + value(b)"),
    ("__sub", "-", "value(a) - value(b)"),
    ("__mul", "*", "value(a) * value(b)"),
    ("__idiv", "//", "value(a) // (value(b) | 1)"),
    ("__mod", "%", "value(a) % (value(b) | 1)"),
    ("__band", "&", "value(a) & value(b)"),
    ("__bor", "|", "value(a) | value(b)"),
    ("__bxor", "~", "value(a) ~ value(b)"),
    ("__shl", "<<", "value(a) << (value(b) & 63)"),
    ("__shr", ">>", "value(a) >> (value(b) & 63)"),
];

/// The others, with parameters and body.
const OTHERS: [(&str, &str, &str); 12] = [
    ("__unm", "a", "return -value(a)"),
    ("__bnot", "a", "return ~value(a)"),
    ("__len", "a", "return value(a) & 15"),
    ("__concat", "a, b", "return tostring(value(a)) .. \"|\" .. tostring(value(b))"),
    ("__call", "self, x, y", "return value(self) + (x or 1) * (y or 2)"),
    ("__eq", "a, b", "return value(a) & 3 == value(b) & 3"),
    ("__lt", "a, b", "return value(a) < value(b)"),
    ("__le", "a, b", "return value(a) <= value(b)"),
    ("__tostring", "a", "return \"<\" .. value(a) .. \">\""),
    ("__newindex", "a, key, new", "rawset(a, key, value(new) ~ 1)"),
    (
        "__pairs",
        "a",
        "return function(limit, i) if i < limit then return i + 1, i * value(a) end end, value(a) & 3, 0",
    ),
    ("__close", "a, e", "print(\"closed\", value(a), e ~= nil)"),
];

pub(super) const STATEMENTS: Rules<StatementRule> =
    &[(Features::CLASSES, 6, Generator::instance), (Features::CLASSES, 3, Generator::set_member)];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::CLASSES, 6, Generator::member),
    (Features::CLASSES, 4, |it, depth| {
        let (object, _) = it.any_object(depth)?;
        it.spend(40);
        Some(expr!(Integer, "$:get($)", object, it.integer(depth - 1)))
    }),
];

impl Generator {
    /// The classes of the script.
    pub(super) fn classes(&mut self) -> Vec<Statement> {
        if !self.has(Features::CLASSES) {
            return Vec::new();
        }
        let mut all = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let parent = self.classes.last().filter(|class| !class.locked).map(|class| class.name.clone());
            all.extend(match parent {
                Some(parent) if self.random.once_in(2) => self.derived_class(&parent),
                _ => self.base_class(),
            });
        }
        if self.random.once_in(2) {
            let (name, class) = (self.fresh("o"), self.random.below(self.classes.len()));
            let value = self.constant();
            self.scope.add(&name, Sort::Object(class), false);
            all.push(line!(format!("local {name} = {}.new($)", self.classes[class].name), value));
        }
        all
    }

    fn base_class(&mut self) -> Vec<Statement> {
        self.kit("value");
        let name = self.fresh("C");
        let mut class = Class {
            name: name.clone(),
            events: Vec::new(),
            closed: self.random.once_in(3),
            computed: self.random.once_in(3),
            locked: self.random.once_in(6),
            parent: None,
        };
        let index = match class.computed {
            true => expr!(
                Function,
                "function(_, key)$end",
                vec![line!(format!("return rawget({name}, key) or #tostring(key)"))]
            ),
            false => Expression::leaf(ExpressionKind::Table, &name),
        };
        let made = vec![line!(format!("return setmetatable({{ v = v }}, {name})"))];
        let mut all = vec![
            line!(format!("local {name} = {{ __name = \"{name}\" }}")),
            line!(format!("{name}.__index = $"), index),
            line!(format!("function {name}.new(v)$end"), made),
        ];
        if self.has(Features::METAMETHODS) {
            all.extend(self.events(&mut class));
        }
        if class.locked {
            all.push(line!(format!("{name}.__metatable = \"locked\"")));
        }
        all.push(self.method(&class));
        self.classes.push(class);
        all
    }

    /// Some metamethods.
    fn events(&mut self, class: &mut Class) -> Vec<Statement> {
        let mut all = Vec::new();
        let name = class.name.clone();
        for (event, _, result) in BINARY {
            if !self.random.once_in(2) {
                continue;
            }
            class.events.push(event);
            let result = if class.closed {
                format!("return {name}.new({result})")
            } else {
                format!("return {result}")
            };
            all.push(line!(format!("{name}.{event} = function(a, b)$end"), vec![line!(result)]));
        }
        for (event, parameters, body) in OTHERS {
            if !self.random.once_in(2) || (event == "__close" && !self.has(Features::CLOSING)) {
                continue;
            }
            class.events.push(event);
            all.push(line!(format!("{name}.{event} = function({parameters})$end"), vec![line!(body)]));
        }
        all
    }

    /// `get`, which every instance has.
    fn method(&mut self, class: &Class) -> Statement {
        let inherited = match &class.parent {
            Some(parent) => format!("{parent}.get(self, a)"),
            None => "self.v".to_string(),
        };
        let (body, _) = self.function_body(40, |it| {
            it.scope.add("a", Sort::Integer, true);
            it.scope.add("self.v", Sort::Integer, false);
            let mut body = it.statements(1);
            let result = it.integer(2);
            body.push(line!(format!("return {inherited} + $"), result));
            body
        });
        line!(format!("function {}:get(a)$end", class.name), body)
    }

    /// A class that inherits methods by `__index` and metamethods by copying them.
    fn derived_class(&mut self, parent: &str) -> Vec<Statement> {
        let name = self.fresh("C");
        let Some(base) = self.classes.iter().find(|class| class.name == parent).cloned() else {
            return Vec::new();
        };
        let class = Class { name: name.clone(), computed: false, parent: Some(parent.to_string()), ..base };
        let made = vec![
            line!(format!("local self = {parent}.new(v)")),
            line!("self.w = v & 7"),
            line!(format!("return setmetatable(self, {name})")),
        ];
        let mut all = vec![
            line!(format!("local {name} = setmetatable({{}}, {{ __index = {parent} }})")),
            line!(format!("{name}.__index = {name}")),
            line!(format!("function {name}.new(v)$end"), made),
        ];
        for event in &class.events {
            all.push(line!(format!("{name}.{event} = {parent}.{event}")));
        }
        all.push(self.method(&class));
        self.classes.push(class);
        all
    }

    /// An instance of a class.
    pub(super) fn object(&mut self, class: usize, depth: usize) -> Expression {
        if let Some(name) = self.variable(Sort::Object(class)).filter(|_| self.random.below(4) > 0) {
            return Expression::leaf(ExpressionKind::Table, name);
        }
        self.spend(20);
        let name = self.classes[class].name.clone();
        expr!(Table, format!("{name}.new($)"), at_least(1, vec![self.integer(depth.saturating_sub(1))]))
    }

    /// An instance of some class, and that class.
    pub(super) fn any_object(&mut self, depth: usize) -> Option<(Expression, Class)> {
        if self.classes.is_empty() || !self.room(60) {
            return None;
        }
        let class = self.random.below(self.classes.len());
        Some((self.object(class, depth), self.classes[class].clone()))
    }

    fn instance(&mut self) -> Option<Vec<Statement>> {
        if self.classes.is_empty() {
            return None;
        }
        let (name, class) = (self.fresh("o"), self.random.below(self.classes.len()));
        let value = self.object(class, 2);
        let writable = value.parts.len() > 1;
        self.scope.add(&name, Sort::Object(class), writable);
        Some(vec![line!(format!("local {name} = $"), value)])
    }

    /// Assigns a member that is there, or one that may be new.
    fn set_member(&mut self) -> Option<Vec<Statement>> {
        let object =
            self.variable_where(|variable| matches!(variable.sort, Sort::Object(_)) && variable.assignable)?;
        let (key, value) = (self.one_of(&["v", "w", "extra"]), self.integer(2));
        let set = line!(format!("{object}.{key} = $"), value);
        Some(vec![set, self.shown(vec![expr!(Integer, format!("{object}.{key}"))])])
    }

    fn member(&mut self, depth: usize) -> Option<Expression> {
        let (object, class) = self.any_object(depth)?;
        Some(match self.random.below(3) {
            0 if class.computed => expr!(Integer, "$[$]", object, self.integer(0)),
            1 if class.computed => expr!(Integer, "$.missing", object),
            _ => expr!(Integer, "$.v", object),
        })
    }
}
