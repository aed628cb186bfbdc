//! Random Lua programs for all of the language that packet code has: everything but what the sandbox takes away.
//!
//! Gives a tree ([`tree`]) that prints as a script and can be made smaller anywhere ([`crate::shrink`]). Every program ends:
//! loops count, recursion has a decreasing argument, and the work of a frame is estimated while it is written. What a program
//! shows depends on nothing that the Lua manual leaves open: the order of a traversal, addresses, the border of a table with
//! holes, how often `table.sort` compares. Errors are rare outside of protected calls, but there.
//!
//! Each part of the language is a module with tables of rules ([`Rules`]); a rule says which features it needs and how often
//! it is chosen.

use crate::random::Random;
pub use features::Features;
pub use floats::SIGN as FLOATS_SIGN;
use tree::{Expression, line};
pub use tree::{Program, Statement};

mod addresses;
mod building;
mod calls;
mod captures;
mod cased;
mod chains;
mod changes;
mod classes;
mod closing;
mod closures;
mod conditions;
mod coroutines;
mod errors;
mod factories;
mod failures;
pub mod features;
mod floats;
mod flows;
mod formats;
mod forwarding;
mod functions;
mod globals;
mod integers;
mod iterators;
mod jumps;
mod kept;
mod kit;
mod lengths;
mod lists;
mod loops;
mod metamethods;
mod names;
mod nested;
mod operands;
mod packet;
mod patterns;
mod places;
mod plain;
mod questions;
mod records;
mod registries;
mod rows;
mod rules;
mod scope;
mod shared;
mod tallies;
mod texts;
pub mod tree;
mod utf8;
mod varargs;
mod writes;

use changes::Holder;
use classes::Class;
use factories::Family;
use flows::FlowTable;
use functions::Helper;
use kept::Kept;
use names::Names;
use registries::Registry;
use rules::RuleTable;
use scope::{Scope, Sort};
use shared::Shared;
use tallies::Tally;

/// What makes statements; nothing if it cannot here.
type StatementRule = fn(&mut Generator) -> Option<Vec<Statement>>;

/// What makes an expression with that many levels below it; nothing if it cannot here.
type ExpressionRule = fn(&mut Generator, usize) -> Option<Expression>;

/// Rules with the features that they need and their weights.
type Rules<Rule> = &'static [(Features, usize, Rule)];

/// The most work of a frame, in virtual-machine instructions, as estimated here.
const WORK: u64 = 3500;

/// The most work of a call of a function.
const WORK_OF_HELPER: u64 = 250;

/// The same for a function value.
const WORK_OF_CLOSURE: u64 = 60;

/// How often another rule is tried where one can do nothing.
const TRIES: usize = 3;

/// A program that depends on nothing but the numbers of `random` and what it may use.
pub fn program(random: &mut Random, allowed: Features) -> Program {
    let features = allowed.some(random);
    let mut generator = Generator {
        random: random.clone(),
        features,
        scope: Scope::default(),
        names: 0,
        depth: 0,
        cost: 0,
        factor: 1,
        limit: WORK,
        protected: 0,
        helpers: Vec::new(),
        classes: Vec::new(),
        kit: Vec::new(),
        rules: Vec::new(),
        tallies: Vec::new(),
        kept: Vec::new(),
        registries: Vec::new(),
        families: Vec::new(),
        holders: Vec::new(),
        names_known: None,
        shared: None,
        flows: Vec::new(),
        calm: false,
        calls: 0,
    };
    let mut statements = generator.state();
    statements.extend(generator.classes());
    for _ in 0..generator.random.below(4) {
        statements.extend(generator.helper());
    }
    statements.extend(generator.flow_tables());
    statements.extend(generator.handlers());
    let mut all = vec![
        line!("local xdp, tc = require \"xdp\", require \"tc\""),
        line!("local cgroup, netfilter = require \"cgroup\", require \"netfilter\""),
        line!("local match, socket = require \"match\", require \"socket\""),
        line!("local function at_group(f) cgroup.egress(\"/\", f) end"),
        line!("local function at_netfilter(f) netfilter.register { pf = 2, hooknum = 1, hook = f } end"),
    ];
    if features.has(Features::FLOATS) || features.has(Features::KEPT) {
        all.push(line!(floats::SIGN));
    }
    all.extend(generator.address_modules());
    all.extend(generator.question_module());
    all.extend(generator.kit_statements());
    all.extend(statements);
    *random = generator.random;
    Program { statements: all }
}

/// What registers a handler, for each kind of hook.
const ATTACH: [&str; 7] =
    ["xdp.attach", "tc.ingress", "tc.egress", "at_group", "at_netfilter", "match.attach", "socket.filter"];

