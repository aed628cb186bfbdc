//! The rule of nf_tables that queues packets (include/uapi/linux/netfilter/nf_tables.h): a table of its own with one chain and one rule.
//!
//! The table belongs to the socket (`NFT_TABLE_F_OWNER`): the kernel removes it when that is closed, however the process dies.

use crate::QueueError;
use crate::message::{ACKNOWLEDGE, APPEND, CREATE, Message};
use crate::socket::Socket;
use moonhook_hook::NetfilterPlace;
use nix::errno::Errno;

/// The subsystem `NFNL_SUBSYS_NFTABLES`.
const SUBSYSTEM: u16 = 10;
/// `NFNL_MSG_BATCH_BEGIN`, `NFNL_MSG_BATCH_END`.
const BEGIN: u16 = 0x10;
const END: u16 = 0x11;

/// `NFT_MSG_NEWTABLE`, `NFT_MSG_NEWCHAIN`, `NFT_MSG_NEWRULE`, `NFT_MSG_DELRULE`.
const TABLE: u16 = SUBSYSTEM << 8;
const CHAIN: u16 = SUBSYSTEM << 8 | 3;
const RULE: u16 = SUBSYSTEM << 8 | 6;
const NO_RULE: u16 = SUBSYSTEM << 8 | 8;

/// `NFTA_TABLE_NAME`, `NFTA_TABLE_FLAGS`; `NFT_TABLE_F_OWNER`.
const TABLE_NAME: u16 = 1;
const TABLE_FLAGS: u16 = 2;
const OWNED: u32 = 2;

/// `NFTA_CHAIN_…`, and `NFTA_HOOK_…` inside of its hook.
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
/// `NF_ACCEPT`.
const ACCEPT: u32 = 1;

/// `NFTA_RULE_…`, the elements of its expressions, and what they have.
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
const RULE_EXPRESSIONS: u16 = 4;
const ELEMENT: u16 = 1;
const EXPRESSION_NAME: u16 = 1;
const EXPRESSION_DATA: u16 = 2;

/// `NFT_REG_1`, `NFT_META_MARK`, `NFT_CMP_EQ`, `NFTA_DATA_VALUE`.
const REGISTER: u32 = 1;
const META_MARK: u32 = 3;
const EQUAL: u32 = 0;
const VALUE: u16 = 1;

/// `NFT_QUEUE_FLAG_BYPASS`, and `NFQ_FLAG_BYPASS` of the older target: where nobody takes packets of the queue, they pass by.
const BYPASS: u16 = 1;

/// The revision of the target `NFQUEUE` that has flags (`struct xt_NFQ_info_v3`, include/uapi/linux/netfilter/xt_NFQUEUE.h).
const REVISION: u32 = 3;

const CHAIN_NAMED: &str = "packets";

/// The rule; it goes with this value.
pub struct Rule {
    socket: Socket,
    family: u8,
    table: String,
    has_ended: bool,
}

/// How a rule says that packets are queued.
#[derive(Clone, Copy)]
enum Way {
    /// nf_tables' own expression.
    Expression,
    /// The target of iptables, which nf_tables takes too.
    Target,
}

impl Rule {
    /// Queues the packets of a place, in the network namespace of this thread, in so many queues from the one with that number on.
    ///
    /// # Errors
    /// `Unsupported` where nf_tables is not there or can queue in neither way; `Refused`.
    pub fn add(place: &NetfilterPlace, queues: (u16, u16), passes_by: bool) -> Result<Rule, QueueError> {
        let mut socket = Socket::open()?;
        let (family, table) = (place.family as u8, format!("moonhook-{}", queues.0));
        for way in [Way::Expression, Way::Target] {
            match add(&mut socket, (place, &table), (queues, passes_by), way) {
                Ok(()) => return Ok(Rule { socket, family, table, has_ended: false }),
                Err(Errno::ENOENT) => {}
                Err(Errno::EINVAL | Errno::EPROTONOSUPPORT) => {
                    return Err(QueueError::Unsupported { missing: "nf_tables" });
                }
                Err(errno) => return Err(QueueError::refused("adding a rule that queues packets", errno)),
            }
        }
        Err(QueueError::Unsupported { missing: "nft_queue" })
    }

