-- What a coroutine has on the handler's stack, copied into packet memory and back (`coroutine.lua`): its frames, its registers, and the lists of
-- its open variables and of those to be closed.

-- Where results go is mostly a register of the coroutine's, of those from `base` on; what a comparison asks for goes into the state.
local function moved_place(place, base, delta)
  if place >= base then return place + delta end
  return place
end

-- Adds to what a frame has of addresses of registers, those from `base` on. A mark has values in the place of some.
local function move_frame(frame, base, delta)
  set64(frame + F_BASE, u64(frame + F_BASE) + delta)
  set64(frame + F_FUNC, moved_place(u64(frame + F_FUNC), base, delta))
  set64(frame + F_LIMIT, u64(frame + F_LIMIT) + delta)
  if u64(frame + F_TOP) ~= 0 then set64(frame + F_TOP, u64(frame + F_TOP) + delta) end
  if u64(frame + F_KIND) == KIND_LUA then
    set64(frame + F_START, u64(frame + F_START) + delta)
    set64(frame + F_EXTRA, u64(frame + F_EXTRA) + delta)
  end
end

-- Moves the open variables at `level` and above by `delta`, and gives the list of them, which is taken off that of the state; 0 for none.
local function take_open(L, level, delta)
  local first = u64(L + L_OPEN)
  local variable = first
  local last = 0
  while variable ~= 0 and u64(variable + U_PLACE) >= level do
    set64(variable + U_PLACE, u64(variable + U_PLACE) + delta)
    last = variable
    variable = u64(variable + U_NEXT)
  end
  if last == 0 then return 0 end
  set64(last + U_NEXT, 0)
  set64(L + L_OPEN, variable)
  return first
end

-- The same of the variables that are to be closed, which stay where they are.
function inline.take_marked(L, level)
  local first = u64(L + L_TBC)
  local entry = first
  local last = 0
  while entry ~= 0 and u64(entry) >= level do
    last = entry
    entry = u64(entry + 8)
  end
  if last == 0 then return 0 end
  set64(last + 8, 0)
  set64(L + L_TBC, entry)
  return first
end

-- Moves the places in a list by `delta`, and puts it in front of the state's list at `head`; the place stands at `place` in an entry, the next
-- entry at `next`.
local function put_back(head, list, place, next, delta)
  local last = 0
  local entry = list
  while entry ~= 0 do
    set64(entry + place, u64(entry + place) + delta)
    last = entry
    entry = u64(entry + next)
  end
  if last ~= 0 then
    set64(last + next, u64(head))
    set64(head, list)
  end
end

-- Copies what stands behind the mark of a coroutine, registers up to `top`, into memory of its own. FAIL if there is none.
function save_coroutine(L, co, top)
  local mark = u64(co + CO_MARK)
  local base = u64(co + CO_BASE)
  local frames = u64(L + L_CI) - mark
  local values = top - base
  local size = frames + values
  if size > u64(co + CO_ROOM) then
    size = size + (size >> 1) & -8
    local block = alloc(L, size)
    if block == 0 then return FAIL end
    set64(co + CO_BLOCK, block)
    set64(co + CO_ROOM, size)
  end
  local block = u64(co + CO_BLOCK)
  copy_bytes(block, mark + FRAME_SIZE, frames)
  copy_bytes(block + frames, base, values)
  set64(co + CO_FRAMES, frames)
  set64(co + CO_VALUES, values)
  set64(co + CO_OPEN, take_open(L, base, block + frames - base))
  set64(co + CO_MARKED, inline.take_marked(L, base))
  return 0
end

-- Copies it back, behind the mark that is the running frame; registers from `base` on. What it returns is to stand at `results`.
function restore_coroutine(L, co, base, results)
  local mark = u64(L + L_CI)
  local frames = u64(co + CO_FRAMES)
  local block = u64(co + CO_BLOCK)
  local before = u64(co + CO_BASE)
  local delta = base - before
  copy_bytes(mark + FRAME_SIZE, block, frames)
  copy_bytes(base, block + frames, u64(co + CO_VALUES))
  if delta ~= 0 then
    set64(co + CO_BASE, base)
    set64(co + CO_DEST, moved_place(u64(co + CO_DEST), before, delta))
    local frame = mark + FRAME_SIZE
    while frame <= mark + frames do
      move_frame(frame, before, delta)
      frame = frame + FRAME_SIZE
    end
  end
  -- What the function returns goes where the mark has its results, wherever that is this time.
  if frames == 0 then
    set64(co + CO_DEST, results)
  else
    set64(mark + FRAME_SIZE + F_FUNC, results)
  end
  put_back(L + L_OPEN, u64(co + CO_OPEN), U_PLACE, U_NEXT, base - block - frames)
  put_back(L + L_TBC, u64(co + CO_MARKED), 0, 8, delta)
  set64(co + CO_OPEN, 0)
  set64(co + CO_MARKED, 0)
  set64(L + L_CI, mark + frames)
  return 0
end