/// Those of hooks where packets can be changed.
const WRITING: &[&str] = &["xdp.attach", "tc.ingress", "tc.egress"];

struct Generator {
    random: Random,
    features: Features,
    scope: Scope,
    /// How many names were made up.
    names: usize,
    /// Nested blocks around the place.
    depth: usize,
    /// Work so far of one call of the function that is being written.
    cost: u64,
    /// How often the place is reached in such a call.
    factor: u64,
    /// What `cost` must not exceed.
    limit: u64,
    /// Protected calls around the place: errors are welcome inside.
    protected: usize,
    helpers: Vec<Helper>,
    classes: Vec<Class>,
    kit: Vec<&'static str>,
    rules: Vec<RuleTable>,
    tallies: Vec<Tally>,
    kept: Vec<Kept>,
    registries: Vec<Registry>,
    families: Vec<Family>,
    holders: Vec<Holder>,
    names_known: Option<Names>,
    shared: Option<Shared>,
    flows: Vec<FlowTable>,
    /// Nothing may fail here.
    calm: bool,
    /// Calls of flow tables by the handler that is being written.
    calls: u64,
}

impl Generator {
    /// A name that nothing else has.
    fn fresh(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}{}", self.names)
    }

    fn has(&self, feature: Features) -> bool {
        self.features.has(feature)
    }

    /// Whether there is nothing but numbers, branches, loops, calls, and flow tables.
    fn is_plain(&self) -> bool {
        self.features.without(Features::FLOWS.with(Features::FLOATS)) == Features::PLAIN
    }

    /// Counts instructions of this place.
    fn spend(&mut self, instructions: u64) {
        self.cost += self.factor * instructions;
    }

    /// Whether so many instructions can be afforded here.
    fn room(&self, instructions: u64) -> bool {
        self.cost + self.factor * instructions <= self.limit
    }

    /// Whether blocks can be nested here.
    fn may_nest(&self) -> bool {
        let most = if self.is_plain() { 2 } else { 3 };
        self.depth < most && self.room(60)
    }

    /// Whether the place is reached at load time, where an error would end everything.
    fn loading(&self) -> bool {
        self.depth == 0 && !self.scope.packet
    }

    fn one_of(&mut self, texts: &[&'static str]) -> &'static str {
        self.random.pick::<&'static str>(texts)
    }

    /// What `write` gives, in a block with names of its own.
    fn block<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scope.clone();
        self.depth += 1;
        let written = write(self);
        self.depth -= 1;
        self.scope = outer;
        written
    }

    /// As [`Self::block`], for the body of a loop of at most `turns` turns.
    fn turns<T>(&mut self, turns: u64, write: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.factor;
        self.factor *= turns.max(1);
        let written = self.block(write);
        self.factor = outer;
        written
    }

    /// What `write` gives in the body of a function whose calls may cost `limit`, and what one does cost.
    fn function_body<T>(&mut self, limit: u64, write: impl FnOnce(&mut Self) -> T) -> (T, u64) {
        let outer = (self.scope.clone(), self.depth, self.cost, self.factor, self.limit);
        (self.cost, self.factor, self.limit) = (0, 1, limit);
        self.depth += 1;
        self.scope.enter_function();
        self.scope.handling = false;
        let written = write(self);
        let cost = self.cost + 5;
        (self.scope, self.depth, self.cost, self.factor, self.limit) = outer;
        (written, cost)
    }

    /// What `write` gives in a function without parameters that is called here once, under protection.
    fn protected_body<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let (outer, depth) = (self.scope.clone(), self.depth);
        self.depth += 1;
        self.protected += 1;
        let yields = self.scope.yields;
        self.scope.enter_function();
        self.scope.yields = yields;
        let written = write(self);
        self.protected -= 1;
        (self.scope, self.depth) = (outer, depth);
        written
    }

    fn statements(&mut self, count: usize) -> Vec<Statement> {
        let mut all = Vec::new();
        for _ in 0..count {
            if !self.room(15) {
                break;
            }
            all.extend(self.statement());
        }
        all
    }

    /// One statement to `most` statements in a block of their own.
    fn body(&mut self, most: usize) -> Vec<Statement> {
        let count = 1 + self.random.below(most);
        self.block(|it| it.statements(count))
    }

    fn statement(&mut self) -> Vec<Statement> {
        self.spend(5);
        let rules = [
            plain::STATEMENTS,
            floats::STATEMENTS,
            loops::STATEMENTS,
            jumps::STATEMENTS,
            packet::STATEMENTS,
            writes::STATEMENTS,
            forwarding::STATEMENTS,
            lengths::STATEMENTS,
            questions::STATEMENTS,
            places::STATEMENTS,
            functions::STATEMENTS,
            texts::STATEMENTS,
            cased::STATEMENTS,
            patterns::STATEMENTS,
            formats::STATEMENTS,
            utf8::STATEMENTS,
            lists::STATEMENTS,
            records::STATEMENTS,
            nested::STATEMENTS,
            classes::STATEMENTS,
            metamethods::STATEMENTS,
            operands::STATEMENTS,
            closures::STATEMENTS,
            varargs::STATEMENTS,
            iterators::STATEMENTS,
            errors::STATEMENTS,
            closing::STATEMENTS,
            coroutines::STATEMENTS,
            globals::STATEMENTS,
            captures::STATEMENTS,
            building::STATEMENTS,
            rows::STATEMENTS,
            rules::STATEMENTS,
            tallies::STATEMENTS,
            kept::STATEMENTS,
            registries::STATEMENTS,
            factories::STATEMENTS,
            changes::STATEMENTS,
            names::STATEMENTS,
            calls::STATEMENTS,
        ];
        for _ in 0..TRIES {
            if let Some(written) = self.chosen(&rules).and_then(|rule| rule(self)) {
                return written;
            }
        }
        self.local()
    }

    /// One of the rules whose features the program has, by weight.
    fn chosen<Rule: Copy>(&mut self, tables: &[Rules<Rule>]) -> Option<Rule> {
        let usable = |features: Features| self.features.has(features);
        let rows: Vec<(usize, Rule)> = tables
            .iter()
            .flat_map(|rows| rows.iter())
            .filter(|(features, _, _)| usable(*features))
            .map(|(_, weight, rule)| (*weight, *rule))
            .collect();
        let total: usize = rows.iter().map(|(weight, _)| weight).sum();
        let mut left = self.random.below(total.max(1));
        rows.into_iter().find_map(|(weight, rule)| match left.checked_sub(weight) {
            Some(rest) => {
                left = rest;
                None
            }
            None => Some(rule),
        })
    }

    /// What load time leaves: variables that handlers change, tables that they read.
    fn state(&mut self) -> Vec<Statement> {
        let mut all = Vec::new();
        for _ in 0..self.random.below(4) {
            let (name, value) = (self.fresh("u"), self.constant());
            self.scope.add(&name, Sort::Integer, true);
            all.push(line!(format!("local {name} = $"), value));
        }
        all.push(line!("local t = { 3, -1, 255, 4096, 7, 0, -128, 1 << 40 }"));
        all.extend(self.global_state());
        all.extend(self.texts_of_load_time());
        all.extend(self.words_of_load_time());
        all.extend(self.rows_of_load_time());
        all.extend(self.tables_of_load_time());
        all.extend(self.closures_of_load_time());
        all.extend(self.tallies_of_load_time());
        all.extend(self.kept_of_load_time());
        all.extend(self.rules_of_load_time());
        all.extend(self.registries_of_load_time());
        all.extend(self.factories_of_load_time());
        all.extend(self.holders_of_load_time());
        all.extend(self.names_of_load_time());
        all.extend(self.shared_of_load_time());
        all
    }

    /// Mostly one, for XDP.
    fn handlers(&mut self) -> Vec<Statement> {
        let count = if self.random.below(5) == 0 { 2 } else { 1 };
        let one = |_| {
            let outer = self.scope.clone();
            let attach = match self.random.below(3) {
                0 => *self.random.pick(&ATTACH),
                _ => ATTACH[0],
            };
            let handler = self.handler(attach);
            self.scope = outer;
            handler
        };
        let mut all: Vec<Statement> = (0..count).map(one).collect();
        all.extend(self.attached_tables(&ATTACH));
        all
    }

    fn handler(&mut self, attach: &str) -> Statement {
        (self.cost, self.factor, self.limit) = (0, 1, WORK);
        self.scope.packet = true;
        self.scope.results = None;
        // Where packets can only be read, writes of functions are errors.
        (self.scope.handling, self.calls) = (WRITING.contains(&attach), 0);
        let mut body = vec![line!("local n = #pkt")];
        self.scope.add("n", Sort::Integer, false);
        body.extend(self.seeded());
        let most = if self.is_plain() { 7 } else { 14 };
        let count = 2 + self.random.below(most);
        body.extend(self.statements(count));
        if let Some(answer) = self.last_answer() {
            body.push(answer);
        } else if self.random.below(3) > 0 {
            let verdict = self.integer(2);
            body.push(line!("return $ & 3", verdict));
        }
        line!(format!("{attach}(function(pkt)$end)"), body)
    }
}
