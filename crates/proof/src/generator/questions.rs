//! DNS questions that become answers, and records of messages.

use super::tree::{Statement, line};
use super::{Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::LENGTHS, 3, Generator::answer_question),
    (Features::LENGTHS, 1, Generator::attempt_to_answer),
    (Features::PROTOCOLS, 2, Generator::walk_records),
];

/// What an answer may have, of an integer k of 32 bits, mostly.
const FIELDS: [&str; 7] = [
    "address = \"192.0.2.1\"",
    "address = \"2001:db8::1\", ttl = k",
    "address = pkt.ip.src, ttl = k",
    "rcode = k & 15",
    "address = pkt.ip.dst, rcode = k & 7",
    "ttl = k",
    "",
];

impl Generator {
    /// The module, by a name that nothing else has.
    pub(super) fn question_module(&self) -> Option<Statement> {
        self.has(Features::LENGTHS).then(|| line!("local questions = require \"dns\""))
    }

    /// Where a whole question is asked.
    fn answer_question(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet {
            return None;
        }
        self.spend(120);
        let asked = "pkt.eth and pkt.dns and not pkt.dns.qr and pkt.dns.opcode == 0 and pkt.dns.qclass";
        let call = format!("questions.answer(pkt, {{{}}})", self.one_of(&FIELDS));
        let shown = "print(pkt.dns.flags, pkt.dns.ancount, pkt.ip.dst, pkt.udp.checksum, #pkt)";
        let condition = format!("{asked} and not pkt.ip.more_fragments and #pkt < 500");
        let number = self.number_of_bits(32);
        Some(vec![line!(format!("if {condition} then local k = $ {call} {shown} end"), number)])
    }

    /// Of one section, with what may be done in front of each record.
    fn walk_records(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.room(400) {
            return None;
        }
        self.spend(400);
        let section = self.one_of(&["answers", "answers", "authorities", "additionals"]);
        let shown = self.one_of(&[
            "print(record.name, record.type, record.ttl)",
            "print(record.address, record.target, record.preference)",
            "if record.type == 1 and record.address then print(record.address, record.class) break end",
            "print(#record.data, record.data:byte(-1), record.name)",
            "local held = record.name if held then print(held:sub(-7), held == pkt.dns.qname) end",
        ]);
        let before = match self.has(Features::WRITES) && self.random.once_in(3) {
            true => "if pkt.eth then pkt.ip.ttl = 7 end ",
            false => "",
        };
        let each = format!("for record in pkt.dns:{section}() do {before}{shown} end");
        Some(vec![line!(format!("if pkt.dns then {each} end"))])
    }

    /// Whatever the packet is.
    fn attempt_to_answer(&mut self) -> Option<Vec<Statement>> {
        if !self.scope.packet || !self.has(Features::ERRORS) {
            return None;
        }
        self.spend(160);
        let fields = self.one_of(&FIELDS);
        let fields = if self.random.once_in(8) { "7".to_string() } else { format!("{{{fields}}}") };
        let call = format!("pcall(questions.answer, pkt, {fields})");
        let number = self.number_of_bits(32);
        Some(vec![line!(format!("if pkt.ip and #pkt < 500 then local k = $ {call} end"), number)])
    }
}
