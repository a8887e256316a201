//! The table that `ncu --csv` prints: one row for each launch and metric.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::shorten::shortened;

/// Metrics to ask for: duration, throughput of memory and of multiprocessors, occupancy, registers.
pub(super) const METRICS: [&str; 5] = [
    "gpu__time_duration.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "launch__registers_per_thread",
];
/// Maximum bytes of a kernel's name.
const NAME: usize = 90;

/// One launch of a kernel. A metric that the tool does not report for this device is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Launch {
    /// Name of the kernel.
    pub(super) kernel: String,
    /// Duration without that of the launch itself.
    pub(super) duration_ns: Option<f64>,
    /// Bytes to and from device memory per second, in percent of the device's peak.
    pub(super) dram_percent: Option<f64>,
    /// Throughput of the busiest unit of the multiprocessors, in percent of its peak.
    pub(super) sm_percent: Option<f64>,
    /// Active warps of a multiprocessor, in percent of its maximum.
    pub(super) occupancy_percent: Option<f64>,
    /// Registers of a thread.
    pub(super) registers: Option<f64>,
}

/// Returns the launches of a table, the longest first. Lines of other kinds are ignored: `ncu` writes its messages to the same file.
pub(super) fn launches(text: &str) -> Vec<Launch> {
    let mut rows = text.lines().filter(|line| line.starts_with('"')).map(fields);
    let Some(head) = rows.next() else { return Vec::new() };
    let column = |name: &str| head.iter().position(|field| field == name);
    let (Some(id), Some(kernel), Some(metric), Some(unit), Some(value)) =
        (column("ID"), column("Kernel Name"), column("Metric Name"), column("Metric Unit"), column("Metric Value"))
    else {
        return Vec::new();
    };
    let mut found: BTreeMap<u64, (String, BTreeMap<String, f64>)> = BTreeMap::new();
    for row in rows.filter(|row| row.len() == head.len()) {
        let Ok(id) = row[id].parse() else { continue };
        // Thousands have commas.
        let Ok(number) = row[value].replace(',', "").parse::<f64>() else { continue };
        let (_, metrics) = found.entry(id).or_insert_with(|| (row[kernel].clone(), BTreeMap::new()));
        metrics.insert(row[metric].clone(), number * nanoseconds(&row[unit]));
    }
    let mut launches: Vec<Launch> = found
        .into_values()
        .map(|(kernel, metrics)| {
            let [duration_ns, dram_percent, sm_percent, occupancy_percent, registers] =
                METRICS.map(|name| metrics.get(name).copied());
            let kernel = shortened(&kernel, NAME).replace('\n', " ");
            Launch { kernel, duration_ns, dram_percent, sm_percent, occupancy_percent, registers }
        })
        .collect();
    launches.sort_by(|a, b| b.duration_ns.unwrap_or(0.0).total_cmp(&a.duration_ns.unwrap_or(0.0)));
    launches
}

/// Returns the factor from a unit of time to nanoseconds, and 1 for other units. Older versions write `nsecond`.
fn nanoseconds(unit: &str) -> f64 {
    match unit {
        "us" | "usecond" => 1e3,
        "ms" | "msecond" => 1e6,
        "s" | "second" => 1e9,
        _ => 1.0,
    }
}

/// Splits a line of quoted fields. A quote within a field is written twice.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if is_quoted && rest.peek() == Some(&'"') => {
                rest.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\
                        \"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";

    fn row(id: u32, kernel: &str, metric: &str, unit: &str, value: &str) -> String {
        format!(
            "\"{id}\",\"4242\",\"python3.11\",\"127.0.0.1\",\"{kernel}\",\"1\",\"7\",\"(128, 1, 1)\",\"(64, 1, 1)\",\"0\",\"9.0\",\
             \"Command line profiler metrics\",\"{metric}\",\"{unit}\",\"{value}\"\n"
        )
    }

    #[test]
    fn launches_have_their_metrics_the_longest_first() {
        let add = "void add<float, std::pair<int, 4>>(float *, \"\"x\"\")";
        let text = [
            "==PROF== Connected to process 4242 (/usr/bin/python3.11)\n".to_owned(),
            "==PROF== Profiling \"add\" - 0: 0%....50%....100% - 1 pass\n".to_owned(),
            HEAD.to_owned(),
            row(0, add, METRICS[0], "ns", "2,304"),
            row(0, add, METRICS[1], "%", "41.50"),
            row(0, add, METRICS[4], "register/thread", "18"),
            row(1, "softmax", METRICS[0], "us", "1,204.50"),
            row(1, "softmax", METRICS[1], "%", "n/a"),
            row(1, "softmax", METRICS[2], "%", "12.25"),
            row(1, "softmax", METRICS[3], "%", "88"),
            "==PROF== Disconnected from process 4242\n".to_owned(),
        ]
        .concat();
        let found = launches(&text);
        let softmax = Launch {
            kernel: "softmax".to_owned(),
            duration_ns: Some(1_204_500.0),
            dram_percent: None,
            sm_percent: Some(12.25),
            occupancy_percent: Some(88.0),
            registers: None,
        };
        let add = Launch {
            kernel: "void add<float, std::pair<int, 4>>(float *, \"x\")".to_owned(),
            duration_ns: Some(2304.0),
            dram_percent: Some(41.5),
            sm_percent: None,
            occupancy_percent: None,
            registers: Some(18.0),
        };
        assert_eq!(found, [softmax, add]);
    }

    #[test]
    fn other_text_has_no_launches() {
        let cut = format!("{HEAD}\"0\",\"4242\",\"python");
        for text in ["", "==ERROR== ERR_NVGPUCTRPERM - The user", "\"a\",\"b\"\n\"1\",\"2\"\n", HEAD, &cut] {
            assert_eq!(launches(text), [], "{text}");
        }
    }
}
