//! `moonhook rule`: the rules of iptables that ask a script.

use crate::pins::PinOptions;
use crate::remote::RemoteOptions;
use crate::{CliError, Exit};
use moonhook_daemon::Name;
use std::io::Write;

/// Print the rule of iptables that asks a script's `match`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A line for each `match.attach` of the script, to be typed as it is or changed. Rules work with both kinds of iptables (nft and legacy). What
they ask follows reloads; when the script has ended, they find no packet.

Examples:
  moonhook rule web
  moonhook rule web --chain FORWARD --jump ACCEPT
  moonhook rule web | sh

Exit codes: 0 printed, 3 no such script, or it has no `match`")]
pub struct Arguments {
    /// The script, as `moonhook list` names it
    name: Name,
    /// The chain that the rule is for
    #[arg(long, value_name = "CHAIN", default_value = "INPUT")]
    chain: String,
    /// What becomes of packets that are found
    #[arg(long, value_name = "TARGET", default_value = "DROP")]
    jump: String,
    #[command(flatten)]
    remote: RemoteOptions,
    #[command(flatten)]
    pins: PinOptions,
    /// One JSON object a rule: the arguments of the command, and the file that it names
    #[arg(long)]
    pub json: bool,
}

pub fn rule(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let pins = arguments.pins.of(&arguments.remote.folder(), &arguments.name);
    let files = pins.for_others();
    if files.is_empty() {
        let folder = pins.folder().to_path_buf();
        return Err(CliError::NoMatch { name: arguments.name.to_string(), folder });
    }
    for file in files {
        let file = file.to_string_lossy();
        let words = ["-A", &arguments.chain, "-m", "bpf", "--object-pinned", &file, "-j", &arguments.jump];
        match arguments.json {
            true => {
                writeln!(out, "{}", serde_json::json!({ "arguments": words, "object": file }))?;
            }
            false => writeln!(out, "iptables {}", words.join(" "))?,
        }
    }
    Ok(Exit::Success)
}
