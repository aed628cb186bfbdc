/*
 * Data sockets: bytes from and to states. Buffers are objects of lua-memory, which is reached by its Lua functions: so its headers
 * are not needed to compile this, and the library only where data sockets are used.
 */
#include "module.h"

#define DATA "nflua.data"

/* The state's name, a NUL, and the bytes. */
#define MESSAGE_MAX (NAME_SIZE + DATA_MAX)

/* Pushes a function of the module `memory` (lua-memory), whose objects are the buffers. */
static void push_memory_function(lua_State *L, const char *name)
{
	lua_getglobal(L, "require");
	lua_pushliteral(L, "memory");
	lua_call(L, 1, 1);
	lua_getfield(L, -1, name);
	lua_remove(L, -2);
}

/* How many bytes the buffer has that is this argument. */
static size_t check_memory(lua_State *L, int arg)
{
	size_t size;
	int is_memory = 0;

	if (lua_type(L, arg) == LUA_TUSERDATA) {
		push_memory_function(L, "type");
		lua_pushvalue(L, arg);
		lua_call(L, 1, 1);
		is_memory = lua_toboolean(L, -1);
		lua_pop(L, 1);
	}
	if (!is_memory)
		luaL_argerror(L, arg, lua_pushfstring(L, "memory expected, got %s", luaL_typename(L, arg)));
	push_memory_function(L, "len");
	lua_pushvalue(L, arg);
	lua_call(L, 1, 1);
	size = (size_t)lua_tointeger(L, -1);
	lua_pop(L, 1);
	return size;
}

static int data_send(lua_State *L)
{
	struct link *link = check_open(L, DATA);
	const char *name = check_name(L, 2, NAME_SIZE);
	size_t size = check_memory(L, 3);
	struct iovec parts[2];

	if (size == 0 || size > DATA_MAX)
		return push_error(L, -EPERM);
	push_memory_function(L, "tostring");
	lua_pushvalue(L, 3);
	lua_call(L, 1, 1);
	parts[0] = field_before(name);
	parts[1] = field(luaL_checklstring(L, -1, &size), 0);
	parts[1].iov_len = size;
	return push_success(L, daemon_send(link->fd, parts, 2));
}

/* Copies bytes into the buffer that is this argument. */
static void fill_memory(lua_State *L, int arg, lua_Integer offset, const char *bytes, size_t length)
{
	if (length == 0)
		return;
	push_memory_function(L, "fill");
	lua_pushvalue(L, arg);
	lua_pushlstring(L, bytes, length);
	lua_pushinteger(L, offset + 1);
	lua_pushinteger(L, offset + (lua_Integer)length);
	lua_call(L, 4, 0);
}

static int data_receive(lua_State *L)
{
	struct link *link = check_open(L, DATA);
	size_t size = check_memory(L, 2), length;
	lua_Integer offset = luaL_checkinteger(L, 3);
	char message[MESSAGE_MAX + 1];
	const char *bytes = message;
	ssize_t received;

	luaL_argcheck(L, offset >= 0 && (size_t)offset < size && size - (size_t)offset >= DATA_MAX, 3,
		      "not enough space in buffer");
	received = daemon_receive(link->fd, message, sizeof message, 0);
	if (received < 0)
		return push_error(L, (int)received);
	if ((size_t)received >= sizeof message)
		return push_error(L, -EMSGSIZE);
	daemon_field(&bytes, message + received);
	if (bytes > message + received)
		return push_error(L, -EBADMSG);
	length = (size_t)(message + received - bytes);
	fill_memory(L, 2, offset, bytes, length);
	lua_pushinteger(L, (lua_Integer)length);
	lua_pushstring(L, message);
	return 2;
}

static const luaL_Reg data[] = {
	{ "send", data_send },
	{ "receive", data_receive },
	{ NULL, NULL },
};

void new_data_class(lua_State *L)
{
	new_class(L, DATA, data);
}

int open_data(lua_State *L)
{
	return open_link(L, "data", DATA);
}
