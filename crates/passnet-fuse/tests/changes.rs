//! Passes for graphs that change tensors in place, make them from nothing or in host memory, or would show roundings.

mod common;

use passnet_fuse::{Choices, Target, TensorType, Type, TypedGraph, author, explain};
use passnet_graph::Arg;
use passnet_record::DType::{self, BFloat16, Bool, Float16, Float32, Int64};

use self::common::{Draft, tensor, text};

fn on_host(shape: &[i64], dtype: DType) -> Type {
    Type::Host { host: TensorType::contiguous(shape, dtype) }
}

/// A causal mask as models make it: `full`, then `masked_fill_` on it, whose result nobody uses; added to `x`.
fn causal_mask() -> TypedGraph {
    let mut draft = Draft::default();
    let square = [9, 9];
    let x = draft.input("x", &square, Float32);
    let size = draft.builder.tuple(&[Arg::Int(9), Arg::Int(9)]);
    let mask = draft.function("torch.full", &[size, Arg::Float(-1e30)], tensor(&square, Float32));
    let column = draft.function("torch.arange", &[Arg::Int(9)], tensor(&[9], Int64));
    let row = draft.method("view", &[column.into(), Arg::Int(9), Arg::Int(1)], tensor(&[9, 1], Int64));
    let is_seen = draft.function("operator.le", &[column.into(), row.into()], tensor(&square, Bool));
    draft.method("masked_fill_", &[mask.into(), is_seen.into(), Arg::Int(0)], tensor(&square, Float32));
    let sum = draft.function("operator.add", &[x.into(), mask.into()], tensor(&square, Float32));
    draft.finish(&[sum])
}

/// A table of zeros, whose rows from the second on are those of `x`.
fn rows_in_zeros(zeros: Type, x: Option<Type>) -> TypedGraph {
    let mut draft = Draft::default();
    let given = draft.input("x", &[3, 6], Float32);
    let size = draft.builder.tuple(&[Arg::Int(4), Arg::Int(6)]);
    let table = draft.function("torch.zeros", &[size], zeros.clone());
    let rows = match x {
        None => given,
        Some(ty) => {
            let size = draft.builder.tuple(&[Arg::Int(3), Arg::Int(6)]);
            draft.function("torch.ones", &[size], ty)
        }
    };
    let key = draft.builder.slice(Arg::Int(1), Arg::None, Arg::None);
    draft.function("operator.setitem", &[table.into(), key, rows.into()], Type::Unknown(()));
    let result = draft.function("operator.mul", &[table.into(), Arg::Int(2)], zeros);
    draft.finish(&[result])
}

#[test]
fn written_passes() {
    let check = |name: &str, task: &[TypedGraph], target| insta::assert_snapshot!(name, text(&author(task, target)));
    let zeros = || tensor(&[4, 6], Float32);
    check("triton_causal_mask", &[causal_mask()], Target::Cuda);
    check("rows_in_zeros", &[rows_in_zeros(zeros(), None)], Target::Cpu);
    check("triton_rows_in_zeros", &[rows_in_zeros(zeros(), None)], Target::Cuda);
    let host = rows_in_zeros(on_host(&[4, 6], Float32), Some(on_host(&[3, 6], Float32)));
    check("host_table", &[host], Target::Cuda);
}

#[test]
fn plans_in_words() {
    insta::assert_snapshot!(explain(&[causal_mask()], Target::Cuda, &Choices::new()));
}

/// `degree.pow_(-0.5)[row]`: no element may be read before all are written, so that there are two kernels.
#[test]
fn a_gather_from_a_changed_input_waits_for_the_change() {
    let mut draft = Draft::default();
    let (degree, row) = (draft.input("d", &[128], Float32), draft.input("r", &[256], Int64));
    let root = draft.method("pow_", &[degree.into(), Arg::Float(-0.5)], tensor(&[128], Float32));
    let weights = draft.function("operator.getitem", &[root.into(), row.into()], tensor(&[256], Float32));
    let passes = text(&author(&[draft.finish(&[weights])], Target::Cuda));
    let update = passes.find("tl.store(in0").unwrap();
    assert!(
        update < passes.find("tl.store(out0").unwrap() && passes.matches("@kernels.triton").count() == 2,
        "{passes}"
    );
}

