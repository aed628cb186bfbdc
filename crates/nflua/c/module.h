/*
 * What the files of the module `nflua` share: a socket as a Lua object, results and arguments.
 */
#ifndef MOONHOOK_NFLUA_MODULE_H
#define MOONHOOK_NFLUA_MODULE_H

#include "daemon.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>

#if LUA_VERSION_NUM < 503
#error "Lua 5.3 or newer is needed: before it numbers are no integers"
#endif

/*
 * NFLua's netlink messages are at most a page, 4096 bytes, of which netlink's header is 16. The header of data is 4 bytes and a
 * name; that of a script's fragment 4 bytes, two names and 8 bytes, rounded up to fours; a script has 16 fragments.
 */
#define SCRIPT_NAME_SIZE 255
#define DATA_MAX (4096 - 16 - (4 + NAME_SIZE))
#define SCRIPT_MAX (16 * (4096 - 16 - (4 + NAME_SIZE + SCRIPT_NAME_SIZE + 1 + 8)))
#define MAX_STATES 128
#define DEFAULT_MAX_ALLOC 32768

/* What is to be done with a control socket next; a data socket is ready until it is closed. */
enum phase { READY, WAITING, FAILED, CLOSED };

struct link {
	int fd;
	uint32_t pid;
	enum phase phase;
	/* Whether what is waited for is a list. */
	int lists;
};

/* nil, the error's text and -errno, or true. */
int push_error(lua_State *L, int error);
int push_success(lua_State *L, int result);

/* Makes a class of objects, with methods of its own and those that all sockets have. */
void new_class(lua_State *L, const char *class, const luaL_Reg *methods);

/* Pushes a new socket of a kind (the daemon's word), with the pid that the first argument may say; or an error. */
int open_link(lua_State *L, const char *kind, const char *class);

/* The first argument, a socket of that class that is not closed. */
struct link *check_open(lua_State *L, const char *class);

/* An argument that is shorter than that, and has no NUL, which ends fields. */
const char *check_name(lua_State *L, int arg, size_t size);

/* A field as a part of a message. */
struct iovec field(const char *bytes, size_t length);

/* One that others follow, with the NUL behind it. */
struct iovec field_before(const char *text);

/* The classes of the two kinds of sockets. */
void new_control_class(lua_State *L);
int open_control(lua_State *L);
void new_data_class(lua_State *L);
int open_data(lua_State *L);

#endif
