//! Health of devices: the A/A check.
//!
//! A station measures a graph against itself. On a healthy device the ratio is 1, and the time is that of the other devices.

use std::collections::BTreeMap;

use passnet_record::{Device, Status, Verdict};
use serde::Serialize;

use crate::job::SlotId;

/// Limits of a healthy device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HealthPolicy {
    /// Largest distance of the A/A ratio from 1 that an interval without 1 may have.
    pub ratio: f64,
    /// Largest excess of the time of the graph over the median of all devices.
    pub slower: f64,
    /// Leases between two checks; 0 for a check at the start only.
    pub every: usize,
    /// Memory of the device that may be in use before a check, in bytes.
    pub foreign_memory_bytes: u64,
}

impl HealthPolicy {
    /// Returns the rules for a kind of device. The clocks of CPUs vary, and their cores share caches and memory.
    pub fn of(device: Device) -> Self {
        if device.is_cpu() { Self { ratio: 0.25, slower: 1.0, ..Self::default() } } else { Self::default() }
    }
}

impl Default for HealthPolicy {
    fn default() -> Self {
        // The check is of a short graph, whose time is also that of the host's calls. Two H100 of one host, each with half of its cores,
        // differed by 1.21 to 1.25 without a fault of either; a GPU that throttles takes twice as long or more.
        Self { ratio: 0.05, slower: 0.5, every: 50, foreign_memory_bytes: 1 << 30 }
    }
}

/// Result of an A/A check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HealthCheck {
    /// Ratio of the graph's time to itself, and the bounds of its interval.
    pub ratio: (f64, f64, f64),
    /// Median time of the graph in nanoseconds: between events of the device, or by the clock on a CPU.
    pub median_ns: f64,
    /// Memory of the device in use before the check, in bytes.
    pub memory_bytes: u64,
}

/// Reason why a device is set aside.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Illness {
    /// The check gave no measurement.
    #[error("the A/A check gave `{status}`: {reason}")]
    NoMeasurement {
        /// Status of the verdict.
        status: Status,
        /// Reason of the verdict.
        reason: String,
    },
    /// The graph is faster or slower than itself.
    #[error("the A/A check gave a ratio of {ratio:.3} [{low:.3}, {high:.3}] instead of 1")]
    Biased {
        ratio: f64,
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// The device is slower than its peers, or than it was.
    #[error(
        "the device takes {factor:.2} times as long as the median of the fleet: it throttles, or other processes use it"
    )]
    Slow {
        /// Time divided by the median of the fleet.
        factor: f64,
    },
    /// Another process holds memory of the device.
    #[error("other processes use {mib} MiB of the device")]
    ForeignMemory {
        /// Memory in use, in MiB.
        mib: u64,
    },
}

impl Illness {
    /// True if verdicts since the last good check are in doubt.
    pub const fn casts_doubt(&self) -> bool {
        // A slow device measures both sides of a ratio equally slowly, so its ratios are valid. Ratios of a biased device are not.
        matches!(self, Self::Biased { .. })
    }
}

impl HealthCheck {
    /// Reads the verdict of a graph on author `eager` on a device. Times of a shared CPU fluctuate without a fault of the machine, so
    /// on a CPU an unstable measurement is accepted, and its wide interval is judged.
    ///
    /// # Errors
    /// If it has no measurement, or on an accelerator none that settled.
    pub fn of(device: Device, verdict: &Verdict, memory_bytes: Option<u64>) -> Result<Self, Illness> {
        let is_fit = verdict.status == Status::Correct || (device.is_cpu() && verdict.status == Status::Unstable);
        let timing = verdict.scored_timing().filter(|_| is_fit);
        let Some(timing) = timing else {
            let reason = verdict.reason.as_ref().map(|reason| reason.message.clone()).unwrap_or_default();
            return Err(Illness::NoMeasurement { status: verdict.status, reason });
        };
        let ratio = (timing.speedup.ratio, timing.speedup.low, timing.speedup.high);
        let median_ns = timing.base.device_median_ns.unwrap_or(timing.base.median_ns);
        Ok(Self { ratio, median_ns, memory_bytes: memory_bytes.unwrap_or_default() })
    }
}

/// The times of all devices that were found healthy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers(BTreeMap<SlotId, f64>);

impl Peers {
    /// Judges a check. The time of a healthy device joins those of its peers.
    pub(crate) fn judge(&mut self, slot: SlotId, check: &HealthCheck, policy: &HealthPolicy) -> Result<(), Illness> {
        // Checked first, because memory of another process explains a biased or slow measurement.
        if check.memory_bytes > policy.foreign_memory_bytes {
            return Err(Illness::ForeignMemory { mib: check.memory_bytes >> 20 });
        }
        let (ratio, low, high) = check.ratio;
        let contains_one = low <= 1.0 && 1.0 <= high;
        // Both conditions: a narrow interval may miss 1 by a harmless amount, and a wide one contains it although the
        // ratio is far off.
        if !contains_one && (ratio - 1.0).abs() > policy.ratio {
            return Err(Illness::Biased { ratio, low, high });
        }
        if let Some(median) = self.median() {
            let factor = check.median_ns / median;
            if factor > 1.0 + policy.slower {
                return Err(Illness::Slow { factor });
            }
        }
        // Only healthy devices define the median; a slow one would make the next slow one look normal.
        self.0.insert(slot, check.median_ns);
        Ok(())
    }

