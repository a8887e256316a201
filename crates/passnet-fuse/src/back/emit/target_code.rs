use passnet_graph::Target;

use crate::plan::{site::PassSite, stage::Role};

/// Parts of a pass that depend on its target.
pub(super) struct TargetCode {
    /// First words of the file's description.
    pub(super) title: String,
    pub(super) imports: String,
    pub(super) kernels: String,
    /// Description of the table's columns, for its comment.
    pub(super) columns: String,
    /// Names to which a row of the table is unpacked, before the names of the results.
    pub(super) names: Vec<String>,
    /// For each site, the entries of its row for `names`.
    pub(super) entries: Vec<Vec<String>>,
    /// Condition under which the function refuses arguments, in addition to unknown shapes.
    pub(super) refuses: &'static str,
    /// Lines that launch the kernels.
    pub(super) launch: String,
    /// Texts of the results if these need no memory, as views do; else `None`.
    pub(super) returned: Option<Vec<String>>,
}

/// Returns the device of fresh memory, as text.
pub(super) fn device(site: &PassSite) -> &'static str {
    match site.target {
        _ if !site.region.inputs.is_empty() => "in0.device",
        Target::Cpu => "\"cpu\"",
        Target::Cuda => "\"cuda\"",
    }
}

pub(super) fn has_temporaries(site: &PassSite) -> bool {
    let is_temporary = |role: &Role| matches!(role, Role::Temporary(_));
    site.program().is_some_and(|program| program.buffers.iter().any(|buffer| is_temporary(&buffer.role)))
}
