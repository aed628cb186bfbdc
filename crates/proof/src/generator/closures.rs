//! Functions as values: in variables and tables, shared upvalues, loop variables, functions that make functions.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule, WORK_OF_CLOSURE};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::CLOSURES, 3, Generator::functions_of_a_loop),
    (Features::CLOSURES, 3, Generator::shared_variable),
    (Features::CLOSURES, 2, Generator::choice_of_functions),
    (Features::CLOSURES, 2, Generator::functions_by_name),
];

pub(super) const INTEGERS: Rules<ExpressionRule> =
    &[(Features::CLOSURES, 8, Generator::call_of_value), (Features::CLOSURES, 2, Generator::call_of_result)];

impl Generator {
    /// Functions that load time made: they keep an integer or add to one that handlers change.
    pub(super) fn closures_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::CLOSURES) || self.random.once_in(3) {
            return Vec::new();
        }
        let (make, adder, counter) = (self.fresh("make"), self.fresh("g"), self.fresh("g"));
        let inner = vec![
            line!("local count = by"),
            line!(
                "return $, $",
                expr!(Function, "function(x)$end", vec![line!("return x + by")]),
                expr!(Function, "function(x)$end", vec![line!("count = count + x"), line!("return count")]),
            ),
        ];
        let by = self.constant();
        self.scope.add(&adder, Sort::Function(1), false);
        self.scope.add(&counter, Sort::Function(1), false);
        vec![
            line!(format!("local function {make}(by)$end"), inner),
            line!(format!("local {adder}, {counter} = {make}($)"), by),
        ]
    }

    /// Each turn of a loop has a variable of its own (manual § 3.3.5), all share the one around it.
    fn functions_of_a_loop(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() {
            return None;
        }
        let (list, shared, i) = (self.fresh("fs"), self.fresh("v"), self.fresh("i"));
        let first = self.integer(1);
        self.scope.add(&shared, Sort::Integer, true);
        let function = self.turns(4, |it| {
            it.scope.add(&i, Sort::Integer, false);
            it.closure(1, WORK_OF_CLOSURE)
        });
        let keep = line!(format!("{list}[#{list} + 1] = $"), function);
        let (which, argument) = (self.small(3), self.integer(1));
        let calls = (1..=2).map(|k| {
            expr!(Integer, format!("{list}[($ + {k}) % 4 + 1]($)"), which.clone(), argument.clone())
        });
        let mut shown: Vec<Expression> = calls.collect();
        self.spend(2 * WORK_OF_CLOSURE);
        shown.push(Expression::leaf(ExpressionKind::Integer, shared.clone()));
        Some(vec![
            line!(format!("local {list}, {shared} = {{}}, $"), first),
            line!(format!("for {i} = 1, 4 do$end"), vec![keep]),
            self.shown(shown),
        ])
    }

    /// Two functions with one variable between them.
    fn shared_variable(&mut self) -> Option<Vec<Statement>> {
        let (get, set, value) = (self.fresh("g"), self.fresh("g"), self.fresh("v"));
        let (start, step) = (self.integer(1), self.integer(1));
        let body = vec![
            line!(format!("local {value} = $"), start),
            line!(
                format!("{get} = $"),
                expr!(Function, "function(x)$end", vec![line!(format!("return {value} - x"))])
            ),
            line!(
                format!("{set} = $"),
                expr!(
                    Function,
                    "function(x)$end",
                    vec![line!(format!("{value} = {value} * 3 + x")), line!(format!("return {value}"))]
                )
            ),
        ];
        let all = vec![
            line!(format!("local {get}, {set}")),
            line!("do$end", body),
            line!(format!("{set}($)"), step),
        ];
        self.scope.add(&get, Sort::Function(1), false);
        self.scope.add(&set, Sort::Function(1), false);
        Some(all)
    }

    fn choice_of_functions(&mut self) -> Option<Vec<Statement>> {
        let name = self.fresh("g");
        let condition = self.condition(1);
        let (yes, no) = (self.function(1, WORK_OF_CLOSURE), self.function(1, WORK_OF_CLOSURE));
        self.scope.add(&name, Sort::Function(1), false);
        Some(vec![line!(format!("local {name} = $ and $ or $"), condition, yes, no)])
    }

    /// A table of functions, called by a name that is known only now.
    fn functions_by_name(&mut self) -> Option<Vec<Statement>> {
        if !self.room(3 * WORK_OF_CLOSURE) {
            return None;
        }
        let name = self.fresh("fs");
        let fields: Vec<Expression> = ["a", "b", "c"]
            .iter()
            .map(|key| expr!(Field, format!("{key} = $"), self.function(2, WORK_OF_CLOSURE)))
            .collect();
        self.spend(2 * WORK_OF_CLOSURE);
        let key = Expression::leaf(ExpressionKind::Text, "(\"abc\")");
        let which = self.small(2);
        let arguments = self.integers(2, 1);
        let called = expr!(
            Integer,
            format!("{name}[$]($)"),
            expr!(Text, "$:sub(1 + $, 1 + $)", key, which.clone(), which),
            arguments
        );
        let more = self.integers(2, 0);
        let second = expr!(Integer, format!("{name}.b($)"), more);
        Some(vec![line!(format!("local {name} = {{ $ }}"), fields), self.shown(vec![called, second])])
    }

    fn call_of_value(&mut self, depth: usize) -> Option<Expression> {
        let arity = 1 + self.random.below(2);
        let name = self.variable(Sort::Function(arity))?;
        if !self.room(WORK_OF_CLOSURE) {
            return None;
        }
        self.spend(WORK_OF_CLOSURE);
        let arguments = self.integers(arity, depth - 1);
        Some(expr!(Integer, format!("{name}($)"), super::tree::at_least(arity, arguments)))
    }

    /// A function that is made where it is called, or made by another one.
    fn call_of_result(&mut self, depth: usize) -> Option<Expression> {
        if !self.room(WORK_OF_CLOSURE * 2) || self.depth > 4 {
            return None;
        }
        self.spend(WORK_OF_CLOSURE);
        let argument = self.integer(depth - 1);
        Some(match self.random.below(3) {
            0 => expr!(Integer, "($)($)", self.closure(1, WORK_OF_CLOSURE), argument),
            1 => {
                let compose = self.kit("compose");
                let (f, g) = (self.function(1, WORK_OF_CLOSURE), self.function(1, WORK_OF_CLOSURE));
                expr!(Integer, format!("{compose}($, $)($)"), f, g, argument)
            }
            _ => {
                let apply = self.kit("apply");
                let f = self.function(2, WORK_OF_CLOSURE);
                expr!(Integer, format!("{apply}($, $, $)"), f, argument, self.integer(0))
            }
        })
    }
}
