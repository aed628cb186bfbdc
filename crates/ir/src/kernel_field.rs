//! Fields of the kernel's own structures that programs read. Where a field lies differs between kernels: an object has their names, and its
//! loader finds the offsets in the running kernel's BTF (Documentation/bpf/libbpf/libbpf_overview.rst, "BPF CO-RE").

use crate::Size;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// A field of a structure of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelField {
    pub structure: Cow<'static, str>,
    /// The structure is a union.
    pub is_union: bool,
    pub name: Cow<'static, str>,
    pub content: FieldContent,
}

/// What stands in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldContent {
    /// A number without sign.
    Number(Size),
    /// The address of another structure, or 0. What is read from there, or from behind address 0, is 0 where it is gone.
    Address,
    /// One of the numbers that an enumeration names.
    Enumeration(Size),
    /// A structure or a union.
    Part,
    /// So many of these.
    Array(&'static FieldContent, u32),
    /// So many bits of a number.
    Bits { of: Size, signed: bool, count: u32 },
}

/// What code is told of a field before it runs (`enum bpf_core_relo_kind`, include/uapi/linux/bpf.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldFact {
    /// Where it begins in its structure; of bits, the word that they are in.
    Offset = 0,
    /// Bytes of that word.
    Bytes = 1,
    /// By how many bits the word, read as one of 64 bits, is shifted to the left so that the field's highest bit is the highest.
    ShiftLeft = 4,
    /// By how many bits it is shifted to the right then, so that the field's lowest bit is the lowest.
    ShiftRight = 5,
    /// The number of its structure among the kernel's types.
    Structure = 7,
}

impl FieldFact {
    const ALL: [FieldFact; 5] = [
        FieldFact::Offset,
        FieldFact::Bytes,
        FieldFact::ShiftLeft,
        FieldFact::ShiftRight,
        FieldFact::Structure,
    ];

    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            FieldFact::Offset => "offset",
            FieldFact::Bytes => "bytes",
            FieldFact::ShiftLeft => "shift_left",
            FieldFact::ShiftRight => "shift_right",
            FieldFact::Structure => "structure",
        }
    }

    pub fn named(name: &str) -> Option<FieldFact> {
        FieldFact::ALL.into_iter().find(|fact| fact.name() == name)
    }
}

const fn number(structure: &'static str, name: &'static str, size: Size) -> KernelField {
    KernelField {
        structure: Cow::Borrowed(structure),
        is_union: false,
        name: Cow::Borrowed(name),
        content: FieldContent::Number(size),
    }
}

const fn address(structure: &'static str, name: &'static str) -> KernelField {
    KernelField {
        structure: Cow::Borrowed(structure),
        is_union: false,
        name: Cow::Borrowed(name),
        content: FieldContent::Address,
    }
}

/// What programs read at hooks that have packets (include/linux/skbuff.h, netfilter.h, netdevice.h; include/net/netfilter/nf_conntrack.h).
pub static SKB_MARK: KernelField = number("sk_buff", "mark", Size::B4);
pub static SKB_PRIORITY: KernelField = number("sk_buff", "priority", Size::B4);
pub static SKB_HASH: KernelField = number("sk_buff", "hash", Size::B4);
pub static SKB_TIME: KernelField = number("sk_buff", "tstamp", Size::B8);
pub static SKB_QUEUE: KernelField = number("sk_buff", "queue_mapping", Size::B2);
pub static STATE_IN: KernelField = address("nf_hook_state", "in");
pub static STATE_OUT: KernelField = address("nf_hook_state", "out");
pub static SKB_DEVICE: KernelField = address("sk_buff", "dev");
pub static SKB_HEAD: KernelField = address("sk_buff", "head");
pub static SKB_DATA: KernelField = address("sk_buff", "data");
/// Bytes of the packet, and how many of them are in pages of their own.
pub static SKB_LENGTH: KernelField = number("sk_buff", "len", Size::B4);
pub static SKB_ELSEWHERE: KernelField = number("sk_buff", "data_len", Size::B4);
pub static SKB_LINK: KernelField = number("sk_buff", "mac_header", Size::B2);
pub static DEVICE_NUMBER: KernelField = number("net_device", "ifindex", Size::B4);