    /// Queues no more packets, as soon as one of several queues asks for that. The chain stays until this value goes: with it the kernel drops all that waits in queues (`nf_queue_nf_hook_drop`,
    /// net/netfilter/nf_queue.c).
    ///
    /// # Errors
    /// `Refused`.
    pub fn end(&mut self) -> Result<(), QueueError> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        let last = self.socket.sequence();
        let rule = Message::new(NO_RULE, ACKNOWLEDGE, last, (self.family, 0))
            .text(RULE_TABLE, &self.table)
            .text(RULE_CHAIN, CHAIN_NAMED);
        let batch = batch(&mut self.socket, [rule]);
        let refused = |errno| QueueError::refused("removing a rule that queues packets", errno);
        self.socket.request(&batch, last).map_err(refused)
    }
}

/// What the kernel does as a whole, or not at all.
fn batch(socket: &mut Socket, messages: impl IntoIterator<Item = Message>) -> Vec<u8> {
    let mut all = Message::new(BEGIN, 0, socket.sequence(), (0, SUBSYSTEM)).finish();
    messages.into_iter().for_each(|message| all.extend(message.finish()));
    all.extend(Message::new(END, 0, socket.sequence(), (0, SUBSYSTEM)).finish());
    all
}

fn add(
    socket: &mut Socket,
    (place, name): (&NetfilterPlace, &str),
    (queues, passes_by): ((u16, u16), bool),
    way: Way,
) -> Result<(), Errno> {
    let family = place.family as u8;
    let table = Message::new(TABLE, CREATE, socket.sequence(), (family, 0))
        .text(TABLE_NAME, name)
        .number(TABLE_FLAGS, OWNED);
    let chain = Message::new(CHAIN, CREATE, socket.sequence(), (family, 0))
        .text(CHAIN_TABLE, name)
        .text(CHAIN_NAME, CHAIN_NAMED)
        .nested(CHAIN_HOOK, |hook| {
            hook.number(HOOK_NUMBER, place.number).number(HOOK_PRIORITY, place.priority as u32)
        })
        .number(CHAIN_POLICY, ACCEPT)
        .text(CHAIN_TYPE, "filter");
    let last = socket.sequence();
    let rule = Message::new(RULE, CREATE | APPEND | ACKNOWLEDGE, last, (family, 0))
        .text(RULE_TABLE, name)
        .text(RULE_CHAIN, CHAIN_NAMED)
        .nested(RULE_EXPRESSIONS, |rule| {
            let rule = match place.mark {
                Some(mark) => has_mark(rule, mark),
                None => rule,
            };
            match way {
                Way::Expression => by_expression(rule, queues, passes_by),
                Way::Target => by_target(rule, queues, passes_by),
            }
        });
    let batch = batch(socket, [table, chain, rule]);
    socket.request(&batch, last)
}

fn expression(rule: Message, name: &str, data: impl FnOnce(Message) -> Message) -> Message {
    rule.nested(ELEMENT, |element| element.text(EXPRESSION_NAME, name).nested(EXPRESSION_DATA, data))
}

/// The packet's mark, which is in the machine's byte order in a register, is this one.
fn has_mark(rule: Message, mark: u32) -> Message {
    // `NFTA_META_DREG`, `NFTA_META_KEY`; `NFTA_CMP_SREG`, `NFTA_CMP_OP`, `NFTA_CMP_DATA`.
    let rule = expression(rule, "meta", |meta| meta.number(1, REGISTER).number(2, META_MARK));
    expression(rule, "cmp", |cmp| {
        let cmp = cmp.number(1, REGISTER).number(2, EQUAL);
        cmp.nested(3, |data| data.bytes(VALUE, &mark.to_ne_bytes()))
    })
}

fn by_expression(rule: Message, (queue, count): (u16, u16), passes_by: bool) -> Message {
    let flags = if passes_by { BYPASS } else { 0 };
    // `NFTA_QUEUE_NUM`, `NFTA_QUEUE_TOTAL`, `NFTA_QUEUE_FLAGS`.
    expression(rule, "queue", |data| {
        data.bytes(1, &queue.to_be_bytes()).bytes(2, &count.to_be_bytes()).bytes(3, &flags.to_be_bytes())
    })
}

fn by_target(rule: Message, (queue, count): (u16, u16), passes_by: bool) -> Message {
    let flags = if passes_by { BYPASS } else { 0 };
    // The structure's numbers are in the machine's byte order; its length is a multiple of 8 (`XT_ALIGN`).
    let mut structure = Vec::new();
    [queue, count, flags, 0].into_iter().for_each(|number| structure.extend(number.to_ne_bytes()));
    // `NFTA_TARGET_NAME`, `NFTA_TARGET_REV`, `NFTA_TARGET_INFO`.
    expression(rule, "target", |data| data.text(1, "NFQUEUE").number(2, REVISION).bytes(3, &structure))
}
