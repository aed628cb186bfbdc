//! The kernel's helpers that programs call (`enum bpf_func_id`, include/uapi/linux/bpf.h), with what is known of each. One
//! without a row may write any memory and move the packet.

pub const MAP_LOOKUP_ELEM: u32 = 1;
pub const MAP_UPDATE_ELEM: u32 = 2;
pub const MAP_DELETE_ELEM: u32 = 3;
pub const KTIME_GET_NS: u32 = 5;
pub const GET_PRANDOM_U32: u32 = 7;
pub const GET_SMP_PROCESSOR_ID: u32 = 8;
pub const CLONE_REDIRECT: u32 = 13;
pub const REDIRECT: u32 = 23;
pub const REDIRECT_MAP: u32 = 51;
pub const RINGBUF_OUTPUT: u32 = 130;
pub const REDIRECT_NEIGH: u32 = 152;
pub const REDIRECT_PEER: u32 = 155;
pub const FOR_EACH_MAP_ELEM: u32 = 164;
pub const KTIME_GET_TAI_NS: u32 = 208;

/// Functions of the kernel that are no helpers (kfuncs, Documentation/bpf/kfuncs.rst): the kernel knows them by their names, not by numbers.
/// Those that programs call have numbers here that no helper has.
pub const DYNPTR_FROM_SKB: u32 = KERNEL_FUNCTIONS[0].id;
pub const DYNPTR_SIZE: u32 = KERNEL_FUNCTIONS[1].id;
pub const DYNPTR_READ: u32 = 201;

/// A function of the kernel that programs call by its name.
#[derive(Debug)]
pub struct KernelFunction {
    pub id: u32,
    pub name: &'static str,
    pub parameters: &'static [Parameter],
}

/// What a function of the kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    Number,
    /// The address of a structure of that name.
    Structure(&'static str),
}

/// All of them (net/core/filter.c, kernel/bpf/helpers.c). Each gives a number of 32 bits.
const KERNEL_FUNCTIONS: &[KernelFunction] = &[
    KernelFunction {
        id: 1 << 30,
        name: "bpf_dynptr_from_skb",
        parameters: &[
            Parameter::Structure("__sk_buff"),
            Parameter::Number,
            Parameter::Structure("bpf_dynptr"),
        ],
    },
    KernelFunction {
        id: (1 << 30) + 1,
        name: "bpf_dynptr_size",
        parameters: &[Parameter::Structure("bpf_dynptr")],
    },
];

/// The function of the kernel with that number; `None` for those of helpers.
pub fn kernel_function(id: u32) -> Option<&'static KernelFunction> {
    KERNEL_FUNCTIONS.iter().find(|function| function.id == id)
}

/// What a call can change, besides its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No memory that the program can read.
    Nothing,
    /// Values of maps.
    Maps,
    /// Anything, and packet pointers are invalid afterwards.
    Everything,
}

/// What a helper does with memory.
struct Row {
    id: u32,
    effect: Effect,
    /// It reads the memory that it is given addresses of, and does not keep those.
    reads: bool,
}

const fn row(id: u32, effect: Effect, reads: bool) -> Row {
    Row { id, effect, reads }
}

const HELPERS: &[Row] = &[
    row(MAP_LOOKUP_ELEM, Effect::Nothing, true),
    row(MAP_UPDATE_ELEM, Effect::Maps, true),
    row(MAP_DELETE_ELEM, Effect::Maps, true),
    row(KTIME_GET_NS, Effect::Nothing, false),
    row(GET_PRANDOM_U32, Effect::Nothing, false),
    row(GET_SMP_PROCESSOR_ID, Effect::Nothing, false),
    row(RINGBUF_OUTPUT, Effect::Maps, true),
    // What they note for the packet is none of the program's memory, but they cannot be left out.
    row(REDIRECT, Effect::Maps, false),
    row(REDIRECT_MAP, Effect::Maps, false),
    row(REDIRECT_NEIGH, Effect::Maps, false),
    row(REDIRECT_PEER, Effect::Maps, false),
    row(KTIME_GET_TAI_NS, Effect::Nothing, false),
    // The functions that it calls write values of maps only.
    row(FOR_EACH_MAP_ELEM, Effect::Maps, false),
];

fn find(id: u32) -> Option<&'static Row> {
    HELPERS.iter().find(|helper| helper.id == id)
}

/// What a call of the helper can change.
pub fn effect(id: u32) -> Effect {
    find(id).map_or(Effect::Everything, |helper| helper.effect)
}

/// Whether the helper reads the memory that it is given addresses of, and does not keep those.
pub fn reads_only(id: u32) -> bool {
    find(id).is_some_and(|helper| helper.reads)
}
