//! Tables that are sequences of integers or of strings, and the table library (manual § 6.7).
//!
//! Only sequences have their length taken, as the border of any other table is anybody's choice (manual § 3.4.7). Comparison
//! functions order all elements that can be told apart, as `table.sort` is not stable.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, at_least, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::LISTS, 8, |it| Some(vec![it.local_list()])),
    (Features::LISTS, 6, Generator::append),
    (Features::LISTS, 4, Generator::replace),
    (Features::LISTS, 6, Generator::remove),
    (Features::LISTS, 3, Generator::sort),
    (Features::LISTS, 3, Generator::print_list),
    (Features::LISTS, 2, Generator::moved),
    (Features::LISTS, 2, Generator::split),
    (Features::LISTS, 1, Generator::exchange_ends),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::LISTS, 2, |it, depth| Some(expr!(Integer, "#$", it.list(depth - 1)))),
    (Features::LISTS, 6, |it, _| {
        let list = it.variable(Sort::List)?;
        Some(expr!(Integer, format!("({list}[$] or $)"), it.small(7), it.constant()))
    }),
    (Features::LISTS, 2, |it, _| {
        let list = it.variable(Sort::List)?;
        Some(expr!(Integer, format!("(table.unpack({list}, $) or $)"), it.small(3), it.constant()))
    }),
    (Features::LISTS, 1, |it, depth| {
        it.spend(10);
        Some(expr!(Integer, "(select(\"#\", table.unpack($)))", it.list(depth - 1)))
    }),
    (Features::LISTS, 1, |it, depth| {
        let items = it.integers(3, depth - 1);
        Some(expr!(Integer, "table.pack($).n", items))
    }),
    (Features::LISTS, 1, |it, _| {
        let list = it.variable(Sort::List)?;
        it.spend(20);
        Some(expr!(Integer, format!("math.max(0, table.unpack({list}))")))
    }),
];

impl Generator {
    pub(super) fn tables_of_load_time(&mut self) -> Vec<Statement> {
        let mut all = Vec::new();
        if self.has(Features::LISTS) {
            let (name, items) = (self.fresh("l"), (0..5).map(|_| self.constant()).collect::<Vec<_>>());
            self.scope.add(&name, Sort::List, false);
            all.push(line!(format!("local {name} = {{ $ }}"), items));
        }
        if self.has(Features::RECORDS) {
            let (name, fields) = (self.fresh("r"), self.fields(0));
            self.scope.add(&name, Sort::Record, false);
            all.push(line!(format!("local {name} = {{ $ }}"), fields));
        }
        all
    }

    /// A sequence of integers.
    pub(super) fn list(&mut self, depth: usize) -> Expression {
        if let Some(name) = self.variable(Sort::List).filter(|_| self.random.below(3) > 0) {
            return Expression::leaf(ExpressionKind::Table, name);
        }
        self.new_list(depth)
    }

    fn new_list(&mut self, depth: usize) -> Expression {
        self.spend(20);
        let count = self.random.below(6);
        let mut items = self.integers(count, depth.min(1));
        match self.random.below(10) {
            0 if self.scope.varargs => {
                items.push(Expression::leaf(ExpressionKind::Field, "..."));
                expr!(Table, "{ $ }", items)
            }
            1 if self.has(Features::TEXTS) => {
                items.push(expr!(Field, "$:byte(1, 3)", self.text(1)));
                expr!(Table, "{ $ }", items)
            }
            2 if self.random.once_in(2) => expr!(Table, format!("table.create({count}, $)"), self.small(3)),
            2 => expr!(Table, "table.pack($)", items),
            3 => match self.variable(Sort::List) {
                Some(list) => expr!(Table, format!("{{ table.unpack({list}) }}")),
                None => expr!(Table, "{ $ }", items),
            },
            4 => expr!(Table, "{ [2] = $, [1] = $ }", self.integer(0), self.integer(0)),
            5 => {
                expr!(Table, "{ [1] = $, [2] = $, n = $ }", self.integer(0), self.integer(0), self.constant())
            }
            _ => expr!(Table, "{ $ }", items),
        }
    }

    /// A sequence of strings.
    pub(super) fn texts(&mut self, depth: usize) -> Expression {
        if let Some(name) = self.variable(Sort::Texts).filter(|_| self.random.below(3) > 0) {
            return Expression::leaf(ExpressionKind::Table, name);
        }
        self.spend(20);
        let count = self.random.below(5);
        let items: Vec<Expression> = (0..count).map(|_| self.text(depth.min(1))).collect();
        expr!(Table, "{ $ }", items)
    }

    fn local_list(&mut self) -> Statement {
        let (name, value) = (self.fresh("l"), self.new_list(2));
        self.scope.add(&name, Sort::List, true);
        line!(format!("local {name} = $"), value)
    }

    fn append(&mut self) -> Option<Vec<Statement>> {
        let list = self.assignable(Sort::List)?;
        let value = self.integer(2);
        Some(vec![match self.random.below(3) {
            0 => line!(format!("{list}[#{list} + 1] = $"), value),
            1 => line!(format!("table.insert({list}, $)"), value),
            _ => line!(format!("table.insert({list}, $ % (#{list} + 1) + 1, $)"), self.integer(1), value),
        }])
    }

