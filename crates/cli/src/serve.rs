//! `moonhook serve`: many scripts in one process, loaded and asked by gRPC.

use crate::options::absolute;
use crate::packages::PackageOptions;
use crate::pins::PinOptions;
use crate::remote::{RemoteOptions, token};
use crate::run::{Screen, Stream, stop_on_signals};
use crate::terminal::printable_error;
use crate::{CliError, Exit};
use moonhook_engine::{RunningKernel, Settings};
use moonhook_serve::{Bound, Config, Log};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Hold many scripts in one process, which clients load, replace and ask by gRPC; Ctrl-C detaches them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Two services are spoken: `Eclat`, by which clients of eCLAT load scripts and read maps, and `moonhook.v1.Moonhook` (docs/serve.md). Scripts of the
folder `--scripts` are started with the service, each with what the file NAME.toml beside it says: interfaces, mode, and the like. `moonhook
list`, `reload`, `table` and `stop` reach all of them as they reach those of `run`, and from elsewhere with `--remote URL`.

All capabilities are dropped but CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and with `--enter-netns` CAP_SYS_ADMIN. A socket that systemd gives is listened at; contrib/ has its units.

Examples:
  moonhook serve                                              # 127.0.0.1:50051, scripts in /etc/moonhook
  moonhook serve --packages hike --alias mynet=hike_default,meter,sampler,contribs
  moonhook serve --scripts ./scripts --pin                    # what runs goes on while the service is restarted
  moonhook serve --listen 192.0.2.1:50051 --token token.txt --tls-cert cert.pem --tls-key key.pem

Exit codes: 0 ended by Ctrl-C, SIGTERM or a client, 2 usage, 3 privilege, address or file")]
pub struct Arguments {
    /// Where to listen; 0 is a port that is free. Addresses that other machines reach need `--token`
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:50051")]
    listen: SocketAddr,
    /// Folder with scripts that are started at once (*.lua, *.eclat), each with a NAME.toml [default: /etc/moonhook, if it is there]
    #[arg(long, value_name = "DIR")]
    scripts: Option<PathBuf>,
    /// Folder for what clients have loaded
    #[arg(long, value_name = "DIR", default_value = "/var/lib/moonhook/serve")]
    state: PathBuf,
    /// Programs go on when the process ends, however it ends; the next service takes them over, with tables and variables
    #[arg(long)]
    pin: bool,
    #[command(flatten)]
    pins: PinOptions,
    /// Where maps of programs in C are pinned while their scripts run, as PACKAGE/PROGRAM/MAP [default: /sys/fs/bpf/maps, if that can be]
    #[arg(long, value_name = "DIR")]
    map_pins: Option<PathBuf>,
    #[command(flatten)]
    packages: PackageOptions,
    /// Where packages come from that are missing: a file of lines `name, git_url, tag`, or a folder of packages
    #[arg(long, value_name = "PATH")]
    index: Option<PathBuf>,
    /// Where they go to
    #[arg(long, value_name = "DIR", default_value = "/var/lib/moonhook/packages")]
    fetched: PathBuf,
    /// A file whose first line calls have to bring: `authorization: Bearer LINE`
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// A certificate, as PEM: calls are encrypted
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Scripts may be in other network namespaces: CAP_SYS_ADMIN is kept, and is in effect only while a thread enters one
    #[arg(long)]
    enter_netns: bool,
    /// Drop no capabilities: socket filters and queues take CAP_NET_RAW
    #[arg(long)]
    keep_privileges: bool,
    #[command(flatten)]
    remote: RemoteOptions,
}

const SCRIPTS: &str = "/etc/moonhook";
const MAPS: &str = "/sys/fs/bpf/maps";

pub fn serve(arguments: &Arguments) -> Result<Exit, CliError> {
    let mut config = arguments.config()?;
    let bound = Bound::new(&config)?;
    // From here on the process has threads.
    let stop = stop_on_signals()?;
    let screen = Screen::start(|| ())?;
    config.log = Log::new(move |line| {
        // Where nobody reads the log, lines are lost, and scripts run.
        let _ = screen.write(Stream::Error, printable_error(format!("{line}\n").as_bytes()).into_owned());
    });
    bound.serve(config, &stop)?;
    Ok(Exit::Success)
}

impl Arguments {
    fn config(&self) -> Result<Config, CliError> {
        let fetched = absolute(&self.fetched);
        let mut sources = self.packages.sources();
        sources.folders.push(fetched.clone());
        let mut settings = Settings::default();
        settings.load.kernel = Arc::new(RunningKernel);
        settings.load.packages = PackageOptions::of(sources.clone());
        let usual = Some(PathBuf::from(SCRIPTS)).filter(|folder| folder.is_dir());
        Ok(Config {
            listen: self.listen,
            tls: self.tls_cert.clone().zip(self.tls_key.clone()),
            token: self.token.as_deref().map(token).transpose()?,
            scripts: self.scripts.as_deref().map(absolute).or(usual),
            state: absolute(&self.state),
            pin: self.pin,
            bpffs: self.pins.bpffs.clone(),
            maps: absolute(self.map_pins.as_deref().unwrap_or(Path::new(MAPS))),
            maps_are_chosen: self.map_pins.is_some(),
            folder: self.remote.folder(),
            folder_is_chosen: self.remote.is_chosen(),
            settings,
            sources,
            index: self.index.as_deref().map(absolute),
            fetched,
            enter_netns: self.enter_netns,
            keep_privileges: self.keep_privileges,
            log: Log::default(),
        })
    }
}
