// Sends a table of frames, in turn, out of an interface: run over live frames (BPF_F_TEST_XDP_LIVE_FRAMES), whose pages come back as the
// receiver has left them, so that each is written anew.
#include "to.h"

enum { FRAMES = 4096, WORDS = 8 };

struct frame {
	__u64 words[WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRAMES);
	__type(key, __u32);
	__type(value, struct frame);
} frames SEC(".maps");

// How many a processor has sent.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} sent SEC(".maps");

SEC("xdp") int send(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 zero = 0, number, *count = bpf_map_lookup_elem(&sent, &zero), *interface = bpf_map_lookup_elem(&to, &zero);
	struct frame *frame;

	if (!count || !interface || data + sizeof(*frame) > end)
		return XDP_ABORTED;
	number = (*count)++ % FRAMES;
	frame = bpf_map_lookup_elem(&frames, &number);
	if (!frame)
		return XDP_ABORTED;
	for (int i = 0; i < WORDS; i++)
		((__u64 *)data)[i] = frame->words[i];
	return bpf_redirect(*interface, 0);
}

char _license[] SEC("license") = "GPL";