#[test]
fn dead_nodes_are_no_part_of_a_pattern() {
    let mut draft = Draft::default();
    let x = draft.input("x", &[4, 4], Float32);
    let sum = draft.function("operator.add", &[x.into(), x.into()], tensor(&[4, 4], Float32));
    draft.function("torch.nn.functional.relu", &[sum.into()], tensor(&[4, 4], Float32));
    let product = draft.function("operator.mul", &[sum.into(), x.into()], tensor(&[4, 4], Float32));
    let passes = text(&author(&[draft.finish(&[product])], Target::Cuda));
    assert!(passes.contains("return t1\n") && !passes.contains("relu"), "{passes}");
}

/// `y = a @ x; y += x; cat(y, relu(x * 2))`: the product is changed under a name that it has elsewhere, which is no reason to
/// leave the chain beside it alone.
#[test]
fn only_what_touches_a_change_that_no_region_can_follow_stays() {
    let mut draft = Draft::default();
    let (x, a) = (draft.input("x", &[8, 8], Float32), draft.input("a", &[8, 8], Float32));
    let product = draft.function("torch.matmul", &[a.into(), x.into()], tensor(&[8, 8], Float32));
    draft.method("add_", &[product.into(), x.into()], tensor(&[8, 8], Float32));
    let doubled = draft.function("operator.mul", &[x.into(), Arg::Int(2)], tensor(&[8, 8], Float32));
    let relu = draft.function("torch.nn.functional.relu", &[doubled.into()], tensor(&[8, 8], Float32));
    let pieces = draft.builder.list(&[product.into(), relu.into()]);
    let both = draft.function("torch.cat", &[pieces, Arg::Int(0)], tensor(&[16, 8], Float32));
    let passes = text(&author(&[draft.finish(&[both])], Target::Cpu));
    let pattern = passes.split("def replacement_args").next().unwrap_or_default();
    assert!(pattern.contains("relu") && !pattern.contains("add_") && !pattern.contains("cat"), "{passes}");
}

/// `masked_fill(x > 0, least) * x + x`: the least number of `float32` must be one for Triton.
#[test]
fn the_least_number_is_written_as_one_of_its_type() {
    let mut draft = Draft::default();
    let shape = [4, 6];
    let x = draft.input("x", &shape, Float32);
    let is_positive = draft.function("operator.gt", &[x.into(), Arg::Int(0)], tensor(&shape, Bool));
    let least = Arg::Float(f64::from(f32::MIN));
    let filled = draft.method("masked_fill", &[x.into(), is_positive.into(), least], tensor(&shape, Float32));
    let product = draft.function("operator.mul", &[filled.into(), x.into()], tensor(&shape, Float32));
    let sum = draft.function("operator.add", &[product.into(), x.into()], tensor(&shape, Float32));
    let passes = text(&author(&[draft.finish(&[sum])], Target::Cuda));
    assert!(passes.contains(", -3.4028234663852886e38, "), "{passes}");
}

/// `x * (zeros != 1)`, where nothing of the comparison is left for a kernel to find out.
#[test]
fn what_is_known_of_constants_is_no_operation_of_a_kernel() {
    let mut draft = Draft::default();
    let x = draft.input("x", &[4, 6], Float32);
    let shape = draft.builder.tuple(&[Arg::Int(4), Arg::Int(6)]);
    let zeros = draft.function("torch.zeros", &[shape], tensor(&[4, 6], Int64));
    let is_one = draft.method("ne", &[zeros.into(), Arg::Int(1)], tensor(&[4, 6], Bool));
    let number = draft.method("int", &[is_one.into()], tensor(&[4, 6], DType::Int32));
    let result = draft.function("operator.mul", &[x.into(), number.into()], tensor(&[4, 6], Float32));
    let passes = text(&author(&[draft.finish(&[result])], Target::Cuda));
    let kernel = passes.split("def kernel0").nth(1).and_then(|rest| rest.split("PLANS").next());
    assert!(kernel.is_some_and(|kernel| !kernel.contains("!=")), "{passes}");
}

