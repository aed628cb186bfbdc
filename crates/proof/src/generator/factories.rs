//! Functions of load time that make several objects of closures over variables of their own, which packets change; and what functions,
//! and other things that are no names, are as keys and operands of `==`.

use super::tree::{Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule, WORK_OF_CLOSURE};

/// The objects of one such function, and the function.
#[derive(Clone)]
pub(super) struct Family {
    objects: Vec<String>,
    all: String,
    keys: String,
}

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::FACTORIES, 6, Generator::change_made),
    (Features::FACTORIES, 4, Generator::show_made),
    (Features::FACTORIES, 2, Generator::change_all_made),
    (Features::FACTORIES, 1, Generator::look_for_function),
    (Features::FACTORIES, 1, Generator::compare_functions),
];

/// What changes the variable, by a parameter; those behind the first three call functions of the library that call back.
const CHANGES: [&str; 6] = [
    "function(d) n = n + d end",
    "function(d) local function more() n = n ~ d end more() end",
    "function(d) local f = g g = h h = f n = n + 1 end",
    "function(d) pcall(function() n = n + d end) end",
    "function(d) local s = { 3, 1, 2 } table.sort(s, function(a, b) n = n | 1 return a < b end) n = n + d end",
    "function(d) string.gsub(\"abc\", \"%a\", function() n = n + d end) end",
];

/// What shows it.
const SHOWS: [&str; 4] = [
    "function() return n end",
    "function() return n * 2 + g(1) end",
    "function() return g(n) ~ h(n) end",
    "function() return (function() return n + 3 end)() end",
];

impl Generator {
    pub(super) fn factories_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::FACTORIES) {
            return Vec::new();
        }
        (0..1 + self.random.below(2)).flat_map(|_| self.family()).collect()
    }

    fn family(&mut self) -> Vec<Statement> {
        let (make, all, keys) = (self.fresh("make"), self.fresh("all"), self.fresh("keys"));
        let plain = self.random.below(3) > 0;
        let changes = if plain { &CHANGES[..3] } else { &CHANGES[..] };
        let change = self.one_of(changes);
        // Each kind of object has functions of its own, so that the variable of one is seen by functions that others do not have.
        let of_kind = vec![
            line!(format!("if kind == 1 then o.get = {}", self.one_of(&SHOWS))),
            line!(format!("elseif kind == 2 then o.get = {}", self.one_of(&SHOWS))),
            line!(format!("else o.get = {} end", self.one_of(&SHOWS))),
            line!("return o"),
        ];
        let head = vec![
            line!("local function g(x) return x + 1 end"),
            line!("local function h(x) return x ~ 5 end"),
            line!(format!("local o = {{ add = {change} }}")),
        ];
        let body: Vec<Statement> = head.into_iter().chain(of_kind).collect();
        let mut written = vec![line!(format!("local function {make}(n, kind)$end"), body)];
        let mut objects = Vec::new();
        for kind in 1..=2 + self.random.below(4) {
            let (object, value) = (self.fresh("o"), self.constant());
            written.push(line!(format!("local {object} = {make}($, {kind})"), value));
            objects.push(object);
        }
        written.push(line!(format!("local {all} = {{ {} }}", objects.join(", "))));
        let first = &objects[0];
        written.push(line!(format!(
            "local {keys} = {{ [{first}.get] = 1, [{make}] = 2, [{first}] = 3, [2.5] = 4, [7] = 5, [true] = 6, [print] = 7 }}"
        )));
        self.families.push(Family { objects, all, keys });
        written
    }

    fn any_family(&mut self) -> Option<Family> {
        let all = self.families.clone();
        (!all.is_empty() && self.room(3 * WORK_OF_CLOSURE)).then(|| {
            self.spend(2 * WORK_OF_CLOSURE);
            self.random.pick(&all).clone()
        })
    }

    fn change_made(&mut self) -> Option<Vec<Statement>> {
        let objects = self.any_family()?.objects;
        let object = self.random.pick(&objects).clone();
        let by = self.integer(1);
        Some(vec![line!(format!("{object}.add($)"), by)])
    }

    fn show_made(&mut self) -> Option<Vec<Statement>> {
        let objects = self.any_family()?.objects;
        let object = self.random.pick(&objects).clone();
        Some(vec![self.shown(vec![expr!(Integer, format!("{object}.get()"))])])
    }

    fn change_all_made(&mut self) -> Option<Vec<Statement>> {
        let Family { all, .. } = self.any_family()?;
        if !self.may_nest() || !self.room(6 * WORK_OF_CLOSURE) {
            return None;
        }
        self.spend(5 * WORK_OF_CLOSURE);
        let by = self.integer(1);
        let body = vec![line!("o.add($ + i)", by), self.shown(vec![expr!(Integer, "o.get()")])];
        Some(vec![line!(format!("for i, o in ipairs({all}) do$end"), body)])
    }

    fn look_for_function(&mut self) -> Option<Vec<Statement>> {
        let Family { objects, keys, .. } = self.any_family()?;
        let object = self.random.pick(&objects).clone();
        let key = match self.random.below(7) {
            0 => format!("{object}.get"),
            1 => object,
            2 => "7.0".to_string(),
            3 => "2.5".to_string(),
            4 => "(#pkt > 60)".to_string(),
            5 => "print".to_string(),
            _ => "function() end".to_string(),
        };
        let key = if self.scope.packet { key } else { key.replace("(#pkt > 60)", "true") };
        Some(vec![self.shown(vec![expr!(Any, format!("{keys}[{key}]"))])])
    }

    fn compare_functions(&mut self) -> Option<Vec<Statement>> {
        let objects = self.any_family()?.objects;
        let [one, other] = [0, 1].map(|_| self.random.pick(&objects).clone());
        let field = self.one_of(&["get", "add"]);
        Some(vec![self.shown(vec![expr!(Boolean, format!("({one}.{field} == {other}.{field})"))])])
    }
}
