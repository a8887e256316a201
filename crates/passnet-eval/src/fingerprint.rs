//! Fingerprint of the machine: hardware and versions that can change a timing.

use std::{collections::BTreeMap, path::Path, process::Command};

use passnet_record::{Device, Fingerprint};

use crate::device::physical_name;

/// Describes the machine. `versions` are those that the fork server reports.
pub(crate) fn fingerprint(device: Device, versions: &BTreeMap<String, String>) -> Fingerprint {
    let mut versions = versions.clone();
    versions.insert("passnet".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    if let Some(cxx) = first_line("c++", &["--version"]) {
        versions.insert("cxx".to_owned(), cxx);
    }
    let query = |field: &str| {
        device.index()?;
        first_line(
            "nvidia-smi",
            &["-i", &physical_name(device), &format!("--query-gpu={field}"), "--format=csv,noheader"],
        )
    };
    Fingerprint {
        cpu: cpu(),
        device: query("name").unwrap_or_default(),
        driver: query("driver_version").unwrap_or_default(),
        os: read("/proc/sys/kernel/osrelease"),
        versions,
        sandbox: BTreeMap::new(),
    }
}

fn cpu() -> String {
    let info = read("/proc/cpuinfo");
    let model =
        info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()));
    let cores = info.lines().filter(|line| line.starts_with("processor")).count();
    format!("{} x {cores}", model.unwrap_or("unknown"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(path)).map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_accelerator_has_a_cpu() {
        let found = fingerprint(Device::Cpu, &BTreeMap::from([("torch".to_owned(), "2.6".to_owned())]));
        assert!(found.device.is_empty() && found.cpu.contains(" x ") && !found.os.is_empty(), "{found:?}");
        assert_eq!(found.versions["torch"], "2.6");
    }
}
