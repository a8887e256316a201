//! Decides from the times of a pass's calls where the pass loses.

use std::collections::BTreeSet;

use passnet_record::{counted, services::ConfirmedCall};

/// Speed relative to eager mode below which a call counts as slower. A smaller difference may be noise of the clock.
const NOISE: f64 = 0.97;

/// Graphs that a pass should not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    /// Positions of the graphs in the task. `None`: all graphs of the pass.
    pub(super) graphs: Option<BTreeSet<usize>>,
    /// The reason, as the end of a sentence that begins with the name of the pass.
    pub(super) reason: String,
}

impl Loss {
    /// Returns where a pass loses, from its calls and the positions of their graphs. A pass that is wrong, or slower over the
    /// graphs in which no call is clearly slower, loses everywhere. Otherwise it loses in the graphs with a call that is clearly
    /// slower: no gain elsewhere makes up for it, because each graph is judged by itself.
    pub(super) fn of(calls: &[(usize, ConfirmedCall)]) -> Option<Self> {
        if let Some(fault) = calls.iter().find_map(|(_, call)| call.fault.as_ref()) {
            return Some(Self { graphs: None, reason: format!("is wrong: {fault}") });
        }
        let timed: Vec<(usize, Vec<f64>)> =
            calls.iter().map(|(graph, call)| (*graph, speedups(call))).filter(|(_, all)| !all.is_empty()).collect();
        // The upper quartile, so that a call counts as slower only if three of four of its pairs say so.
        let is_slower = |(_, all): &&(usize, Vec<f64>)| quantile(all, 0.75) < NOISE;
        let slower: BTreeSet<usize> = timed.iter().filter(is_slower).map(|(graph, _)| *graph).collect();
        let all: BTreeSet<usize> = timed.iter().map(|(graph, _)| *graph).collect();
        let mean_of = |graphs: &BTreeSet<usize>| mean(timed.iter().filter(|(graph, _)| graphs.contains(graph)));
        let wins_elsewhere = mean_of(&(&all - &slower)).is_some_and(|mean| mean >= 1.0);
        if !wins_elsewhere {
            let mean = mean_of(&all)?;
            return Some(Self { graphs: None, reason: format!("is {mean:.2} times as fast as eager mode") });
        }
        let mean = mean_of(&slower)?;
        let all = counted(all.len(), "graph");
        let reason = format!("is {mean:.2} times as fast as eager mode in {} of {all}", slower.len());
        Some(Self { graphs: Some(slower), reason })
    }
}

/// Returns the geometric mean of the medians, in which a call that is twice as fast and one that is half as fast cancel out.
fn mean<'c>(calls: impl Iterator<Item = &'c (usize, Vec<f64>)>) -> Option<f64> {
    let logarithms: Vec<f64> = calls.map(|(_, all)| quantile(all, 0.5).ln()).collect();
    (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// Returns the speed-ups of the pairs of samples, in ascending order.
fn speedups(call: &ConfirmedCall) -> Vec<f64> {
    let mut all: Vec<f64> = call.pairs.iter().map(|[eager, fused]| *eager as f64 / (*fused).max(1) as f64).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Returns the element at a share of the way through sorted numbers, of which there is at least one.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks where a pass loses that has one call in each graph: nowhere, in some graphs, or everywhere (`[9]`).
    #[test]
    fn a_pass_loses_by_its_calls() {
        let call = |pairs: &[[u64; 2]]| ConfirmedCall { pass: String::new(), fault: None, pairs: pairs.to_vec() };
        let check = |expected: &[usize], calls: &[&[[u64; 2]]]| {
            let calls: Vec<(usize, ConfirmedCall)> = calls.iter().map(|pairs| call(pairs)).enumerate().collect();
            let loss = Loss::of(&calls);
            let found = loss.map_or(BTreeSet::new(), |loss| loss.graphs.unwrap_or(BTreeSet::from([9])));
            assert_eq!(found, expected.iter().copied().collect(), "{calls:?}");
        };
        check(&[], &[]);
        check(&[], &[&[]]);
        check(&[], &[&[[20, 10], [22, 11], [21, 30]]]);
        check(&[9], &[&[[10, 20], [10, 19], [30, 20]]]);
        // One disturbed sample decides nothing.
        check(&[], &[&[[20, 10], [20, 10], [20, 1000]]]);
        // No gain makes up for a graph that is clearly slower.
        check(&[0], &[&[[90, 100]; 5], &[[120, 100]; 5]]);
        check(&[1], &[&[[900, 100]; 5], &[[90, 100]; 5]]);
        check(&[0, 2], &[&[[90, 100]; 5], &[[200, 100]; 5], &[[50, 100]; 5]]);
        check(&[], &[&[[99, 100]; 5], &[[110, 100]; 5]]);
        // Nowhere clearly slower, but slower over all; and no gain where it is not slower.
        check(&[9], &[&[[98, 100]; 5], &[[99, 100]; 5]]);
        check(&[9], &[&[[90, 100]; 5], &[[99, 100]; 5]]);
        let wrong = ConfirmedCall { fault: Some("differs".to_owned()), ..call(&[]) };
        let fine = call(&[[20, 10]; 5]);
        let loss = Loss { graphs: None, reason: "is wrong: differs".to_owned() };
        assert_eq!(Loss::of(&[(0, fine), (1, wrong)]), Some(loss));
    }
}
