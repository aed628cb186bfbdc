//! VLAN tags that the kernel keeps beside packets (`skb_vlan_push`, `skb_vlan_pop` of net/core/skbuff.c).

/// Where the context has them, and what moves them. The tag beside a packet is its outer one; others are among the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags {
    /// Words of 32 bits: whether there is such a tag (not 0), its control information, its type as it is in memory.
    pub present: i16,
    pub control: i16,
    pub kind: i16,
    /// The type of what follows the addresses among the bytes, as the kernel knows it: 16 bits as in memory.
    pub protocol: i16,
    /// The helper (`enum bpf_func_id`) that puts a tag beside a packet, and the one that is there among the bytes; it takes the context, the type
    /// as it is in memory and the control information. It gives 0, and the packet's addresses are no longer valid.
    pub push: u32,
    /// The helper that takes the outer tag away, and puts one that is the first among the bytes then beside the packet. It takes the context.
    pub pop: u32,
}
