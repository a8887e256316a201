//! Objects that are damaged or made up are judged without a panic, and never become an image that points outside itself.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of a test fail by panicking, and say what they skip"
)]

use std::{fs, process::Command, sync::OnceLock};

use passnet_objects::{CallTarget, Image, compile, judge, source};
use proptest::prelude::*;

const SOURCE: &str = r#"
#include <cmath>
#include <vector>
#include <cstdint>
static const float table[4] = {1, 2, 3, 4};
template <class T> static T apply(T x) { return std::exp(x) * table[int(x) & 3]; }
extern "C" void passnet_call_k(const uint64_t* words) {
    auto x = reinterpret_cast<float*>(words[0]);
    std::vector<float> copy(x, x + words[1]);
    #pragma omp parallel for
    for (uint64_t i = 0; i < words[1]; ++i) x[i] = apply(copy[i]);
}
"#;

/// An honest object; `None` without a compiler.
fn object() -> Option<&'static [u8]> {
    static OBJECT: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let made = OBJECT.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("k.cpp"), SOURCE).unwrap();
        let run = Command::new("g++")
            .args(compile::FLAGS)
            .arg("-fopenmp")
            .args(compile::FINAL_FLAGS)
            .args(["-c", "k.cpp", "-o", "k.o"])
            .current_dir(directory.path())
            .status();
        let is_made = std::env::consts::ARCH == "x86_64" && run.is_ok_and(|status| status.success());
        is_made.then(|| fs::read(directory.path().join("k.o")).unwrap())
    });
    if made.is_none() {
        eprintln!("skipped: needs g++ on x86-64");
    }
    made.as_deref()
}

fn is_closed(image: &Image) -> bool {
    image.fixups().iter().all(|fixup| {
        fixup.offset + 4 <= image.code().len()
            && match fixup.target {
                CallTarget::Code(offset) => offset <= image.code().len(),
                CallTarget::Constants(offset) => offset <= image.constants().len(),
                CallTarget::Import(index) => index < image.imports().len(),
            }
    }) && image.entry("k").is_none_or(|entry| entry < image.code().len())
}

#[test]
fn the_object_itself_is_honest() {
    let Some(object) = object() else { return };
    let image = judge(object).unwrap();
    assert!(is_closed(&image) && image.entry("k").is_some() && image.entry("other").is_none());
}

#[test]
fn objects_for_other_machines_are_refused_by_name() {
    let Some(object) = object() else { return };
    let mut other = object.to_vec();
    other[18..20].copy_from_slice(&183_u16.to_le_bytes());
    let findings = judge(&other).unwrap_err();
    assert!(findings[0].message.contains("for aarch64"), "{}", findings[0]);
    other[18..20].copy_from_slice(&62_u16.to_le_bytes());
    other[16..18].copy_from_slice(&3_u16.to_le_bytes());
    assert!(judge(&other).unwrap_err()[0].message.contains("linked"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_objects_are_judged(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), end in any::<Option<prop::sample::Index>>()) {
        let Some(object) = object() else { return Ok(()) };
        let mut damaged = object.to_vec();
        for (place, byte) in changes {
            let place = place.index(damaged.len());
            damaged[place] = byte;
        }
        if let Some(end) = end {
            damaged.truncate(end.index(damaged.len()));
        }
        match judge(&damaged) {
            Ok(image) => prop_assert!(is_closed(&image)),
            Err(findings) => prop_assert!(!findings.is_empty()),
        }
    }

    /// Damages the most sensitive places: the tables of sections, symbols and relocations.
    #[test]
    fn damaged_tables_are_judged(place in any::<prop::sample::Index>(), value in any::<u64>(), shift in 0..64_u32) {
        let Some(object) = object() else { return Ok(()) };
        let mut damaged = object.to_vec();
        let place = place.index(damaged.len() / 8 - 1) * 8;
        damaged[place..place + 8].copy_from_slice(&(value >> shift).to_le_bytes());
        if let Ok(image) = judge(&damaged) {
            prop_assert!(is_closed(&image));
        }
    }

    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        prop_assert!(judge(&bytes).is_err());
    }

    #[test]
    fn any_text_is_judged(text in "[ -~\n\\\\#\"'/*()]{0,200}", other in "\\PC{0,100}") {
        source::judge_raw(&text);
        source::judge_raw(&other);
        let _ = source::judge_preprocessed(&format!("#pragma M\n{text}{other}\n#pragma M\n"), "M");
    }
}