pub static SKB_CONNECTION: KernelField = number("sk_buff", "_nfct", Size::B8);
pub static CONNECTION_STATUS: KernelField = number("nf_conn", "status", Size::B8);
pub static CONNECTION_MARK: KernelField = number("nf_conn", "mark", Size::B4);

/// An element of a hash table (kernel/bpf/hashtab.c): its key, behind which the value begins at a multiple of 8 bytes, and where it is linked
/// from: it begins with its place in a bucket's list (include/linux/list_nulls.h).
pub static ELEMENT_KEY: KernelField = KernelField {
    structure: Cow::Borrowed("htab_elem"),
    is_union: false,
    name: Cow::Borrowed("key"),
    content: FieldContent::Array(&FieldContent::Number(Size::B1), 0),
};
pub static LINKED_FROM: KernelField = address("hlist_nulls_node", "pprev");

/// The first of the words that a structure has nothing else of, 24 at least (include/uapi/linux/if_link.h): any memory can be read as them.
pub static WORDS: KernelField = number("rtnl_link_stats64", "rx_packets", Size::B8);

static FIELDS: [&KernelField; 20] = [
    &SKB_DEVICE,
    &SKB_HEAD,
    &SKB_DATA,
    &SKB_LENGTH,
    &SKB_ELSEWHERE,
    &WORDS,
    &SKB_LINK,
    &SKB_MARK,
    &SKB_PRIORITY,
    &SKB_HASH,
    &SKB_TIME,
    &SKB_QUEUE,
    &STATE_IN,
    &STATE_OUT,
    &DEVICE_NUMBER,
    &SKB_CONNECTION,
    &CONNECTION_STATUS,
    &CONNECTION_MARK,
    &ELEMENT_KEY,
    &LINKED_FROM,
];

impl KernelField {
    /// The one that is written so: `sk_buff.mark`.
    pub fn named(text: &str) -> Option<&'static KernelField> {
        let (structure, name) = text.split_once('.')?;
        FIELDS.into_iter().find(|field| field.structure == structure && field.name == name)
    }

    /// One that a script names. Equal ones are the same: as many are kept as the kernel has fields, at most.
    pub fn kept(self) -> &'static KernelField {
        static KEPT: Kept<KernelField> = Mutex::new(None);
        kept(&KEPT, self)
    }

    /// Bytes of a number or an address that is loaded; of what is not, those of a word.
    pub fn size(&self) -> Size {
        match self.content {
            FieldContent::Number(size) | FieldContent::Enumeration(size) => size,
            FieldContent::Bits { of, .. } => of,
            FieldContent::Address | FieldContent::Part | FieldContent::Array(..) => Size::B8,
        }
    }

    /// What the fact is where the field lies at its structure's beginning, as objects say it does.
    pub fn fact_in_object(&self, fact: FieldFact) -> i32 {
        let bits = match self.content {
            FieldContent::Bits { count, .. } => count as i32,
            _ => 8 * self.size() as i32,
        };
        match fact {
            FieldFact::Offset | FieldFact::Structure => 0,
            FieldFact::Bytes => self.size() as i32,
            FieldFact::ShiftLeft | FieldFact::ShiftRight => 64 - bits,
        }
    }
}

impl FieldContent {
    /// How many it has in an object, where a structure in a field is empty.
    pub fn bytes(self) -> u32 {
        match self {
            FieldContent::Number(size) | FieldContent::Enumeration(size) => size as u32,
            FieldContent::Bits { of, .. } => of as u32,
            FieldContent::Address => Size::B8 as u32,
            FieldContent::Part => 0,
            FieldContent::Array(of, length) => of.bytes() * length,
        }
    }

    /// The same, for [`FieldContent::Array`].
    pub fn kept(self) -> &'static FieldContent {
        static KEPT: Kept<FieldContent> = Mutex::new(None);
        kept(&KEPT, self)
    }
}

type Kept<T> = Mutex<Option<HashSet<&'static T>>>;

fn kept<T: Eq + std::hash::Hash>(all: &'static Kept<T>, value: T) -> &'static T {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all.get_or_insert_default();
    if let Some(known) = all.get(&value) {
        return known;
    }
    let new: &'static T = Box::leak(Box::new(value));
    all.insert(new);
    new
}
