//! Author `noop`: the code path of passes, without any pass.

use passnet_record::AuthorSpec;

use crate::author::{Author, Runs};

/// The code path of passes without any pass. It shows the cost of the path itself.
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
