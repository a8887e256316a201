//! Author `eager`: eager PyTorch, the baseline of every measurement.

use passnet_record::AuthorSpec;

use crate::author::{Author, Runs};

/// The graph by eager PyTorch.
pub(crate) struct Eager {
    spec: AuthorSpec,
}

impl Eager {
    pub(crate) const fn new(spec: AuthorSpec) -> Self {
        Self { spec }
    }
}

impl Author for Eager {
    fn spec(&self) -> &AuthorSpec {
        &self.spec
    }

    fn runs(&self) -> Runs {
        Runs::Graph
    }
}
