//! Author `inductor`: TorchInductor through `torch.compile`.

use passnet_record::AuthorSpec;

use crate::author::{Author, Runs};

/// Values of the `mode` argument of `torch.compile`; the first is the one without argument.
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

    fn runs(&self) -> Runs {
        Runs::Inductor { mode: self.spec.argument().unwrap_or(MODES[0]).to_owned() }
    }
}
