//! Author `noop`: the path of passes without any pass.

use passnet_record::AuthorSpec;

use crate::author::{Author, Runs};

/// The path of passes without any pass: shows the cost of the path itself.
pub(crate) struct Noop {
    spec: AuthorSpec,
}

impl Noop {
    pub(crate) const fn new(spec: AuthorSpec) -> Self {
        Self { spec }
    }
}

impl Author for Noop {
    fn spec(&self) -> &AuthorSpec {
        &self.spec
    }

    fn runs(&self) -> Runs {
        Runs::Path
    }
}
