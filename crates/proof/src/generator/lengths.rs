//! Checksums of packets.

use super::tree::{Expression, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[(Features::LENGTHS, 3, Generator::fix_checksums)];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[(Features::LENGTHS, 5, |it, _| it.checksum())];

impl Generator {
    fn fix_checksums(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        let condition = self.writable();
        Some(vec![line!(format!("{condition}pkt:fix_checksums() end"))])
    }

    /// Packets without an Ethernet header can only be read: writing them is an error.
    fn writable(&mut self) -> &'static str {
        match self.has(Features::ERRORS) && self.random.once_in(12) {
            true => "do ",
            false => "if pkt.eth then ",
        }
    }

    fn checksum(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        Some(match self.random.below(6) {
            0 => expr!(Integer, "pkt:checksum()"),
            1 => expr!(Integer, "pkt:checksum($)", self.small(13)),
            2 => expr!(Integer, "pkt:checksum($ % (#pkt + 1))", self.integer(1)),
            3 if self.has(Features::ERRORS) => {
                let guarded = expr!(
                    Integer,
                    "select(2, pcall(pkt.checksum, pkt, $, $))",
                    self.integer(1),
                    self.small(30)
                );
                expr!(Integer, "(math.tointeger($) or 7)", guarded)
            }
            _ => expr!(Integer, "pkt:checksum($, $)", self.small(7), self.small(7)),
        })
    }
}
