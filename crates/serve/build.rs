//! Makes Rust of the service's proto files; `protox` reads them, so that no compiler of protocol buffers need be installed.

use prost::Message;
use std::error::Error;
use std::path::Path;

const FILES: [&str; 2] = ["eclat.proto", "moonhook/v1/moonhook.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("proto");
    let described = protox::compile(FILES, [folder])?;
    let out = std::env::var("OUT_DIR")?;
    // What reflection tells.
    std::fs::write(Path::new(&out).join("described.bin"), described.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(described)?;
    Ok(())
}