    /// Removes the time of a device whose station was lost.
    pub(crate) fn forget(&mut self, slot: SlotId) {
        self.0.remove(&slot);
    }

    fn median(&self) -> Option<f64> {
        let mut times: Vec<f64> = self.0.values().copied().collect();
        times.sort_by(f64::total_cmp);
        // `None` for the first device: it has no peers and is judged by its ratio alone.
        times.get(times.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::{ContentId, Cost, Evidence};
    use serde_json::json;

    use super::*;

    const FIT: HealthCheck = HealthCheck { ratio: (1.0, 0.99, 1.01), median_ns: 100.0, memory_bytes: 0 };

    fn judge(peers: &mut Peers, slot: u64, check: HealthCheck) -> Result<(), Illness> {
        peers.judge(SlotId(slot), &check, &HealthPolicy::default())
    }

    #[test]
    fn a_device_is_held_against_itself_and_its_peers() {
        let mut peers = Peers::default();
        judge(&mut peers, 0, FIT).unwrap();
        judge(&mut peers, 1, HealthCheck { median_ns: 104.0, ..FIT }).unwrap();
        // An interval without 1 comes by chance in one of twenty checks; a distance from 1 does not.
        judge(&mut peers, 2, HealthCheck { ratio: (1.02, 1.01, 1.03), ..FIT }).unwrap();
        judge(&mut peers, 2, HealthCheck { ratio: (1.2, 0.9, 1.5), ..FIT }).unwrap();
        let biased = judge(&mut peers, 2, HealthCheck { ratio: (1.2, 1.1, 1.3), ..FIT }).unwrap_err();
        assert!(biased.casts_doubt());
        judge(&mut peers, 4, HealthCheck { median_ns: 125.0, ..FIT }).unwrap();
        let slow = judge(&mut peers, 3, HealthCheck { median_ns: 160.0, ..FIT }).unwrap_err();
        assert!(matches!(slow, Illness::Slow { factor } if factor > 1.4) && !slow.casts_doubt());
        let full = judge(&mut peers, 3, HealthCheck { memory_bytes: 2 << 30, ..FIT }).unwrap_err();
        assert_eq!(full.to_string(), "other processes use 2048 MiB of the device");
    }

    #[test]
    fn a_slow_device_does_not_move_the_median() {
        let mut peers = Peers::default();
        judge(&mut peers, 0, FIT).unwrap();
        for _ in 0..10 {
            judge(&mut peers, 1, HealthCheck { median_ns: 200.0, ..FIT }).unwrap_err();
        }
        judge(&mut peers, 1, HealthCheck { median_ns: 101.0, ..FIT }).unwrap();
    }

    /// A cluster of shared CPUs had no station for ten minutes, because each check was `unstable`.
    #[test]
    fn fluctuation_is_a_fault_of_accelerators_only() {
        let side = json!({"trials": 10, "median_ns": 100.0, "iqr_ns": 60.0, "min_ns": 90.0});
        let timing = json!({
            "path": "direct", "baseline": "eager", "cache": "warm", "base": side, "candidate": side,
            "speedup": {"ratio": 1.02, "low": 0.8, "high": 1.3, "confidence": 0.95}, "stable": false, "remeasured": 3,
        });
        let verdict = |status: &str, timings: &[serde_json::Value]| -> Verdict {
            let verdict = json!({
                "schema_version": passnet_record::SCHEMA_VERSION, "id": {"task": "t", "graph": "g"}, "key": ContentId::of(b"k"),
                "status": status, "outputs": [], "timings": timings, "evidence": Evidence::default(), "cost": Cost::default(),
            });
            serde_json::from_value(verdict).unwrap()
        };
        let unstable = verdict("unstable", std::slice::from_ref(&timing));
        let check = HealthCheck::of(Device::Cpu, &unstable, None).unwrap();
        Peers::default().judge(SlotId(0), &check, &HealthPolicy::of(Device::Cpu)).unwrap();
        let cuda: Device = "cuda".parse().unwrap();
        assert!(matches!(HealthCheck::of(cuda, &unstable, None), Err(Illness::NoMeasurement { .. })));
        assert!(HealthCheck::of(cuda, &verdict("correct", std::slice::from_ref(&timing)), None).is_ok());
        assert!(HealthCheck::of(Device::Cpu, &verdict("unstable", &[]), None).is_err());
        assert!(HealthCheck::of(Device::Cpu, &verdict("accuracy", &[timing]), None).is_err());
    }
}
