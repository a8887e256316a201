//! Test of the comparison against PyTorch itself, on difficult values.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::{
    collections::BTreeSet,
    io::Write as _,
    process::{Command, Stdio},
};

use passnet_compare::compare;
use passnet_record::DType;

/// Number of elements per dtype that are compared one by one. PyTorch gets them as one tensor.
const ELEMENTS: usize = 20_000;

/// Python program that reads, for each argument `NAME:BYTES`, two tensors of this type from stdin: candidate, then reference. It prints
/// three lines: for each element the first tolerance at which `isclose` holds (99 for none); for runs of 1, 2, 3 ... elements the first
/// tolerance of `allclose` and the result of `equal`; and the first element again, as a tensor without dimensions.
const ORACLE: &str = r"
import sys, torch
torch.set_num_threads(1)
PER_T = {'float16': (3/5, 1), 'bfloat16': (1.796/5, 1), 'float32': (5.886/5, 1), 'float64': (7/5, 7/5)}
def ladder(name):
    r, a = PER_T[name]
    return [(t, 10.0 ** (r * t), 10.0 ** (a * t)) for t in range(-10, 6)]
def first(name, c, e):
    if name not in PER_T:
        return -10 if torch.equal(c, e) else 99
    return next((t for t, r, a in ladder(name) if torch.allclose(c, e, r, a)), 99)
for argument in sys.argv[1:]:
    name, size = argument.split(':')
    dtype = getattr(torch, name)
    c, e = (torch.frombuffer(bytearray(sys.stdin.buffer.read(int(size))), dtype=dtype) for _ in range(2))
    if name in PER_T:
        best = torch.full(c.shape, 99)
        for t, r, a in reversed(ladder(name)):
            best[torch.isclose(c, e, r, a)] = t
    else:
        best = torch.where(c == e, -10, 99)
    print(*best.tolist())
    answers, start, n = [], 0, 0
    while start < 1000:
        n = n % 40 + 1
        run = slice(start, start + n)
        answers += [first(name, c[run], e[run]), int(torch.equal(c[run], e[run]))]
        start += n
    print(*answers)
    print(first(name, c[0], e[0]))
";

/// A small random generator, so that the test does not depend on the generator under test.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Returns a pair of elements as little-endian words of `size` bytes: equal, neighbours, far neighbours (about as far as a rung of the
/// ladder), or unrelated. All bit patterns occur, including NaN, infinities and subnormal numbers.
fn pair(random: &mut Random, size: usize) -> (u64, u64) {
    let bits = size as u32 * 8;
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let reference = match random.next() % 8 {
        0 => 0,
        1 => 1 << (bits - 1),
        2 => random.next() % 16,
        3 => mask >> (random.next() % 6),
        _ => random.next() & mask,
    };
    let candidate = match random.next() % 6 {
        0 => reference,
        1 => random.next() & mask,
        2 => reference ^ (1 << (bits - 1)),
        _ => {
            let step = random.next() >> (64 - 1 - random.next() % u64::from(bits.min(53)));
            if random.next().is_multiple_of(2) { reference.wrapping_add(step) } else { reference.wrapping_sub(step) }
        }
    };
    (candidate & mask, reference & mask)
}

/// Candidate and reference, as bytes.
type Pairs = (Vec<u8>, Vec<u8>);

/// Values to compare for one dtype.
fn pairs(dtype: DType) -> Pairs {
    let mut random = Random(dtype.size() as u64);
    let word = if matches!(dtype, DType::Complex64 | DType::Complex128) { dtype.size() / 2 } else { dtype.size() };
    let (mut candidate, mut reference) = (Vec::new(), Vec::new());
    while reference.len() < ELEMENTS * dtype.size() {
        let (mut c, mut e) = pair(&mut random, word);
        if dtype == DType::Bool {
            (c, e) = (c & 1, e & 1);
        }
        candidate.extend_from_slice(&c.to_le_bytes()[..word]);
        reference.extend_from_slice(&e.to_le_bytes()[..word]);
    }
    (candidate, reference)
}

#[test]
fn closeness_is_that_of_torch() {
    let Some(python) = crate::common::python_with_torch() else { return };
    let data: Vec<_> = DType::ALL.into_iter().map(|dtype| (dtype, pairs(dtype))).collect();
    let answers = ask(&python, &data);
    for ((dtype, (candidate, reference)), answers) in data.iter().zip(answers.chunks(3)) {
        let dtype = *dtype;
        let code = |t: Option<i32>| t.unwrap_or(99);
        let of_run = |start: usize, n: usize| {
            let range = start * dtype.size()..(start + n) * dtype.size();
            compare(dtype, &candidate[range.clone()], &reference[range], -5)
        };
        let one_by_one: Vec<i32> = (0..ELEMENTS).map(|i| code(of_run(i, 1).tolerance)).collect();
        for (i, (ours, theirs)) in one_by_one.iter().zip(&answers[0]).enumerate() {
            assert_eq!(ours, theirs, "{dtype}, pair {i}: {:?}", of_run(i, 1));
        }
        let rungs: BTreeSet<i32> = one_by_one.iter().copied().collect();
        assert!(rungs.len() >= if dtype.is_float() { 10 } else { 2 }, "{dtype}: the pairs reach only {rungs:?}");

        let (mut runs, mut start, mut n) = (Vec::new(), 0, 0);
        while start < 1000 {
            n = n % 40 + 1;
            let comparison = of_run(start, n);
            runs.extend([code(comparison.tolerance), i32::from(comparison.equal)]);
            start += n;
        }
        assert_eq!(runs, answers[1], "{dtype}");
        assert_eq!(one_by_one[..1], answers[2], "{dtype}: a scalar tensor");
    }
}

fn ask(python: &str, data: &[(DType, Pairs)]) -> Vec<Vec<i32>> {
    let names = data.iter().map(|(dtype, (bytes, _))| format!("{dtype}:{}", bytes.len()));
    let mut child = Command::new(python)
        .args(["-I", "-c", ORACLE])
        .args(names)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let reader = std::thread::spawn(move || child.wait_with_output().unwrap());
    for (_, (candidate, reference)) in data {
        stdin.write_all(candidate).unwrap();
        stdin.write_all(reference).unwrap();
    }
    drop(stdin);
    let output = reader.join().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect()
}
