//! Windows: buffers that a stage reads at many neighbouring places, as depthwise convolutions and pooling do.

use std::collections::BTreeMap;

use super::stage::{Stage, roots};
use crate::front::{
    arena::Arena,
    expr::{BufferId, Expr},
    index::{Index, Term, Var},
};

/// Number of places of a small window, of 3 x 3.
const PLACES: usize = 9;
/// Number of elements that a thread reads at once: 16 bytes of `float32`.
const VECTOR: i64 = 4;
/// Number of neighbouring elements whose distances are compared.
const NEIGHBOURS: i64 = 8;

/// Returns the distance in memory of neighbouring elements of a window that the stage reads; `None` if there is no window.
///
/// Windows whose places differ by multiples of a vector do not count, such as those of images with channels innermost.
pub(super) fn step_of_window(stage: &Stage, arena: &Arena) -> Option<i64> {
    let var = stage.segments.first()?.innermost.var?;
    let mut places: BTreeMap<BufferId, Vec<&Index>> = BTreeMap::new();
    for id in arena.reachable(&roots(stage)) {
        if let Expr::Load { buffer, at, .. } = arena.get(id) {
            places.entry(*buffer).or_default().push(at);
        }
    }
    let steps = places.into_values().filter(|places| places.len() >= PLACES && !is_aligned(places));
    steps.filter_map(|places| step(places[0], var)).max()
}

/// Returns whether the places of a buffer differ by multiples of a vector.
fn is_aligned(places: &[&Index]) -> bool {
    let rest = |place: &Index| place.constant_part().rem_euclid(VECTOR);
    places.iter().all(|place| rest(place) == rest(places[0]))
}

/// Returns the smallest distance between neighbours along a variable; `None` if the index does not grow with it, or is read from a tensor.
fn step(index: &Index, var: Var) -> Option<i64> {
    let distances = (0..NEIGHBOURS).map(|place| Some(value(index, var, place + 1)? - value(index, var, place)?));
    distances.flatten().filter(|&distance| distance > 0).min()
}

/// Returns the index where a variable has a value and all others are 0.
fn value(index: &Index, var: Var, at: i64) -> Option<i64> {
    let mut sum = index.constant_part();
    for (term, factor) in index.terms() {
        let term = match term {
            Term::Var(own) if *own == var => at,
            Term::Var(_) => 0,
            Term::Div(inner, by) => value(inner, var, at)?.div_euclid(*by),
            Term::Mod(inner, by) => value(inner, var, at)?.rem_euclid(*by),
            Term::Value { .. } => return None,
        };
        sum += term * factor;
    }
    Some(sum)
}