/// Libraries choose strides at run time: what they make is copied where it is not as predicted.
#[test]
fn unforeseen_strides_of_library_results_are_no_error() {
    let mut draft = Draft::default();
    let shape = [2, 8, 4, 4];
    let (x, weight) = (draft.input("x", &shape, Float32), draft.input("w", &[8, 8, 1, 1], Float32));
    let convolved = draft.function("torch.conv2d", &[x.into(), weight.into()], tensor(&shape, Float32));
    let sum = draft.function("operator.add", &[convolved.into(), x.into()], tensor(&shape, Float32));
    let relu = draft.function("torch.nn.functional.relu", &[sum.into()], tensor(&shape, Float32));
    let task = [draft.finish(&[relu])];
    for target in [Target::Cpu, Target::Cuda] {
        let passes = text(&author(&task, target));
        let [given, made] = if passes.contains("layout0") { [1, 0] } else { [0, 1] };
        assert!(passes.contains(&format!("in{made} = relaid(in{made}, layout{made})")), "{passes}");
        assert!(!passes.contains(&format!("layout{given}")), "{passes}");
    }
}

/// A reduction of `x * y`, then `+ y` or `- y`, or only a wider type; all in `dtype` before.
fn after_reduction(name: &str, dtype: DType, last: &str) -> TypedGraph {
    let mut draft = Draft::default();
    let shape = [64, 96];
    let (x, y) = (draft.input("x", &shape, dtype), draft.input("y", &shape, dtype));
    let scaled = draft.function("operator.mul", &[x.into(), y.into()], tensor(&shape, dtype));
    let over = if name == "softmax" { Arg::Int(-1) } else { draft.builder.tuple(&[Arg::Int(96)]) };
    let target = format!("torch.nn.functional.{name}");
    let reduced = draft.function(&target, &[scaled.into(), over], tensor(&shape, dtype));
    let (result, dtype) = match last {
        "float" => (draft.method("float", &[reduced.into()], tensor(&shape, Float32)), Float32),
        operator => (draft.function(operator, &[reduced.into(), y.into()], tensor(&shape, dtype)), dtype),
    };
    let doubled = draft.function("operator.mul", &[result.into(), Arg::Int(2)], tensor(&shape, dtype));
    draft.finish(&[doubled])
}

/// What PyTorch rounds after a sum of its own order must be PyTorch's where a difference or a wider type shows it.
#[test]
fn roundings_that_would_be_seen_stay_with_pytorch() {
    let check = |name, dtype, last, is_rewritten| {
        let passes = text(&author(&[after_reduction(name, dtype, last)], Target::Cpu));
        assert_eq!(passes.contains(name), is_rewritten, "{name} {dtype} {last}\n{passes}");
    };
    check("layer_norm", Float32, "operator.add", true);
    check("layer_norm", Float16, "operator.add", false);
    check("layer_norm", BFloat16, "operator.sub", false);
    check("layer_norm", Float16, "operator.mul", true);
    check("layer_norm", Float16, "float", false);
    // Nothing below 0 is added: no difference.
    check("softmax", Float16, "operator.add", true);
    check("softmax", Float16, "operator.sub", false);
}

/// What is computed of a reduction carries its roundings: `a @ layer_norm(x) + y`, a GELU of it, or only a product.
#[test]
fn roundings_are_followed_through_products() {
    let check = |rows: i64, dtype, last: &str, is_rewritten: bool| {
        let mut draft = Draft::default();
        let shape = [rows, rows];
        let [x, y, a] = ["x", "y", "a"].map(|name| draft.input(name, &shape, dtype));
        let scaled = draft.function("operator.mul", &[x.into(), y.into()], tensor(&shape, dtype));
        let over = draft.builder.tuple(&[Arg::Int(rows)]);
        let normal = draft.function("torch.nn.functional.layer_norm", &[scaled.into(), over], tensor(&shape, dtype));
        let product = draft.function("torch.matmul", &[a.into(), normal.into()], tensor(&shape, dtype));
        let result = match last {
            "add" => draft.function("operator.add", &[product.into(), y.into()], tensor(&shape, dtype)),
            "gelu" => draft.function("torch._C._nn.gelu", &[product.into()], tensor(&shape, dtype)),
            _ => product,
        };
        let task = [draft.finish(&[result])];
        for target in [Target::Cpu, Target::Cuda] {
            let passes = text(&author(&task, target));
            assert_eq!(passes.contains("layer_norm"), is_rewritten, "{dtype} {last}\n{passes}");
        }
    };
    check(64, Float16, "add", false);
    check(64, Float16, "gelu", false);
    check(64, Float16, "matmul", true);
    check(64, Float32, "add", true);
    check(256, Float16, "matmul", false);
}

