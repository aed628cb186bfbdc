//! Tables that keep floats, and values of several types, from packet to packet: most of them without declaration. What they hold after
//! each frame is compared.

use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule};

/// A table of the script's own, with integers as keys.
#[derive(Clone)]
pub(super) struct Kept {
    name: String,
    value: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Float,
    /// `{ mean = …, n = … }`, a float and an integer.
    Means,
    /// Any plain value.
    Mixed,
    /// `{ v = …, n = … }`, any plain value and an integer.
    Holders,
}

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::KEPT, 12, Generator::keep),
    (Features::KEPT, 4, Generator::show_kept),
    (Features::KEPT, 2, Generator::drop_kept),
    (Features::KEPT, 2, Generator::count_kept),
];

impl Generator {
    /// Up to three tables.
    pub(super) fn kept_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::KEPT) {
            return Vec::new();
        }
        (0..1 + self.random.below(3)).map(|_| self.new_kept()).collect()
    }

    fn new_kept(&mut self) -> Statement {
        let values = [Value::Float, Value::Means, Value::Mixed, Value::Mixed, Value::Holders];
        let (name, value) = (self.fresh("kept"), *self.random.pick(&values));
        self.kept.push(Kept { name: name.clone(), value });
        let (ty, filled) = match value {
            Value::Float => ("\"float\"", "0.5"),
            Value::Means => ("{ mean = \"float\", n = \"int\" }", "{ mean = -0.0, n = 1 }"),
            Value::Mixed => ("\"any\"", self.one_of(&["true", "7", "-1.5", "\"first\""])),
            Value::Holders => ("{ v = \"any\", n = \"int\" }", "{ v = \"x\", n = 1 }"),
        };
        let lifetime = self.one_of(&["", ", ttl = 3600", ", evict = \"lru\""]);
        match self.random.below(4) {
            0 => line!(format!("local {name} = map {{ key = \"int\", value = {ty}{lifetime} }}")),
            1 => line!(format!("local {name} = {{ [0] = {filled} }}")),
            _ => line!(format!("local {name} = {{}}")),
        }
    }

    fn any_kept(&mut self) -> Option<Kept> {
        let usable = !self.kept.is_empty() && !self.loading() && self.room(80);
        usable.then(|| self.random.pick(&self.kept).clone())
    }

    /// An integer, or the float that equals it.
    fn key_of_kept(&mut self) -> Expression {
        self.spend(10);
        match self.random.below(4) {
            0 if self.scope.packet => expr!(Integer, "(#pkt & 3)"),
            1 => expr!(Float, "(($ & 3) / 1)", self.integer(1)),
            2 => Expression::leaf(ExpressionKind::Integer, self.one_of(&["0", "1", "2.0"])),
            _ => expr!(Integer, "($ & 3)", self.integer(1)),
        }
    }

    /// A float that is no other number's text: no NaN, whose sign is the processor's.
    fn kept_float(&mut self) -> Expression {
        match self.random.below(3) {
            0 => expr!(Float, "($ / 8)", self.integer(1)),
            1 => Expression::leaf(
                ExpressionKind::Float,
                self.one_of(&["0.5", "-0.0", "1e300", "(2^53)", "(1/0)"]),
            ),
            _ => expr!(Float, "(($ & 255) * 0.25)", self.integer(1)),
        }
    }

    fn plain_value(&mut self) -> Expression {
        match self.random.below(6) {
            0 => self.kept_float(),
            1 => self.condition(1),
            2 => self.short_text(1),
            3 => expr!(Any, "($ and $ or $)", self.condition(1), self.integer(1), self.kept_float()),
            _ => self.integer(2),
        }
    }

    /// Assigns an entry, mostly with what is there.
    fn keep(&mut self) -> Option<Vec<Statement>> {
        let Kept { name, value } = self.any_kept()?;
        let (k, key) = (self.fresh("key"), self.key_of_kept());
        self.spend(50);
        let place = format!("{name}[{k}]");
        let mut all = vec![line!(format!("local {k} = $"), key)];
        all.extend(match value {
            Value::Float => self.keep_float(&place),
            Value::Mixed => self.keep_plain(&place),
            Value::Means => {
                let (mean, change) = (self.kept_float(), self.kept_float());
                let changes = vec![line!("e.mean = e.mean * 0.5 + $", change), line!("e.n = e.n + 1")];
                let new = vec![line!(format!("{place} = {{ mean = $, n = 1 }}"), mean)];
                vec![line!(format!("local e = {place}")), line!("if e then$else$end", changes, new)]
            }
            Value::Holders => {
                let (first, change) = (self.plain_value(), self.plain_value());
                let changes = vec![line!("e.v = $", change), line!("e.n = e.n + 1")];
                let new = vec![line!(format!("{place} = {{ v = $, n = 1 }}"), first)];
                vec![line!(format!("local e = {place}")), line!("if e then$else$end", changes, new)]
            }
        });
        all.push(self.shown(vec![Expression::leaf(ExpressionKind::Any, shown(value, &place))]));
        Some(vec![line!("do$end", all)])
    }

    fn keep_float(&mut self, place: &str) -> Vec<Statement> {
        let value = self.kept_float();
        vec![match self.random.below(4) {
            0 => line!(format!("{place} = $"), value),
            1 => line!(format!("{place} = {place} or $"), value),
            2 => line!(format!("if {place} == nil or {place} < $ then {place} = 0.75 end"), value),
            _ => line!(format!("{place} = ({place} or 0.0) * 0.5 + $"), value),
        }]
    }

    fn keep_plain(&mut self, place: &str) -> Vec<Statement> {
        let value = self.plain_value();
        vec![match self.random.below(5) {
            0 => line!(format!("if {place} then {place} = $ else {place} = true end"), value),
            1 => line!(format!("{place} = {place} == $"), value),
            2 => line!(format!("{place} = {place} or $"), value),
            3 => line!(
                format!(
                    "if math.type({place}) == \"integer\" then {place} = {place} + 1 else {place} = $ end"
                ),
                value
            ),
            _ => line!(format!("{place} = $"), value),
        }]
    }

    fn show_kept(&mut self) -> Option<Vec<Statement>> {
        let Kept { name, value } = self.any_kept()?;
        let (k, key) = (self.fresh("key"), self.key_of_kept());
        let place = format!("{name}[{k}]");
        let mut seen = vec![Expression::leaf(ExpressionKind::Any, shown(value, &place))];
        if matches!(value, Value::Float | Value::Mixed) {
            seen.push(expr!(Boolean, format!("({place} == $)"), self.plain_value()));
            seen.push(expr!(Any, format!("type({place})")));
            seen.push(expr!(Any, format!("math.type({place} or 1)")));
        }
        let all = vec![line!(format!("local {k} = $"), key), self.shown(seen)];
        Some(vec![line!("do$end", all)])
    }

    fn drop_kept(&mut self) -> Option<Vec<Statement>> {
        let Kept { name, .. } = self.any_kept()?;
        let key = self.key_of_kept();
        let forget = vec![line!(format!("{name}[$] = nil"), key)];
        Some(vec![line!("if $ then$end", self.condition(1), forget)])
    }

    /// A traversal whose order does not show.
    fn count_kept(&mut self) -> Option<Vec<Statement>> {
        let Kept { name, value } = self.any_kept()?;
        if matches!(value, Value::Means | Value::Holders)
            || self.factor > 1
            || !self.may_nest()
            || !self.room(300)
        {
            return None;
        }
        self.spend(200);
        let count = self.fresh("v");
        let test = self.one_of(&[
            "value == true",
            "math.type(value) == \"float\"",
            "value",
            "type(value) == \"string\"",
        ]);
        let body = vec![line!(format!("if {test} then {count} = {count} + 1 + key end"))];
        let traversal = line!(format!("for key, value in pairs({name}) do$end"), body);
        let shown = self.shown(vec![expr!(Integer, count.clone())]);
        Some(vec![line!(format!("local {count} = 0")), traversal, shown])
    }
}

/// What is printed of an entry.
fn shown(value: Value, place: &str) -> String {
    match value {
        Value::Float | Value::Mixed => place.to_string(),
        Value::Means => format!("({place} or {{ mean = -1.0 }}).mean, ({place} or {{ n = -1 }}).n"),
        Value::Holders => format!("({place} or {{ v = -1 }}).v, ({place} or {{ n = -1 }}).n"),
    }
}
