//! Tables in tables, and tables, functions and booleans as keys.

use super::tree::{Expression, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::RECORDS, 3, Generator::tree),
    (Features::RECORDS, 2, Generator::tables_as_keys),
    (Features::RECORDS, 2, Generator::grid),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[(Features::RECORDS, 2, |it, depth| {
    let items = it.integers(2, depth - 1);
    Some(expr!(Integer, "({ x = { y = { $ } } }).x.y[1 + $]", super::tree::at_least(2, items), it.small(1)))
})];

impl Generator {
    /// A tree of tables that is changed below its root.
    fn tree(&mut self) -> Option<Vec<Statement>> {
        self.spend(60);
        let name = self.fresh("tree");
        let (a, b, c) = (self.integer(1), self.integer(1), self.integer(1));
        let step = self.one_of(&["left", "right"]);
        Some(vec![
            line!(
                format!(
                    "local {name} = {{ value = $, left = {{ value = $ }}, right = {{ {{ $ }}, value = 3 }} }}"
                ),
                a,
                b,
                c
            ),
            line!(format!("{name}.{step}.value = {name}.{step}.value + {name}.value")),
            line!(format!("{name}.left.left = {name}.right")),
            self.shown(vec![
                expr!(Integer, format!("{name}.left.value")),
                expr!(Integer, format!("{name}.left.left.value")),
                expr!(Integer, format!("{name}.left.left[1][1]")),
                expr!(Boolean, format!("{name}.left.left == {name}.right")),
                expr!(Any, format!("{name}.right.left")),
            ]),
        ])
    }

    fn tables_as_keys(&mut self) -> Option<Vec<Statement>> {
        self.spend(60);
        let (first, second, table) = (self.fresh("k"), self.fresh("k"), self.fresh("m"));
        let (a, b) = (self.integer(1), self.integer(1));
        let shown = ["[KEY1]", "[KEY2]", "[{}]", "[true]", "[print]", "[1]"];
        let shown: Vec<Expression> = shown
            .iter()
            .map(|key| expr!(Any, format!("{table}{}", key.replace("KEY1", &first).replace("KEY2", &second))))
            .collect();
        let condition = self.condition(1);
        Some(vec![
            line!(format!("local {first}, {second} = {{}}, function() end")),
            line!(
                format!("local {table} = {{ [{first}] = $, [{second}] = $, [print] = 7, [$] = 8 }}"),
                a,
                b,
                condition
            ),
            line!(format!("{table}[{first}] = ({table}[{first}] or 0) + 1")),
            self.shown(shown),
        ])
    }

    /// A table of rows, filled by two loops.
    fn grid(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(200) {
            return None;
        }
        let name = self.fresh("grid");
        let cell = self.turns(9, |it| {
            it.scope.add("row", super::Sort::Integer, false);
            it.scope.add("column", super::Sort::Integer, false);
            it.integer(2)
        });
        let inner = vec![line!(format!("{name}[row][column] = $"), cell)];
        let outer = vec![line!(format!("{name}[row] = {{}}")), line!("for column = 1, 3 do$end", inner)];
        let join = self.kit("join");
        let (row, column) = (self.small(1), self.small(1));
        Some(vec![
            line!(format!("local {name} = {{}}")),
            line!("for row = 1, 3 do$end", outer),
            self.shown(vec![
                expr!(Text, format!("{join}({name}[1 + $])"), row),
                expr!(Integer, format!("{name}[2][1 + $]"), column),
                expr!(Integer, format!("#{name}[3]")),
            ]),
        ])
    }
}
