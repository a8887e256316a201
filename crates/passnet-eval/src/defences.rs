//! Layers of defence between a pass directory and its verdict that can be switched off. The attack suite switches layers off to find
//! those that catch an attack. Evaluations that count use all layers.
//!
//! Some defences have no switch, because no verdict is possible without them: the comparison and the clock are in a process without the
//! candidate, the candidate never sees the reference, outputs are sent as bytes, and the whole process tree is killed at the end.

use std::str::FromStr;

/// Set of layers that are switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defences {
    /// Check the source before anything runs.
    pub lint: bool,
    /// Judge the object code of native kernels, and load no other native code.
    pub objects: bool,
    /// Watch which operators replacement functions call.
    pub intercept: bool,
    /// Confine workers that run untrusted code.
    pub sandbox: bool,
    /// Compare the rewritten graph with the original: only calls of replacement functions may be new.
    pub diff: bool,
    /// New contents in each call, seeds from the operating system, adversarial contents.
    pub contents: bool,
    /// Inputs must not change or be returned as outputs, and outputs must have the strides and shared memory of the graph's.
    pub storage: bool,
    /// Compare outputs of timed calls, chosen at random.
    pub timed: bool,
    /// Compare reported times with the referee's clock and with the bound of the machine, and fetched outputs with those that the
    /// call returned.
    pub clock: bool,
    /// Fill fresh allocations of checked calls with NaN and a large number in turns, and the memory around inputs, results of timed calls
    /// and released memory with NaN.
    pub poison: bool,
    /// Record which kernels ran, and test whether the result needs them.
    pub census: bool,
    /// No thread of the candidate may run between its calls, or change its core or priority.
    pub quiet: bool,
}

/// A layer that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown layer `{0}`; known are {known}", known = Defences::LAYERS.map(|(name, _)| name).join(", "))]
pub struct UnknownLayer(String);

impl Defences {
    /// All layers on.
    pub const ALL: Self = Self::uniform(true);
    /// All layers off.
    pub const NONE: Self = Self::uniform(false);
    /// Each layer alone, with its name.
    pub const LAYERS: [(&'static str, Self); 12] = [
        ("lint", Self { lint: true, ..Self::NONE }),
        ("objects", Self { objects: true, ..Self::NONE }),
        ("intercept", Self { intercept: true, ..Self::NONE }),
        ("sandbox", Self { sandbox: true, ..Self::NONE }),
        ("diff", Self { diff: true, ..Self::NONE }),
        ("contents", Self { contents: true, ..Self::NONE }),
        ("storage", Self { storage: true, ..Self::NONE }),
        ("timed", Self { timed: true, ..Self::NONE }),
        ("clock", Self { clock: true, ..Self::NONE }),
        ("poison", Self { poison: true, ..Self::NONE }),
        ("census", Self { census: true, ..Self::NONE }),
        ("quiet", Self { quiet: true, ..Self::NONE }),
    ];

    const fn uniform(on: bool) -> Self {
        Self {
            lint: on,
            objects: on,
            intercept: on,
            sandbox: on,
            diff: on,
            contents: on,
            storage: on,
            timed: on,
            clock: on,
            poison: on,
            census: on,
            quiet: on,
        }
    }
}

impl FromStr for Defences {
    type Err = UnknownLayer;

    /// Parses `all`, `none`, or the name of a single layer.
    fn from_str(name: &str) -> Result<Self, UnknownLayer> {
        match name {
            "all" => Ok(Self::ALL),
            "none" => Ok(Self::NONE),
            _ => Self::LAYERS
                .iter()
                .find(|(layer, _)| *layer == name)
                .map(|(_, defences)| *defences)
                .ok_or_else(|| UnknownLayer(name.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_is_there_alone() {
        for (name, defences) in Defences::LAYERS {
            assert_eq!(name.parse::<Defences>().unwrap(), defences);
            let on = format!("{defences:?}").matches("true").count();
            assert!(on == 1 && format!("{defences:?}").contains(&format!("{name}: true")), "{name}");
        }
        assert_eq!(format!("{:?}", Defences::NONE).matches("false").count(), Defences::LAYERS.len());
        assert!("magic".parse::<Defences>().unwrap_err().to_string().contains("lint, objects"));
    }
}
