//! What is made of the proto files.

#[allow(clippy::all, clippy::pedantic)]
pub mod eclat {
    // prost calls what has no package so.
    include!(concat!(env!("OUT_DIR"), "/_.rs"));
}

#[allow(clippy::all, clippy::pedantic)]
pub mod v1 {
    tonic::include_proto!("moonhook.v1");
}

/// All files as reflection tells of them.
pub const DESCRIBED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/described.bin"));
