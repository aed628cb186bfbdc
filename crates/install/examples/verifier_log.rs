//! Prints why the running kernel rejects an object: the whole log, as the files in `tests/logs` have it.
//!
//! `cargo run -p moonhook-install --example verifier_log -- OBJECT`

use moonhook_install::{InstallError, LoadOptions, load};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: verifier_log OBJECT")?;
    match load(&std::fs::read(&path)?, &LoadOptions::default()) {
        Ok(_) => println!("accepted"),
        Err(InstallError::Rejected(rejection)) => print!("{}", rejection.log),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
