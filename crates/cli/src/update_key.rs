//! `moonhook update-key`: a pair of keys for updates.

use crate::{CliError, Exit};
use moonhook_updates::SecretKey;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Make a pair of keys for updates in packets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
FILE gets the secret key, which signs (`moonhook send-update --key FILE`) and only its owner can read; FILE.pub gets the public one, which
scripts name (`updates.listen{keys = {\"FILE.pub\"}, …}`). Both are Ed25519 in PEM, as OpenSSL has them. Files that are there are left as they are.

Examples:
  moonhook update-key operator.key

Exit codes: 0 done, 2 usage, 3 a file is there already or cannot be written")]
pub struct Arguments {
    /// The file for the secret key
    file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub fn update_key(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let secret = arguments.file.clone();
    let mut public = secret.clone().into_os_string();
    public.push(".pub");
    let public = PathBuf::from(public);
    let of_key = |problem| CliError::Key { path: secret.clone(), problem };
    let key = SecretKey::new().map_err(of_key)?;
    write_new(&secret, 0o600, &key.to_pem().map_err(of_key)?)?;
    let written = key.public().to_pem().map_err(of_key).and_then(|pem| write_new(&public, 0o644, &pem));
    if let Err(error) = written {
        // One without the other is of no use.
        let _ = std::fs::remove_file(&secret);
        return Err(error);
    }
    let sender: String = key.public().sender().iter().map(|byte| format!("{byte:02x}")).collect();
    if arguments.json {
        let text = json!({ "secret": secret, "public": public, "sender": sender });
        writeln!(out, "{text:#}")?;
    } else {
        writeln!(
            out,
            "{}: the secret key, {}: the public one, of sender {sender}",
            secret.display(),
            public.display()
        )?;
    }
    Ok(Exit::Success)
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, mode: u32, text: &str) -> Result<(), CliError> {
    let unwritten = |source| CliError::Unwritten { path: path.to_path_buf(), source };
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(unwritten)
}
