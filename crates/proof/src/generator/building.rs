//! Strings that are put together piece by piece: in loops, of what lists hold, on conditions.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::BUILDING, 4, Generator::concatenated_in_loop),
    (Features::BUILDING, 4, Generator::joined_pieces),
    (Features::BUILDING, 2, Generator::doubled),
    (Features::BUILDING, 3, Generator::named_flags),
    (Features::BUILDING, 3, Generator::sum_of_flags),
];

impl Generator {
    /// A short string that depends on the loop's turn.
    fn piece(&mut self, i: &str) -> Expression {
        let number = match self.random.below(4) {
            0 => Expression::leaf(ExpressionKind::Integer, i),
            1 if self.scope.packet => expr!(Integer, format!("pkt:getbyte({i} & 7)")),
            2 => expr!(Integer, format!("($ + {i} & 0xff)"), self.integer(1)),
            _ => expr!(Integer, format!("({i} * 7 & 0x3f)")),
        };
        match self.random.below(8) {
            0 | 1 => expr!(Text, "string.format(\"%02x\", $)", number),
            2 => expr!(Text, "(\"%d,\"):format($)", number),
            3 => expr!(Text, "string.char(65 + ($ & 15))", number),
            4 => expr!(Text, "tostring($)", number),
            5 => expr!(Text, format!("(\"abcdefgh\"):sub({i}, {i})")),
            6 if self.scope.packet => expr!(Text, format!("pkt:getstring({i} & 7, 2)")),
            _ => expr!(Text, "($ and \"+\" or \"-\")", self.condition(1)),
        }
    }

    /// A numeric loop of at most `most` turns around what `body` gives.
    fn counted(&mut self, most: usize, body: impl FnOnce(&mut Self, &str) -> Vec<Statement>) -> Statement {
        let i = self.fresh("i");
        let body = self.turns(most as u64, |it| {
            it.scope.add(&i, Sort::Integer, false);
            body(it, &i)
        });
        let last = match self.random.below(3) {
            0 => expr!(Integer, format!("math.min($, {most})"), self.integer(1)),
            1 => expr!(Integer, format!("($ % {})", most + 1), self.integer(1)),
            _ => Expression::leaf(ExpressionKind::Integer, most.to_string()),
        };
        line!(format!("for {i} = 1, $ do$end"), last, body)
    }

    /// `if … then … end` around statements, more often than not without.
    fn perhaps(&mut self, body: Vec<Statement>) -> Vec<Statement> {
        if !self.random.once_in(3) {
            return body;
        }
        vec![line!("if $ then$end", self.condition(1), body)]
    }

    /// `s = s .. piece`, on either side.
    fn concatenated_in_loop(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(400) {
            return None;
        }
        let (s, most) = (self.fresh("s"), 2 + self.random.below(7));
        let turns = self.counted(most, |it, i| {
            it.spend(20);
            let piece = it.piece(i);
            let line = match it.random.below(4) {
                0 => line!(format!("{s} = $ .. {s}"), piece),
                1 => line!(format!("{s} = {s} .. $ .. ($ and \";\" or \"\")"), piece, it.condition(1)),
                2 => line!(format!("{s} = {s} .. ({i} > 1 and \", \" or \"\") .. $"), piece),
                _ => line!(format!("{s} = {s} .. $"), piece),
            };
            it.perhaps(vec![line])
        });
        let shown = vec![Expression::leaf(ExpressionKind::Text, &s), expr!(Integer, format!("#{s}"))];
        Some(vec![line!(format!("local {s} = \"\"")), turns, self.shown(shown)])
    }

    /// Pieces in a list, then `table.concat`.
    fn joined_pieces(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(700) {
            return None;
        }
        let (o, most) = (self.fresh("o"), 2 + self.random.below(11));
        let turns = self.counted(most, |it, i| {
            it.spend(30);
            let piece = it.piece(i);
            match it.random.below(4) {
                0 => it.perhaps(vec![line!(format!("table.insert({o}, $)"), piece)]),
                // On no condition: a list without holes has one border.
                1 => vec![line!(format!("{o}[{i}] = $"), piece)],
                _ => it.perhaps(vec![line!(format!("{o}[#{o} + 1] = $"), piece)]),
            }
        });
        let joined = match self.random.below(4) {
            0 => format!("table.concat({o})"),
            1 => format!("table.concat({o}, \", \")"),
            2 => format!("table.concat({o}, \"\", 1, #{o})"),
            _ => format!("table.concat({o}, \" \")"),
        };
        let shown = vec![expr!(Text, joined), expr!(Integer, format!("#{o}"))];
        Some(vec![line!(format!("local {o} = {{}}")), turns, self.shown(shown)])
    }

    /// `s = s .. s`.
    fn doubled(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(200) {
            return None;
        }
        let (s, most) = (self.fresh("s"), 1 + self.random.below(6));
        let start = match self.random.below(3) {
            0 if self.scope.packet => expr!(Text, "pkt:getstring(0, $)", self.small(3)),
            1 => expr!(Text, "tostring($ & 0xff)", self.integer(1)),
            _ => Expression::leaf(ExpressionKind::Text, "(\"ab\")"),
        };
        let turns = self.counted(most, |it, _| {
            it.spend(20);
            it.perhaps(vec![line!(format!("{s} = {s} .. {s}"))])
        });
        let shown = vec![expr!(Integer, format!("#{s}")), expr!(Text, format!("{s}:sub(-9)"))];
        Some(vec![line!(format!("local {s} = $"), start), turns, self.shown(shown)])
    }

    /// A row of independent conditions, each of which adds a name.
    fn named_flags(&mut self) -> Option<Vec<Statement>> {
        if !self.room(300) {
            return None;
        }
        let (o, as_list) = (self.fresh("o"), self.random.once_in(2));
        let names = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
        let count = 2 + self.random.below(names.len() - 1);
        self.spend(20 * count as u64);
        let flags = self.integer(1);
        let mut all = vec![
            line!(format!("local {o} = {}", if as_list { "{}" } else { "\"\"" })),
            line!(format!("local {o}_bits = $"), flags),
        ];
        for (bit, name) in names.iter().take(count).enumerate() {
            let add = match as_list {
                true => format!("{o}[#{o} + 1] = \"{name}\""),
                false => format!("{o} = {o} .. \"{name} \""),
            };
            all.push(line!(format!("if {o}_bits & {} ~= 0 then$end", 1 << bit), vec![line!(add)]));
        }
        let text = if as_list { format!("table.concat({o}, \"|\")") } else { o };
        all.push(self.shown(vec![expr!(Text, text)]));
        Some(all)
    }

    /// A row of independent conditions, each of which adds a number.
    fn sum_of_flags(&mut self) -> Option<Vec<Statement>> {
        if !self.room(300) {
            return None;
        }
        let (sum, count) = (self.fresh("v"), 3 + self.random.below(24));
        self.spend(8 * count as u64);
        let (start, flags) = (self.integer(1), self.integer(1));
        let mut all =
            vec![line!(format!("local {sum} = $"), start), line!(format!("local {sum}_bits = $"), flags)];
        for bit in 0..count {
            let add = match self.random.below(3) {
                0 => line!(format!("{sum} = {sum} ~ $"), self.constant()),
                _ => line!(format!("{sum} = {sum} + $"), self.constant()),
            };
            all.push(line!(format!("if {sum}_bits & {:#x} ~= 0 then$end", 1u64 << bit), vec![add]));
        }
        self.scope.add(&sum, Sort::Integer, true);
        all.push(self.shown(vec![Expression::leaf(ExpressionKind::Integer, &sum)]));
        Some(all)
    }
}
