//! Global variables: free names, and the declarations of Lua 5.5 (manual § 2.2 and § 3.3.7).

use super::scope::Sort;
use super::tree::{Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> =
    &[(Features::GLOBALS, 3, Generator::declared_block), (Features::GLOBALS, 2, Generator::through_table)];

impl Generator {
    /// Globals that load time sets and handlers change.
    pub(super) fn global_state(&mut self) -> Vec<Statement> {
        if !self.has(Features::GLOBALS) {
            return Vec::new();
        }
        let (first, second) = (self.fresh("global_"), self.fresh("global_"));
        let (value, other) = (self.constant(), self.constant());
        self.scope.add(&first, Sort::Integer, true);
        self.scope.add(&second, Sort::Integer, true);
        let mut all = vec![line!(format!("{first} = $"), value)];
        if self.random.once_in(2) {
            all.push(line!("global *"));
            all.push(line!(format!("global {second} = $"), other));
        } else {
            all.push(line!(format!("{second} = $"), other));
        }
        if self.random.once_in(2) {
            let name = self.fresh("global_");
            let (body, _) = self.function_body(40, |it| {
                it.scope.add("x", Sort::Integer, true);
                let result = it.integer(2);
                vec![line!("return $", result)]
            });
            self.scope.add(&name, Sort::Function(1), false);
            all.push(line!(format!("function {name}(x)$end"), body));
        }
        all
    }

    /// A block in which globals are declared.
    fn declared_block(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let name = self.assignable_global()?;
        let declaration = match self.random.below(3) {
            0 => "global <const> *".to_string(),
            1 => format!(
                "global {name}, print, math, select, tostring, type, pcall, table, string, next, pairs, t"
            ),
            _ => "global *".to_string(),
        };
        let mut body = vec![line!(declaration)];
        if !body[0].parts.is_empty() && self.random.once_in(2) {
            body.insert(0, line!(format!("{name} = {name} + 1")));
        }
        let value = self.constant();
        body.push(self.shown(vec![expr!(Integer, name), value]));
        Some(vec![line!("do$end", body)])
    }

    fn assignable_global(&mut self) -> Option<String> {
        self.variable_where(|variable| variable.name.starts_with("global_") && variable.assignable)
    }

    /// A global by its table.
    fn through_table(&mut self) -> Option<Vec<Statement>> {
        let name = self.assignable_global()?;
        Some(vec![self.shown(vec![
            expr!(Any, format!("_G.{name}")),
            expr!(Boolean, format!("(_G.{name} == {name})")),
            expr!(Any, "rawget(_G, \"never_set\")"),
            expr!(Any, format!("_ENV[\"{name}\"]")),
        ])])
    }
}