    fn replace(&mut self) -> Option<Vec<Statement>> {
        let list = self.assignable(Sort::List)?;
        let (place, value) = (self.integer(1), self.integer(2));
        let set = match self.random.once_in(4) {
            true => line!(format!("rawset({list}, $ % #{list} + 1, $)"), place, value),
            false => line!(format!("{list}[$ % #{list} + 1] = $"), place, value),
        };
        Some(vec![line!(format!("if #{list} > 0 then$end"), vec![set])])
    }

    fn remove(&mut self) -> Option<Vec<Statement>> {
        let list = self.assignable(Sort::List)?;
        Some(vec![match self.random.below(4) {
            0 => line!(format!("{list}[#{list}] = nil")),
            1 => {
                let removed = expr!(
                    Any,
                    format!("table.remove({list}, #{list} > 0 and $ % #{list} + 1 or nil)"),
                    self.integer(1)
                );
                self.shown(vec![removed])
            }
            2 => line!(
                format!("while #{list} > $ do$end"),
                self.small(3),
                vec![line!(format!("table.remove({list})"))]
            ),
            _ => self.shown(vec![expr!(Any, format!("table.remove({list})"))]),
        }])
    }

    fn sort(&mut self) -> Option<Vec<Statement>> {
        if !self.room(400) {
            return None;
        }
        self.spend(300);
        if let Some(words) = self.assignable(Sort::Texts).filter(|_| self.random.once_in(3)) {
            let order = self.one_of(&["", ", function(a, b) return a > b end"]);
            let concat = expr!(Text, format!("table.concat({words}, \",\")"));
            return Some(vec![line!(format!("table.sort({words}{order})")), self.shown(vec![concat])]);
        }
        let list = self.assignable(Sort::List)?;
        let sort = match self.random.below(4) {
            0 => line!(format!("table.sort({list}, function(a, b) return a > b end)")),
            1 => line!(format!("table.sort({list}, math.ult)")),
            2 => {
                let body = vec![
                    line!("if a & 7 ~= b & 7 then$end", vec![line!("return a & 7 < b & 7")]),
                    line!("return b < a"),
                ];
                line!(format!("table.sort({list}, $)"), expr!(Function, "function(a, b)$end", body))
            }
            _ => line!(format!("table.sort({list})")),
        };
        let join = self.kit("join");
        Some(vec![sort, self.shown(vec![expr!(Text, format!("{join}({list})"))])])
    }

    fn print_list(&mut self) -> Option<Vec<Statement>> {
        self.spend(60);
        let list = self.list(1);
        let join = self.kit("join");
        Some(vec![match self.random.below(4) {
            0 => self.shown(vec![expr!(Any, "table.unpack($)", list)]),
            1 => {
                let part = expr!(Any, "table.unpack($, $, $)", list.clone(), self.small(3), self.small(7));
                self.shown(vec![expr!(Integer, "#$", list), part])
            }
            _ => self.shown(vec![expr!(Text, format!("{join}($)"), list)]),
        }])
    }

    /// A list as a string.
    pub(super) fn joined(&mut self, depth: usize) -> Option<Expression> {
        self.spend(60);
        let list = self.list(depth - 1);
        Some(match self.random.below(3) {
            0 => expr!(Text, format!("{}($)", self.kit("join")), list),
            1 => expr!(Text, "table.concat($, $)", list, self.text(0)),
            _ => expr!(Text, "table.concat($, \"-\")", self.texts(depth - 1)),
        })
    }

    fn moved(&mut self) -> Option<Vec<Statement>> {
        let name = self.fresh("l");
        let list = self.variable(Sort::List)?;
        self.spend(40);
        let (first, second) = (self.integer(1), self.integer(1));
        let moved = match self.random.below(4) {
            0 => expr!(Table, format!("table.move({list}, 1, #{list}, 1, {{}})")),
            1 => expr!(
                Table,
                format!("table.move({list}, 1, #{list}, 3, {{ $ }})"),
                at_least(2, vec![first, second])
            ),
            2 => expr!(Table, format!("table.move({list}, 2, #{list}, 1, {{ table.unpack({list}) }})")),
            _ => expr!(Table, format!("table.move({{ table.unpack({list}) }}, 1, 0, 5)")),
        };
        self.scope.add(&name, Sort::List, true);
        Some(vec![line!(format!("local {name} = $"), moved)])
    }

    /// The words of a string.
    fn split(&mut self) -> Option<Vec<Statement>> {
        if !self.has(Features::PATTERNS) || !self.room(300) {
            return None;
        }
        self.spend(150);
        let (name, text) = (self.fresh("ws"), self.short_text(1));
        let pattern = self.one_of(&["%w+", "[^,]+", "%a", "%S+", "[^,]*"]);
        let body = vec![line!(format!("{name}[#{name} + 1] = word"))];
        self.scope.add(&name, Sort::Texts, true);
        Some(vec![
            line!(format!("local {name} = {{}}")),
            line!(
                "for word in $:gmatch($) do$end",
                text,
                Expression::leaf(ExpressionKind::Text, format!("\"{pattern}\"")),
                body
            ),
        ])
    }

    fn exchange_ends(&mut self) -> Option<Vec<Statement>> {
        let list = self.assignable(Sort::List)?;
        Some(vec![line!(format!("{list}[1], {list}[#{list}] = {list}[#{list}], {list}[1]"))])
    }
}
