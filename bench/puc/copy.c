// Copies of packets, as `skb:copy` of Lunatik makes them: each has bytes of its own, which can be written, and room for no more. A copy is its own
// window, and sending one does nothing.
#include "copy.h"

#include <string.h>

#include "lauxlib.h"

static const char CLASS[] = "copy";

struct copy {
	size_t length, room;
	uint8_t bytes[];
};

void copy_push(lua_State *lua, const uint8_t *bytes, size_t length)
{
	struct copy *copy = lua_newuserdatauv(lua, sizeof *copy + length, 0);

	copy->length = copy->room = length;
	memcpy(copy->bytes, bytes, length);
	luaL_setmetatable(lua, CLASS);
}

static struct copy *check_copy(lua_State *lua)
{
	return luaL_checkudata(lua, 1, CLASS);
}

static uint8_t *check_bytes(lua_State *lua, size_t bytes)
{
	struct copy *copy = check_copy(lua);
	lua_Unsigned offset = (lua_Unsigned)luaL_checkinteger(lua, 2);

	if (bytes > copy->length || offset > copy->length - bytes)
		luaL_argerror(lua, 2, "out of bounds");
	return copy->bytes + offset;
}

#define ACCESSES(type)                                                        \
	static int get_##type(lua_State *lua)                                 \
	{                                                                     \
		type##_t value;                                               \
		memcpy(&value, check_bytes(lua, sizeof value), sizeof value); \
		lua_pushinteger(lua, (lua_Integer)value);                     \
		return 1;                                                     \
	}                                                                     \
	static int set_##type(lua_State *lua)                                 \
	{                                                                     \
		uint8_t *there = check_bytes(lua, sizeof(type##_t));          \
		type##_t value = (type##_t)luaL_checkinteger(lua, 3);         \
		memcpy(there, &value, sizeof value);                          \
		return 0;                                                     \
	}

ACCESSES(uint8)
ACCESSES(uint16)
ACCESSES(uint32)

static int data(lua_State *lua)
{
	check_copy(lua);
	lua_settop(lua, 1);
	return 1;
}

static int resize(lua_State *lua)
{
	struct copy *copy = check_copy(lua);
	lua_Unsigned length = (lua_Unsigned)luaL_checkinteger(lua, 2);

	luaL_argcheck(lua, length <= copy->room, 2, "insufficient tailroom");
	copy->length = length;
	return 0;
}

// The internet's sum of bytes, of which the last may stand alone (RFC 1071).
static uint64_t sum(const uint8_t *bytes, size_t length)
{
	uint64_t sum = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint64_t)bytes[i] << 8 | bytes[i + 1];
	return length % 2 ? sum + ((uint64_t)bytes[length - 1] << 8) : sum;
}

static void put_checksum(uint8_t *at, uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	at[0] = (uint8_t)(~sum >> 8);
	at[1] = (uint8_t)~sum;
}

// Of IPv4 and TCP: other packets are not asked about.
static int checksum(lua_State *lua)
{
	struct copy *copy = check_copy(lua);
	uint8_t *ip = copy->bytes;
	size_t header = (ip[0] & 15) * 4, segment = copy->length - header;

	if (copy->length < 40 || ip[0] >> 4 != 4 || ip[9] != 6 || segment > copy->length || segment < 20)
		return 0;
	memset(ip + 10, 0, 2);
	put_checksum(ip + 10, sum(ip, header));
	memset(ip + header + 16, 0, 2);
	put_checksum(ip + header + 16, sum(ip + 12, 8) + 6 + segment + sum(ip + header, segment));
	return 0;
}

static int forward(lua_State *lua)
{
	check_copy(lua);
	return 0;
}

static const luaL_Reg methods[] = {
	{ "getuint8", get_uint8 },   { "setuint8", set_uint8 },   { "getuint16", get_uint16 }, { "setuint16", set_uint16 },
	{ "getuint32", get_uint32 }, { "setuint32", set_uint32 }, { "data", data },            { "resize", resize },
	{ "checksum", checksum },    { "forward", forward },      { NULL, NULL },
};

void copy_register(lua_State *lua)
{
	luaL_newmetatable(lua, CLASS);
	luaL_setfuncs(lua, methods, 0);
	lua_pushvalue(lua, -1);
	lua_setfield(lua, -2, "__index");
	lua_pop(lua, 1);
}
