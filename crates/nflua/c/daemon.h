/*
 * The socket of `moonhook nflua run`, and what is said there: messages of fields with one NUL between two of them.
 *
 * What is called here says whether it worked as calls of the kernel do: 0 or a number from there on, or -errno. Nothing here
 * prints, ends the process or keeps anything. Included by one file of each shared library, so all of it is static.
 */
#ifndef MOONHOOK_NFLUA_DAEMON_H
#define MOONHOOK_NFLUA_DAEMON_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* Names of states and functions are shorter, in bytes. */
#define NAME_SIZE 64

/* How long an answer may take, in seconds: what is asked for may have to be compiled first. */
#define PATIENCE 60

/* Names the daemon's socket where it is not that of the network namespace. */
#define SOCKET_VARIABLE "MOONHOOK_NFLUA"

/* The socket's address: the variable's, or that of this process's network namespace. */
static inline int daemon_address(struct sockaddr_un *address)
{
	const char *path = secure_getenv(SOCKET_VARIABLE);
	struct stat network;
	int length;

	memset(address, 0, sizeof *address);
	address->sun_family = AF_UNIX;
	if (path != NULL && *path != '\0') {
		length = snprintf(address->sun_path, sizeof address->sun_path, "%s", path);
	} else {
		if (stat("/proc/self/ns/net", &network) < 0)
			return -errno;
		length = snprintf(address->sun_path, sizeof address->sun_path, "/run/moonhook/nflua/%llu",
				  (unsigned long long)network.st_ino);
	}
	return (size_t)length < sizeof address->sun_path ? 0 : -ENAMETOOLONG;
}

/* Bounds how long sending and receiving may take; 0 is forever. */
static inline int daemon_patience(int fd, time_t seconds)
{
	struct timeval time = { .tv_sec = seconds };

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) < 0)
		return -errno;
	return 0;
}

/* A socket that is connected with the daemon. */
static inline int daemon_connect(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	error = daemon_patience(fd, PATIENCE);
	if (error == 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) < 0)
		error = -errno;
	if (error == 0)
		return fd;
	close(fd);
	return error;
}

/* Sends one message, which is these parts behind one another. */
static inline int daemon_send(int fd, struct iovec *parts, size_t count)
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
	ssize_t sent;

	do
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/*
 * Receives one message, with a NUL behind it; gives its length, which may be larger than what there was room for. A daemon that
 * has ended is -ECONNRESET.
 */
static inline ssize_t daemon_receive(int fd, char *buffer, size_t size, int flags)
{
	ssize_t length;

	do
		length = recv(fd, buffer, size - 1, flags | MSG_TRUNC);
	while (length < 0 && errno == EINTR);
	if (length <= 0)
		return length < 0 ? -errno : -ECONNRESET;
	buffer[(size_t)length < size ? (size_t)length : size - 1] = '\0';
	return length;
}

/* Of a message that a NUL is behind: the field at `*next`, which moves on, or NULL behind the last one. */
static inline const char *daemon_field(const char **next, const char *end)
{
	const char *field = *next;

	if (field > end)
		return NULL;
	*next = field + strlen(field) + 1;
	return field;
}

/* Whether a field is a decimal number up to `most`, and which. */
static inline int daemon_number(const char *field, unsigned long long most, unsigned long long *number)
{
	char *end;

	if (field == NULL || *field < '0' || *field > '9')
		return 0;
	errno = 0;
	*number = strtoull(field, &end, 10);
	return *end == '\0' && errno == 0 && *number <= most;
}

#endif
