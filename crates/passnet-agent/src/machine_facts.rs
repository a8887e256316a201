//! Facts about the machine, as text for the model: cores, SIMD, device, versions.

use std::num::NonZero;

use passnet_record::{Fingerprint, RunSettings};

/// Describes the machine that measures, one fact per line.
pub(crate) fn machine_facts(settings: &RunSettings, fingerprint: &Fingerprint) -> String {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut lines = vec![format!("- CPU: {}; {cores} logical cores; SIMD: {}", fingerprint.cpu, simd().join(", "))];
    if settings.device.is_cpu() {
        let noun = if settings.threads == 1 { "thread" } else { "threads" };
        lines.push(format!("- Measured device: the CPU, {} {noun}, eager and passes alike", settings.threads));
    } else {
        lines.push(format!("- Measured device: {} (driver {})", fingerprint.device, fingerprint.driver));
    }
    let versions: Vec<String> =
        fingerprint.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    lines.push(format!("- Versions: {}", versions.join(", ")));
    lines.join("\n")
}

/// Returns the names of the vector extensions that this CPU has, widest last.
fn simd() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let found = [
        ("SSE4.2", std::is_x86_feature_detected!("sse4.2")),
        ("AVX", std::is_x86_feature_detected!("avx")),
        ("F16C", std::is_x86_feature_detected!("f16c")),
        ("FMA", std::is_x86_feature_detected!("fma")),
        ("AVX2", std::is_x86_feature_detected!("avx2")),
        ("AVX-512F", std::is_x86_feature_detected!("avx512f")),
        ("AVX-512BF16", std::is_x86_feature_detected!("avx512bf16")),
    ];
    #[cfg(target_arch = "aarch64")]
    let found = [
        ("NEON", std::arch::is_aarch64_feature_detected!("neon")),
        ("SVE", std::arch::is_aarch64_feature_detected!("sve")),
    ];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let found = [("unknown", true)];
    found.into_iter().filter(|(_, present)| *present).map(|(name, _)| name).collect()
}
