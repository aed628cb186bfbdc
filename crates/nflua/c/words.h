/*
 * What a rule with the match `lua` was made of, kept in the rule: its path ends with a NUL, and these words stand in the room behind
 * it, which the kernel takes, gives back and compares like the rest, and does not read (xt_bpf.c, `bpf_mt_check_v1`).
 */
#ifndef MOONHOOK_NFLUA_WORDS_H
#define MOONHOOK_NFLUA_WORDS_H

#include "daemon.h"

#include <linux/netfilter/xt_bpf.h>
#include <stdint.h>

/* In the question, too: only TCP packets with payload; the function gets the frame and the packet as objects, as CUJO's does. */
enum { FLAG_TCP_PAYLOAD = 1, FLAG_OBJECTS = 2 };

/* What a rule's options say. */
struct words {
	char state[NAME_SIZE];
	char function[NAME_SIZE];
	unsigned int flags;
	uint32_t mask;
};

#define WORDS_SIGN "moonhook nflua"

/* Writes them behind the path. Where the path is so long that they have no room, the rule is one of `bpf`. */
static inline void put_words(struct xt_bpf_info_v1 *rule, const struct words *words)
{
	char *behind = rule->path + strlen(rule->path) + 1;
	size_t room = (size_t)(rule->path + sizeof rule->path - behind);
	int length = snprintf(behind, room, WORDS_SIGN "%c%s%c%s%c%u%c%lu", 0, words->state, 0, words->function, 0, words->flags,
			      0, (unsigned long)words->mask);

	if ((size_t)length >= room)
		memset(behind, 0, room);
}

static inline int get_name(char name[NAME_SIZE], const char *field)
{
	if (field == NULL || strlen(field) >= NAME_SIZE)
		return 0;
	strcpy(name, field);
	return 1;
}

/* Whether there are some, and which. */
static inline int get_words(const struct xt_bpf_info_v1 *rule, struct words *words)
{
	const char *next = rule->path, *end = rule->path + sizeof rule->path - 1;
	unsigned long long flags, mask;
	const char *sign;

	/* Else what follows would read on behind the path. */
	if (rule->mode != XT_BPF_MODE_PATH_PINNED || *end != '\0')
		return 0;
	daemon_field(&next, end);
	sign = daemon_field(&next, end);
	if (sign == NULL || strcmp(sign, WORDS_SIGN) != 0)
		return 0;
	if (!get_name(words->state, daemon_field(&next, end)) || !get_name(words->function, daemon_field(&next, end)))
		return 0;
	if (!daemon_number(daemon_field(&next, end), UINT32_MAX, &flags) ||
	    !daemon_number(daemon_field(&next, end), UINT32_MAX, &mask))
		return 0;
	words->flags = (unsigned int)flags;
	words->mask = (uint32_t)mask;
	return 1;
}

#endif
