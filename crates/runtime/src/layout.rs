//! Constants of runtime Lua: where things are in arena memory, and what the tags of values mean.
//!
//! Runtime Lua uses the names of [`CONSTANTS`] like globals; Rust code uses the constants themselves. All sizes and offsets
//! are in bytes. Addresses are offsets in the arena; 0 is no address.

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: i64 = $value;)*

        /// Every constant with its name.
        pub const CONSTANTS: &[(&str, i64)] = &[$((stringify!($name), $name)),*];
    };
}

constants! {
    /// What a routine returns after an error, and when the kernel's limit for loops is used up.
    FAIL = -1;
    /// What a routine returns that wants the access to a shared table which `L_ACCESS_…` describe.
    SHARED = -3;
    /// What a routine `fast_…` returns that has done nothing: the library function of the prelude is to be called.
    GENERAL = -2;

    // A value is a tag at +0 and a payload at +8. `tag <= TAG_FALSE` is what Lua takes for false.
    TAG_NIL = 0;
    TAG_FALSE = 1;
    TAG_TRUE = 2;
    /// The payload is the integer.
    TAG_INT = 3;
    /// The payload is the float's bits.
    TAG_FLOAT = 4;
    /// The payload is address | length << 32.
    TAG_STRING = 5;
    /// The payload is the address of the table.
    TAG_TABLE = 6;
    TAG_CLOSURE = 7;
    /// The payload is the number of the library function.
    TAG_BUILTIN = 8;
    /// A packet, a header, …: a userdata for Lua.
    TAG_OBJECT = 9;
    /// Another object of load time: the payload is the address of the name of its type.
    TAG_OPAQUE = 10;
    /// In the place of the iterator of a generic `for`, where scripts do not see it: the payload is the address of the shared table that is
    /// traversed.
    TAG_TRAVERSAL = 11;
    /// In tables of the library, in the place of a value that is not in the program; scripts do not see it.
    TAG_MISSING = 12;
    /// From here on, one for each type that a structure or an array of the kernel's can have: the payload is its address, which is not 0.
    TAG_STRUCTURE = 16;
    VALUE_SIZE = 16;

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
    /// Address of a table whose keys are the names that packet code assigns to tables of load time, or 0.
    L_FIELD_NAMES = 632;
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
    L_SIZE = 2424;
    /// Notes of what was read in order to be added to (`READ_…`), `NOTES_SIZE` bytes.
    L_NOTES = 4096;
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

    /// Address of the metatable, or 0.
    T_META = 0;
    /// Address of the values of the keys 1 to `T_COUNT`.
    T_ARRAY = 8;
    /// Of an entry of a shared table: address of a copy of the entry's bytes, or 0 (`specialise/src/shared/packet_copies.rs`).
    T_COPY = 8;
    T_COUNT = 16;
    /// How many values there is room for at `T_ARRAY`.
    T_ARRAY_CAP = 24;
    /// Of an entry of a shared table: its key, a value.
    T_KEY = 24;
    /// Address of the other entries, in the order of insertion.
    T_ENTRIES = 32;
    /// Entries in use, dead ones included.
    T_USED = 40;
    T_ENTRY_CAP = 48;
    /// Of an entry of a shared table that is being assigned: an ordinary table with its fields, which it becomes; or 0.
    T_LAST = 48;
    /// Address of u32 slots, or 0 while entries are few enough to be searched one by one.
    T_INDEX = 56;
    /// Number of slots - 1.
    T_INDEX_MASK = 64;
    T_FLAGS = 72;
    /// Entries that are not dead.
    T_LIVE = 80;
    /// Entries with an integer as key, dead ones included.
    T_INTS = 88;
    TABLE_SIZE = 96;
    /// In `T_FLAGS`, of a table of load time: fields can change whose names are in `L_FIELD_NAMES`.
    FLAG_FIELDS = 2;
    /// A table that is a map, or a record in one. Its number stands in the flags from bit `FLAG_NUMBER` on; it has no entries
    /// of its own, and the metatable `L_SHARED_META`, so that whoever looks at metatables meets it.
    FLAG_SHARED = 4;
    /// Of those: a record.
    FLAG_ENTRY = 8;
    /// Of tables that are maps: `ACCESS_AFTER` is in the program.
    FLAG_STEPS = 16;
    FLAG_NUMBER = 8;

    E_KEY_TAG = 0;
    E_KEY = 8;
    E_TAG = 16;
    E_VALUE = 24;
    E_HASH = 32;
    ENTRY_SIZE = 40;

    /// Address of a nil.
    ADDR_NIL = 16;
    /// Tables with at most so many entries have no index.
    INDEX_FREE = 8;
    /// In a traversal: positions from here on are those of entries.
    ENTRY_POSITIONS = 0x10_0000_0000;

    /// What `handler_verdict` returns for what is no verdict of any hook.
    NO_VERDICT = 255;

    // What a routine returns besides 0 (done) and FAIL.
    /// The frame has changed: go on at its site.
    DISPATCH = 1;
    /// Make the call that `L_CALL_…` describe.
    REQUEST = 2;
    /// The handler has returned.
    FINISHED = 3;
    /// The handler has ended with an error that nothing caught.
    FAILED = 4;
    /// Read the field with the key at `L_CALL_COUNT` (0: the length) of the packet object, event or structure at `L_CALL_FUNC`.
    OBJECT = 5;
    /// Do the arithmetic that `L_CALL_…` describe: operation in `L_CALL_WANT`, operands at `L_CALL_FUNC` and `L_CALL_COUNT`.
    SLOW = 6;
    /// Close the next variable after an error (`close_more`).
    CLOSE = 7;
    /// The handler of an error has returned (`handler_returned`).
    HANDLED = 8;
    /// An error has been caught: end the frame that did so (`finish_marker`).
    CAUGHT = 9;
    /// Assign the value at `L_CALL_DEST` to the field with the key at `L_CALL_COUNT` of such an object at `L_CALL_FUNC`.
    ASSIGN_OBJECT = 10;

    // Accesses to shared tables. Reading stores the value, assigning takes it; `TRAVERSE` begins the traversal of the generic `for` whose
    // registers are at the place, `NEXT` stores the next key and value of the one whose state is at the key, `ANY` stores some key
    // and value, `AFTER` those behind the key, and `LENGTH` a border.
    ACCESS_READ = 0;
    ACCESS_WRITE = 1;
    ACCESS_TRAVERSE = 2;
    ACCESS_NEXT = 3;
    ACCESS_ANY = 4;
    ACCESS_AFTER = 5;
    ACCESS_LENGTH = 6;
    /// Before an assignment: what the handler holds of the entry gets ready to become ordinary tables (`T_LAST`).
    ACCESS_KEEP = 7;

    // A traversal of a shared table: the registers of its generic `for`, the traversal around it, then the keys that are still to
    // come, below. It ends when another one begins at the same registers or at lower ones.
    TRAVERSAL_PLACE = 0;
    TRAVERSAL_AROUND = 8;
    TRAVERSAL_SIZE = 16;

    // Errors without text so far: `text` (A) with the position of the call of a library function, or of the running function; about
    // argument A: problem B; about argument A: expected type B, value at C or 0; operand at A: attempt B, name C; values at A and B.
    FAULT_NONE = 0;
    FAULT_CALL = 1;
    FAULT_HERE = 2;
    FAULT_ARGUMENT = 3;
    FAULT_TYPE = 4;
    FAULT_OPERAND = 5;
    FAULT_ORDER = 6;
    /// The value at A of a loop's limit, step or initial value (B).
    FAULT_FOR = 7;

    // Frames. What runs is a function of the script or of the library (KIND_LUA), or a mark between such frames.
    F_CLOSURE = 0;
    /// Address of register 0; of a mark: where the results of what it protects stand.
    F_BASE = 8;
    /// The site where the function stands.
    F_SITE = 16;
    /// Where the results go, and how many are wanted (-1: all).
    F_FUNC = 24;
    F_WANT = 32;
    F_KIND = 40;
    /// Where the function value stood.
    F_START = 48;
    /// The number of arguments.
    F_COUNT = 56;
    /// Behind the last register.
    F_LIMIT = 64;
    /// Behind the last value of an open list of values.
    F_TOP = 72;
    /// The function was called in tail position.
    F_TAIL = 80;
    /// Address and number of extra arguments.
    F_EXTRA = 88;
    F_EXTRA_COUNT = 96;
    /// Values that a concatenation still has to join.
    F_PENDING = 104;
    /// The handler of `xpcall`; at the entry, the text of an error that is none itself.
    F_VALUE = 48;
    /// The error for which variables are closed, and the kind of the mark before.
    F_FAILURE = 88;
    F_CAUGHT = 104;
    FRAME_SIZE = 112;

    KIND_LUA = 0;
    KIND_PCALL = 1;
    KIND_XPCALL = 2;
    /// The handler of `xpcall` is running.
    KIND_HANDLER = 3;
    /// Below the handler of packets.
    KIND_ENTRY = 4;
    /// Variables are being closed after an error.
    KIND_CLOSING = 5;

    // Closures: record of the function, number of variables, their addresses.
    C_PROTO = 0;
    C_COUNT = 8;
    C_VARIABLES = 16;

    // Variables that closures share: where the value is, the next open one, the value once no register holds it.
    U_PLACE = 0;
    U_NEXT = 8;
    U_VALUE = 16;
    U_SIZE = 32;

    // Records of functions: the site of the entry, parameters, bytes of registers, whether it is a part of the library (`HIDDEN_…`), name in
    // tracebacks, number of captured variables, and for each its register | 0x100 or its number in the function around it.
    P_ENTRY = 0;
    P_PARAMS = 8;
    P_STACK = 16;
    P_HIDDEN = 24;
    P_NAME = 32;
    P_UPVALUES = 40;
    P_CAPTURES = 48;
    /// A part of a library function: no level of the stack, as far as scripts see it.
    HIDDEN_PART = 1;
    /// A library function, which is one level.
    HIDDEN_FUNCTION = 2;

    // Sites: line, number of the source file, its name, names of the operands, name of the called function, whether it is called
    // as a method, what tracebacks call it. Texts are payload words, 0 for none.
    S_LINE = 0;
    S_SOURCE = 8;
    S_FILE = 16;
    S_A = 24;
    S_B = 32;
    S_CALL = 40;
    S_METHOD = 48;
    S_TRACE = 56;
    /// The metamethod that the instruction may call, as ` (metamethod 'add')`.
    S_EVENT = 64;
    /// Of an instruction that reads what another one assigns a sum with: the place of its note among those of the frame (`READ_NOTE`, in bytes),
    /// and the site's number (times `READ_SITES`). Of the other one: the same, with the flag `KEEPS` if nothing is added.
    S_READ = 72;
    READ_NOTE = 0xffff;
    READ_SITES = 0x1_0000;
    KEEPS = 0x1_0000_0000_0000;
    /// And with this flag if it is what is added, where the place has nothing (`specialise/src/first_sums.rs`).
    FIRST = 0x2_0000_0000_0000;
    /// Of an instruction that assigns a new table: there stands the address of a list of names of fields that are added so, their number
    /// before them, and this flag.
    FIRST_FIELDS = 0x4_0000_0000_0000;
    /// Where execution goes on, if the function is interpreted: the address of a record (`baseline/src/compact`), else 0.
    S_CODE = 80;
    SITE_SIZE = 88;

    // The note of what was read in order to be added to, `READ_SIZE` bytes: the frame and the `S_READ` of what did so, which word, its
    // key, what it was, the count of assignments, the run times 2, and 1 if it was nil.
    READ_FRAME = 0;
    READ_SITE = 8;
    READ_WORD = 16;
    READ_KEY = 24;
    READ_VALUE = 40;
    READ_WRITES = 48;
    READ_RUN = 56;

    // A key that a shared table was seen to have nothing at: the table's number plus 1 (0: none), the key.
    ABSENT_TABLE = 0;
    ABSENT_KEY = 8;

    /// Numbers of library functions that change frames.
    BUILTIN_PCALL = 0;
    BUILTIN_XPCALL = 1;

    // Events, and objects of the packet; headers follow.
    OBJECT_EVENT = 0;
    OBJECT_PACKET = 1;
    OBJECT_ARGUMENT = 2;

    // Numbers of operations: ORDER TM in ltm.h.
    OPERATION_ADD = 6;
    OPERATION_SUB = 7;
    OPERATION_MUL = 8;
    OPERATION_MOD = 9;
    OPERATION_POW = 10;
    OPERATION_DIV = 11;
    OPERATION_IDIV = 12;
    OPERATION_BAND = 13;
    OPERATION_BOR = 14;
    OPERATION_BXOR = 15;
    OPERATION_SHL = 16;
    OPERATION_SHR = 17;
    OPERATION_UNM = 18;
    OPERATION_BNOT = 19;

    // The state of a match (`lua/pattern.lua`).
    MATCH_SUBJECT = 0;
    MATCH_STOP = 8;
    MATCH_PROGRAM = 16;
    MATCH_POSITION = 24;
    MATCH_LAST = 32;
    MATCH_ANCHOR = 40;
    MATCH_START = 48;
    MATCH_END = 56;
    MATCH_LIMIT = 64;
    MATCH_CAPTURES = 72;
    MATCH_ERROR = 328;
    MATCH_SIZE = 336;
    /// `LUA_MAXCAPTURES`.
    MATCH_MAX_CAPTURES = 32;
    /// `MAXCCALLS` of lstrlib.c is 200; the first call is none that is nested.
    MATCH_MAX_DEPTH = 199;
    CHOICE_SIZE = 16;
    CAPTURE_POSITION = 0;
    CAPTURE_OPEN = 1;

    // string.gsub with a table or function (`lua/pattern_callback.lua`).
    GSUB_COUNT = 336;
    GSUB_MOST = 344;
    GSUB_COPIED = 352;
    GSUB_CHANGED = 360;
    GSUB_LENGTH = 368;
    GSUB_FIRST = 376;
    GSUB_LAST = 384;
    GSUB_ROOM = 392;
    GSUB_SIZE = 400;

    // The state of compiling a pattern (`lua/pattern_compile.lua`), in the place of the captures of the match it is for.
    COMPILE_ITEM = 72;
    COMPILE_POOL = 80;
    COMPILE_POSITION = 88;
    COMPILE_STOP = 96;
    COMPILE_TEXT_END = 104;
    COMPILE_LEVEL = 112;
    COMPILE_OPEN = 120;
    COMPILE_POSITIONS = 128;
    COMPILE_DEEP = 136;

    // Items of patterns' programs (`lua/pattern_compile.lua`).
    ITEM_KIND = 0;
    ITEM_CHAR = 1;
    ITEM_NEXT = 2;
    ITEM_NEXT_CHAR = 3;
    ITEM_SET = 4;
    ITEM_NEXT_SET = 8;
    ITEM_MESSAGE = 8;
    ITEM_LENGTH = 12;
    ITEM_SIZE = 16;

    // Kinds of items. What can be nested so deep that it matters is between STAR and DEPTH.
    PATTERN_HEAD = 0;
    PATTERN_CHAR = 1;
    PATTERN_SET = 2;
    PATTERN_ANY = 3;
    PATTERN_TEXT = 4;
    PATTERN_OPEN = 5;
    PATTERN_CLOSE = 6;
    PATTERN_POSITION = 7;
    PATTERN_END = 8;
    PATTERN_STAR_ALL = 9;
    PATTERN_PLUS_ALL = 10;
    PATTERN_OPTION_ALL = 11;
    PATTERN_STAR = 12;
    PATTERN_PLUS = 13;
    PATTERN_OPTION = 14;
    PATTERN_LAZY = 15;
    PATTERN_DEPTH = 16;
    PATTERN_SUBJECT_END = 17;
    PATTERN_BALANCE = 18;
    PATTERN_FRONTIER = 19;
    PATTERN_REFERENCE = 20;
    PATTERN_NEVER = 21;
    PATTERN_ERROR = 22;
    PATTERN_BAD_INDEX = 23;

    // What the rest of a pattern begins with, as far as that is known.
    NEXT_NOTHING = 0;
    NEXT_CHAR = 1;
    NEXT_SET = 2;
    /// It begins with the end of the subject.
    NEXT_END = 3;
    /// It is empty: it matches anywhere.
    NEXT_ANYTHING = 4;
}

/// The constant called `name`.
pub fn constant(name: &str) -> Option<i64> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}
