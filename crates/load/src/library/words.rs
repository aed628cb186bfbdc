//! Names that functions can have in C, beside the headers that programs in eBPF include.

/// Bytes of a name. The kernel takes some more (`KSYM_NAME_LEN`, 512), of which linkers and traces need a part.
pub const LONGEST: usize = 255;

/// Words of C's own (C11 and C23), those of clang's without `_` before them, and functions that compilers know not to come back from.
const RESERVED: &str = "abort alignas alignof asm auto bool break case char const constexpr continue default do double else enum exit \
    extern false float for goto if inline int long longjmp main nullptr register restrict return short signed sizeof static \
    static_assert struct switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while";

/// Sections of objects, the variable that all programs have, types and macros of headers that they include (linux/types.h, linux/bpf.h, bpf_helpers.h, bpf_endian.h).
const OF_HEADERS: &str = "KERNEL_VERSION LICENSE NULL SEC barrier barrier_var container_of license likely linux max_align_t offsetof ptrdiff_t size_t ssize_t \
    unix unlikely unreachable version wchar_t";

/// What names of those headers begin with.
const PREFIXES: [&str; 9] =
    ["BPF_", "MAX_BPF_", "MOONHOOK_", "PT_REGS_", "TC_ACT_", "TCX_", "XDP_", "bpf_", "libbpf_"];

/// Whether the word means something else in C, or in a program that includes what all programs do.
pub fn is_reserved(word: &str) -> bool {
    // C has these for compilers (C11 7.1.3).
    let is_compilers = || {
        word.strip_prefix('_')
            .is_some_and(|rest| rest.starts_with(|first: char| first == '_' || first.is_ascii_uppercase()))
    };
    let is_one_of = |words: &str| words.split_ascii_whitespace().any(|reserved| reserved == word);
    is_compilers()
        || word == "_exit"
        || is_one_of(RESERVED)
        || is_one_of(OF_HEADERS)
        || PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}

/// Whether a text is a name of C's: letters, digits and `_`, no digit first.
pub fn is_identifier(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(is_letter) && !text.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_are_known() {
        for word in [
            "int",
            "asm",
            "_Bool",
            "__u32",
            "_exit",
            "exit",
            "SEC",
            "XDP_PASS",
            "bpf_printk",
            "MOONHOOK_FAILED",
        ] {
            assert!(is_reserved(word), "{word}");
        }
        for word in ["count", "log", "remainder", "_count", "_", "xdp", "Int", "bpf", "integer"] {
            assert!(!is_reserved(word), "{word}");
        }
        assert!(
            is_identifier("_a1")
                && !is_identifier("1a")
                && !is_identifier("a-b")
                && !is_identifier("")
                && !is_identifier("é")
        );
    }
}
