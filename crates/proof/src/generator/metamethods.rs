//! What metatables change (manual § 2.4): operators on instances, and metatables made for one table.

use super::classes::BINARY;
use super::tree::{Expression, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::METAMETHODS, 3, Generator::defaults),
    (Features::METAMETHODS, 3, Generator::proxy),
    (Features::METAMETHODS, 2, Generator::chain),
    (Features::METAMETHODS, 3, Generator::about_object),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[
    (Features::METAMETHODS, 8, Generator::operation),
    (Features::METAMETHODS, 4, Generator::other_operation),
];

impl Generator {
    /// An arithmetic or bitwise operator with an instance on either side.
    fn operation(&mut self, depth: usize) -> Option<Expression> {
        let (object, class) = self.any_object(depth)?;
        let (event, operator, _) = *self.random.pick(&BINARY);
        if !class.events.contains(&event) {
            return None;
        }
        self.spend(40);
        let other = match self.random.once_in(3) {
            true => self.any_object(1)?.0,
            false => self.integer(depth - 1),
        };
        let result = match self.random.once_in(2) {
            true => expr!(Integer, format!("($ {operator} $)"), object, other),
            false => expr!(Integer, format!("($ {operator} $)"), other, object),
        };
        // If the other operand's class answers first, the result may be of either form: both have this integer.
        Some(expr!(Integer, "value($)", result))
    }

    fn other_operation(&mut self, depth: usize) -> Option<Expression> {
        let (object, class) = self.any_object(depth)?;
        self.spend(20);
        let event = *self.random.pick(&["__unm", "__bnot", "__len", "__call"]);
        if !class.events.contains(&event) {
            return None;
        }
        Some(match event {
            "__unm" => expr!(Integer, "(-$)", object),
            "__bnot" => expr!(Integer, "(~$)", object),
            "__len" => expr!(Integer, "(#$)", object),
            _ => expr!(Integer, "$($)", object, self.integers(2, depth - 1)),
        })
    }

    pub(super) fn comparison_of_objects(&mut self) -> Option<Expression> {
        let (left, class) = self.any_object(1)?;
        let (event, operators) =
            *self.random.pick(&[("__eq", ["==", "~="]), ("__lt", ["<", ">"]), ("__le", ["<=", ">="])]);
        if event != "__eq" && !class.events.contains(&event) {
            return None;
        }
        self.spend(30);
        let operator = self.one_of(&operators);
        let right = match self.random.once_in(3) {
            true => self.integer(1),
            false => self.any_object(1)?.0,
        };
        Some(expr!(Boolean, format!("($ {operator} $)"), left, right))
    }

    pub(super) fn text_of_object(&mut self, depth: usize) -> Option<Expression> {
        let (object, class) = self.any_object(depth)?;
        self.spend(20);
        if class.events.contains(&"__tostring") && self.random.once_in(2) {
            return Some(expr!(Text, "tostring($)", object));
        }
        if !class.events.contains(&"__concat") {
            return None;
        }
        let other = self.text(depth - 1);
        Some(match self.random.below(3) {
            0 => expr!(Text, "($ .. $)", object, other),
            1 => expr!(Text, "($ .. $ .. $)", other, object, self.integer(0)),
            _ => expr!(Text, "($ .. $)", other, object),
        })
    }

    /// A table with values for what is not there, from a function or another table.
    fn defaults(&mut self) -> Option<Vec<Statement>> {
        self.spend(60);
        let (name, value) = (self.fresh("d"), self.integer(1));
        let index = match self.random.once_in(2) {
            true => expr!(Function, "function(_, key)$end", vec![line!("return tostring(key) .. \"!\"")]),
            false => expr!(Table, "{ a = $, [2] = \"two\", x = { y = 1 } }", self.integer(1)),
        };
        let shown = [".a", ".b", "[2]", "[true]"];
        let shown: Vec<Expression> = shown.iter().map(|key| expr!(Any, format!("{name}{key}"))).collect();
        Some(vec![
            line!(format!("local {name} = setmetatable({{ b = $ }}, {{ __index = $ }})"), value, index),
            self.shown(shown),
            self.shown(vec![
                expr!(Any, format!("rawget({name}, \"a\")")),
                expr!(Any, format!("rawget({name}, \"b\")")),
                expr!(Integer, format!("rawlen({name})")),
            ]),
        ])
    }

