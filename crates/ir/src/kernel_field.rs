//! Fields of the kernel's own structures that programs read. Where a field lies differs between kernels: an object has their names, and its
//! loader finds the offsets in the running kernel's BTF (Documentation/bpf/libbpf/libbpf_overview.rst, "BPF CO-RE").

use crate::Size;

/// A field of a structure of the kernel.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct KernelField {
    pub structure: &'static str,
    pub name: &'static str,
    pub content: FieldContent,
}

/// What stands in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldContent {
    /// A number without sign.
    Number(Size),
    /// The address of another structure, or 0. What is read from there, or from behind address 0, is 0 where it is gone.
    Address,
}

const fn number(structure: &'static str, name: &'static str, size: Size) -> KernelField {
    KernelField { structure, name, content: FieldContent::Number(size) }
}

const fn address(structure: &'static str, name: &'static str) -> KernelField {
    KernelField { structure, name, content: FieldContent::Address }
}

/// All that programs read (include/linux/skbuff.h, netfilter.h, netdevice.h; include/net/netfilter/nf_conntrack.h).
pub static SKB_MARK: KernelField = number("sk_buff", "mark", Size::B4);
pub static SKB_PRIORITY: KernelField = number("sk_buff", "priority", Size::B4);
pub static SKB_HASH: KernelField = number("sk_buff", "hash", Size::B4);
pub static SKB_QUEUE: KernelField = number("sk_buff", "queue_mapping", Size::B2);
pub static STATE_IN: KernelField = address("nf_hook_state", "in");
pub static STATE_OUT: KernelField = address("nf_hook_state", "out");
pub static DEVICE_NUMBER: KernelField = number("net_device", "ifindex", Size::B4);

pub static SKB_CONNECTION: KernelField = number("sk_buff", "_nfct", Size::B8);
pub static SKB_TIME: KernelField = number("sk_buff", "tstamp", Size::B8);
pub static CONNECTION_STATUS: KernelField = number("nf_conn", "status", Size::B8);
pub static CONNECTION_MARK: KernelField = number("nf_conn", "mark", Size::B4);

static FIELDS: [&KernelField; 11] = [
    &SKB_MARK,
    &SKB_PRIORITY,
    &SKB_HASH,
    &SKB_QUEUE,
    &STATE_IN,
    &STATE_OUT,
    &DEVICE_NUMBER,
    &SKB_CONNECTION,
    &SKB_TIME,
    &CONNECTION_STATUS,
    &CONNECTION_MARK,
];

impl KernelField {
    /// The one that is written so: `sk_buff.mark`.
    pub fn named(text: &str) -> Option<&'static KernelField> {
        let (structure, name) = text.split_once('.')?;
        FIELDS.into_iter().find(|field| field.structure == structure && field.name == name)
    }

    pub fn size(&self) -> Size {
        match self.content {
            FieldContent::Number(size) => size,
            FieldContent::Address => Size::B8,
        }
    }
}
