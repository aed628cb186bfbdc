//! The kernel's helpers that programs call (`enum bpf_func_id`, include/uapi/linux/bpf.h), with what is known of each. One
//! without a row may write any memory and move the packet.

pub const MAP_LOOKUP_ELEM: u32 = 1;
pub const MAP_UPDATE_ELEM: u32 = 2;
pub const MAP_DELETE_ELEM: u32 = 3;
pub const KTIME_GET_NS: u32 = 5;
pub const GET_PRANDOM_U32: u32 = 7;
pub const GET_SMP_PROCESSOR_ID: u32 = 8;
/// Goes on with another program, or comes back where there is none. The result is nothing.
pub const TAIL_CALL: u32 = 12;
pub const CLONE_REDIRECT: u32 = 13;
pub const GET_CURRENT_PID_TGID: u32 = 14;
pub const GET_CURRENT_UID_GID: u32 = 15;
pub const GET_CURRENT_COMM: u32 = 16;
pub const REDIRECT: u32 = 23;
pub const GET_CURRENT_TASK: u32 = 35;
pub const REDIRECT_MAP: u32 = 51;
pub const PROBE_READ_KERNEL: u32 = 113;
pub const PROBE_READ_KERNEL_STR: u32 = 115;
pub const RINGBUF_OUTPUT: u32 = 130;
pub const REDIRECT_NEIGH: u32 = 152;
pub const REDIRECT_PEER: u32 = 155;
pub const FOR_EACH_MAP_ELEM: u32 = 164;
pub const KTIME_GET_TAI_NS: u32 = 208;

/// Functions of the kernel that are no helpers (kfuncs, Documentation/bpf/kfuncs.rst): the kernel knows them by their names, not by numbers.
/// Those that programs call have numbers here that no helper has.
pub const DYNPTR_FROM_SKB: u32 = KERNEL_FUNCTIONS[0].id;
pub const DYNPTR_READ: u32 = 201;
pub const CONNECTION_RELEASE: u32 = KERNEL_FUNCTIONS[3].id;
pub const READ_ONLY_CAST: u32 = KERNEL_FUNCTIONS[4].id;

/// A function of the kernel that programs call by its name.
#[derive(Debug)]
pub struct KernelFunction {
    pub id: u32,
    pub name: &'static str,
    pub parameters: &'static [Parameter],
    pub gives: Gives,
}

/// What a function of the kernel gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// A number of 32 bits.
    Number,
    /// The address of a structure of that name, or 0.
    Structure(&'static str),
    /// An address that is not 0, of what another parameter says.
    Address,
    Nothing,
}

/// What a function of the kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    Number,
    /// The address of a structure of that name.
    Structure(&'static str),
    /// The address of anything.
    Address,
}

/// All of them (net/core/filter.c, kernel/bpf/helpers.c, net/netfilter/nf_conntrack_bpf.c).
const KERNEL_FUNCTIONS: &[KernelFunction] = &[
    KernelFunction {
        id: 1 << 30,
        name: "bpf_dynptr_from_skb",
        parameters: &[
            Parameter::Structure("__sk_buff"),
            Parameter::Number,
            Parameter::Structure("bpf_dynptr"),
        ],
        gives: Gives::Number,
    },
    // What these two give is held until it is released.
    connection_lookup((1 << 30) + 1, "bpf_skb_ct_lookup", &lookup_of("__sk_buff")),
    connection_lookup((1 << 30) + 2, "bpf_xdp_ct_lookup", &lookup_of("xdp_md")),
    KernelFunction {
        id: (1 << 30) + 3,
        name: "bpf_ct_release",
        parameters: &[Parameter::Structure("nf_conn")],
        gives: Gives::Nothing,
    },
    // The same address, as that of a structure that has this number in the kernel's types. The call becomes a move.
    KernelFunction {
        id: (1 << 30) + 4,
        name: "bpf_rdonly_cast",
        parameters: &[Parameter::Address, Parameter::Number],
        gives: Gives::Address,
    },
];

const fn connection_lookup(id: u32, name: &'static str, parameters: &'static [Parameter]) -> KernelFunction {
    KernelFunction { id, name, parameters, gives: Gives::Structure("nf_conn") }
}

/// What a lookup takes besides the program's context: addresses and ports, options, and the sizes of both.
const fn lookup_of(context: &'static str) -> [Parameter; 5] {
    let (addresses, options) = (Parameter::Structure("bpf_sock_tuple"), Parameter::Structure("bpf_ct_opts"));
    [Parameter::Structure(context), addresses, Parameter::Number, options, Parameter::Number]
}

/// The number of the function of the kernel with that name.
pub fn named(name: &str) -> Option<u32> {
    KERNEL_FUNCTIONS.iter().find(|function| function.name == name).map(|function| function.id)
}

/// Whether a call gives an address, or 0.
pub fn gives_address(id: u32) -> bool {
    let is_address =
        |function: &KernelFunction| matches!(function.gives, Gives::Structure(_) | Gives::Address);
    id == MAP_LOOKUP_ELEM || kernel_function(id).is_some_and(is_address)
}

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
    /// How many arguments it takes.
    arguments: u8,
    effect: Effect,
    /// It reads the memory that it is given addresses of, and does not keep those.
    reads: bool,
}

const fn row(id: u32, arguments: u8, effect: Effect, reads: bool) -> Row {
    Row { id, arguments, effect, reads }
}

const HELPERS: &[Row] = &[
    row(MAP_LOOKUP_ELEM, 2, Effect::Nothing, true),
    row(MAP_UPDATE_ELEM, 4, Effect::Maps, true),
    row(MAP_DELETE_ELEM, 2, Effect::Maps, true),
    row(KTIME_GET_NS, 0, Effect::Nothing, false),
    row(GET_PRANDOM_U32, 0, Effect::Nothing, false),
    row(GET_SMP_PROCESSOR_ID, 0, Effect::Nothing, false),
    row(RINGBUF_OUTPUT, 4, Effect::Maps, true),
    row(GET_CURRENT_PID_TGID, 0, Effect::Nothing, false),
    row(GET_CURRENT_UID_GID, 0, Effect::Nothing, false),
    row(GET_CURRENT_TASK, 0, Effect::Nothing, false),
    // What they note for the packet is none of the program's memory, but they cannot be left out.
    row(REDIRECT, 2, Effect::Maps, false),
    row(REDIRECT_MAP, 3, Effect::Maps, false),
    row(REDIRECT_NEIGH, 4, Effect::Maps, false),
    row(REDIRECT_PEER, 2, Effect::Maps, false),
    row(KTIME_GET_TAI_NS, 0, Effect::Nothing, false),
    row(CONNECTION_RELEASE, 1, Effect::Maps, false),
    row(READ_ONLY_CAST, 2, Effect::Nothing, false),
    // The functions that it calls write values of maps only.
    row(FOR_EACH_MAP_ELEM, 4, Effect::Maps, false),
];

fn find(id: u32) -> Option<&'static Row> {
    HELPERS.iter().find(|helper| helper.id == id)
}

/// How many arguments a helper takes, if that is known.
pub fn arguments(id: u32) -> Option<u8> {
    find(id).map(|helper| helper.arguments)
}

/// What a call of the helper can change.
pub fn effect(id: u32) -> Effect {
    find(id).map_or(Effect::Everything, |helper| helper.effect)
}

/// Whether the helper reads the memory that it is given addresses of, and does not keep those.
pub fn reads_only(id: u32) -> bool {
    find(id).is_some_and(|helper| helper.reads)
}
