// The packet is one full userdata that lives as long as the host: an embedder makes none per packet. Its methods have it as
// their upvalue and check that they were given it, which is cheaper than looking at metatables (luaL_checkudata). Its bytes are the host's
// copy of the frame, which handlers may write; as in a test run of the kernel's, the next call has what the one before has left.
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

enum { MOST_BYTES = 1 << 16 };

struct packet {
	uint8_t *bytes;
	size_t length;
};

struct host {
	lua_State *lua;
	struct packet *packet;
	uint8_t frame[MOST_BYTES];
};

// Stack slots of an idle host.
enum { HANDLER = 1, PACKET = 2 };

static struct packet *check_packet(lua_State *lua)
{
	struct packet *packet = lua_touserdata(lua, lua_upvalueindex(1));

	if (lua_touserdata(lua, 1) != packet)
		luaL_argerror(lua, 1, "packet expected");
	return packet;
}

static uint8_t *check_bytes(lua_State *lua, size_t bytes)
{
	struct packet *packet = check_packet(lua);
	lua_Unsigned offset = (lua_Unsigned)luaL_checkinteger(lua, 2);

	if (bytes > packet->length || offset > packet->length - bytes)
		luaL_argerror(lua, 2, "out of bounds");
	return packet->bytes + offset;
}

#define READER(name, type)                                     \
	static int name(lua_State *lua)                        \
	{                                                      \
		type value;                                    \
		memcpy(&value, check_bytes(lua, sizeof value), sizeof value); \
		lua_pushinteger(lua, (lua_Integer)value);      \
		return 1;                                      \
	}

READER(getuint8, uint8_t)
READER(getuint16, uint16_t)
READER(getuint32, uint32_t)

// setuint32(offset, value).
static int setuint32(lua_State *lua)
{
	uint8_t *there = check_bytes(lua, sizeof(uint32_t));
	uint32_t value = (uint32_t)luaL_checkinteger(lua, 3);

	memcpy(there, &value, sizeof value);
	return 0;
}

// getstring(offset [, length]): up to the end without a length.
static int getstring(lua_State *lua)
{
	struct packet *packet = check_packet(lua);
	lua_Unsigned offset = (lua_Unsigned)luaL_checkinteger(lua, 2);

	luaL_argcheck(lua, offset <= packet->length, 2, "out of bounds");
	lua_Unsigned length = (lua_Unsigned)luaL_optinteger(lua, 3, (lua_Integer)(packet->length - offset));
	luaL_argcheck(lua, length <= packet->length - offset, 3, "out of bounds");
	lua_pushlstring(lua, (const char *)packet->bytes + offset, length);
	return 1;
}

static int length(lua_State *lua)
{
	lua_pushinteger(lua, (lua_Integer)check_packet(lua)->length);
	return 1;
}

// skb:data(): handlers of netfilter are given frames from their network header on, and so are their own window.
static int data(lua_State *lua)
{
	check_packet(lua);
	lua_settop(lua, 1);
	return 1;
}

// skb:copy().
static int copy(lua_State *lua)
{
	struct packet *packet = check_packet(lua);

	copy_push(lua, packet->bytes, packet->length);
	return 1;
}

// skb:ifindex(): frames come by no interface.
static int ifindex(lua_State *lua)
{
	check_packet(lua);
	lua_pushnil(lua);
	return 1;
}

static const luaL_Reg methods[] = {
	{ "getbyte", getuint8 },     { "getuint8", getuint8 },   { "getuint16", getuint16 },
	{ "getuint32", getuint32 },  { "getstring", getstring }, { "__len", length },
	{ "data", data },            { "copy", copy },           { "ifindex", ifindex },
	{ "setuint32", setuint32 },  { NULL, NULL },
};

static struct packet *push_packet(lua_State *lua)
{
	struct packet *packet = lua_newuserdatauv(lua, sizeof *packet, 0);

	lua_newtable(lua);
	lua_pushvalue(lua, PACKET);
	luaL_setfuncs(lua, methods, 1);
	lua_pushvalue(lua, -1);
	lua_setfield(lua, -2, "__index");
	lua_setmetatable(lua, -2);
	return packet;
}

static void failed(lua_State *lua, char *error, size_t size)
{
	snprintf(error, size, "%s", lua_tostring(lua, -1));
}

struct host *host_open(const char *script, const char *list, char *error, size_t size)
{
	struct host *host = malloc(sizeof *host);
	lua_State *lua = luaL_newstate();

	if (!host || !lua) {
		snprintf(error, size, "out of memory");
		goto fail;
	}
	luaL_openlibs(lua);
	copy_register(lua);
	int status = luaL_loadfile(lua, script);
	lua_pushstring(lua, list);
	if (status == LUA_OK) {
		status = lua_pcall(lua, 1, 1, 0);
	} else {
		lua_pop(lua, 1);
	}
	if (status != LUA_OK) {
		failed(lua, error, size);
		goto fail;
	}
	host->lua = lua;
	host->packet = push_packet(lua);
	return host;
fail:
	if (lua)
		lua_close(lua);
	free(host);
	return NULL;
}

int host_run(struct host *host, const uint8_t *frame, size_t bytes, uint64_t repeat, char *error, size_t size)
{
	lua_State *lua = host->lua;
	int verdict = -1;

	if (bytes > sizeof host->frame) {
		snprintf(error, size, "the frame has too many bytes");
		return -1;
	}
	memcpy(host->frame, frame, bytes);
	*host->packet = (struct packet){ host->frame, bytes };
	for (uint64_t i = 0; i < repeat; i++) {
		lua_pushvalue(lua, HANDLER);
		lua_pushvalue(lua, PACKET);
		if (lua_pcall(lua, 1, 1, 0) != LUA_OK) {
			failed(lua, error, size);
			lua_settop(lua, PACKET);
			return -1;
		}
		verdict = (int)lua_tointeger(lua, -1);
		lua_settop(lua, PACKET);
	}
	return verdict;
}

void host_close(struct host *host)
{
	lua_close(host->lua);
	free(host);
}
