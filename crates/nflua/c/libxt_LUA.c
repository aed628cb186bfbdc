/*
 * The target `LUA` of iptables: a function of one of NFLua's states says what becomes of a packet.
 *
 * In the kernel it is the target `NFQUEUE`, revision 3 (xt_NFQUEUE.h): the daemon says which queue it answers for that function. So
 * rules are listed and saved as `NFQUEUE num N bypass`. Without the daemon packets pass by.
 */
#define PLUGIN "LUA"

#include "plugin.h"

#include <linux/netfilter/xt_NFQUEUE.h>

enum { O_STATE, O_FUNCTION };

struct options {
	char state[NAME_SIZE];
	char function[NAME_SIZE];
};

static const struct xt_option_entry options[] = {
#if GENERATION == GENERATION_2019
	{ .name = "state",
	  .id = O_STATE,
	  .type = XTTYPE_STRING,
	  .flags = XTOPT_MAND },
#endif
	{ .name = "function",
	  .id = O_FUNCTION,
	  .type = XTTYPE_STRING,
	  .flags = XTOPT_MAND },
	XTOPT_TABLEEND,
};

static void print_help(void)
{
	printf("LUA target options (Moonhook's NFLua):\n");
#if GENERATION == GENERATION_2019
	printf("    --state NAME       the state that is asked\n"
	       "    --function NAME    its function, which is called with the packet\n");
#else
	printf("    --function NAME    the function, which is called with the frame and the packet\n");
#endif
}

static void parse(struct xt_option_call *call)
{
	struct options *wanted = call->udata;
	char *name = call->entry->id == O_STATE ? wanted->state : wanted->function;

	xtables_option_parse(call);
	if (strlen(call->arg) >= NAME_SIZE)
		xtables_error(PARAMETER_PROBLEM, "'--%s' is too long (max: %u)", call->entry->name, NAME_SIZE - 1);
	strcpy(name, call->arg);
}

static void check(struct xt_fcheck_call *call)
{
	struct xt_NFQ_info_v3 *rule = call->data;
	struct options *wanted = call->udata;
	struct message question = { .length = 0 }, answer;
	unsigned long long queue;

#if GENERATION == GENERATION_2019
	/* libxtables itself looks at what is mandatory, but only behind this. */
	if ((call->xflags & 3) != 3)
		return;
#else
	if (!(call->xflags & 1 << O_FUNCTION))
		return;
	strcpy(wanted->state, ONLY_STATE);
#endif
	put_field(&question, "target");
	put_field(&question, wanted->state);
	put_field(&question, wanted->function);
	put_field(&question, GENERATION == GENERATION_2019 ? "0" : "2");
	if (!daemon_number(ask(&question, &answer), UINT16_MAX, &queue))
		xtables_error(OTHER_PROBLEM, PLUGIN ": the daemon's answer is not understood");
	rule->queuenum = (__u16)queue;
	rule->queues_total = 1;
	rule->flags = NFQ_FLAG_BYPASS;
}

static struct xtables_target target = {
	.version = XTABLES_VERSION,
	.name = PLUGIN,
	.real_name = "NFQUEUE",
	.revision = 3,
	.family = NFPROTO_UNSPEC,
	.size = XT_ALIGN(sizeof(struct xt_NFQ_info_v3)),
	.userspacesize = XT_ALIGN(sizeof(struct xt_NFQ_info_v3)),
	.udata_size = sizeof(struct options),
	.help = print_help,
	.x6_parse = parse,
	.x6_fcheck = check,
	.x6_options = options,
};

__attribute__((constructor)) static void register_target(void)
{
	xtables_register_target(&target);
}
