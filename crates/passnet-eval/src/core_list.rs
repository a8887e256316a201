//! Lists of CPU cores in the format of the Linux kernel.

/// Largest number of cores in one range of a list. The bound keeps a malformed list from filling the memory.
const MAX_RANGE: u32 = 4096;

/// Returns the cores that share their hardware with a core, including the core itself; empty where the system does not report them.
pub fn core_siblings(core: u32) -> Vec<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    std::fs::read_to_string(path).map(|list| parse_core_list(&list)).unwrap_or_default()
}

/// Reads a list of cores as the kernel writes it. Parts that are not numbers are left out.
///
/// ```
/// assert_eq!(passnet_eval::parse_core_list("0-3,8\n"), [0, 1, 2, 3, 8]);
/// ```
pub fn parse_core_list(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        Some(first..=last.min(first.saturating_add(MAX_RANGE)))
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::parse_core_list;

    #[test]
    fn lists_of_the_system_are_read() {
        for (list, cores) in
            [("0-3,8\n", &[0, 1, 2, 3, 8][..]), ("5\n", &[5]), ("x,5-,2", &[2]), ("what", &[]), ("", &[])]
        {
            assert_eq!(parse_core_list(list), cores, "{list:?}");
        }
        assert!(parse_core_list("0-4294967295").len() < 5000);
    }
}
