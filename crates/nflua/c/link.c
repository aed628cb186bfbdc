/*
 * Sockets as Lua objects: how they are opened, greet the daemon, and are closed; and what both kinds push and check.
 */
#include "module.h"

/* An answer to a greeting: "error", a number, a text. */
#define GREETING_MAX 1024

int push_error(lua_State *L, int error)
{
	lua_pushnil(L);
	lua_pushstring(L, strerror(-error));
	lua_pushinteger(L, error);
	return 3;
}

static int push_true(lua_State *L)
{
	lua_pushboolean(L, 1);
	return 1;
}

int push_success(lua_State *L, int result)
{
	return result < 0 ? push_error(L, result) : push_true(L);
}

static uint32_t check_pid(lua_State *L, int arg)
{
	lua_Integer pid;

	if (lua_isnoneornil(L, arg))
		return 0;
	if (lua_type(L, arg) != LUA_TNUMBER)
		luaL_argerror(L, arg, "must be integer or nil");
	pid = luaL_checkinteger(L, arg);
	luaL_argcheck(L, 0 <= pid && pid <= INT32_MAX, arg, "must be in range [0, 2^31)");
	return (uint32_t)pid;
}

/* What the daemon says to a greeting: 0, and the pid, or -errno. */
static int read_greeting(const char *answer, size_t length, uint32_t *pid)
{
	const char *next = answer, *end = answer + length;
	const char *word = daemon_field(&next, end);
	unsigned long long number;
	int is_error = strcmp(word, "error") == 0;

	if (!is_error && strcmp(word, "ok") != 0)
		return -EPROTO;
	if (!daemon_number(daemon_field(&next, end), is_error ? 4095 : UINT32_MAX, &number))
		return -EPROTO;
	if (is_error)
		return number > 0 ? -(int)number : -EPROTO;
	*pid = (uint32_t)number;
	return 0;
}

/* Tells the daemon what kind of socket this is, and its pid; 0 has the daemon choose one. */
static int greet(struct link *link, const char *kind)
{
	char text[32], answer[GREETING_MAX];
	struct iovec part = { .iov_base = text };
	ssize_t length;
	int error;

	part.iov_len = (size_t)snprintf(text, sizeof text, "%s%c%lu", kind, '\0', (unsigned long)link->pid);
	error = daemon_send(link->fd, &part, 1);
	if (error < 0)
		return error;
	length = daemon_receive(link->fd, answer, sizeof answer, 0);
	if (length < 0)
		return (int)length;
	if ((size_t)length >= sizeof answer)
		return -EPROTO;
	error = read_greeting(answer, (size_t)length, &link->pid);
	return error < 0 ? error : daemon_patience(link->fd, 0);
}

static void close_link(struct link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	link->phase = CLOSED;
}

static int push_no_daemon(lua_State *L, const char *path, int error)
{
	lua_pushnil(L);
	lua_pushfstring(L, "%s: nothing answers at %s; `moonhook nflua run` has to run in this network namespace",
			strerror(-error), path);
	lua_pushinteger(L, error);
	return 3;
}

int open_link(lua_State *L, const char *kind, const char *class)
{
	struct link new = { .fd = -1, .pid = check_pid(L, 1), .phase = CLOSED };
	struct link *link = lua_newuserdata(L, sizeof *link);
	struct sockaddr_un address;
	int error;

	*link = new;
	luaL_setmetatable(L, class);
	error = daemon_address(&address);
	if (error < 0)
		return push_error(L, error);
	link->fd = daemon_connect(&address);
	if (link->fd < 0)
		return push_no_daemon(L, address.sun_path, link->fd);
	error = greet(link, kind);
	if (error < 0) {
		close_link(link);
		return push_error(L, error);
	}
	link->phase = READY;
	return 1;
}

struct link *check_open(lua_State *L, const char *class)
{
	struct link *link = luaL_checkudata(L, 1, class);

	luaL_argcheck(L, link->phase != CLOSED, 1, "socket closed");
	return link;
}

/* The class of the method that is called. */
#define CLASS lua_tostring(L, lua_upvalueindex(1))

static int link_collect(lua_State *L)
{
	close_link(luaL_checkudata(L, 1, CLASS));
	return 0;
}

static int link_close(lua_State *L)
{
	close_link(check_open(L, CLASS));
	return push_true(L);
}

static int link_getfd(lua_State *L)
{
	lua_pushinteger(L, check_open(L, CLASS)->fd);
	return 1;
}

static int link_getpid(lua_State *L)
{
	lua_pushinteger(L, check_open(L, CLASS)->pid);
	return 1;
}

const char *check_name(lua_State *L, int arg, size_t size)
{
	size_t length;
	const char *name = luaL_checklstring(L, arg, &length);

	luaL_argcheck(L, length < size, arg, "name too long");
	luaL_argcheck(L, strlen(name) == length, arg, "name contains zeros");
	return name;
}

struct iovec field(const char *bytes, size_t length)
{
	return (struct iovec){ .iov_base = (void *)bytes, .iov_len = length };
}

struct iovec field_before(const char *text)
{
	return field(text, strlen(text) + 1);
}

static const luaL_Reg both[] = {
	{ "close", link_close },    { "getfd", link_getfd },      { "getpid", link_getpid },
	{ "__gc", link_collect },   { "__close", link_collect },  { NULL, NULL },
};

void new_class(lua_State *L, const char *name, const luaL_Reg *methods)
{
	luaL_newmetatable(L, name);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pushstring(L, name);
	luaL_setfuncs(L, both, 1);
	luaL_setfuncs(L, methods, 0);
	lua_pop(L, 1);
}
