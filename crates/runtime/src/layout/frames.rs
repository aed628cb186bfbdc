//! Frames, closures, functions and sites.

constants! {
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
    // Below a coroutine, which `coroutine.resume` or a call of what `coroutine.wrap` gave has resumed; and below the closing of the variables of
    // one, by `coroutine.close`.
    KIND_RESUME = 6;
    KIND_WRAP = 7;
    KIND_CLOSER = 8;

    // Coroutines (`lua/coroutine.lua`).
    CO_STATUS = 0;
    /// Memory for frames and registers while it does not run: its address, how many bytes there is room for, and how many each take.
    CO_BLOCK = 8;
    CO_ROOM = 16;
    CO_FRAMES = 24;
    CO_VALUES = 32;
    /// Where the registers are, or were when it ran; 0 before it has begun.
    CO_BASE = 40;
    /// The frame below it.
    CO_MARK = 48;
    /// Where the results of `yield` go, and how many are wanted.
    CO_DEST = 56;
    CO_WANT = 64;
    /// Lists of its open variables, and of those to be closed, while it does not run.
    CO_OPEN = 72;
    CO_MARKED = 80;
    /// The coroutine that has resumed it, or 0.
    CO_RESUMER = 88;
    /// A value: the function, before it begins; the error that has ended it.
    CO_VALUE = 96;
    CO_SIZE = 112;

    COROUTINE_SUSPENDED = 0;
    COROUTINE_RUNNING = 1;
    COROUTINE_NORMAL = 2;
    COROUTINE_DEAD = 3;

    // Closures: record of the function, number of variables, their addresses.
    C_PROTO = 0;
    C_COUNT = 8;
    C_VARIABLES = 16;

    // Variables of load time, which the packets of all CPUs share: the tag of the value; from `V_SLOTS` on, by tags, the last payload with that tag;
    // and whether handlers add to it where it may be nil. A payload is never that of another tag, whatever other CPUs assign while one reads: who
    // assigns writes the payload before the tag, and who reads takes the tag first (`lua/variable.lua`).
    V_TAG = 0;
    V_SLOTS = 8;
    V_INT = 32;
    V_SUMS = 96;
    V_SIZE = 104;

    // Variables that closures share: where the value is (one of load time: its `V_…`), the next open one, the value once no register holds it.
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

    // Accesses to a field: its name, a value; the name's hash; and in the state where it was found last (`L_POSITIONS`, `L_INHERITED` or 0).
    A_NAME = 0;
    A_HASH = 16;
    A_POSITION = 24;
    A_INHERITED = 32;

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
}
