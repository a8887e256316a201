//! Default settings of runs, by mode.

use passnet_inputs::Content;
use passnet_record::{CacheMode, Device, ExecutionPath, Mode, RunSettings, Weights};

/// Tolerance that a correct graph has to reach. Eager mode rounds intermediate values of 16-bit types after each operation, while honest
/// fusion keeps them in float32. This difference fails at -5, whose absolute term is 1e-5, and passes at -2. AS weighs each tolerance
/// separately.
const CORRECT_AT: i32 = -2;

/// Returns the settings of sound mode, which uses all checks of the referee: several seeds, adversarial contents, interleaved timing,
/// both paths.
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
        max_fluctuation: 0.2,
        max_remeasure: 3,
        threads: 1,
        timeout_s: 300.0,
        memory_bytes: 16 << 30,
    }
}

/// Returns the settings of paper mode, for comparison with published numbers. It has the order and the constants of the public harness:
/// the compiled path; one block of trials for the candidate, then one for the graph; one pair of processes; outputs checked once with the
/// published seed; no adversarial contents. The contents of timed calls are secret, as in sound mode.
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
