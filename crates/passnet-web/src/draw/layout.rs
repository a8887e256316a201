//! Layered drawing of directed acyclic graphs, after Sugiyama, Tagawa and Toda (1981): layers by longest path, order
//! within layers by barycentres, coordinates by least squares under the order.

/// Space between neighbours in a layer.
const GAP: f64 = 18.0;
/// Space between layers.
const LAYER_GAP: f64 = 34.0;
/// Space around the drawing.
const MARGIN: f64 = 8.0;
/// Width of the lane of an edge that passes through a layer.
const LANE: f64 = 6.0;
/// Sweeps over the layers, down and up, for order and for coordinates.
const SWEEPS: usize = 8;
/// More lanes than this make no readable drawing.
const MAX_LANES: usize = 3000;

/// Weight of an operation or lane in the placement of a row; that of an input is 1.
const CHAIN_WEIGHT: f64 = 100.0;

/// Positions of boxes and edges.
pub(crate) struct GraphLayout {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Centre of the upper edge of each box.
    pub(crate) tops: Vec<(f64, f64)>,
    /// Points that each edge goes through, from the lower edge of its source to the upper edge of its target.
    pub(crate) routes: Vec<Vec<(f64, f64)>>,
}

/// A box, or the lane of an edge through a layer.
struct LayerItem {
    width: f64,
    layer: usize,
    above: Vec<usize>,
    below: Vec<usize>,
    x: f64,
}

impl LayerItem {
    fn is_input(&self) -> bool {
        self.above.is_empty()
    }
}

/// Places boxes of the given widths and one height. Edges go from a lower to a higher index. `None` if the graph is too
/// tangled to be drawn.
pub(crate) fn layout(widths: &[f64], height: f64, edges: &[(usize, usize)]) -> Option<GraphLayout> {
    let layers = layers_of(widths.len(), edges);
    let mut items: Vec<LayerItem> = widths
        .iter()
        .zip(&layers)
        .map(|(&width, &layer)| LayerItem { width, layer, above: Vec::new(), below: Vec::new(), x: 0.0 })
        .collect();
    let chains = add_lanes(&mut items, edges)?;
    let mut rows = vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)];
    for (index, item) in items.iter().enumerate() {
        rows[item.layer].push(index);
    }
    reduce_crossings(&items, &mut rows);
    place(&mut items, &rows);

    let left = items.iter().map(|item| item.x - item.width / 2.0).fold(f64::INFINITY, f64::min);
    let right = items.iter().map(|item| item.x + item.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let y = |layer: usize| MARGIN + layer as f64 * (height + LAYER_GAP);
    let x = |item: &LayerItem| item.x - left + MARGIN;
    let tops = items[..widths.len()].iter().map(|item| (x(item), y(item.layer))).collect();
    let routes = chains
        .iter()
        .map(|chain| {
            let last = chain.len() - 1;
            let points = chain.iter().enumerate().flat_map(|(place, &index)| {
                let item = &items[index];
                let (top, bottom) = ((x(item), y(item.layer)), (x(item), y(item.layer) + height));
                let both = [(place > 0).then_some(top), (place < last).then_some(bottom)];
                both.into_iter().flatten()
            });
            points.collect()
        })
        .collect();
    let width = if items.is_empty() { 0.0 } else { right - left };
    Some(GraphLayout {
        width: width + 2.0 * MARGIN,
        height: rows.len() as f64 * (height + LAYER_GAP) - LAYER_GAP + 2.0 * MARGIN,
        tops,
        routes,
    })
}

/// Returns the layer of each box: one below the lowest predecessor; a box without one is directly above its first use.
fn layers_of(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0; count];
    let mut has_source = vec![false; count];
    let mut by_target = edges.to_vec();
    // In order of targets, so that the layer of a source is final when its edges are read.
    by_target.sort_unstable_by_key(|&(from, to)| (to, from));
    for &(from, to) in &by_target {
        layer[to] = layer[to].max(layer[from] + 1);
        has_source[to] = true;
    }
    let mut first_use = vec![usize::MAX; count];
    for &(from, to) in edges {
        first_use[from] = first_use[from].min(layer[to]);
    }
    for index in 0..count {
        if !has_source[index] && first_use[index] != usize::MAX {
            layer[index] = first_use[index] - 1;
        }
    }
    layer
}