    /// A table that passes assignments on.
    fn proxy(&mut self) -> Option<Vec<Statement>> {
        self.spend(80);
        let (name, store) = (self.fresh("d"), self.fresh("r"));
        let newindex = match self.random.once_in(2) {
            true => expr!(
                Function,
                "function(_, key, new)$end",
                vec![
                    line!(format!("{store}[key] = new")),
                    line!(format!("{store}.count = {store}.count + 1"))
                ]
            ),
            false => expr!(Table, format!("{store}")),
        };
        let (first, second) = (self.integer(1), self.integer(1));
        self.scope.add(&store, super::Sort::Record, true);
        let sorted = self.kit("sorted");
        Some(vec![
            line!(format!("local {store} = {{ count = 0 }}")),
            line!(
                format!("local {name} = setmetatable({{ a = 1 }}, {{ __index = {store}, __newindex = $ }})"),
                newindex
            ),
            line!(
                format!("{name}.a, {name}.b, {name}[$] = $, $, $"),
                self.small(3),
                first,
                second,
                self.integer(0)
            ),
            self.shown(vec![
                expr!(Text, format!("{sorted}({store})")),
                expr!(Integer, format!("{name}.a")),
                expr!(Any, format!("rawget({name}, \"b\")")),
                expr!(Any, format!("{name}.b")),
            ]),
        ])
    }

    /// `__index` through several tables, ending in a function.
    fn chain(&mut self) -> Option<Vec<Statement>> {
        self.spend(80);
        let (name, value) = (self.fresh("d"), self.integer(1));
        let last = expr!(Function, "function(_, key)$end", vec![line!("return key == \"far\" and 9 or nil")]);
        let second =
            expr!(Table, "setmetatable({ b = $ }, { __index = $, __call = rawget })", self.integer(1), last);
        let shown = ["a", "b", "far", "missing"];
        let mut shown: Vec<Expression> =
            shown.iter().map(|key| expr!(Any, format!("{name}.{key}"))).collect();
        shown.push(expr!(Any, format!("getmetatable({name}).__index(\"b\")")));
        Some(vec![
            line!(format!("local {name} = setmetatable({{ a = $ }}, {{ __index = $ }})"), value, second),
            self.shown(shown),
        ])
    }

    /// What library functions say of an instance.
    fn about_object(&mut self) -> Option<Vec<Statement>> {
        let (object, class) = self.any_object(1)?;
        self.spend(60);
        if class.events.contains(&"__pairs") && self.random.once_in(2) && self.may_nest() {
            let body = vec![self.shown(vec![expr!(Any, "k"), expr!(Any, "v")])];
            return Some(vec![line!("for k, v in pairs($) do$end", object, body)]);
        }
        if class.events.contains(&"__close") && self.random.once_in(2) && self.may_nest() {
            let mut body = vec![line!("local held <close> = $", object)];
            body.extend(self.body(2));
            return Some(vec![line!("do$end", body)]);
        }
        let meta = match class.locked {
            true => expr!(Any, "getmetatable($)", object.clone()),
            false => expr!(Boolean, format!("(getmetatable($) == {})", class.name), object.clone()),
        };
        let sorted = self.kit("outcome");
        let changed = expr!(Any, format!("{sorted}(pcall(setmetatable, $, nil))"), object.clone());
        let shown =
            vec![meta, expr!(Any, "rawget($, \"v\")", object.clone()), expr!(Text, "type($)", object)];
        let mut all = vec![self.shown(shown)];
        if class.locked && self.has(Features::ERRORS) {
            all.push(self.shown(vec![changed]));
        }
        Some(all)
    }
}
