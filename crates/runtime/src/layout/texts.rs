//! What is known of a conversion of `string.format` (`lua/format.lua`), or of the format of `string.pack` (`lua/pack.lua`), in a record at
//! `L_SCRATCH`.

constants! {
    /// `FORMAT_FLAG_…`
    FORMAT_FLAGS = 0;
    FORMAT_WIDTH = 8;
    /// -1 if there is none.
    FORMAT_PRECISION = 16;
    /// 1 if flags, width and precision are in order.
    FORMAT_CLEAN = 24;
    /// The conversion's text, as a string.
    FORMAT_TEXT = 32;
    /// The character that says which conversion it is; 0 at the end of the format.
    FORMAT_LETTER = 40;
    /// Digits of integers end here: 22 octal ones at most.
    FORMAT_DIGITS = 96;
    /// What a conversion makes, before it is padded: 420 characters at most.
    FORMAT_BODY = 128;

    FORMAT_FLAG_LEFT = 1;
    FORMAT_FLAG_PLUS = 2;
    FORMAT_FLAG_FORM = 4;
    FORMAT_FLAG_ZERO = 8;
    FORMAT_FLAG_SPACE = 16;

    /// Address of the next character of the format, and where that ends.
    PACK_AT = 0;
    PACK_STOP = 8;
    /// 1 for big endian.
    PACK_BIG = 16;
    PACK_MAX_ALIGN = 24;
    /// The option that was read last: what kind it is (`PACKED_…`), its size in bytes, and the padding before it.
    PACK_KIND = 32;
    PACK_SIZE = 40;
    PACK_PADDING = 48;
    /// An integer in place of a string is written here; it ends before this.
    PACK_DIGITS = 96;

    // Kinds of options. From PACKED_NO_VALUE on, options neither take nor give a value.
    PACKED_SIGNED = 0;
    PACKED_UNSIGNED = 1;
    PACKED_FLOAT = 2;
    PACKED_CHARACTERS = 3;
    PACKED_COUNTED = 4;
    PACKED_TERMINATED = 5;
    PACKED_NO_VALUE = 6;
    PACKED_ALIGN = 7;
    PACKED_NOTHING = 8;
}
