//! Addresses out of texts and of packets, and their prefixes (docs/packet.md).

use super::tree::{Expression, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules};

pub(super) const TEXTS: Rules<ExpressionRule> =
    &[(Features::PROTOCOLS, 3, |it, _| it.address()), (Features::PROTOCOLS, 3, |it, _| it.prefix())];

/// Ways to write addresses, the last ones of none.
const WRITTEN: [&str; 9] = [
    "\"192.0.2.7\"",
    "\"2001:DB8::0:1\"",
    "\"::ffff:\" .. \"10.0.0.1\"",
    "\"fe80:\" .. $ .. \"::\"",
    "\"10.\" .. ($ & 511) .. \".3.4\"",
    "\"52-54-00-12-34-\" .. (10 + ($ & 127))",
    "pkt:getstring(6, 6)",
    "pkt:getstring($ & 7, $ & 7)",
    "\"::1::\"",
];

impl Generator {
    /// The modules, by names that nothing else has.
    pub(super) fn address_modules(&self) -> Option<Statement> {
        let wanted = self.has(Features::PROTOCOLS) && self.has(Features::TEXTS);
        wanted.then(|| line!("local addresses, stations = require \"ip\", require \"mac\""))
    }

    fn written(&mut self) -> Option<Expression> {
        let form = *self.random.pick(&WRITTEN);
        if form.starts_with("pkt") && !self.scope.packet {
            return None;
        }
        Some(match form.matches('$').count() {
            0 => expr!(Text, form),
            1 => expr!(Text, form, self.integer(1)),
            _ => expr!(Text, form, self.integer(1), self.integer(1)),
        })
    }

    fn address(&mut self) -> Option<Expression> {
        if self.loading() {
            return None;
        }
        self.spend(8);
        let text = if self.random.once_in(4) { self.text(1) } else { self.written()? };
        let module = self.one_of(&["addresses", "addresses", "stations"]);
        Some(expr!(Text, format!("({module}.parse($) or \"none\")"), text))
    }

    fn prefix(&mut self) -> Option<Expression> {
        if self.loading() {
            return None;
        }
        self.spend(8);
        let bits = self.small(31);
        Some(match self.random.below(4) {
            0 | 1 if self.scope.packet => {
                let field = self.one_of(&["src", "dst"]);
                expr!(Text, format!("addresses.prefix(pkt.ip and pkt.ip.{field} or \"10.1.2.3\", $)"), bits)
            }
            2 if self.has(Features::ERRORS) => {
                let text = self.written()?;
                expr!(Text, "addresses.prefix(addresses.parse($) or \"::\", $)", text, self.integer(1))
            }
            _ => {
                let text = self.written()?;
                expr!(Text, "addresses.prefix(addresses.parse($) or \"2001:db8:1:2:3:4:5:6\", $)", text, bits)
            }
        })
    }
}
