//! `moonhook send-update`: gives a flow of a script that runs elsewhere a function, in signed datagrams.

use crate::{CliError, Exit};
use moonhook_updates::{Operation, SecretKey, Update, sequence};
use serde_json::json;
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Send a flow's function to a script that runs elsewhere
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The script there listens (`updates.listen{port = …, keys = {…}}`), and takes what is signed by a key that it knows. Nothing comes back:
`moonhook flow` and `moonhook table NAME updates dump` over there tell what has become of it. FLOW is a key as `moonhook flow` has them. Clocks of
both hosts may differ by as much as the script allows (a minute, unless it says otherwise).

Examples:
  moonhook update-key operator.key
  moonhook send-update 192.0.2.1 --key operator.key src=10.0.0.1,dport=53 drop.lua
  moonhook send-update 192.0.2.1 --key operator.key src=10.0.0.1,dport=53 --delete

Exit codes: 0 sent, 1 the update is too long, 2 usage, 3 no such file or host, or it cannot be sent to")]
pub struct Arguments {
    /// Where it goes: an address or a name
    host: String,
    /// The flow's key
    #[arg(allow_negative_numbers = true)]
    flow: String,
    /// The function: `function(pkt) ... end`, or a chunk that returns one
    #[arg(required_unless_present = "delete")]
    file: Option<PathBuf>,
    /// The file with the secret key that signs
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Take the flow out instead
    #[arg(long, conflicts_with = "file")]
    delete: bool,
    /// The UDP port that the script listens to
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// The flow table, where the script has several
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// The name of the listener that is to take it; without one, any takes it
    #[arg(long = "to", value_name = "NAME")]
    receiver: Option<String>,
    /// Send each datagram so many times, where some are lost; it is taken once
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=100))]
    copies: u8,
    /// Send no more datagrams a second than this: scripts take 200 from a sender unless they say otherwise
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub fn send_update(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path).map_err(|source| CliError::Unreadable { path: path.clone(), source })
    };
    let key = SecretKey::from_pem(&read(&arguments.key)?)
        .map_err(|problem| CliError::Key { path: arguments.key.clone(), problem })?;
    let update = Update {
        operation: if arguments.delete { Operation::Delete } else { Operation::Set },
        sequence: sequence(SystemTime::now()),
        receiver: arguments.receiver.clone().unwrap_or_default(),
        table: arguments.table.clone().unwrap_or_default(),
        key: arguments.flow.clone(),
        text: arguments.file.as_ref().map(read).transpose()?.unwrap_or_default(),
    };
    let datagrams = update.datagrams(&key)?;
    let to = send(arguments, &datagrams)
        .map_err(|source| CliError::Unsent { host: arguments.host.clone(), source })?;
    let (count, sequence) = (datagrams.len(), update.sequence);
    if arguments.json {
        let text = json!({ "to": to.to_string(), "sequence": sequence, "datagrams": count, "copies": arguments.copies });
        writeln!(out, "{text:#}")?;
    } else {
        let noun = if count == 1 { "datagram" } else { "datagrams" };
        writeln!(out, "sent to {to} in {count} {noun}, sequence number {sequence}")?;
    }
    Ok(Exit::Success)
}

fn send(arguments: &Arguments, datagrams: &[Vec<u8>]) -> std::io::Result<SocketAddr> {
    let mut addresses = (arguments.host.as_str(), arguments.port).to_socket_addrs()?;
    let none = || std::io::Error::new(std::io::ErrorKind::NotFound, "it has no address");
    let to = addresses.next().ok_or_else(none)?;
    let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    let all = (0..arguments.copies).flat_map(|_| datagrams);
    // Few go at once, as fast as they can.
    let is_slow = datagrams.len() * usize::from(arguments.copies) > arguments.rate as usize;
    for datagram in all {
        socket.send_to(datagram, to)?;
        if is_slow {
            std::thread::sleep(Duration::from_secs(1) / arguments.rate);
        }
    }
    Ok(to)
}
