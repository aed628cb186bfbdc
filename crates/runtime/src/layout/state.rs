//! The state of a CPU's program: what stands where in it.

constants! {
    /// Steps left, signed.
    L_BUDGET = 0;
    /// The next free byte of packet memory, a multiple of 8.
    L_HEAP = 8;
    L_HEAP_END = 16;
    /// The frame of the function that runs.
    L_CI = 24;
    L_STACK_END = 32;
    /// The value of the error that was raised.
    L_ERROR_TAG = 40;
    L_ERROR = 48;
    /// Open upvalues.
    L_OPEN = 56;
    /// Variables to be closed.
    L_TBC = 64;
    /// Objects below this address are of load time: packet code only reads them.
    L_IMAGE_END = 72;
    L_TOP = 80;
    L_RANDOM0 = 88;
    L_RANDOM1 = 96;
    L_RANDOM2 = 104;
    L_RANDOM3 = 112;
    /// Address of `SCRATCH_SIZE` bytes for use inside one routine.
    L_SCRATCH = 120;
    /// The metatable of strings.
    L_STRING_META = 128;
    /// The state's own address.
    L_SELF = 136;
    /// The first frame, and the end of frames, where another one would begin.
    L_FRAMES = 144;
    L_FRAMES_END = 152;
    /// The first register of the stack.
    L_STACK = 160;
    /// Where packet memory begins.
    L_HEAP_START = 168;
    /// The call that a routine asks for: where function and arguments stand, how many arguments, where the results go and how
    /// many are wanted (-1: all).
    L_CALL_FUNC = 176;
    L_CALL_COUNT = 184;
    L_CALL_DEST = 192;
    L_CALL_WANT = 200;
    /// The result of a metamethod for a comparison: a value.
    L_COMPARE = 208;
    /// Two values for use inside one routine.
    L_KEY = 224;
    /// Number of the library function that was called last.
    L_BUILTIN = 256;
    /// Addresses of lists: sites (`S_…`), names of library functions, of objects' types and of metamethods (payload words).
    L_SITES = 264;
    L_BUILTIN_NAMES = 272;
    L_OBJECT_NAMES = 280;
    L_EVENTS = 288;
    /// The traceback of the last error that nothing caught: address of a count and of 32 bytes for each function, or 0.
    L_TRACE = 296;
    /// Address of `PATTERNS_SIZE` bytes for the programs of patterns (`lua/pattern_program.lua`), zero at first; or 0.
    L_PATTERNS = 304;
    /// Number of the next handler.
    L_HANDLER = 312;
    /// An error that has been raised but whose text is still to be made (`FAULT_…`), and what the text is made of.
    L_FAULT = 320;
    L_FAULT_A = 328;
    L_FAULT_B = 336;
    L_FAULT_C = 344;
    /// The text that a concatenation made longer last: its end, and the end of the room behind it. 0 at the start of a packet.
    L_GROW_END = 352;
    L_GROW_LIMIT = 360;
    /// Two words that a routine gives besides its status.
    L_RESULT = 368;
    /// Number of the run of a handler, so that notes of earlier ones are told apart.
    L_RUN = 384;
    /// Shared tables: the metatable that marks them, a table of tables of the entries that the handler holds (0: none),
    /// and how many assignments there were (`L_WRITTEN`).
    L_SHARED_META = 392;
    L_ENTRIES = 400;
    L_WRITES = 408;
    /// The access to a shared table, or a record in one, that a routine asks for with `SHARED`: the table, where the key stands, where
    /// the value stands or goes, what is to be done (`ACCESS_…`), and whether the requested call (`L_CALL_…`) ends with it.
    L_ACCESS_TABLE = 416;
    L_ACCESS_KEY = 424;
    L_ACCESS_PLACE = 432;
    L_ACCESS_KIND = 440;
    L_ACCESS_CALL = 448;
    /// Where packet memory ends; traversals keep keys there, and `L_HEAP_END` is below them.
    L_MEMORY_END = 456;
    /// The innermost traversal of a shared table (`lua/traversal.lua`), or 0.
    L_TRAVERSAL = 464;
    /// Keys being copied, downwards: where the last one is, whether there was no room for all, the time at which entries
    /// must be alive.
    L_KEYS = 472;
    L_KEYS_FULL = 480;
    L_KEYS_NOW = 488;
    /// Address of a list: by the numbers of shared tables and of records in them, lists of the names of the records' fields.
    L_RECORD_NAMES = 496;
    /// Packet memory below this address must not be given back: entries that the handler holds are there.
    L_KEPT = 504;
    /// Not 0 while a library function runs that was called as a value, 1 more than the arguments that `__call` added: errors that it raises are those of a call of its own, also where a
    /// library function that is written in Lua calls it.
    L_INDIRECT = 512;
    /// 1 if the last error was raised by a library function without a frame: it is a level of the stack for whoever handles the error.
    L_RAISED = 520;
    /// How many arguments `__call` has added to the requested call.
    L_CALL_EXTRA = 528;
    /// Keys that the handler has seen shared tables to have nothing at (`ABSENT_SLOTS` times `ABSENT_SIZE`).
    L_ABSENT = 536;
    /// Changes whenever copies of entries in tables of prefixes may not be what these tables have (`T_COPY`).
    L_COPIES = 640;
    /// The last assignments to words of shared tables and to variables (`WRITE_SLOTS` times `WRITE_SIZE`): the word's number, the key.
    L_WRITTEN = 648;
    /// Which of the memories it is that the program has on this CPU.
    L_LEVEL = 2184;
    /// What the packet has come with (`pkt.meta`): 0, a number (1) or a record (2); the number, or the bits of the record's fields; the fields, 24 at most.
    L_NOTED = 2192;
    /// The verdict by which a program of C's has ended the packet, and 1; or 0.
    L_DECIDED = 2400;
    /// What the handler keeps: a value.
    L_VALUE = 2408;
    /// Decimal words and digits (`lua/decimal.lua`).
    L_DECIMAL = 2424;
    /// The coroutine that runs, or 0.
    L_COROUTINE = 3528;
    /// What a variable of load time was found to be (`lua/variable.lua`): a value, until the next one is read.
    L_FOUND = 3536;
    /// A value that was found so and is an object in which `__index` or `__newindex` looks further.
    L_OBJECT = 3552;
    /// The value of an upvalue, for an access to a field of it.
    L_UPVALUE = 3568;
    L_SIZE = 3584;
    /// Where the entry was that an access to a field found last, in bytes from the table's first entry: words of accesses (`A_POSITION`), which
    /// several accesses can have in common.
    L_POSITIONS = 4096;
    /// What accesses to fields found last by way of a metatable, for each access that has such a place (`A_INHERITED`) the metatable and
    /// the value, `INHERITED_SIZE` bytes.
    L_INHERITED = 12288;
    /// Notes of what was read in order to be added to (`READ_…`), `NOTES_SIZE` bytes.
    L_NOTES = 24576;
    INHERITED_SIZE = 24;
    NOTES_SIZE = 32768;
    ABSENT_SLOTS = 4;
    ABSENT_SIZE = 24;
    WRITE_SLOTS = 64;
    WRITE_SIZE = 24;
    READ_SIZE = 64;
    SCRATCH_SIZE = 4096;
    PATTERNS_SIZE = 16384;
    PATTERN_SLOTS = 64;
    /// In a slot, instead of a program's address: a pattern without special characters, not compiled yet.
    PATTERN_PLAIN = 1;
}