/// `(gelu(x + x) @ y) + y`: PyTorch has its own error function on processors.
#[test]
fn functions_that_cpp_computes_otherwise_stay_with_pytorch() {
    let check = |dtype, target, is_rewritten: bool| {
        let mut draft = Draft::default();
        let shape = [64, 64];
        let (x, y) = (draft.input("x", &shape, dtype), draft.input("y", &shape, dtype));
        let doubled = draft.function("operator.add", &[x.into(), x.into()], tensor(&shape, dtype));
        let gelu = draft.function("torch._C._nn.gelu", &[doubled.into()], tensor(&shape, dtype));
        let product = draft.function("torch.matmul", &[gelu.into(), y.into()], tensor(&shape, dtype));
        let sum = draft.function("operator.add", &[product.into(), y.into()], tensor(&shape, dtype));
        let passes = text(&author(&[draft.finish(&[sum])], target));
        assert_eq!(passes.contains("gelu"), is_rewritten, "{dtype} {target:?}\n{passes}");
    };
    check(Float16, Target::Cpu, false);
    check(Float16, Target::Cuda, true);
    check(Float32, Target::Cpu, true);
}

/// `relu_(layer_norm(x)) + y`: a reduction that stays makes memory of its own, which may be changed.
#[test]
fn what_changes_the_result_of_a_reduction_that_stays_is_rewritten() {
    let mut draft = Draft::default();
    let shape = [64, 64];
    let (x, y) = (draft.input("x", &shape, Float16), draft.input("y", &shape, Float16));
    let over = draft.builder.tuple(&[Arg::Int(64)]);
    let normal = draft.function("torch.nn.functional.layer_norm", &[x.into(), over], tensor(&shape, Float16));
    let relu = draft.function("torch.nn.functional.relu", &[normal.into(), Arg::Bool(true)], tensor(&shape, Float16));
    let sum = draft.function("operator.add", &[relu.into(), y.into()], tensor(&shape, Float16));
    let passes = text(&author(&[draft.finish(&[sum])], Target::Cpu));
    assert!(passes.contains("relu") && !passes.contains("layer_norm"), "{passes}");
}

/// `layer_norm(x) @ w` in a wider type: no pass is better than one that is wrong.
#[test]
fn where_only_seen_roundings_could_be_written_nothing_is() {
    let mut draft = Draft::default();
    let shape = [64, 64];
    let (x, w) = (draft.input("x", &shape, Float16), draft.input("w", &shape, Float16));
    let over = draft.builder.tuple(&[Arg::Int(64)]);
    let normal = draft.function("torch.nn.functional.layer_norm", &[x.into(), over], tensor(&shape, Float16));
    let product = draft.function("torch.matmul", &[normal.into(), w.into()], tensor(&shape, Float32));
    assert!(author(&[draft.finish(&[product])], Target::Cpu).is_empty());
}

/// `avg_pool2d(group_norm(x)) - group_norm(x)`, as PoolFormer has it; or of `x` and its average.
#[test]
fn what_cancels_stays_with_pytorch_in_any_type() {
    let check = |minuend_is_normalised: bool, is_rewritten: bool| {
        let mut draft = Draft::default();
        let shape = [1, 8, 6, 6];
        let x = draft.input("x", &shape, Float32);
        let normal =
            draft.function("torch.nn.functional.group_norm", &[x.into(), Arg::Int(1)], tensor(&shape, Float32));
        let window = [normal.into(), Arg::Int(3), Arg::Int(1), Arg::Int(1)];
        let average = draft.function("torch._C._nn.avg_pool2d", &window, tensor(&shape, Float32));
        let from = if minuend_is_normalised { normal } else { x };
        let difference = draft.function("operator.sub", &[average.into(), from.into()], tensor(&shape, Float32));
        let passes = text(&author(&[draft.finish(&[difference])], Target::Cpu));
        assert_eq!(passes.contains("group_norm"), is_rewritten, "{passes}");
    };
    check(true, false);
    check(false, true);
}

