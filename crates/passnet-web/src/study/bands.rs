//! Graphs by how long eager takes: short ones are launches and guards, long ones are kernels.

use super::subject::StudiedGraph;

/// Upper ends of the bands in nanoseconds; the last has none.
const ENDS: [f64; 4] = [30e3, 100e3, 1e6, f64::INFINITY];

/// The graphs whose time in eager mode is in a band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// From this time on, in nanoseconds.
    pub from_ns: f64,
    /// Up to this time, in nanoseconds; infinite in the last band.
    pub to_ns: f64,
    pub graphs: usize,
    /// Graphs slower than eager.
    pub slower: usize,
    /// Geometric mean of their speed-ups.
    pub geometric_mean: f64,
}

/// The bands that have graphs, from short to long.
pub(super) fn bands(subjects: &[StudiedGraph]) -> Vec<Band> {
    let starts = std::iter::once(0.0).chain(ENDS);
    let band = |(from_ns, to_ns)| {
        let within: Vec<f64> = subjects
            .iter()
            .filter(|subject| (from_ns..to_ns).contains(&subject.eager_ns))
            .map(|subject| subject.speedup.0)
            .collect();
        let logs: f64 = within.iter().map(|speedup| speedup.ln()).sum();
        (!within.is_empty()).then(|| Band {
            from_ns,
            to_ns,
            graphs: within.len(),
            slower: within.iter().filter(|&&speedup| speedup < 1.0).count(),
            geometric_mean: (logs / within.len() as f64).exp(),
        })
    };
    // Each band starts where the one before ends; the zip drops the last end, which starts none.
    starts.zip(ENDS).filter_map(band).collect()
}

#[cfg(test)]
mod tests {
    use passnet_record::GraphId;

    use super::*;

    #[test]
    fn every_graph_is_in_one_band() {
        let subject = |(eager_ns, speedup)| StudiedGraph {
            id: GraphId { task: "t".to_owned(), graph: "g".to_owned() },
            nodes: 1,
            eager_ns,
            speedup: (speedup, speedup, speedup),
            kernel_speedup: None,
            split: None,
        };
        let bands = bands(&[(30e3, 0.5), (99e3, 2.0), (5e6, 4.0)].map(subject));
        assert_eq!(bands.iter().map(|band| (band.graphs, band.slower)).collect::<Vec<_>>(), [(2, 1), (1, 0)]);
        assert_eq!(bands.iter().map(|band| band.geometric_mean).collect::<Vec<_>>(), [1.0, 4.0]);
        assert_eq!((bands[1].from_ns, bands[1].to_ns), (1e6, f64::INFINITY));
    }
}
