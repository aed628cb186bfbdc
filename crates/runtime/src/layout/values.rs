//! Values and tables, and where the parts of a table are.

constants! {
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
    /// The payload is the address of the coroutine, or of the state for what is none.
    TAG_THREAD = 13;
    /// In tables of load time, in the place of the value of a field that packet code assigns: the payload is the address of its variable (`V_…`).
    TAG_VARIABLE = 14;
    /// From here on, one for each type that a structure or an array of the kernel's can have: the payload is its address, which is not 0.
    TAG_STRUCTURE = 16;
    VALUE_SIZE = 16;

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
    /// Bytes of entries in use, dead ones included, and of those that there is room for.
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
    /// Bits of the texts that are or were keys: for each the one whose number is the upper six bits of the text's hash.
    T_FILTER = 96;
    TABLE_SIZE = 104;
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
}