/// Splits edges that span several layers; returns the items along each edge.
fn add_lanes(items: &mut Vec<LayerItem>, edges: &[(usize, usize)]) -> Option<Vec<Vec<usize>>> {
    let mut chains = Vec::with_capacity(edges.len());
    for &(from, to) in edges {
        let mut chain = vec![from];
        for layer in items[from].layer + 1..items[to].layer {
            chain.push(items.len());
            items.push(LayerItem { width: LANE, layer, above: Vec::new(), below: Vec::new(), x: 0.0 });
        }
        chain.push(to);
        for pair in chain.windows(2) {
            items[pair[0]].below.push(pair[1]);
            items[pair[1]].above.push(pair[0]);
        }
        chains.push(chain);
        if items.len() > MAX_LANES {
            return None;
        }
    }
    Some(chains)
}

/// Reorders rows by the mean position of neighbours, down and up, and keeps the order with the fewest crossings.
fn reduce_crossings(items: &[LayerItem], rows: &mut Vec<Vec<usize>>) {
    let mut best = (crossings(items, rows), rows.clone());
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let order: Vec<usize> = if down { (0..rows.len()).collect() } else { (0..rows.len()).rev().collect() };
        for row in order {
            let position = positions(items.len(), rows);
            let key = |index: usize| {
                let near = if down { &items[index].above } else { &items[index].below };
                let sum: usize = near.iter().map(|&other| position[other]).sum();
                // Items without neighbours on that side keep their place. A key of 0 would move them to the far
                // left.
                if near.is_empty() { position[index] as f64 } else { sum as f64 / near.len() as f64 }
            };
            rows[row].sort_by(|&a, &b| key(a).total_cmp(&key(b)));
        }
        let count = crossings(items, rows);
        if count < best.0 {
            best = (count, rows.clone());
        }
    }
    *rows = best.1;
}

fn positions(count: usize, rows: &[Vec<usize>]) -> Vec<usize> {
    let mut position = vec![0; count];
    for row in rows {
        for (place, &index) in row.iter().enumerate() {
            position[index] = place;
        }
    }
    position
}

fn crossings(items: &[LayerItem], rows: &[Vec<usize>]) -> usize {
    let position = positions(items.len(), rows);
    rows.iter()
        .map(|row| {
            let ends: Vec<(usize, usize)> = row
                .iter()
                .flat_map(|&index| items[index].below.iter().map(move |&to| (index, to)))
                .map(|(from, to)| (position[from], position[to]))
                .collect();
            let crossed = |&(a, b): &(usize, usize), &(c, d): &(usize, usize)| (a < c && b > d) || (a > c && b < d);
            ends.iter()
                .enumerate()
                .map(|(at, one)| ends[..at].iter().filter(|two| crossed(one, two)).count())
                .sum::<usize>()
        })
        .sum()
}

/// Moves every item towards the middle of its neighbours, as far as the order and the widths permit. Weights of a model are inputs next
/// to its chain of operations. They move towards the chain, and must not move the chain.
fn place(items: &mut [LayerItem], rows: &[Vec<usize>]) {
    for row in rows {
        let mut x = 0.0;
        for &index in row {
            items[index].x = x + items[index].width / 2.0;
            x += items[index].width + GAP;
        }
    }
    // One sweep more than an even number, so that the last one goes down and boxes are below their operands.
    for sweep in 0..=SWEEPS {
        let down = sweep % 2 == 0;
        let order: Vec<usize> = if down { (0..rows.len()).collect() } else { (0..rows.len()).rev().collect() };
        for row in order {
            let wanted: Vec<f64> = rows[row]
                .iter()
                .map(|&index| {
                    let near = if down { &items[index].above } else { &items[index].below };
                    let chain = || near.iter().filter(|&&other| !items[other].is_input());
                    let inputs_only = chain().next().is_none();
                    let x: Vec<f64> = near
                        .iter()
                        .filter(|&&other| inputs_only || !items[other].is_input())
                        .map(|&other| items[other].x)
                        .collect();
                    if x.is_empty() { items[index].x } else { x.iter().sum::<f64>() / x.len() as f64 }
                })
                .collect();
            let weights: Vec<f64> =
                rows[row].iter().map(|&index| if items[index].is_input() { 1.0 } else { CHAIN_WEIGHT }).collect();
            let widths: Vec<f64> = rows[row].iter().map(|&index| items[index].width).collect();
            for (&index, x) in rows[row].iter().zip(spread(&wanted, &widths, &weights)) {
                items[index].x = x;
            }
        }
    }
}

