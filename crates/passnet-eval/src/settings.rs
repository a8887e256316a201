//! Settings that a run starts from.

use passnet_record::{CacheMode, Device, ExecutionPath, Mode, RunSettings, Weights};

use crate::inputs::Content;

/// Tolerance that a correct graph has to reach. Eager mode rounds intermediate values to a 16-bit type between two operations;
/// honest fusion keeps them in float32. The difference fails at -5, whose absolute term is 1e-5, and passes here. AS weighs each
/// tolerance separately.
const CORRECT_AT: i32 = -2;

/// Everything that the referee can do: several seeds, adversarial contents, interleaved timing, both paths.
pub fn sound(device: Device) -> RunSettings {
    RunSettings {
        mode: Mode::Sound,
        device,
        seed: None,
        warmup: 25,
        trials: 100,
        rounds: 10,
        pairs: 2,
        check_rounds: 3,
        adversarial: Content::ADVERSARIAL.map(|content| content.name().to_owned()).to_vec(),
        correct_at: CORRECT_AT,
        paths: vec![ExecutionPath::Direct, ExecutionPath::Compiled],
        weights: Weights::Inputs,
        cache: CacheMode::Warm,
        max_iqr_ratio: 0.2,
        max_remeasure: 3,
        threads: 1,
        timeout_s: 300.0,
        memory_bytes: 16 << 30,
    }
}

/// Returns the order and the constants of the public harness, for comparison with published numbers: the compiled path, the
/// candidate first and the graph after it in one block of trials each, one pair of processes, outputs checked once and under
/// the published seed, no adversarial contents. The contents of timed calls are secret, as in sound mode.
pub fn paper(device: Device) -> RunSettings {
    RunSettings {
        mode: Mode::Paper,
        rounds: 1,
        pairs: 1,
        check_rounds: 1,
        adversarial: Vec::new(),
        paths: vec![ExecutionPath::Compiled],
        ..sound(device)
    }
}
