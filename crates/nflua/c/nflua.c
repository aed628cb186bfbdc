/*
 * The module `nflua` for programs in Lua 5.3 or newer: sockets to the daemon of NFLua's states, by the names that NFLua's library has.
 *
 * A control socket makes, ends and lists states, and executes chunks in them; it is asked with one function and answers to another
 * (`receive`), so that programs can wait for many at once. A data socket exchanges bytes with the states. Both have a number, their
 * `pid`, which no other open socket has.
 *
 * What fails is nil, a text, and -errno; what the daemon refuses has its text as a fourth value. Wrong arguments raise an error.
 */
#include "module.h"

/* By this `moonhook nflua uninstall` knows its files. */
__attribute__((used)) static const char made_by[] = "moonhook nflua install: nflua";

static const luaL_Reg module[] = {
	{ "control", open_control },
	{ "data", open_data },
	{ NULL, NULL },
};

static void set_constant(lua_State *L, const char *name, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, name);
}

int luaopen_nflua(lua_State *L);

__attribute__((visibility("default"))) int luaopen_nflua(lua_State *L)
{
	new_control_class(L);
	new_data_class(L);
	luaL_newlib(L, module);
	set_constant(L, "datamaxsize", DATA_MAX);
	set_constant(L, "defaultmaxallocbytes", DEFAULT_MAX_ALLOC);
	set_constant(L, "maxstates", MAX_STATES);
	set_constant(L, "scriptnamemaxsize", SCRIPT_NAME_SIZE);
	set_constant(L, "statenamemaxsize", NAME_SIZE);
	return 1;
}
