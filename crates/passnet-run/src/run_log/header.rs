//! Comparison of the headers of two parts of a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use passnet_record::RunHeader;

use super::error::StoreError;

/// Checks that two parts of a run are comparable: all fields of their headers must be equal, except the time of the start and the
/// description for boards.
pub(super) fn same_run(directory: &Path, before: &RunHeader, now: &RunHeader) -> Result<(), StoreError> {
    let flat = |header: &RunHeader| {
        let mut value = serde_json::to_value(header).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            // Each start has another time, and the description may be corrected.
            fields.remove("started");
            fields.remove("metadata");
        }
        let mut fields = BTreeMap::new();
        flatten("", &value, &mut fields);
        fields
    };
    let (before, now) = (flat(before), flat(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for name in names {
        let of = |fields: &BTreeMap<String, String>| fields.get(name).cloned().unwrap_or_else(|| "nothing".to_owned());
        if before.get(name) != now.get(name) {
            let (path, what) = (directory.to_owned(), name.clone());
            return Err(StoreError::Mismatch { path, what, before: of(&before), now: of(&now) });
        }
    }
    Ok(())
}

/// Collects the leaves of a JSON value by their dotted paths.
fn flatten(path: &str, value: &serde_json::Value, fields: &mut BTreeMap<String, String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (name, value) in object {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, fields);
            }
        }
        leaf => drop(fields.insert(path.to_owned(), leaf.to_string())),
    }
}
