//! Seeds of one evaluation.

use std::{
    fs::File,
    io::{self, Read as _},
};

use passnet_record::{Mode, RunSettings};

/// Seed of the published harness. Paper mode uses it for checked outputs. Evaluations with predictable contents also use it.
const PUBLIC: u64 = 123;

/// Source of all seeds of one evaluation: contents, checked calls, lengths of blocks, generators of PyTorch. Unless the settings have a
/// seed, the root comes from the operating system, so that contents cannot be predicted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds {
    root: u64,
    is_paper: bool,
}

impl Seeds {
    /// Draws a root seed, or takes the seed of the settings. Without `secret`, the root is a publicly known number.
    pub(crate) fn draw(settings: &RunSettings, secret: bool) -> io::Result<Self> {
        let root = match settings.seed {
            Some(seed) => seed,
            None if secret => {
                let mut bytes = [0; 8];
                File::open("/dev/urandom")?.read_exact(&mut bytes)?;
                u64::from_le_bytes(bytes)
            }
            None => PUBLIC,
        };
        Ok(Self { root, is_paper: settings.mode == Mode::Paper })
    }

    /// Returns the root seed. The option `--seed` with this number repeats the evaluation.
    pub(crate) fn root(self) -> u64 {
        self.root
    }

    /// Returns the seed for a purpose. It is derived by a one-way function, because workers see some seeds or their effects and must not
    /// be able to compute the others.
    pub(crate) fn seed(self, purpose: &str, number: u64) -> u64 {
        let mut hasher = blake3::Hasher::new_derive_key("passnet seeds of an evaluation 1");
        hasher.update(&self.root.to_le_bytes()).update(&number.to_le_bytes()).update(purpose.as_bytes());
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Returns the seeds of the inputs and of PyTorch's generators in a checked round. In paper mode, both are derived from the public
    /// seed.
    pub(crate) fn checked_round(self, number: u64) -> (u64, u64) {
        if self.is_paper {
            return (PUBLIC.wrapping_add(number), PUBLIC);
        }
        // The seed has 63 bits, because PyTorch takes it as a signed number.
        (self.seed("checked inputs", number), self.seed("checked calls", number) >> 1)
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::Device;

    use super::*;
    use crate::settings;

    #[test]
    fn only_a_named_seed_or_an_open_one_repeats_itself() {
        let drawn = settings::sound(Device::Cpu);
        let named = RunSettings { seed: Some(7), ..drawn.clone() };
        let seed = |settings: &RunSettings, secret| Seeds::draw(settings, secret).unwrap().seed("x", 0);
        assert_ne!(seed(&drawn, true), seed(&drawn, true));
        assert_eq!(seed(&drawn, false), seed(&drawn, false));
        assert_eq!(seed(&named, true), seed(&named, true));
        let seeds = Seeds::draw(&named, true).unwrap();
        assert_eq!(seeds.root(), 7);
        assert_ne!(seeds.seed("x", 0), seeds.seed("x", 1));
        assert_ne!(seeds.seed("x", 0), seeds.seed("y", 0));
    }

    #[test]
    fn paper_mode_checks_under_the_published_seed_and_times_under_another() {
        let paper = settings::paper(Device::Cpu);
        let [first, second] = [(); 2].map(|()| Seeds::draw(&paper, true).unwrap());
        assert_eq!(first.checked_round(0), (PUBLIC, PUBLIC));
        assert_ne!(first.seed("timed contents", 1), second.seed("timed contents", 1));
    }
}
