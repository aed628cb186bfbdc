/* XDPLua's calls for programs in C, by functions of a library of `moonhook build --library`.
 *
 *   #include "challenge.h"
 *   #define XDPLUA_FUNCTIONS challenge__functions
 *   #include "xdplua.h"
 *
 * Arguments are put onto a stack of integers, which each CPU has, and a function is called by its name. What `bpf_lua_data_newref` puts there is
 * an offset: in Lua it is an argument behind the packet, `pkt:segment(offset)` or `pkt:getstring(offset)`. Every program calls
 * `bpf_set_lua_state` first. Functions take as many arguments as they are written with; too few, or a name that no function has, is an error. */
#pragma once

#include <bpf/bpf_helpers.h>

#ifndef XDPLUA_FUNCTIONS
#error "XDPLUA_FUNCTIONS is the list of functions in the library's header"
#endif

#define XDPLUA_MOST 8

struct xdplua_stack {
	__u64 count;
	__s64 values[XDPLUA_MOST];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xdplua_stack);
} xdplua_stacks SEC(".maps");

static __always_inline struct xdplua_stack *xdplua_own(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&xdplua_stacks, &zero);
}

/* The stack is empty: what an earlier program has left there is gone. */
static __always_inline void bpf_set_lua_state(struct xdp_md *ctx)
{
	struct xdplua_stack *stack = xdplua_own();

	(void)ctx;
	if (stack)
		stack->count = 0;
}

static __always_inline int xdplua_push(__s64 value)
{
	struct xdplua_stack *stack = xdplua_own();

	if (!stack || stack->count >= XDPLUA_MOST)
		return -1;
	stack->values[stack->count & (XDPLUA_MOST - 1)] = value;
	stack->count++;
	return 0;
}

static __always_inline void bpf_lua_pushinteger(struct xdp_md *ctx, __s64 value)
{
	(void)ctx;
	xdplua_push(value);
}

/* The packet from `offset` on; less than 0 if it is shorter, or if there is no room. */
static __always_inline int bpf_lua_data_newref(struct xdp_md *ctx, int offset)
{
	if (offset < 0 || (__u64)offset >= (__u64)(ctx->data_end - ctx->data))
		return -1;
	return xdplua_push(offset);
}

static __always_inline int bpf_lua_dataref(struct xdp_md *ctx, int offset)
{
	return bpf_lua_data_newref(ctx, offset);
}

/* What is at a position, counted from 1, or from -1 at the top. Nothing is 0. */
static __always_inline __s64 bpf_lua_tointeger(struct xdp_md *ctx, int index)
{
	struct xdplua_stack *stack = xdplua_own();
	__u64 place;

	(void)ctx;
	if (!stack)
		return 0;
	place = index < 0 ? stack->count + index : (__u64)index - 1;
	return place < stack->count && place < XDPLUA_MOST ? stack->values[place & (XDPLUA_MOST - 1)] : 0;
}

/* Booleans of functions are 0 and 1, and so is nil 0; an integer that Lua takes for true, 0, is not told from them. */
static __always_inline int bpf_lua_toboolean(struct xdp_md *ctx, int index)
{
	return bpf_lua_tointeger(ctx, index) != 0;
}

/* Takes `count` values away; less than 0 leaves -count - 1. */
static __always_inline void bpf_lua_pop(struct xdp_md *ctx, int count)
{
	struct xdplua_stack *stack = xdplua_own();
	__u64 left;

	(void)ctx;
	if (!stack)
		return;
	left = count < 0 ? (__u64)(-count - 1) : stack->count - count;
	stack->count = left <= stack->count ? left : 0;
}

static __always_inline void bpf_lua_data_unref(struct xdp_md *ctx, int reference)
{
	(void)ctx;
	(void)reference;
}

static __always_inline int xdplua_is(const char *name, const char *known, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		if (name[i] != known[i])
			return 0;
	return 1;
}

#define XDPLUA_CALL_0(function) function(ctx)
#define XDPLUA_CALL_1(function) function(ctx, a)
#define XDPLUA_CALL_2(function) function(ctx, a, b)
#define XDPLUA_CALL_3(function) function(ctx, a, b, c)
#define XDPLUA_CALL_4(function) function(ctx, a, b, c, d)

#define XDPLUA_TRY(function, arguments)                                  \
	if (xdplua_is(name, #function, sizeof(#function))) {             \
		if (arguments > count)                                   \
			return -1;                                       \
		result = XDPLUA_CALL_##arguments(function);              \
		failed = result == MOONHOOK_FAILED;                      \
	} else

/* Calls a function with the topmost `count` values, of which one result takes the place, if one is wanted. Less than 0 after an error, when nothing does. */
static __always_inline int bpf_lua_pcall(struct xdp_md *ctx, const char *name, int count, int results)
{
	__s64 a, b, c, d, result = 0;
	int failed = 1;

	a = bpf_lua_tointeger(ctx, -count);
	b = count > 1 ? bpf_lua_tointeger(ctx, 1 - count) : 0;
	c = count > 2 ? bpf_lua_tointeger(ctx, 2 - count) : 0;
	d = count > 3 ? bpf_lua_tointeger(ctx, 3 - count) : 0;
	(void)c;
	(void)d;
	XDPLUA_FUNCTIONS(XDPLUA_TRY) {
	}
	bpf_lua_pop(ctx, count);
	if (failed)
		return -1;
	return results > 0 ? xdplua_push(result) : 0;
}
