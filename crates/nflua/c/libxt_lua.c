/*
 * The match `lua` of iptables: a function of one of NFLua's states says whether a packet matches.
 *
 * In the kernel it is the match `bpf`, revision 1 (xt_bpf.h): the daemon compiles the function, pins the program, and says where.
 * Behind the path stands what the rule was made of (words.h), by which libipt_bpf.c lists and saves it.
 */
#define PLUGIN "lua"

#include "plugin.h"
#include "words.h"

#include <stddef.h>

enum { O_STATE, O_FUNCTION, O_TCP_PAYLOAD, O_MASK };

static const struct xt_option_entry options[] = {
#if GENERATION == GENERATION_2019
	{ .name = "state", .id = O_STATE, .type = XTTYPE_STRING },
#else
	{ .name = "mask", .id = O_MASK, .type = XTTYPE_STRING },
#endif
	{ .name = "function", .id = O_FUNCTION, .type = XTTYPE_STRING },
	{ .name = "tcp-payload", .id = O_TCP_PAYLOAD, .type = XTTYPE_NONE },
	XTOPT_TABLEEND,
};

static void print_help(void)
{
	printf("lua match options (Moonhook's NFLua):\n");
#if GENERATION == GENERATION_2019
	printf("    --state NAME       the state that is asked\n"
	       "    --function NAME    its function, which is called with the packet\n"
	       "    --tcp-payload      only ask about TCP packets with payload\n");
#else
	printf("    --function NAME    the function, which is called with the frame and the packet\n"
	       "    --tcp-payload      only match TCP packets with payload\n"
	       "    --mask BITS        only match while one of these bits is set (nf.set_match_bit)\n");
#endif
}

static void set_name(char name[NAME_SIZE], const struct xt_option_call *call)
{
	if (strlen(call->arg) >= NAME_SIZE)
		xtables_error(PARAMETER_PROBLEM, "'--%s' is too long (max: %u)", call->entry->name, NAME_SIZE - 1);
	strcpy(name, call->arg);
}

/* Numbers are written as in C: 10, 0xa, 012. */
static uint32_t mask_of(const char *text)
{
	char *end;
	unsigned long long mask;

	errno = 0;
	mask = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end != '\0')
		xtables_error(PARAMETER_PROBLEM, "'--mask' is no number: %s", text);
	if (errno != 0 || mask > UINT32_MAX)
		xtables_error(PARAMETER_PROBLEM, "'--mask' has more than 32 bits: %s", text);
	return (uint32_t)mask;
}

static void parse(struct xt_option_call *call)
{
	struct words *wanted = call->udata;

	xtables_option_parse(call);
	switch (call->entry->id) {
	case O_STATE:
		set_name(wanted->state, call);
		break;
	case O_FUNCTION:
		set_name(wanted->function, call);
		break;
	case O_TCP_PAYLOAD:
		wanted->flags |= FLAG_TCP_PAYLOAD;
		break;
	case O_MASK:
		wanted->mask = mask_of(call->arg);
		break;
	}
}

/* Which program answers; asked for with the same words it is the same one. */
static const char *program_of(const struct words *wanted, struct message *answer)
{
	struct message question = { .length = 0 };
	char number[16];

	put_field(&question, "match");
	put_field(&question, wanted->state);
	put_field(&question, wanted->function);
	snprintf(number, sizeof number, "%u", wanted->flags);
	put_field(&question, number);
	snprintf(number, sizeof number, "%lu", (unsigned long)wanted->mask);
	put_field(&question, number);
	return ask(&question, answer);
}

static void check(struct xt_fcheck_call *call)
{
	struct xt_bpf_info_v1 *rule = call->data;
	struct words *wanted = call->udata;
	struct message answer;
	const char *path;

#if GENERATION == GENERATION_2019
	if (!(call->xflags & 1 << O_STATE))
		xtables_error(PARAMETER_PROBLEM, "'--state' is mandatory");
	if (!(call->xflags & 1 << O_FUNCTION))
		xtables_error(PARAMETER_PROBLEM, "'--function' is mandatory");
#else
	strcpy(wanted->state, ONLY_STATE);
	wanted->flags |= FLAG_OBJECTS;
#endif
	path = program_of(wanted, &answer);
	if (strlen(path) >= sizeof rule->path)
		xtables_error(OTHER_PROBLEM, PLUGIN ": the program's path is too long: %s", path);
	/* The kernel looks the path up where iptables is, and would only say that there is no such match. */
	if (access(path, F_OK) < 0)
		xtables_error(OTHER_PROBLEM,
			      PLUGIN ": the daemon's program %s is not to be seen from here (%s); `ip netns exec` hides it, `nsenter --net` does not",
			      path, strerror(errno));
	rule->mode = XT_BPF_MODE_PATH_PINNED;
	strcpy(rule->path, path);
	put_words(rule, wanted);
}

static struct xtables_match match = {
	.version = XTABLES_VERSION,
	.name = PLUGIN,
	.real_name = "bpf",
	.revision = 1,
	.ext_flags = XTABLES_EXT_ALIAS,
	.family = NFPROTO_UNSPEC,
	.size = XT_ALIGN(sizeof(struct xt_bpf_info_v1)),
	.userspacesize = XT_ALIGN(offsetof(struct xt_bpf_info_v1, filter)),
	.udata_size = sizeof(struct words),
	.help = print_help,
	.x6_parse = parse,
	.x6_fcheck = check,
	.x6_options = options,
};

__attribute__((constructor)) static void register_match(void)
{
	xtables_register_match(&match);
}
