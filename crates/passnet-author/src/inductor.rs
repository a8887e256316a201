//! Author `inductor`: TorchInductor through `torch.compile`.

use passnet_record::{AuthorSpec, Device};

use crate::author::{Author, AuthorError, Runs, check_compiler};

/// Values of the `mode` argument of `torch.compile`. The first is the mode of a name without argument.
pub(crate) const MODES: &[&str] = &["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"];

/// TorchInductor in one mode.
pub(crate) struct Inductor {
    spec: AuthorSpec,
}

impl Inductor {
    pub(crate) const fn new(spec: AuthorSpec) -> Self {
        Self { spec }
    }
}

impl Author for Inductor {
    fn spec(&self) -> &AuthorSpec {
        &self.spec
    }

    fn check(&self, device: Device) -> Result<(), AuthorError> {
        check_compiler(&self.spec, device)
    }

    fn runs(&self) -> Runs {
        Runs::Inductor { mode: self.spec.argument().unwrap_or(MODES[0]).to_owned() }
    }
}
