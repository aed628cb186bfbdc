/*
 * How rules with the match `lua` are listed and saved: as `lua`, with the options that they were made of.
 *
 * To list such a rule iptables loads its plugin for `bpf`, and looks for libipt_bpf.so (libip6t_bpf.so) before libxt_bpf.so, which is
 * its own. This loads its own one, which does all the work, and stands in front of what it prints, for rules with words.
 */
#define PLUGIN "lua"

#include "plugin.h"
#include "words.h"

#include <dlfcn.h>

/* Where iptables has its plugins, if nothing else is said. */
#ifndef XTABLES_FOLDER
#define XTABLES_FOLDER "/usr/lib/xtables"
#endif

/* The functions of iptables' own plugin. */
static struct xtables_match own;

/* Whether a rule was made by the match `lua`, and could be made so again. */
static int is_lua(const struct xt_entry_match *rule, struct words *words)
{
	if (!get_words((const struct xt_bpf_info_v1 *)rule->data, words))
		return 0;
#if GENERATION == GENERATION_2019
	return words->mask == 0 && !(words->flags & FLAG_OBJECTS);
#else
	return words->flags & FLAG_OBJECTS && strcmp(words->state, ONLY_STATE) == 0;
#endif
}

static void print(const void *ip, const struct xt_entry_match *rule, int numeric)
{
	struct words words;

	if (!is_lua(rule, &words)) {
		own.print(ip, rule, numeric);
		return;
	}
	printf(" lua");
	if (GENERATION == GENERATION_2019)
		printf(" state:%s", words.state);
	if (*words.function != '\0')
		printf(" function:%s", words.function);
	if (words.flags & FLAG_TCP_PAYLOAD)
		printf(" tcp-payload");
	if (words.mask != 0)
		printf(" mask:%#lx", (unsigned long)words.mask);
}

static void save_name(const char *option, const char *name)
{
	printf(" %s", option);
	xtables_save_string(name);
}

static void save(const void *ip, const struct xt_entry_match *rule)
{
	struct words words;

	if (!is_lua(rule, &words)) {
		own.save(ip, rule);
		return;
	}
	if (GENERATION == GENERATION_2019)
		save_name("--state", words.state);
	if (*words.function != '\0' || GENERATION == GENERATION_2019)
		save_name("--function", words.function);
	if (words.flags & FLAG_TCP_PAYLOAD)
		printf(" --tcp-payload");
	if (words.mask != 0)
		printf(" --mask %#lx", (unsigned long)words.mask);
}

static const char *alias(const struct xt_entry_match *rule)
{
	struct words words;

	if (is_lua(rule, &words))
		return PLUGIN;
	return own.alias != NULL ? own.alias(rule) : own.name;
}

/* Loads iptables' own plugin out of a folder, if it is there. */
static int load_from(const char *folder, size_t length)
{
	char path[4096];
	int printed = snprintf(path, sizeof path, "%.*s/libxt_bpf.so", (int)length, folder);

	return printed > 0 && (size_t)printed < sizeof path && dlopen(path, RTLD_NOW) != NULL;
}

/* Looks for it where iptables does. */
static int load_own(void)
{
	const char *folder = secure_getenv("XTABLES_LIBDIR");

	while (folder != NULL && *folder != '\0') {
		size_t length = strcspn(folder, ":");

		if (load_from(folder, length))
			return 1;
		folder += length + (folder[length] == ':');
	}
	return load_from(XTABLES_FOLDER, strlen(XTABLES_FOLDER));
}

__attribute__((constructor)) static void stand_in_front(void)
{
	struct xtables_match *bpf;

	if (!load_own())
		return;
	bpf = xtables_find_match("bpf", XTF_DONT_LOAD, NULL);
	if (bpf == NULL || bpf->revision != 1 || bpf->print == NULL || bpf->save == NULL)
		return;
	own = *bpf;
	bpf->print = print;
	bpf->save = save;
	bpf->alias = alias;
}