/// Returns the positions nearest to `wanted`, by weighted least squares, at which boxes in this order do not overlap: isotonic
/// regression by pooling adjacent violators.
fn spread(wanted: &[f64], widths: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(wanted.len());
    for (index, width) in widths.iter().enumerate() {
        offset += if index == 0 { 0.0 } else { (widths[index - 1] + width) / 2.0 + GAP };
        offsets.push(offset);
    }
    // Blocks of items that touch: weighted sum of what they want, their weight, and how many they are.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for ((wanted, offset), weight) in wanted.iter().zip(&offsets).zip(weights) {
        // Without the offsets, no overlap means only that positions do not decrease, which is isotonic
        // regression.
        let mut block = (weight * (wanted - offset), *weight, 1);
        while let Some(&(sum, weight, count)) = blocks.last()
            && sum / weight >= block.0 / block.1
        {
            blocks.pop();
            block = (block.0 + sum, block.1 + weight, block.2 + count);
        }
        blocks.push(block);
    }
    let level = blocks.iter().flat_map(|&(sum, weight, count)| std::iter::repeat_n(sum / weight, count));
    level.zip(offsets).map(|(level, offset)| level + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_of_a_row_do_not_overlap_and_edges_go_down() {
        // A ladder with long edges: 0 and 1 feed everything.
        let count = 12;
        let edges: Vec<(usize, usize)> = (2..count).flat_map(|to| [(to % 2, to), (to - 1, to)]).collect();
        let widths: Vec<f64> = (0..count).map(|index| 40.0 + 7.0 * index as f64).collect();
        let layout = layout(&widths, 30.0, &edges).unwrap();
        for a in 0..count {
            for b in 0..a {
                let ((ax, ay), (bx, by)) = (layout.tops[a], layout.tops[b]);
                let disjoint = (ax - bx).abs() >= (widths[a] + widths[b]) / 2.0 + GAP - 1e-6;
                assert!(ay != by || disjoint, "{a} and {b}");
            }
            let (x, y) = layout.tops[a];
            assert!(x - widths[a] / 2.0 >= 0.0 && x + widths[a] / 2.0 <= layout.width && y + 30.0 <= layout.height);
        }
        for (route, &(from, to)) in layout.routes.iter().zip(&edges) {
            assert!(route.windows(2).all(|pair| pair[0].1 < pair[1].1), "{from} -> {to}");
            assert_eq!(route.last(), Some(&layout.tops[to]));
        }
    }

    /// Twenty convolutions and normalisations with four weights each, as models have them: one column, not a staircase.
    #[test]
    fn weights_do_not_draw_the_chain_of_operations_aside() {
        let (mut edges, mut operations, mut last) = (Vec::new(), Vec::new(), 0);
        for operation in 0..20 {
            let inputs = 1 + 5 * operation..5 + 5 * operation;
            let index = inputs.end;
            edges.extend(inputs.chain([last]).map(|from| (from, index)));
            operations.push(index);
            last = index;
        }
        let layout = layout(&vec![100.0; last + 1], 30.0, &edges).unwrap();
        let x: Vec<f64> = operations.iter().map(|&index| layout.tops[index].0).collect();
        let (least, most) = x.iter().fold((f64::MAX, f64::MIN), |(least, most), &x| (least.min(x), most.max(x)));
        assert!(most - least < 20.0, "{x:?}");
        // The operation, and four weights on either side.
        assert!(layout.width < 9.5 * 118.0, "{}", layout.width);
    }

    #[test]
    fn a_needless_crossing_is_removed() {
        // 0 -> 3, 1 -> 2 cross in the order given.
        let layout = layout(&[40.0; 4], 30.0, &[(0, 3), (1, 2)]).unwrap();
        let x = |index: usize| layout.tops[index].0;
        assert_eq!(x(0) < x(1), x(3) < x(2));
    }

    #[test]
    fn spreading_is_least_squares() {
        assert_eq!(spread(&[0.0, 0.0], &[10.0, 10.0], &[1.0, 1.0]), [-14.0, 14.0]);
        assert_eq!(spread(&[0.0, 0.0], &[10.0, 10.0], &[1.0, 3.0]), [-21.0, 7.0]);
        assert_eq!(spread(&[0.0, 100.0], &[10.0, 10.0], &[1.0, 1.0]), [0.0, 100.0]);
    }

    #[test]
    fn nothing_is_drawn_as_nothing() {
        assert!(layout(&[], 30.0, &[]).unwrap().tops.is_empty());
    }
}
