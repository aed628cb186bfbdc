//! Writes the frames that are measured to a pcap file, for other tools to look at.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use pcap_file::PcapError;
use pcap_file::pcap::{PcapPacket, PcapWriter};

use crate::error::Error;
use crate::works::Work;

pub fn write(path: &Path, works: &[Work]) -> Result<(), Error> {
    let failed = |error: PcapError| Error::System {
        what: format!("write {}", path.display()),
        error: std::io::Error::other(error),
    };
    let file = File::create(path).map_err(Error::system(format!("make {}", path.display())))?;
    let mut writer = PcapWriter::new(file).map_err(failed)?;
    for case in works.iter().flat_map(|work| &work.cases) {
        let length = case.frame.len() as u32;
        writer.write_packet(&PcapPacket::new(Duration::ZERO, length, &case.frame)).map_err(failed)?;
    }
    Ok(())
}