/// A convolution on CUDA rounds its input to TF32: `conv2d(layer_norm(x + x).transpose(2, 3).reshape(..))`, which copies, where
/// `x` is small or large.
#[test]
fn what_is_convolved_stays_with_pytorch_on_cuda() {
    let check = |side: i64, target, is_rewritten: bool| {
        let mut draft = Draft::default();
        let shape = [1, 8, side, side];
        let x = draft.input("x", &shape, Float32);
        let w = draft.input("w", &[8, 8, 1, 1], Float32);
        let typed = TensorType::contiguous(&shape, Float32);
        let sum = draft.function("operator.add", &[x.into(), x.into()], tensor(&shape, Float32));
        let over = draft.builder.tuple(&[Arg::Int(side)]);
        let normal = draft.function("torch.nn.functional.layer_norm", &[sum.into(), over], tensor(&shape, Float32));
        let across = TensorType { stride: vec![8 * side * side, side * side, 1, side], ..typed.clone() };
        let turned = draft.method("transpose", &[normal.into(), Arg::Int(2), Arg::Int(3)], Type::Tensor(across));
        let whole = draft.builder.tuple(&[Arg::Int(1), Arg::Int(8), Arg::Int(-1)]);
        let rows = draft.method("reshape", &[turned.into(), whole], tensor(&[1, 8, side * side], Float32));
        let back = draft.method("view_as", &[rows.into(), x.into()], Type::Tensor(typed));
        let result = draft.function("torch.conv2d", &[back.into(), w.into()], tensor(&shape, Float32));
        let passes = text(&author(&[draft.finish(&[result])], target));
        assert_eq!(passes.contains("layer_norm"), is_rewritten, "{passes}");
    };
    check(64, Target::Cuda, false);
    check(16, Target::Cuda, true);
    check(64, Target::Cpu, true);
}

/// `sigmoid(x).float()` is two operations in half precision only, but one pattern.
#[test]
fn what_a_pass_finds_besides_is_planned_too() {
    let task = [Float16, Float32].map(|dtype| {
        let mut draft = Draft::default();
        let x = draft.input("x", &[4, 6], dtype);
        let result = draft.function("torch.sigmoid", &[x.into()], tensor(&[4, 6], dtype));
        let wide = draft.method("float", &[result.into()], tensor(&[4, 6], Float32));
        draft.finish(&[wide])
    });
    let passes = text(&author(&task, Target::Cuda));
    assert!(["torch.float16,): (", "torch.float32,): ("].iter().all(|plan| passes.contains(plan)), "{passes}");
}

/// In half precision, the chain before a product is another pass, so that the reduction after it need not be touched.
#[test]
fn roundings_stay_with_pytorch_in_all_types_where_something_else_matches() {
    let graph = |dtype| {
        let mut draft = Draft::default();
        let shape = [64, 64];
        let (x, y) = (draft.input("x", &shape, dtype), draft.input("y", &shape, dtype));
        let doubled = draft.function("operator.mul", &[x.into(), Arg::Int(2)], tensor(&shape, dtype));
        let relu = draft.function("torch.nn.functional.relu", &[doubled.into()], tensor(&shape, dtype));
        let product = draft.function("torch.matmul", &[relu.into(), y.into()], tensor(&shape, dtype));
        let over = draft.builder.tuple(&[Arg::Int(64)]);
        let normal = draft.function("torch.nn.functional.layer_norm", &[product.into(), over], tensor(&shape, dtype));
        let sum = draft.function("operator.add", &[normal.into(), y.into()], tensor(&shape, dtype));
        draft.finish(&[sum])
    };
    let check = |task: &[TypedGraph], is_rewritten: bool| {
        let passes = text(&author(task, Target::Cpu));
        assert_eq!(passes.contains("layer_norm"), is_rewritten, "{passes}");
        assert!(passes.contains("relu"), "{passes}");
    };
    check(&[graph(Float32)], true);
    check(&[graph(Float16), graph(Float32)], false);
}
