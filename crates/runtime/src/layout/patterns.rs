//! Matches of patterns, and the programs that patterns are compiled to.

constants! {
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
    COMPILE_HEAD = 144;

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
