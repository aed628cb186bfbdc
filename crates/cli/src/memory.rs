//! Memory that the process does not need any more.

/// Gives it back to the kernel. Compiling a script takes several times what running it needs, and the allocator keeps what is free for a while that
/// has no end where nothing is allocated any more.
pub fn give_back() {
    // SAFETY: takes no pointers, and may be called by any thread at any time (mimalloc.h).
    unsafe { libmimalloc_sys::mi_collect(true) };
}
