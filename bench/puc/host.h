// An embedder of Lua 5.5 that calls a handler per packet, as well as the C API allows.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct host;

// Runs the script at `script` with the path of a list as its argument; the function that it returns is the handler. Gives
// NULL and the reason in `error` (at most `size` bytes with the NUL).
struct host *host_open(const char *script, const char *list, char *error, size_t size);

// Calls the handler `repeat` times with the frame; gives the last verdict, or -1 and the reason in `error`.
int host_run(struct host *host, const uint8_t *frame, size_t length, uint64_t repeat, char *error, size_t size);

void host_close(struct host *host);
