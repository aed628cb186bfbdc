//! What the libraries of hooks have in common.

/// What a handler does instead of registering another one.
pub const REGISTER: &str = "register handlers at load time, outside the handler";
