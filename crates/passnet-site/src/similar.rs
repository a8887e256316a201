//! Features by which graphs are compared: their ops, and pairs of consecutive ops.

use std::collections::BTreeMap;

/// Features of one graph: ids, ascending, with weights whose squares add up to 1.
pub(crate) type Features = Vec<(u32, f32)>;

/// Returns the features of graphs, given as their ops in program order. The weight of a feature is its number of occurrences, times
/// the logarithm of the inverse share of graphs that have it (Salton and Buckley 1988), so that features of all graphs count little.
pub(crate) fn features(graphs: &[&[String]]) -> Vec<Features> {
    let mut ids: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut counts: Vec<BTreeMap<u32, f32>> = Vec::with_capacity(graphs.len());
    for ops in graphs {
        let singles = ops.iter().map(|op| (op.as_str(), ""));
        let pairs = ops.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
        let mut own = BTreeMap::new();
        for feature in singles.chain(pairs) {
            let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            *own.entry(*ids.entry(feature).or_insert(next)).or_insert(0.0) += 1.0;
        }
        counts.push(own);
    }
    let mut graphs_with = vec![0_u32; ids.len()];
    for id in counts.iter().flat_map(BTreeMap::keys) {
        graphs_with[*id as usize] += 1;
    }
    let all = graphs.len() as f32;
    let weigh = |own: BTreeMap<u32, f32>| -> Features {
        // Plus half a graph, so that a feature that all graphs have still counts.
        let weight = |(id, count): (u32, f32)| (id, count * ((all + 0.5) / graphs_with[id as usize] as f32).ln());
        let mut weights: Features = own.into_iter().map(weight).collect();
        let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        weights.iter_mut().for_each(|(_, weight)| *weight /= length.max(f32::MIN_POSITIVE));
        weights
    };
    counts.into_iter().map(weigh).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_with_the_same_ops_are_nearest() {
        let ops = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let graphs = ["add relu conv", "add relu conv", "add relu", "softmax matmul", "add softmax"].map(ops);
        let features = features(&graphs.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let dot = |a: &Features, b: &Features| -> f32 {
            let b: BTreeMap<u32, f32> = b.iter().copied().collect();
            a.iter().map(|(id, weight)| weight * b.get(id).copied().unwrap_or_default()).sum()
        };
        let to_first: Vec<f32> = features.iter().map(|other| dot(&features[0], other)).collect();
        assert!((to_first[1] - 1.0).abs() < 1e-5, "{to_first:?}");
        assert!(to_first[2] > to_first[4] && to_first[4] > to_first[3] && to_first[3] == 0.0, "{to_first:?}");
    }

    #[test]
    fn a_graph_without_ops_has_no_features() {
        assert_eq!(features(&[&[]]), [vec![]]);
    }
}
