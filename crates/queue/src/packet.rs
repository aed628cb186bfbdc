//! Packets that wait for a verdict, and what is said of them (include/uapi/linux/netfilter/nfnetlink_queue.h).

use crate::message::{Message, attributes, number, short};

/// `NFQNL_MSG_VERDICT`, of the subsystem `NFNL_SUBSYS_QUEUE`.
const VERDICT: u16 = 3 << 8 | 1;

/// Attributes (`NFQA_…`).
const PACKET_HEADER: u16 = 1;
const VERDICT_HEADER: u16 = 2;
const MARK: u16 = 3;
const IN: u16 = 5;
const OUT: u16 = 6;
const HARDWARE_ADDRESS: u16 = 9;
const PAYLOAD: u16 = 10;
const CONNECTION: u16 = 11;

/// `CTA_MARK` (include/uapi/linux/netfilter/nfnetlink_conntrack.h).
const CONNECTION_MARK: u16 = 8;

/// A packet, from its IP header on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The kernel's number for it.
    pub(crate) id: u32,
    pub bytes: Vec<u8>,
    pub mark: u32,
    /// The interface that it came in by, and the one that it leaves by, where there are such; else 0.
    pub input: u32,
    pub output: u32,
    /// Ethernet's type of what is behind the link's header, in the machine's byte order.
    pub ethertype: u16,
    /// Who sent it in the link's network, where its interface has addresses.
    pub source: Option<[u8; 6]>,
    /// The mark of its connection, where that is known.
    pub connection_mark: Option<u32>,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// One of netfilter's (`NF_DROP` …), without more.
    pub verdict: u32,
    /// Other bytes than it had.
    pub bytes: Option<&'a [u8]>,
    /// Another mark than it had.
    pub mark: Option<u32>,
    /// Another mark for its connection.
    pub connection_mark: Option<u32>,
}

impl Packet {
    /// What the attributes of the kernel's message say; `None` where it has no number.
    pub(crate) fn parse(body: &[u8]) -> Option<Packet> {
        let mut packet = Packet::default();
        let mut is_numbered = false;
        for (kind, value) in attributes(body) {
            match kind {
                PACKET_HEADER => {
                    packet.id = number(value)?;
                    packet.ethertype = short(value.get(4..)?)?;
                    is_numbered = true;
                }
                MARK => packet.mark = number(value)?,
                IN => packet.input = number(value)?,
                OUT => packet.output = number(value)?,
                HARDWARE_ADDRESS => packet.source = address(value),
                PAYLOAD => packet.bytes = value.to_vec(),
                CONNECTION => {
                    let mark = attributes(value).find(|(kind, _)| *kind == CONNECTION_MARK);
                    packet.connection_mark = Some(mark.and_then(|(_, value)| number(value)).unwrap_or(0));
                }
                _ => {}
            }
        }
        is_numbered.then_some(packet)
    }

    /// The message that answers it.
    pub(crate) fn answer(&self, answer: &Answer<'_>, queue: u16) -> Vec<u8> {
        let header = [answer.verdict.to_be_bytes(), self.id.to_be_bytes()].concat();
        let mut message = Message::new(VERDICT, 0, 0, (0, queue)).bytes(VERDICT_HEADER, &header);
        if let Some(mark) = answer.mark {
            message = message.number(MARK, mark);
        }
        if let Some(bytes) = answer.bytes {
            message = message.bytes(PAYLOAD, bytes);
        }
        if let Some(mark) = answer.connection_mark {
            message = message.nested(CONNECTION, |inner| inner.number(CONNECTION_MARK, mark));
        }
        message.finish()
    }
}

/// `struct nfqnl_msg_packet_hw`: the address's length (16 bits, network byte order), 16 bits of nothing, and 8 bytes.
fn address(value: &[u8]) -> Option<[u8; 6]> {
    let address = value.get(4..10)?.try_into().ok()?;
    (short(value) == Some(6)).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{GENERIC, messages};

    fn body(message: Message) -> Vec<u8> {
        let bytes = message.finish();
        messages(&bytes).next().unwrap().body[GENERIC..].to_vec()
    }

    #[test]
    fn a_packet_is_what_its_attributes_say() {
        let message = Message::new(0x300, 0, 0, (2, 9))
            .bytes(PACKET_HEADER, &[0, 0, 0, 7, 0x08, 0, 2])
            .number(MARK, 0x403)
            .number(IN, 3)
            .bytes(HARDWARE_ADDRESS, &[0, 6, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0])
            .bytes(PAYLOAD, &[0x45, 0])
            .nested(CONNECTION, |inner| inner.number(CONNECTION_MARK, 5));
        let packet = Packet::parse(&body(message)).unwrap();
        let expected = Packet {
            id: 7,
            bytes: vec![0x45, 0],
            mark: 0x403,
            input: 3,
            output: 0,
            ethertype: 0x800,
            source: Some([2, 0, 0, 0, 0, 1]),
            connection_mark: Some(5),
        };
        assert_eq!(packet, expected);
        assert_eq!(Packet::parse(&body(Message::new(0x300, 0, 0, (2, 9)).number(MARK, 1))), None);
    }

    #[test]
    fn an_answer_has_what_was_changed_only() {
        let packet = Packet { id: 7, ..Packet::default() };
        let plain = Answer { verdict: 1, bytes: None, mark: None, connection_mark: None };
        let kinds = |answer: &Answer<'_>| -> Vec<u16> {
            let bytes = packet.answer(answer, 9);
            let body = messages(&bytes).next().unwrap().body;
            assert_eq!(body[2..4], [0, 9], "the queue's number");
            attributes(&body[GENERIC..]).map(|(kind, _)| kind).collect()
        };
        assert_eq!(kinds(&plain), [VERDICT_HEADER]);
        let changed = Answer { bytes: Some(&[1]), mark: Some(2), connection_mark: Some(3), ..plain };
        assert_eq!(kinds(&changed), [VERDICT_HEADER, MARK, PAYLOAD, CONNECTION]);
    }
}
