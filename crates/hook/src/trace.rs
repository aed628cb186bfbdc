//! Tracepoints and functions: places in the kernel's own code at which programs are told what happens. Nothing depends on what they say, and
//! there is no packet but what the arguments lead to.

use crate::{Answer, Bytes, Checksums, Context, Hook, Layer, Packet, Places, Reader, Verdict};

/// The arguments as the kernel's code passes them (`BPF_PROG_TYPE_RAW_TRACEPOINT`, kernel/trace/bpf_trace.c). What programs return is not
/// looked at.
pub const RAW_TRACEPOINT: Hook =
    hook("raw_tp", 17, "bpf_raw_tracepoint_args", &[Verdict::plain(0, &["PASS"])]);

/// The record that perf and ftrace get (`BPF_PROG_TYPE_TRACEPOINT`). They get it only if no program returns 0 (`trace_call_bpf`). The
/// kernel calls the type of its context by the name of a number's (include/linux/bpf_types.h).
pub const TRACEPOINT: Hook = hook("tp", 5, "__u64", &[Verdict::plain(1, &["PASS"])]);

/// The registers when a function is called (`BPF_PROG_TYPE_KPROBE`). The kernel calls its type by a name that stands for another structure on
/// each machine (include/linux/bpf_types.h).
pub const KPROBE: Hook = hook("kprobe", 2, REGISTERS, &[Verdict::plain(0, &["PASS"])]);

/// The registers when it returns.
pub const KRETPROBE: Hook = hook("kretprobe", 2, REGISTERS, &[Verdict::plain(0, &["PASS"])]);

const REGISTERS: &str = "bpf_user_pt_regs_t";

/// All hooks of this kind.
pub const TRACE_HOOKS: &[&Hook] = &[&RAW_TRACEPOINT, &TRACEPOINT, &KPROBE, &KRETPROBE];

/// Where programs are, in sections of objects: behind the hook's own, as libbpf has it.
pub const SEPARATOR: char = '/';

const fn hook(
    name: &'static str,
    program_type: u32,
    structure: &'static str,
    verdicts: &'static [Verdict],
) -> Hook {
    Hook {
        name,
        section: name,
        program_type,
        context: Context {
            structure,
            packet: Packet::Copied(Reader { bytes: Bytes::Nothing, store: None }),
            metadata: &[],
            peer: None,
            note: None,
            connection: None,
        },
        verdicts,
        default: verdicts[0].number,
        answer: Answer::Verdict,
        checksums: Checksums::Bytes,
        lengths: None,
        tags: None,
        forwards: &[],
        layer: Layer::Event,
        places: Places::Kernel,
        is_interrupted: true,
    }
}
