//! Tables of integers by name, traversals whose order does not show, raw access.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

/// Names of fields.
pub const KEYS: [&str; 7] = ["a", "b", "c", "count", "v", "key", "GET"];

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::RECORDS, 5, |it| Some(vec![it.local_record()])),
    (Features::RECORDS, 6, Generator::set_field),
    (Features::RECORDS, 3, Generator::traverse),
    (Features::RECORDS, 2, Generator::clear),
    (Features::RECORDS, 3, Generator::print_record),
    (Features::RECORDS, 2, Generator::count_words),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::RECORDS, 8, Generator::field_of),
    (Features::RECORDS, 1, |it, depth| {
        let record = it.record(depth - 1);
        Some(expr!(Integer, "(rawequal($, $) and 1 or rawlen($))", record.clone(), record.clone(), record))
    }),
    (Features::RECORDS, 1, |it, depth| {
        Some(expr!(Integer, "(next($) == nil and 1 or $)", it.record(depth - 1), it.constant()))
    }),
];

impl Generator {
    /// Fields for a constructor.
    pub(super) fn fields(&mut self, depth: usize) -> Vec<Expression> {
        let mut fields = Vec::new();
        for key in KEYS {
            if !self.random.once_in(3) {
                continue;
            }
            fields.push(match self.random.below(6) {
                0 => expr!(Field, format!("[\"{key}\"] = $"), self.integer(depth)),
                1 => expr!(Field, format!("[\"{key}\" .. $] = $"), self.small(7), self.integer(depth)),
                2 => expr!(Field, "[$ & 0xff] = $", self.integer(depth), self.integer(depth)),
                3 => expr!(Field, "[$] = $", self.condition(depth), self.integer(depth)),
                _ => expr!(Field, format!("{key} = $"), self.integer(depth)),
            });
        }
        fields
    }

    /// A table of integers by name.
    pub(super) fn record(&mut self, depth: usize) -> Expression {
        if let Some(name) = self.variable(Sort::Record).filter(|_| self.random.below(4) > 0) {
            return Expression::leaf(ExpressionKind::Table, name);
        }
        self.spend(20);
        expr!(Table, "{ $ }", self.fields(depth.min(1)))
    }

    fn local_record(&mut self) -> Statement {
        self.spend(20);
        let (name, fields) = (self.fresh("r"), self.fields(1));
        self.scope.add(&name, Sort::Record, true);
        line!(format!("local {name} = {{ $ }}"), fields)
    }

    /// A key that may be there.
    fn key(&mut self) -> Expression {
        let key = self.one_of(&KEYS);
        match self.random.below(6) {
            0 if self.has(Features::TEXTS) => self.text(1),
            1 => expr!(Text, format!("(\"{key}\" .. $)"), self.small(7)),
            2 => expr!(Integer, "($ & 0xff)", self.integer(1)),
            3 => self.condition(1),
            _ => Expression::leaf(ExpressionKind::Text, format!("(\"{key}\")")),
        }
    }

    fn set_field(&mut self) -> Option<Vec<Statement>> {
        let record = self.assignable(Sort::Record)?;
        let (key, value) = (self.one_of(&KEYS), self.integer(2));
        Some(vec![match self.random.below(6) {
            0 => line!(format!("{record}[$] = $"), self.key(), value),
            1 => line!(format!("{record}[$] = nil"), self.key()),
            2 => line!(format!("rawset({record}, $, $)"), self.key(), value),
            3 => line!(format!("{record}.{key} = ({record}.{key} or 0) + $"), value),
            _ => line!(format!("{record}.{key} = $"), value),
        }])
    }

    fn field_of(&mut self, depth: usize) -> Option<Expression> {
        let (record, key, otherwise) = (self.record(depth - 1), self.one_of(&KEYS), self.integer(0));
        Some(match self.random.below(4) {
            0 => expr!(Integer, "(rawget($, $) or $)", record, self.key(), otherwise),
            1 => expr!(Integer, "(($)[$] or $)", record, self.key(), otherwise),
            _ => expr!(Integer, format!("(($).{key} or $)"), record, otherwise),
        })
    }

    /// Sums or counts what a table has.
    fn traverse(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        self.spend(80);
        let (sum, record) = (self.fresh("v"), self.record(1));
        let walk = match self.random.once_in(3) {
            true => expr!(Field, "next, $", record),
            false => expr!(Field, "pairs($)", record),
        };
        // Each is the same for every order: addition, exclusive or, maximum.
        let body = match self.random.below(3) {
            0 => line!(format!("{sum} = {sum} + value * $"), self.constant()),
            1 => line!(format!("{sum} = {sum} ~ (value << #tostring(key))")),
            _ => line!(format!("{sum} = math.max({sum}, value)")),
        };
        let start = self.integer(0);
        self.scope.add(&sum, Sort::Integer, true);
        Some(vec![
            line!(format!("local {sum} = $"), start),
            line!("for key, value in $ do$end", walk, vec![body]),
        ])
    }

    /// Changes or removes fields during a traversal (manual § 6.2, `next`).
    fn clear(&mut self) -> Option<Vec<Statement>> {
        let record = self.assignable(Sort::Record)?;
        self.spend(60);
        let body = match self.random.below(3) {
            0 => line!(format!("{record}[key] = nil")),
            1 => line!(format!("if value < 10 then {record}[key] = nil end")),
            _ => line!(format!("{record}[key] = value ~ 1")),
        };
        let sorted = self.kit("sorted");
        Some(vec![
            line!(format!("for key, value in pairs({record}) do$end"), vec![body]),
            self.shown(vec![expr!(Text, format!("{sorted}({record})"))]),
        ])
    }

    /// The fields of a table, sorted.
    pub(super) fn fields_as_text(&mut self, depth: usize) -> Option<Expression> {
        if !self.room(300) {
            return None;
        }
        self.spend(200);
        let sorted = self.kit("sorted");
        Some(expr!(Text, format!("{sorted}($)"), self.record(depth - 1)))
    }

    fn print_record(&mut self) -> Option<Vec<Statement>> {
        let text = self.fields_as_text(2)?;
        Some(vec![self.shown(vec![text])])
    }

    /// A table that grows: how often each byte or word comes up.
    fn count_words(&mut self) -> Option<Vec<Statement>> {
        if !self.room(500) || !self.has(Features::PATTERNS) {
            return None;
        }
        self.spend(400);
        let (name, text) = (self.fresh("r"), self.short_text(2));
        let body = vec![line!(format!("{name}[w] = ({name}[w] or 0) + 1"))];
        let sorted = self.kit("sorted");
        self.scope.add(&name, Sort::Record, true);
        Some(vec![
            line!(format!("local {name} = {{}}")),
            line!(
                "for w in $:gmatch($) do$end",
                text,
                Expression::leaf(ExpressionKind::Text, "\"%w\""),
                body
            ),
            self.shown(vec![expr!(Text, format!("{sorted}({name})"))]),
        ])
    }
}
