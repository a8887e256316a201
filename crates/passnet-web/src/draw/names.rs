//! Places of names next to points, so that no name covers another one.

/// Distance of two names below each other.
const LINE: f64 = 13.0;

/// A name next to a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    /// From its first to its last letter.
    pub(crate) x: (f64, f64),
    /// Height of its point.
    pub(crate) y: f64,
}

impl Name {
    fn shares_columns(&self, other: &Self) -> bool {
        self.x.0 < other.x.1 && other.x.0 < self.x.1
    }
}

/// Returns a height for each name, as near to its point as others allow; `None` where there is no room between `top` and `bottom`.
/// Earlier names have the first choice of whether they are shown.
pub(crate) fn places(names: &[Name], (top, bottom): (f64, f64)) -> Vec<Option<f64>> {
    let mut places = vec![None; names.len()];
    let room = ((bottom - top) / LINE) as usize + 1;
    for mut group in groups(names) {
        group.truncate(room);
        group.sort_by(|&a, &b| names[a].y.total_cmp(&names[b].y));
        let mut heights: Vec<f64> = group.iter().map(|&name| names[name].y.clamp(top, bottom)).collect();
        for at in 1..heights.len() {
            heights[at] = heights[at].max(heights[at - 1] + LINE);
        }
        // Names that were pushed beyond the bottom push the names above them back up.
        let mut below = bottom + LINE;
        for height in heights.iter_mut().rev() {
            *height = height.min(below - LINE);
            below = *height;
        }
        for (name, height) in group.into_iter().zip(heights) {
            places[name] = Some(height);
        }
    }
    places
}

/// Returns the names, by number and in order, in groups whose columns have nothing in common.
fn groups(names: &[Name]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let (touched, mut separate): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| group.iter().any(|&other| names[other].shares_columns(name)));
        let mut group: Vec<usize> = touched.into_iter().flatten().chain([number]).collect();
        group.sort_unstable();
        separate.push(group);
        groups = separate;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(x: f64, y: f64) -> Name {
        Name { x: (x, x + 50.0), y }
    }

    #[test]
    fn names_at_one_height_are_written_below_each_other() {
        let heights = places(&[name(0.0, 20.0), name(10.0, 20.0), name(100.0, 20.0)], (0.0, 100.0));
        assert_eq!(heights, [Some(20.0), Some(33.0), Some(20.0)]);
    }

    #[test]
    fn names_near_the_bottom_stay_inside_and_separate() {
        let heights: Vec<f64> = places(&[name(0.0, 99.0); 3], (0.0, 100.0)).into_iter().flatten().collect();
        assert_eq!(heights, [74.0, 87.0, 100.0]);
    }

    #[test]
    fn names_without_room_are_left_out_from_the_end() {
        let heights = places(&[name(0.0, 50.0); 10], (0.0, 39.0));
        assert_eq!(heights.iter().filter(|height| height.is_some()).count(), 4);
        assert!(heights[..4].iter().all(Option::is_some));
    }
}
