//! Views: no kernel, one call of `as_strided` for each result.

use super::target_code::TargetCode;
use crate::plan::views::JoinedView;

pub(super) fn parts(views: &[&[JoinedView]]) -> TargetCode {
    let results = views[0].len();
    let names = (0..results).map(|number| format!("offset{number}")).collect();
    let entries = views.iter().map(|views| views.iter().map(|view| view.offset.to_string()).collect()).collect();
    let returned: Vec<String> = views[0]
        .iter()
        .enumerate()
        .map(|(number, view)| {
            let input = format!("in{}", view.input);
            // `as_strided` counts from the beginning of the memory. Without an offset argument it keeps the offset of its tensor.
            let is_first = views.iter().all(|views| views[number].offset == 0);
            let place = if is_first { String::new() } else { format!(", {input}.storage_offset() + offset{number}") };
            format!("{input}.as_strided(shape{number}, stride{number}{place})")
        })
        .collect();
    TargetCode {
        title: if results == 1 { "One view".to_owned() } else { format!("{results} views at once") },
        imports: "\nfrom passnet import kernels\n".to_owned(),
        kernels: String::new(),
        columns: "offset of each result; ".to_owned(),
        names,
        entries,
        refuses: "",
        launch: String::new(),
        returned: Some(returned),
    }
}
