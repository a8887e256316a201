//! The report of `compute-sanitizer --tool memcheck`. Its lines begin with `=========`, and those of a finding's details are indented.

use serde::Serialize;

use crate::shorten::shortened;

/// Start of each line of a report.
const MARK: &str = "=========";
/// Maximum bytes of a line, and detail lines of a finding.
const LINE: usize = 160;
const DETAILS: usize = 3;
/// Maximum findings of a report: an observation has a limit.
const FINDINGS: usize = 8;
/// First lines that are not findings about memory.
const OTHER: [&str; 8] = [
    "COMPUTE-SANITIZER",
    "ERROR SUMMARY",
    "LEAK SUMMARY",
    "Target application",
    "Program hit",
    "No attachable process",
    "Error:",
    "Warning:",
];

/// Result of a check of the memory accesses of all kernels of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Memcheck {
    /// Number of errors that the tool counted.
    pub(super) errors: u64,
    /// Errors of different instructions, in order of their first occurrence; at most eight.
    pub(super) findings: Vec<Finding>,
}

/// A wrong access.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Finding {
    /// Kind of the access, for example `Invalid __global__ write of size 4 bytes`.
    pub(super) problem: String,
    /// Kernel and instruction, a thread, and an address with the reason why it is wrong.
    pub(super) details: Vec<String>,
    /// Number of reported threads with this access.
    pub(super) times: u64,
}

/// Reads a report; `None` if the text has no summary, because the tool did not end.
pub(super) fn report(text: &str) -> Option<Memcheck> {
    let mut findings: Vec<Finding> = Vec::new();
    let (mut errors, mut current) = (None, None::<Finding>);
    for line in text.lines().filter_map(|line| line.strip_prefix(MARK)) {
        let content = line.trim();
        let is_detail = line.starts_with("  ");
        if is_detail && let Some(finding) = &mut current {
            if finding.details.len() < DETAILS
                && !content.starts_with("Saved host")
                && !content.starts_with("Host Frame")
            {
                finding.details.push(shortened(content, LINE));
            }
            continue;
        }
        if let Some(finding) = current.take() {
            add(&mut findings, finding);
        }
        if let Some(summary) = content.strip_prefix("ERROR SUMMARY:") {
            errors = summary.split_whitespace().next().and_then(|number| number.parse().ok());
        } else if !is_detail && !content.is_empty() && !OTHER.iter().any(|other| content.starts_with(other)) {
            let problem = shortened(content, LINE);
            current = Some(Finding { problem, details: Vec::new(), times: 1 });
        }
    }
    errors.map(|errors| Memcheck { errors, findings })
}

/// Adds a finding, or counts it: threads of one kernel fail at the same instruction.
fn add(findings: &mut Vec<Finding>, finding: Finding) {
    let same = |other: &Finding| other.problem == finding.problem && other.details.first() == finding.details.first();
    if let Some(at) = findings.iter().position(same) {
        findings[at].times += 1;
    } else if findings.len() < FINDINGS {
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at scale_kernel+0x190 in pass.py:14
=========     by thread (31,0,0) in block (0,0,0)
=========     Access at 0x7f7d3b200400 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f7d3b200000 of size 1,024 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at scale_kernel+0x190 in pass.py:14
=========     by thread (32,0,0) in block (0,0,0)
=========     Access at 0x7f7d3b200404 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernel [0x2ed2c5]
=========
========= Program hit cudaErrorPeerAccessUnsupported (error 217) due to \"peer access\" on CUDA API call to cudaDeviceCanAccessPeer.
=========
========= Invalid __shared__ read of size 16 bytes
=========     at 0x160 in tile(int *)
=========     by thread (0,0,0) in block (2,0,0)
=========     Address 0x11 is misaligned
=========
========= ERROR SUMMARY: 3 errors
";

    #[test]
    fn findings_are_counted_by_instruction() {
        let memcheck = report(REPORT).expect("the report has a summary");
        assert_eq!(memcheck.errors, 3);
        let found: Vec<_> =
            memcheck.findings.iter().map(|f| (f.problem.as_str(), f.details[0].as_str(), f.times)).collect();
        assert_eq!(
            found,
            [
                ("Invalid __global__ write of size 4 bytes", "at scale_kernel+0x190 in pass.py:14", 2),
                ("Invalid __shared__ read of size 16 bytes", "at 0x160 in tile(int *)", 1),
            ]
        );
        assert_eq!(memcheck.findings[0].details[2], "Access at 0x7f7d3b200400 is out of bounds");
    }

    #[test]
    fn a_report_without_findings_or_without_end() {
        let clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(report(clean), Some(Memcheck { errors: 0, findings: Vec::new() }));
        for text in ["", "========= COMPUTE-SANITIZER\n", "========= Error: no CUDA device was found\n"] {
            assert_eq!(report(text), None, "{text}");
        }
    }
}
