use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Device that graphs run on. Its text form is `cpu` or `cuda:N`; `cuda` is read as `cuda:0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Device {
    #[default]
    Cpu,
    /// A CUDA device.
    Cuda {
        /// Index of the device in PyTorch.
        index: u32,
    },
}

/// Error for the name of a device that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown device `{}`; known are cpu, cuda and cuda:N", .0.escape_debug())]
pub struct UnknownDevice(String);

impl Device {
    /// Returns the name without index: `cpu` or `cuda`.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda { .. } => "cuda",
        }
    }

    /// Returns the index; `None` for the CPU.
    pub const fn index(self) -> Option<u32> {
        match self {
            Self::Cpu => None,
            Self::Cuda { index } => Some(index),
        }
    }

    /// Returns whether the device is the CPU.
    pub const fn is_cpu(self) -> bool {
        matches!(self, Self::Cpu)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda { index } => write!(f, "cuda:{index}"),
        }
    }
}

impl FromStr for Device {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        // `parse` alone would accept `cuda:+1`, and a device must have one name.
        let index = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| is_number)
        };
        match text.split_once(':') {
            None if text == "cpu" => Some(Self::Cpu),
            None if text == "cuda" => Some(Self::Cuda { index: 0 }),
            Some(("cuda", digits)) => index(digits).map(|index| Self::Cuda { index }),
            _ => None,
        }
        .ok_or_else(|| UnknownDevice(text.to_owned()))
    }
}

impl TryFrom<String> for Device {
    type Error = UnknownDevice;

    fn try_from(text: String) -> Result<Self, UnknownDevice> {
        text.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        device.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (text, device) in [("cpu", Device::Cpu), ("cuda:3", Device::Cuda { index: 3 })] {
            assert_eq!(text.parse(), Ok(device));
            assert_eq!(device.to_string(), text);
            assert_eq!(serde_json::to_string(&device).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Device>(&format!("\"{text}\"")).unwrap(), device);
        }
        assert_eq!("cuda".parse(), Ok(Device::Cuda { index: 0 }));
        for text in ["", "gpu", "cpu:0", "cuda:", "cuda:+1", "cuda:x", "cuda:-1"] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }
}
