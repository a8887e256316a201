//! Calls of a graph that a rewriting replaced.

use passnet_graph::{Callee, Graph};

/// Returns for each value of `before` whether its call is missing from `after`.
///
/// The two graphs name their values differently, so their calls are aligned by operation: a longest common subsequence, in
/// program order. Inputs are never marked.
pub(crate) fn replaced(before: &Graph, after: &Graph) -> Vec<bool> {
    let (old, new): (Vec<Callee<'_>>, Vec<Callee<'_>>) =
        (before.nodes().map(|node| node.callee).collect(), after.nodes().map(|node| node.callee).collect());
    // `common[i][j]` is the length of the longest common subsequence of `old[i..]` and `new[j..]`.
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for (i, call) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            common[i][j] =
                if call == other { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let mut marks = vec![false; before.num_values()];
    let mut j = 0;
    for (i, node) in before.nodes().enumerate() {
        // Skips new calls only where that loses nothing of the common subsequence.
        while j < new.len() && old[i] != new[j] && common[i][j] == common[i][j + 1] {
            j += 1;
        }
        if j < new.len() && old[i] == new[j] {
            j += 1;
        } else {
            marks[node.value.index()] = true;
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a chain of calls of functions on one input.
    fn chain(functions: &[&str]) -> Graph {
        let mut builder = Graph::builder();
        let mut value = builder.input("x");
        for (index, function) in functions.iter().enumerate() {
            value = builder.call_function(&format!("v{index}"), function, &[value.into()], &[]);
        }
        builder.finish(&[value.into()]).expect("a chain is a graph")
    }

    #[test]
    fn calls_without_a_partner_are_marked() {
        let before = chain(&["torch.sin", "torch.exp", "torch.cos", "torch.exp", "torch.tan"]);
        let after = chain(&["torch.sin", "torch.passnet_f", "torch.exp", "torch.tan"]);
        assert_eq!(replaced(&before, &after)[1..].iter().filter(|&&mark| mark).count(), 2);
        assert_eq!(replaced(&before, &before), [false; 6]);
        assert_eq!(replaced(&before, &chain(&["torch.passnet_f"])), [false, true, true, true, true, true]);
    }
}
