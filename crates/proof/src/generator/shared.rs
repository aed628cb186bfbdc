//! What handlers and functions of flows have in common: global variables and tables, which both change and show.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{Features, Generator};

/// What handlers and functions of flows have in common besides what other parts of the generator make.
#[derive(Clone)]
pub(super) struct Shared {
    /// Global variables; none where handlers may be general code, whose variables are not common.
    pub totals: Vec<String>,
    /// A table of integers by integers, and one of records, both global.
    pub counts: String,
    pub records: String,
}

impl Generator {
    /// What all functions have in common.
    pub(super) fn shared_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::FLOWS) {
            return Vec::new();
        }
        let (counts, records) = (self.fresh("counts"), self.fresh("records"));
        let has_totals = self.features.have_expanded_code() && (self.is_plain() || self.random.once_in(20));
        let count = if has_totals { 1 + self.random.below(2) } else { 0 };
        let totals: Vec<String> = (0..count).map(|_| self.fresh("global_")).collect();
        let mut all = vec![
            line!(format!("{counts} = map {{ key = \"int\", value = \"int\" }}")),
            line!(format!("{records} = map {{ key = \"int\", value = {{ n = \"int\", m = \"int\" }} }}")),
        ];
        for total in &totals {
            self.scope.add(total, Sort::Integer, true);
            all.push(line!(format!("{total} = $"), self.constant()));
        }
        self.shared = Some(Shared { totals, counts, records });
        all
    }

    /// Functions of flows use variables that handlers assign.
    pub(super) fn has_totals(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| !shared.totals.is_empty())
    }

    /// Changes, or shows, something that functions of flows and handlers have in common.
    pub(super) fn change_shared(&mut self) -> Option<Vec<Statement>> {
        if self.loading() || !self.room(40) {
            return None;
        }
        let Shared { totals, counts, records } = self.shared.clone()?;
        self.spend(30);
        let key = self.shared_key();
        let by = self.integer(1);
        Some(match self.random.below(9) {
            0 | 1 if !totals.is_empty() => {
                let total = self.random.pick(&totals).clone();
                vec![line!(format!("{total} = {total} + $"), by)]
            }
            2 => vec![line!(format!("{counts}[{key}] = nil"))],
            3 => vec![line!(format!("{counts}[{key}] = $"), by)],
            4 => vec![line!(format!("{records}[{key}] = {{ n = $, m = #tostring({key}) }}"), by)],
            5 => vec![line!(
                format!("if {records}[{key}] then {records}[{key}].n = {records}[{key}].n + $ end"),
                by
            )],
            6 => vec![line!(format!("{records}[{key}] = nil"))],
            7 => {
                let shown = expr!(Any, format!("{counts}[{key}], ({records}[{key}] or {{ n = -1 }}).n"));
                vec![self.shown(vec![shown])]
            }
            _ => vec![line!(format!("{counts}[{key}] = ({counts}[{key}] or 0) + $"), by)],
        })
    }

    /// A key of these tables.
    pub(super) fn shared_key(&mut self) -> &'static str {
        match self.scope.packet {
            true => self.one_of(&["1", "2", "1", "2", "(#pkt & 3)"]),
            false => self.one_of(&["1", "2", "3"]),
        }
    }

    /// Something that a function of a flow may change: an expression without holes.
    pub(super) fn changeable(&mut self) -> Expression {
        let Some(Shared { totals, counts, records }) = self.shared.clone() else { return self.constant() };
        let key = self.shared_key();
        let text = match self.random.below(8) {
            0 if !totals.is_empty() => self.random.pick(&totals).clone(),
            0 | 1 => format!("({counts}[{key}] or -5)"),
            2 => format!("({records}[{key}] or {{ n = -1 }}).n"),
            3 => self.one_of(&["#pkt", "(pkt.payload or \"none\")", "pkt:getbyte(0)"]).to_string(),
            4 => self
                .one_of(&["(pkt.ip and pkt.ip.ttl)", "(pkt.ip and pkt.ip.src)", "(pkt.ip and pkt.ip.dscp)"])
                .to_string(),
            5 => self
                .one_of(&[
                    "(pkt.eth and pkt.eth.src)",
                    "(pkt.tcp and pkt.tcp.flags)",
                    "(pkt.udp and pkt.udp.dport)",
                ])
                .to_string(),
            6 => self
                .one_of(&["pkt:getstring(0, 6)", "pkt:getuint16(12)", "(\"made of \" .. #pkt)"])
                .to_string(),
            _ => return self.integer(1),
        };
        Expression::leaf(ExpressionKind::Any, text)
    }
}
