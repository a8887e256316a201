//! The tool `scratch_run`: one pass on random inputs of the model's choice, compared with its own pattern.

use passnet_eval::EvalError;
use passnet_record::{DType, PassDirectory, Status, TensorMeta};
use serde_json::Value;

use super::arguments::Arguments;
use crate::{
    evaluator::Evaluator,
    scratch::{ScratchError, ScratchRun},
    shorten::shortened,
};

/// Maximum inputs of a pattern, and bytes of all of them together.
const MAX_INPUTS: usize = 32;
const MAX_BYTES: u64 = 256 << 20;
/// Maximum bytes of a model's text that an error repeats, and of a reason.
const MAX_ECHO: usize = 80;
const MAX_REASON: usize = 3000;

/// Carries out a scratch run. The inner error is a mistake of the model.
pub(super) fn scratch(
    evaluator: &Evaluator,
    passes: &PassDirectory,
    arguments: &Value,
) -> Result<Result<String, String>, EvalError> {
    let (name, inputs) = match read(arguments) {
        Ok(read) => read,
        Err(why) => return Ok(Err(why)),
    };
    let described: Vec<String> = inputs.iter().map(|input| format!("{}{:?}", input.dtype, input.shape)).collect();
    match crate::scratch::scratch(evaluator, passes, name, inputs) {
        Ok(run) => Ok(Ok(describe(name, &described.join(", "), &run))),
        Err(ScratchError::Eval(error)) => Err(error),
        Err(why) => Ok(Err(shortened(&why.to_string(), MAX_REASON))),
    }
}

fn read(arguments: &Value) -> Result<(&str, Vec<TensorMeta>), String> {
    let arguments = Arguments::of(arguments, &["name", "inputs"])?;
    let name = arguments.need_text(&["name"])?.trim();
    let texts = arguments.need_texts("inputs")?;
    if texts.len() > MAX_INPUTS {
        return Err(format!("{} inputs are too many; at most {MAX_INPUTS}", texts.len()));
    }
    let inputs = texts.iter().map(|text| input(text)).collect::<Result<Vec<TensorMeta>, String>>()?;
    let bytes = inputs.iter().try_fold(0_u64, |sum, input| sum.checked_add(input.nbytes()?));
    if bytes.is_none_or(|bytes| bytes > MAX_BYTES) {
        return Err(format!("the inputs are too large; at most {} MiB together", MAX_BYTES >> 20));
    }
    Ok((name.strip_suffix(".py").unwrap_or(name), inputs))
}

/// Reads `float32[2, 64]`, or `int64[8] 0..30` with the least and the largest value.
fn input(text: &str) -> Result<TensorMeta, String> {
    let wrong = || {
        let text = shortened(text, MAX_ECHO);
        format!("`{text}` is no input; write `float32[2, 64]`, or `int64[8] 0..30` for integers from 0 to 30")
    };
    let (dtype, rest) = text.trim().split_once('[').ok_or_else(wrong)?;
    let (extents, range) = rest.split_once(']').ok_or_else(wrong)?;
    let dtype: DType = dtype.trim().parse().map_err(|_| wrong())?;
    let extents = extents.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape = extents.map(|extent| extent.parse().map_err(|_| wrong())).collect::<Result<Vec<u64>, String>>()?;
    let (mut min_val, mut max_val) = (None, None);
    if !range.trim().is_empty() {
        let (low, high) = range.split_once("..").ok_or_else(wrong)?;
        let bound = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
        (min_val, max_val) = (Some(bound(low)? as f64), Some(bound(high)? as f64));
    } else if dtype.is_int() {
        // Without bounds all integers would be zero.
        (min_val, max_val) = (Some(0.0), Some(9.0));
    }
    if min_val > max_val {
        return Err(wrong());
    }
    let (mean, std) = if dtype.is_float() { (Some(0.0), Some(1.0)) } else { (None, None) };
    let (name, device) = (String::new(), "cpu".to_owned());
    Ok(TensorMeta { name, original_name: None, shape, dtype, device, mean, std, data: None, min_val, max_val })
}

fn describe(name: &str, inputs: &str, run: &ScratchRun) -> String {
    let verdict = &run.verdict;
    let mut text = format!("pass `{name}` on {inputs}: ");
    match verdict.status {
        Status::Correct => text.push_str("the results agree with the pattern in eager mode"),
        other => text.push_str(other.name()),
    }
    if let Some(tolerance) = verdict.tolerance {
        text.push_str(&format!(", equal to eager mode at tolerance {tolerance} and above"));
    }
    if let Some(reason) = &verdict.reason {
        text.push_str(&format!("\n{}: {}", reason.code, shortened(&reason.message, MAX_REASON)));
    }
    for (side, profile) in ["pattern in eager mode", "pass"].into_iter().zip(run.profiles.iter().flatten()) {
        match profile {
            Ok(profile) => text.push_str(&format!("\n{side}: {:.1} us per call", profile.wall_ns as f64 / 1e3)),
            Err(reason) => text.push_str(&format!("\n{side}: not timed ({})", reason.code)),
        }
    }
    text + "\nA scratch run is not a verdict on the task. The score and the best state are unchanged."
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_are_read_strictly() {
        let read_one = |text: &str| {
            input(text).ok().map(|meta| (meta.dtype, meta.shape, meta.min_val.zip(meta.max_val))).ok_or(())
        };
        let cases = [
            ("float32[2, 64]", Ok((DType::Float32, vec![2, 64], None))),
            (" bfloat16[] ", Ok((DType::BFloat16, vec![], None))),
            ("int64[8] 0..30", Ok((DType::Int64, vec![8], Some((0.0, 30.0))))),
            ("int64[8] -3..3", Ok((DType::Int64, vec![8], Some((-3.0, 3.0))))),
            ("torch.float16[0,3]", Ok((DType::Float16, vec![0, 3], None))),
            ("int32[4]", Ok((DType::Int32, vec![4], Some((0.0, 9.0))))),
            ("int64[8] 30..0", Err(())),
            ("int64[8] 5", Err(())),
            ("float32", Err(())),
            ("float32[-1]", Err(())),
            ("float33[1]", Err(())),
            ("float32[2, 64", Err(())),
        ];
        for (text, expected) in cases {
            assert_eq!(read_one(text), expected, "{text}");
        }
    }

    #[test]
    fn malformed_arguments_run_nothing() {
        let large = json!({"name": "a", "inputs": ["float32[1000000, 1000000]"]});
        let huge = json!({"name": "a", "inputs": [format!("float64[{}, {0}]", u64::MAX)]});
        let cases = [
            (json!({"name": "a"}), "`inputs` is missing"),
            (json!({"inputs": []}), "`name` is missing"),
            (json!({"name": "a", "inputs": "float32[2]"}), "not a list of strings"),
            (json!({"name": "a", "inputs": [2]}), "not a list of strings"),
            (json!({"name": "a", "inputs": vec!["bool[1]"; 40]}), "too many"),
            (large, "too large"),
            (huge, "too large"),
        ];
        for (arguments, expected) in cases {
            let why = read(&arguments).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
        let written = json!({"name": "fuse_a.py", "inputs": "[\"float32[2]\"]"});
        let (name, inputs) = read(&written).unwrap();
        assert_eq!((name, inputs.len()), ("fuse_a", 1));
    }
}
