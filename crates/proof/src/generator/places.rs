//! Places in the frame that are found with the lengths of headers, kept in variables and used with constants added, also in loops behind.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> =
    &[(Features::PLACES, 6, Generator::place), (Features::PLACES, 8, Generator::accesses_in_loop)];

/// Where something may start: constants on both paths of a condition, lengths of headers added.
const STARTS: [&str; 10] = [
    "14 + (pkt.ip and pkt.ip.header_length or 20)",
    "pkt.ip and 14 + pkt.ip.header_length or 14",
    "pkt.vlan and 18 or 14",
    "(pkt.vlan and 18 or 14) + (pkt.ip and pkt.ip.header_length or 0)",
    "pkt.tcp and 14 + pkt.ip.header_length + pkt.tcp.header_length or 34",
    "14 + (pkt:getbyte(13) & 15) * 4",
    "pkt:getuint16(12) & 63",
    "#pkt - #pkt",
    "pkt:getuint16(16) >> 10",
    "(\"\"):byte((\"a\"):find(pkt.ip and \"a\" or \"b\") or 1) or 12",
];

/// What a guard leaves behind a place, in bytes; constants that are added are smaller.
const BEHIND: usize = 24;

impl Generator {
    /// A variable that says where a header starts; mostly nothing goes on where the frame ends soon behind it.
    fn place(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.room(40) {
            return None;
        }
        self.spend(20);
        let (name, start) = (self.fresh("p"), self.one_of(&STARTS));
        let mut all = vec![line!(format!("local {name} = {start}"))];
        if !self.random.once_in(8) {
            let back = self.returned();
            all.push(line!(format!("if {name} + {BEHIND} > #pkt then$end"), vec![back]));
        }
        self.scope.add(&name, Sort::Place, false);
        Some(all)
    }

    /// A loop that uses a place twice or more, with constants that differ, one after the other or on both paths of a branch.
    fn accesses_in_loop(&mut self) -> Option<Vec<Statement>> {
        let name = self.variable(Sort::Place)?;
        if !self.scope.packet || !self.may_nest() {
            return None;
        }
        let counter = self.fresh("i");
        let turns = 1 + self.random.below(4);
        let body = self.turns(turns as u64, |it| {
            it.scope.add(&counter, Sort::Integer, false);
            let mut body = Vec::new();
            for _ in 0..1 + it.random.below(2) {
                let (first, second) = (it.access_at(&name), it.access_at(&name));
                match it.random.once_in(2) {
                    true => {
                        let condition = it.condition(1);
                        body.push(line!("if $ then$else$end", condition, vec![first], vec![second]));
                    }
                    false => body.extend([first, second]),
                }
            }
            if it.random.once_in(3) {
                body.extend(it.statements(1));
            }
            body
        });
        let counted = |step: &str| line!(format!("{counter} = {counter} + {step}"));
        Some(match self.random.below(3) {
            0 => {
                let body = [vec![counted("1")], body].concat();
                let head = format!("while {counter} < {turns} do$end");
                vec![line!(format!("local {counter} = 0")), line!(head, body)]
            }
            1 => {
                let body = [vec![counted("8")], body].concat();
                let tail = format!("repeat$until {counter} >= {} or {counter} > {name}", turns * 8);
                vec![line!(format!("local {counter} = 0")), line!(tail, body)]
            }
            _ => vec![line!(format!("for {counter} = 1, {turns} do$end"), body)],
        })
    }

    /// Reads or writes behind a place.
    fn access_at(&mut self, place: &str) -> Statement {
        self.spend(10);
        let (size, bits) = *self.random.pick(&[(1, 8), (2, 16), (4, 32)]);
        let offset = self.offset_from(place, size);
        match self.random.below(3) {
            0 => {
                let value = Expression::leaf(ExpressionKind::Integer, format!("pkt:getuint{bits}({offset})"));
                self.shown(vec![value])
            }
            1 => {
                let value = self.integer(1);
                line!(format!("pkt:setuint{bits}({offset}, $)"), value)
            }
            _ => match self.assignable(Sort::Integer) {
                Some(sum) => line!(format!("{sum} = {sum} ~ pkt:getuint{bits}({offset})")),
                None => line!(format!("pkt:setuint{bits}({offset}, {size})")),
            },
        }
    }

    fn offset_from(&mut self, place: &str, size: usize) -> String {
        format!("{place} + {}", self.random.below(BEHIND - size))
    }

    /// Where `size` bytes are, behind a place that is known here.
    pub(super) fn placed_offset(&mut self, size: usize) -> Option<Expression> {
        let place = self.variable(Sort::Place)?;
        let offset = self.offset_from(&place, size);
        Some(expr!(Integer, offset))
    }
}
