//! A verified bundle as text for people.

use std::fmt;

use passnet_record::counted;

use super::format::Bundle;

impl fmt::Display for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = &self.log.header;
        let fingerprint = &header.fingerprint;
        let machine = if fingerprint.device.is_empty() { &fingerprint.cpu } else { &fingerprint.device };
        let finished = if self.log.finished { "finished" } else { "not finished" };
        let missing = if self.missing > 0 { format!(", {} missing as announced", self.missing) } else { String::new() };
        writeln!(f, "id        {}", self.id)?;
        writeln!(f, "run       {} over {} {}, {finished}", header.run, header.suite, header.suite_version)?;
        writeln!(f, "machine   {machine}")?;
        write!(
            f,
            "files     {} intact{missing}; {} computed again from trial times",
            counted(self.blobs.len(), "blob"),
            counted(self.recomputed, "timing")
        )
    }
}
