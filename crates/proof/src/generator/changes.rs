//! Variables that functions inside set to values of other types, and metatables whose fields are set after they are in use.

use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule, WORK_OF_CLOSURE};

/// A variable of load time, and the function that changes it by an integer.
#[derive(Clone)]
pub(super) struct Holder {
    name: String,
    turn: String,
}

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::CHANGES, 6, Generator::change_held),
    (Features::CHANGES, 6, Generator::held_here),
    (Features::CHANGES, 3, Generator::metatable_changed),
];

/// Values of load time; C is a function, T a table.
const KEPT: [&str; 8] = ["5", "\"five\"", "C", "T", "nil", "true", "\"ip\"", "-1 << 40"];

/// Values of packet time, of an integer k.
const MADE: [&str; 8] = [
    "k",
    "\"t\" .. k",
    "{ v = k }",
    "{ v = \"in\", k }",
    "function() return k end",
    "k > 2",
    "nil",
    "\"ab\"",
];

/// How a function is called with an integer.
const CALLS: [&str; 6] = [
    "F(K)",
    "F(K)",
    "pcall(F, K)",
    "string.gsub(\"x\", \"x\", function() F(K) end)",
    "(function(...) F(...) end)(K)",
    "table.sort({ 2, 1 }, function(a, b) F(K) return a < b end)",
];

/// Metamethods, their bodies, and what calls them on o.
const EVENTS: [(&str, &str, &str); 8] = [
    ("__index", "{ w = k }", "o.w"),
    ("__index", "function(_, key) return #tostring(key) + k end", "o.w"),
    ("__add", "function(a, b) return k end", "o + 1"),
    ("__concat", "function(a, b) return \"joined\" .. k end", "o .. \"x\""),
    ("__len", "function() return k end", "#o"),
    ("__call", "function(_, x) return x ~ k end", "o(3)"),
    ("__tostring", "function() return \"shown\" .. k end", "tostring(o)"),
    ("__newindex", "function(t, key, x) rawset(t, key, k) end", "(function() o.w = 1 return o.w end)()"),
];

impl Generator {
    /// Some variables of load time.
    pub(super) fn holders_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::CHANGES) {
            return Vec::new();
        }
        (0..1 + self.random.below(2)).flat_map(|_| self.holder()).collect()
    }

    fn holder(&mut self) -> Vec<Statement> {
        let (name, turn, fallback, table) =
            (self.fresh("held"), self.fresh("turn"), self.fresh("f"), self.fresh("kept"));
        let value = |it: &mut Generator| match it.one_of(&KEPT) {
            "C" => fallback.clone(),
            "T" => table.clone(),
            other => other.to_string(),
        };
        let [first, second, third] = [0; 3].map(|_| value(self));
        let changes = vec![
            line!(format!("if k & 3 == 0 then {name} = {second}")),
            line!(format!("elseif k & 3 == 1 then {name} = {third} end")),
        ];
        self.holders.push(Holder { name: name.clone(), turn: turn.clone() });
        vec![
            line!(format!("local function {fallback}() return \"called\" end")),
            line!(format!("local {table} = {{ v = 12, w = \"kept\" }}")),
            line!(format!("local {name} = {first}")),
            line!(format!("local function {turn}(k)$end"), changes),
        ]
    }

    /// What a variable holds, as text.
    fn described(&mut self, name: &str) -> Expression {
        let described = self.kit("described");
        expr!(Text, format!("{described}({name})"))
    }

    fn turned(&mut self, function: &str) -> Statement {
        let call = self.one_of(&CALLS);
        // It may stand in a function without variable arguments.
        let varargs = std::mem::replace(&mut self.scope.varargs, false);
        let argument = self.integer(1);
        self.scope.varargs = varargs;
        self.spend(WORK_OF_CLOSURE);
        let template = call.replace('F', function).replacen('K', "$", 1);
        match template.starts_with('(') {
            true => line!(format!("local _ = {template}"), argument),
            false => line!(template, argument),
        }
    }

    fn change_held(&mut self) -> Option<Vec<Statement>> {
        if self.holders.is_empty() || self.loading() || !self.room(3 * WORK_OF_CLOSURE) {
            return None;
        }
        let holders = self.holders.clone();
        let Holder { name, turn } = self.random.pick(&holders).clone();
        let before = self.random.once_in(2).then(|| self.described(&name));
        let mut all: Vec<Statement> = before.into_iter().map(|text| self.shown(vec![text])).collect();
        all.push(self.turned(&turn));
        let text = self.described(&name);
        all.push(self.shown(vec![text, expr!(Text, format!("type({name})"))]));
        Some(all)
    }

    /// A variable of this block that a function of it sets.
    fn held_here(&mut self) -> Option<Vec<Statement>> {
        if self.depth > 3 || !self.room(5 * WORK_OF_CLOSURE) {
            return None;
        }
        let (name, turn) = (self.fresh("held"), self.fresh("turn"));
        let [first, second, third] = [0; 3].map(|_| self.one_of(&MADE));
        let start = self.integer(1);
        let changes = vec![
            line!(format!("if k & 1 == 0 then {name} = {second}")),
            line!(format!("else {name} = {third} end")),
        ];
        let mut all = vec![
            line!(format!("local {name} do local k = $ {name} = {first} end"), start),
            line!(format!("local function {turn}(k)$end"), changes),
        ];
        let condition = self.condition(1);
        let change = vec![self.turned(&turn)];
        all.push(match self.random.below(3) {
            0 => line!("if $ then$end", condition, change),
            1 => line!("for _ = 1, 2 do$end", change),
            _ => line!("do$end", change),
        });
        let text = self.described(&name);
        let test = expr!(Boolean, format!("({name} and true or false)"));
        all.push(self.shown(vec![text, test, expr!(Text, format!("type({name})"))]));
        Some(all)
    }

    /// A metatable that gets its fields while tables have it.
    fn metatable_changed(&mut self) -> Option<Vec<Statement>> {
        if self.depth > 3 || !self.room(5 * WORK_OF_CLOSURE) {
            return None;
        }
        self.spend(2 * WORK_OF_CLOSURE);
        let (object, meta) = (self.fresh("o"), self.fresh("mt"));
        let ((event, method, used), (_, other, _)) =
            (*self.random.pick(&EVENTS), *self.random.pick(&EVENTS[..2]));
        let (k, condition) = (self.integer(1), self.condition(1));
        let set = vec![line!(format!("{meta}.{event} = {method}"))];
        let set = match self.random.below(4) {
            // Without its own text an object shows its address.
            0 if event != "__tostring" => line!("if $ then$end", condition, set),
            1 if event == "__index" => {
                let otherwise = vec![line!(format!("{meta}.__index = {other}"))];
                line!("if $ then$else$end", condition, set, otherwise)
            }
            2 => line!(format!("(function() {meta}.{event} = {method} end)()")),
            _ => line!("do$end", set),
        };
        let used = used.replace("o.", &format!("{object}.")).replace("(o)", &format!("({object})"));
        let used = match used.strip_prefix('o') {
            Some(rest) => format!("{object}{rest}"),
            None => used.replace("#o", &format!("#{object}")),
        };
        let kept = Expression::leaf(ExpressionKind::Any, format!("rawget({object}, \"v\")"));
        let body = vec![
            line!("local k = $", k),
            line!(format!("local {meta} = {{}}")),
            line!(format!("local {object} = setmetatable({{ v = k }}, {meta})")),
            set,
            self.shown(vec![
                expr!(Text, format!("tostring((select(2, pcall(function() return {used} end))))")),
                kept,
            ]),
        ];
        Some(vec![line!("do$end", body)])
    }
}
