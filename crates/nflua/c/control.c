/*
 * Control sockets: a question is one message, and so is the answer, which is received by a call of its own.
 */
#include "module.h"

#define CONTROL "nflua.control"

/* A question is one message, so a socket is never "sending" or "receiving", which NFLua's can be. */
static int control_getstate(lua_State *L)
{
	static const char *const names[] = { [READY] = "ready", [WAITING] = "waiting", [FAILED] = "failed", [CLOSED] = "closed" };

	lua_pushstring(L, names[check_open(L, CONTROL)->phase]);
	return 1;
}

static int send_question(lua_State *L, struct link *link, struct iovec *parts, size_t count)
{
	int error;

	if (link->phase != READY)
		return push_error(L, -EPERM);
	error = daemon_send(link->fd, parts, count);
	if (error == 0)
		link->phase = WAITING;
	else if (error != -EAGAIN)
		link->phase = FAILED;
	link->lists = 0;
	return push_success(L, error);
}

static int control_create(lua_State *L)
{
	struct link *link = check_open(L, CONTROL);
	const char *name = check_name(L, 2, NAME_SIZE);
	lua_Integer most = luaL_optinteger(L, 3, DEFAULT_MAX_ALLOC);
	struct iovec parts[3];
	char number[16];

	luaL_argcheck(L, 0 <= most && most <= UINT32_MAX, 3, "must be in range [0, 2^32)");
	parts[0] = field_before("create");
	parts[1] = field_before(name);
	parts[2] = field(number, (size_t)snprintf(number, sizeof number, "%lu", (unsigned long)most));
	return send_question(L, link, parts, 3);
}

static int control_destroy(lua_State *L)
{
	struct link *link = check_open(L, CONTROL);
	const char *name = check_name(L, 2, NAME_SIZE);
	struct iovec parts[2] = { field_before("destroy"), field(name, strlen(name)) };

	return send_question(L, link, parts, 2);
}

/* Without a name of its own a chunk is called what it begins with. */
static int control_execute(lua_State *L)
{
	struct link *link = check_open(L, CONTROL);
	const char *name = check_name(L, 2, NAME_SIZE);
	size_t length;
	const char *chunk = luaL_checklstring(L, 3, &length);
	const char *script = lua_isnoneornil(L, 4) ? chunk : check_name(L, 4, SCRIPT_NAME_SIZE);
	struct iovec parts[5];

	if (length == 0 || length > SCRIPT_MAX)
		return push_error(L, -EINVAL);
	parts[0] = field_before("execute");
	parts[1] = field_before(name);
	parts[2] = field(script, strnlen(script, SCRIPT_NAME_SIZE - 1));
	parts[3] = field("", 1);
	parts[4] = field(chunk, length);
	return send_question(L, link, parts, 5);
}

static int control_list(lua_State *L)
{
	struct link *link = check_open(L, CONTROL);
	struct iovec part = field("list", 4);
	int results = send_question(L, link, &part, 1);

	link->lists = link->phase == WAITING;
	return results;
}

/* Sets the field of the table on top to the number that comes next; whether one does. */
static int set_number(lua_State *L, const char **next, const char *end, const char *key)
{
	unsigned long long number;

	if (!daemon_number(daemon_field(next, end), INT64_MAX, &number))
		return 0;
	lua_pushinteger(L, (lua_Integer)number);
	lua_setfield(L, -2, key);
	return 1;
}

static int push_list(lua_State *L, const char *next, const char *end)
{
	const char *name;
	lua_Integer count = 0;

	lua_newtable(L);
	while ((name = daemon_field(&next, end)) != NULL) {
		lua_newtable(L);
		lua_pushstring(L, name);
		lua_setfield(L, -2, "name");
		if (!set_number(L, &next, end, "maxalloc") || !set_number(L, &next, end, "curralloc"))
			return push_error(L, -EPROTO);
		lua_rawseti(L, -2, ++count);
	}
	return 1;
}

static int push_refusal(lua_State *L, const char *next, const char *end)
{
	unsigned long long number;
	const char *text;

	if (!daemon_number(daemon_field(&next, end), 4095, &number))
		return push_error(L, -EPROTO);
	text = daemon_field(&next, end);
	lua_pushnil(L);
	lua_pushstring(L, "operation could not be completed");
	lua_pushinteger(L, -(lua_Integer)number);
	lua_pushstring(L, text);
	return 4;
}

static int push_answer(lua_State *L, struct link *link, const char *answer, size_t length)
{
	const char *next = answer, *end = answer + length;
	const char *word = daemon_field(&next, end);

	link->phase = READY;
	if (strcmp(word, "error") == 0)
		return push_refusal(L, next, end);
	if (strcmp(word, "ok") != 0) {
		link->phase = FAILED;
		return push_error(L, -EBADMSG);
	}
	return link->lists ? push_list(L, next, end) : push_success(L, 0);
}

/* Receives an answer, which is as long as it is. Where there is none yet, and the socket does not wait, it can be asked for again. */
static int control_receive(lua_State *L)
{
	struct link *link = check_open(L, CONTROL);
	char none[1];
	char *answer;
	ssize_t length;

	if (link->phase != WAITING)
		return push_error(L, -EPERM);
	length = daemon_receive(link->fd, none, sizeof none, MSG_PEEK);
	if (length >= 0) {
		answer = lua_newuserdata(L, (size_t)length + 1);
		length = daemon_receive(link->fd, answer, (size_t)length + 1, 0);
	}
	if (length < 0) {
		if (length != -EAGAIN)
			link->phase = FAILED;
		return push_error(L, (int)length);
	}
	return push_answer(L, link, answer, (size_t)length);
}

static const luaL_Reg control[] = {
	{ "getstate", control_getstate }, { "create", control_create }, { "destroy", control_destroy },
	{ "execute", control_execute },   { "list", control_list },     { "receive", control_receive },
	{ NULL, NULL },
};

void new_control_class(lua_State *L)
{
	new_class(L, CONTROL, control);
}

int open_control(lua_State *L)
{
	return open_link(L, "control", CONTROL);
}
