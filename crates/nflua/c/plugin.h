/*
 * What the plugins of iptables have in common: a question to the daemon, whose answer goes into the rule. Whatever fails ends
 * iptables with a message, before it has changed anything.
 */
#ifndef MOONHOOK_NFLUA_PLUGIN_H
#define MOONHOOK_NFLUA_PLUGIN_H

#include "daemon.h"

#include <xtables.h>

/* NFLua of 2019 has many states; its successor, CUJO's, has one for each network namespace, which has a name here only. */
#define GENERATION_2019 2019
#define GENERATION_CUJO 2020
#ifndef GENERATION
#define GENERATION GENERATION_2019
#endif
#define ONLY_STATE "nflua"

/* By this `moonhook nflua uninstall` knows its files. */
__attribute__((used)) static const char made_by[] = "moonhook nflua install: " PLUGIN;

/* Messages are no longer: a path of 511 bytes, or an error's text. */
#define MESSAGE_SIZE 2048

struct message {
	char bytes[MESSAGE_SIZE];
	size_t length;
};

/* Appends a field to a question. All fields of a plugin are short enough for it. */
static inline void put_field(struct message *question, const char *field)
{
	size_t room = sizeof question->bytes - question->length;
	char *end = question->bytes + question->length;
	int separator = question->length > 0;

	if (separator)
		*end = '\0';
	question->length += separator + (size_t)snprintf(end + separator, room - separator, "%s", field);
}

/* Ends iptables: nobody answers at the socket. */
__attribute__((noreturn)) static void no_daemon(const char *path, int error)
{
	xtables_error(OTHER_PROBLEM,
		      PLUGIN ": nothing answers at %s (%s): `moonhook nflua run` has to run in this network namespace", path,
		      strerror(error));
}

/* Ends iptables as the daemon says, in the words in which it would tell what the kernel says. */
__attribute__((noreturn)) static void refused(const struct message *answer, const char *next)
{
	const char *end = answer->bytes + answer->length;
	const char *number = daemon_field(&next, end), *text = daemon_field(&next, end);
	unsigned long long error;
	const char *words;

	if (!daemon_number(number, 4095, &error))
		xtables_error(OTHER_PROBLEM, PLUGIN ": the daemon's answer is not understood");
	words = error == ENOENT ? "No chain/target/match by that name." : strerror((int)error);
	if (text == NULL || *text == '\0')
		xtables_error(OTHER_PROBLEM, PLUGIN ": %s", words);
	xtables_error(OTHER_PROBLEM, PLUGIN ": %s (%s)", words, text);
}

/* Asks, and gives what is behind `ok`. */
static inline const char *ask(struct message *question, struct message *answer)
{
	struct iovec part = { .iov_base = question->bytes, .iov_len = question->length };
	struct sockaddr_un address;
	const char *next = answer->bytes, *word, *value;
	int error = daemon_address(&address), fd;
	ssize_t length;

	if (error < 0)
		xtables_error(OTHER_PROBLEM, PLUGIN ": the daemon's socket: %s", strerror(-error));
	fd = daemon_connect(&address);
	if (fd < 0)
		no_daemon(address.sun_path, -fd);
	error = daemon_send(fd, &part, 1);
	length = error < 0 ? error : daemon_receive(fd, answer->bytes, sizeof answer->bytes, 0);
	close(fd);
	if (length < 0)
		no_daemon(address.sun_path, (int)-length);
	answer->length = (size_t)length < sizeof answer->bytes ? (size_t)length : sizeof answer->bytes - 1;
	word = daemon_field(&next, answer->bytes + answer->length);
	if (strcmp(word, "error") == 0)
		refused(answer, next);
	value = daemon_field(&next, answer->bytes + answer->length);
	if (strcmp(word, "ok") != 0 || value == NULL)
		xtables_error(OTHER_PROBLEM, PLUGIN ": the daemon's answer is not understood");
	return value;
}

#endif
