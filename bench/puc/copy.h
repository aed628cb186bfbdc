// Copies of packets that handlers make.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lua.h"

// Makes the class known; once, before copies are made.
void copy_register(lua_State *lua);

// Pushes a copy of these bytes.
void copy_push(lua_State *lua, const uint8_t *bytes, size_t length);
