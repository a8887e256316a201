//! Passes as they are written: their text, and laws that hold for all of them.

mod common;

use passnet_fuse::{Choices, Target, TensorType, Type, TypedGraph, author, author_with, places};
use passnet_graph::{Arg, Graph, ValueId};
use passnet_record::DType::{self, BFloat16, Float16, Float32, Float64, Int64};

use self::common::{Draft, tensor, text};

fn softmax(rows: i64, columns: i64, dtype: DType) -> TypedGraph {
    let mut draft = Draft::default();
    let shape = [rows, columns];
    let x = draft.input("x", &shape, dtype);
    let y = draft.function("operator.mul", &[x.into(), Arg::Float(0.125)], tensor(&shape, dtype));
    let z = draft.function("torch.nn.functional.softmax", &[y.into(), Arg::Int(-1)], tensor(&shape, dtype));
    draft.finish(&[z])
}

fn add_relu(left: &[i64], right: &[i64], result: &[i64]) -> TypedGraph {
    let mut draft = Draft::default();
    let (x, y) = (draft.input("x", left, Float32), draft.input("y", right, Float32));
    let sum = draft.function("operator.add", &[x.into(), y.into()], tensor(result, Float32));
    let relu = draft.function("torch.nn.functional.relu", &[sum.into()], tensor(result, Float32));
    draft.finish(&[relu])
}

fn layer_norm(dtype: DType) -> TypedGraph {
    let mut draft = Draft::default();
    let shape = [4, 96];
    let (x, y) = (draft.input("x", &shape, dtype), draft.input("y", &shape, dtype));
    let (weight, bias) = (draft.input("w", &[96], dtype), draft.input("b", &[96], dtype));
    let sum = draft.function("operator.add", &[x.into(), y.into()], tensor(&shape, dtype));
    let normalized = draft.builder.tuple(&[Arg::Int(96)]);
    let args = [sum.into(), normalized, weight.into(), bias.into(), Arg::Float(1e-5)];
    let normal = draft.function("torch.nn.functional.layer_norm", &args, tensor(&shape, dtype));
    draft.finish(&[sum, normal])
}

fn rotate_half() -> TypedGraph {
    let mut draft = Draft::default();
    let (whole, half) = ([2, 8, 64], [2, 8, 32]);
    let x = draft.input("x", &whole, Float32);
    let key = |draft: &mut Draft, start: Arg, stop: Arg| {
        let slice = draft.builder.slice(start, stop, Arg::None);
        draft.builder.tuple(&[Arg::Ellipsis, slice])
    };
    let (first, second) = (key(&mut draft, Arg::None, Arg::Int(32)), key(&mut draft, Arg::Int(32), Arg::None));
    let low = draft.function("operator.getitem", &[x.into(), first], tensor(&half, Float32));
    let high = draft.function("operator.getitem", &[x.into(), second], tensor(&half, Float32));
    let negated = draft.function("operator.neg", &[high.into()], tensor(&half, Float32));
    let pieces = draft.builder.tuple(&[negated.into(), low.into()]);
    let rotated = draft.function("torch.cat", &[pieces, Arg::Int(-1)], tensor(&whole, Float32));
    draft.finish(&[rotated])
}

fn embedding() -> TypedGraph {
    let mut draft = Draft::default();
    let ids = draft.input("ids", &[2, 5], Int64);
    let table = draft.input("table", &[100, 24], BFloat16);
    let position = draft.input("position", &[5, 24], BFloat16);
    let rows =
        draft.function("torch.nn.functional.embedding", &[ids.into(), table.into()], tensor(&[2, 5, 24], BFloat16));
    let sum = draft.function("operator.add", &[rows.into(), position.into()], tensor(&[2, 5, 24], BFloat16));
    draft.finish(&[sum])
}

fn batch_norm_relu_mean(batch: i64, channels: i64, side: i64) -> TypedGraph {
    let mut draft = Draft::default();
    let shape = [batch, channels, side, side];
    let x = draft.input("x", &shape, Float16);
    let parameters: Vec<Arg> =
        ["mean", "var", "weight", "bias"].iter().map(|name| draft.input(name, &[channels], Float16).into()).collect();
    let mut args = vec![x.into()];
    args.extend(parameters);
    args.extend([Arg::Bool(false), Arg::Float(0.1), Arg::Float(1e-5)]);
    let normal = draft.function("torch.nn.functional.batch_norm", &args, tensor(&shape, Float16));
    let relu = draft.function("torch.nn.functional.relu", &[normal.into(), Arg::Bool(true)], tensor(&shape, Float16));
    let dims = draft.builder.list(&[Arg::Int(2), Arg::Int(3)]);
    let mean = draft.method("mean", &[relu.into(), dims], tensor(&[batch, channels], Float16));
    draft.finish(&[mean])
}

#[test]
fn written_passes() {
    let check = |name: &str, task: &[TypedGraph]| insta::assert_snapshot!(name, text(&author(task, Target::Cpu)));
    check("add_relu", &[add_relu(&[2, 3, 40], &[2, 3, 40], &[2, 3, 40])]);
    check("add_relu_broadcast", &[add_relu(&[2, 3, 40], &[3, 1], &[2, 3, 40])]);
    check("softmax_sizes", &[softmax(4, 128, Float32), softmax(9, 64, Float32)]);
    check("softmax_half", &[softmax(4, 128, Float16)]);
    check("softmax_long_rows", &[softmax(2, 20_000, Float32)]);
    check("layer_norm", &[layer_norm(Float32)]);
    check("layer_norm_bfloat16", &[layer_norm(BFloat16)]);
    check("rotate_half", &[rotate_half()]);
    check("embedding", &[embedding()]);
    check("batch_norm_relu_mean", &[batch_norm_relu_mean(2, 6, 7), batch_norm_relu_mean(8, 12, 7)]);
}

#[test]
fn written_triton_passes() {
    let check = |name: &str, task: &[TypedGraph]| insta::assert_snapshot!(name, text(&author(task, Target::Cuda)));
    check("triton_add_relu_broadcast", &[add_relu(&[2, 3, 40], &[3, 1], &[2, 3, 40])]);
    check("triton_softmax_sizes", &[softmax(4, 128, Float32), softmax(9, 64, Float32)]);
    check("triton_softmax_long_rows", &[softmax(2, 20_000, Float16)]);
    check("triton_layer_norm_bfloat16", &[layer_norm(BFloat16)]);
    check("triton_rotate_half", &[rotate_half()]);
    check("triton_embedding", &[embedding()]);
    check("triton_batch_norm_relu_mean", &[batch_norm_relu_mean(2, 6, 7), batch_norm_relu_mean(8, 12, 7)]);
}

#[test]
fn what_is_not_expressed_is_left_alone() {
    let mut draft = Draft::default();
    let x = draft.input("x", &[64, 64], Float32);
    let product = draft.function("torch.matmul", &[x.into(), x.into()], tensor(&[64, 64], Float32));
    assert!(author(&[draft.finish(&[product])], Target::Cpu).is_empty());
}

/// `relu(x += 1)`, and what else the graph returns.
fn changed_input(and_returns_input: bool) -> TypedGraph {
    let mut draft = Draft::default();
    let x = draft.input("x", &[4, 4], Float32);
    let sum = draft.function("operator.iadd", &[x.into(), Arg::Int(1)], tensor(&[4, 4], Float32));
    let relu = draft.function("torch.nn.functional.relu", &[sum.into()], tensor(&[4, 4], Float32));
    let outputs = if and_returns_input { [relu, x] } else { [sum, relu] };
    draft.finish(&outputs)
}

#[test]
fn a_change_of_an_input_is_made_to_it() {
    for (target, store) in [(Target::Cpu, "put_row(in0 + k"), (Target::Cuda, "tl.store(in0 + i")] {
        let passes = text(&author(&[changed_input(false)], target));
        assert!(passes.contains(store) && passes.contains("return in0, out0\n"), "{passes}");
    }
}

/// One graph whose only result is an input that it changes: the row of its plan is empty.
#[test]
fn a_plan_without_anything_in_it_is_not_unpacked() {
    let mut draft = Draft::default();
    let x = draft.input("x", &[4, 4], Float32);
    let sum = draft.function("operator.iadd", &[x.into(), Arg::Int(1)], tensor(&[4, 4], Float32));
    let relu = draft.function("torch.nn.functional.relu", &[sum.into(), Arg::Bool(true)], tensor(&[4, 4], Float32));
    let passes = text(&author(&[draft.finish(&[relu])], Target::Cuda));
    assert!(passes.contains("return in0\n"), "{passes}");
    assert!(passes.lines().all(|line| !line.trim_start().starts_with('=') || line.starts_with("==")), "{passes}");
}

/// `(x + x).type_as(y)`.
#[test]
fn patterns_name_what_only_lends_its_type() {
    let mut draft = Draft::default();
    let (x, y) = (draft.input("x", &[4, 4], Float32), draft.input("y", &[2], Float16));
    let sum = draft.function("operator.add", &[x.into(), x.into()], tensor(&[4, 4], Float32));
    let cast = draft.method("type_as", &[sum.into(), y.into()], tensor(&[4, 4], Float16));
    let task = [draft.finish(&[cast])];
    for target in [Target::Cpu, Target::Cuda] {
        let passes = text(&author(&task, target));
        assert!(passes.contains("def pattern(in0, in1):") && passes.contains(".type_as(in1)"), "{passes}");
    }
}

/// The input is returned under its old name, and so seen to change.
#[test]
fn a_change_is_seen_under_every_name() {
    for (target, store) in [(Target::Cpu, "put_row(in0 + k"), (Target::Cuda, "tl.store(in0 + i")] {
        let passes = text(&author(&[changed_input(true)], target));
        assert!(passes.contains(store) && passes.contains("return out0\n"), "{passes}");
    }
}

#[test]
fn a_change_that_no_region_can_follow_leaves_the_graph_alone() {
    // The product, which stays, sees the input between its two changes.
    let mut draft = Draft::default();
    let x = draft.input("x", &[64, 64], Float32);
    let sum = draft.function("operator.iadd", &[x.into(), Arg::Int(1)], tensor(&[64, 64], Float32));
    let product = draft.function("torch.matmul", &[x.into(), x.into()], tensor(&[64, 64], Float32));
    let twice = draft.function("operator.imul", &[sum.into(), Arg::Int(2)], tensor(&[64, 64], Float32));
    let relu = draft.function("torch.nn.functional.relu", &[x.into()], tensor(&[64, 64], Float32));
    let task = [draft.finish(&[product, twice, relu])];
    assert!(author(&task, Target::Cpu).is_empty() && author(&task, Target::Cuda).is_empty());
}

#[test]
fn views_of_inputs_stay_views() {
    let mut draft = Draft::default();
    let x = draft.input("x", &[4, 6], Float32);
    let rows = draft.builder.slice(Arg::Int(1), Arg::None, Arg::None);
    let below = draft.function("operator.getitem", &[x.into(), rows], tensor(&[3, 6], Float32));
    let across = Type::Tensor(TensorType { shape: vec![6, 3], stride: vec![1, 6], dtype: Float32 });
    let turned = draft.method("transpose", &[below.into(), Arg::Int(0), Arg::Int(1)], across);
    let task = [draft.finish(&[turned])];
    for target in [Target::Cpu, Target::Cuda] {
        insta::assert_snapshot!("views", text(&author(&task, target)));
    }
}

/// `operation(x).view(24)`, of which the graph also returns a piece: where a launch has nothing to save, only the view is
/// matched, for nothing.
#[test]
fn one_operation_is_left_to_eager_mode_where_a_view_can_be_matched() {
    let check = |operation: &str, target, has_kernel: bool| {
        let mut draft = Draft::default();
        let x = draft.input("x", &[4, 6], Float32);
        let result = draft.function(operation, &[x.into()], tensor(&[4, 6], Float32));
        let flat = draft.method("view", &[result.into(), Arg::Int(24)], tensor(&[24], Float32));
        let few = draft.builder.slice(Arg::None, Arg::Int(8), Arg::None);
        let piece = draft.function("operator.getitem", &[flat.into(), few], tensor(&[8], Float32));
        let passes = text(&author(&[draft.finish(&[flat, piece])], target));
        assert_eq!(passes.contains(operation), has_kernel, "{passes}");
        assert!(passes.contains(".view("), "{passes}");
    };
    check("torch.sigmoid", Target::Cuda, false);
    check("torch.sigmoid", Target::Cpu, true);
}

/// `a * b + c / 8`, of which eager mode stores the product and the quotient: compilers for CUDA devices make one rounding of a
/// product and a sum, also where both were rounded to a half type.
#[test]
fn products_are_rounded_before_they_are_added() {
    let check = |dtype, sum: &str| {
        let mut draft = Draft::default();
        let shape = [4, 6];
        let [a, b, c] = ["a", "b", "c"].map(|name| draft.input(name, &shape, dtype));
        let product = draft.function("operator.mul", &[a.into(), b.into()], tensor(&shape, dtype));
        let eighth = draft.function("operator.truediv", &[c.into(), Arg::Int(8)], tensor(&shape, dtype));
        let result = draft.function("operator.add", &[product.into(), eighth.into()], tensor(&shape, dtype));
        let passes = text(&author(&[draft.finish(&[result])], Target::Cuda));
        assert!(passes.contains(sum), "{passes}");
    };
    check(Float32, "libdevice.mul_rn(x0, x1) + libdevice.mul_rn(x2, 0.125)");
    check(Float16, "libdevice.mul_rn(x0, x1).to(tl.float16).to(tl.float32) + libdevice.mul_rn(x2, 0.125)");
    check(BFloat16, "libdevice.mul_rn(x0, x1).to(tl.bfloat16).to(tl.float32) + libdevice.mul_rn(x2, 0.125)");
    check(Float64, "(x0 * x1) + (x2 * 0.125)");
}

/// Rows of one large value come out as what the roundings of `x * scale + shift` leave, which a deviation in single precision
/// changes beyond all bounds.
#[test]
fn group_norm_has_the_deviation_of_eager_mode() {
    for (target, is_double) in [(Target::Cpu, true), (Target::Cuda, false)] {
        let mut draft = Draft::default();
        let x = draft.input("x", &[1, 8, 16], Float32);
        let normal =
            draft.function("torch.nn.functional.group_norm", &[x.into(), Arg::Int(4)], tensor(&[1, 8, 16], Float32));
        let result = draft.function("torch.nn.functional.relu", &[normal.into()], tensor(&[1, 8, 16], Float32));
        let passes = text(&author(&[draft.finish(&[result])], target));
        assert_eq!(passes.contains("static_cast<double>"), is_double, "{passes}");
    }
}

/// `relu(x * 2)` and `tanh(y + 1)` have nothing in common but their shape, or their number of elements.
#[test]
fn independent_chains_share_a_launch() {
    for shape in [[4, 6], [6, 4]] {
        let mut draft = Draft::default();
        let (x, y) = (draft.input("x", &[4, 6], Float32), draft.input("y", &shape, Float32));
        let twice = draft.function("operator.mul", &[x.into(), Arg::Int(2)], tensor(&[4, 6], Float32));
        let first = draft.function("torch.nn.functional.relu", &[twice.into()], tensor(&[4, 6], Float32));
        let more = draft.function("operator.add", &[y.into(), Arg::Int(1)], tensor(&shape, Float32));
        let second = draft.function("torch.tanh", &[more.into()], tensor(&shape, Float32));
        let passes = author(&[draft.finish(&[first, second])], Target::Cuda);
        let launches = passes.files["fuse_0.py"].matches("num_warps=").count();
        assert!(launches == 1 && !passes.files.contains_key("fuse_1.py"), "{}", text(&passes));
    }
}

#[test]
fn padding_by_nothing_gives_new_memory() {
    let mut draft = Draft::default();
    let x = draft.input("x", &[2, 3, 4], Float32);
    let nothing = draft.builder.tuple(&[Arg::Int(0), Arg::Int(0)]);
    let args = [x.into(), nothing, draft.builder.str("constant"), Arg::Float(0.0)];
    let padded = draft.function("torch.nn.functional.pad", &args, tensor(&[2, 3, 4], Float32));
    let shape = draft.builder.tuple(&[Arg::Int(6), Arg::Int(4)]);
    let flat = draft.method("reshape", &[padded.into(), shape], tensor(&[6, 4], Float32));
    let passes = text(&author(&[draft.finish(&[flat])], Target::Cpu));
    assert!(passes.contains("torch.empty"), "{passes}");
}

/// `relu(w @ x + x)`, then of a product with that, and before a sigmoid.
#[test]
fn larger_patterns_come_before_those_that_they_contain() {
    let mut draft = Draft::default();
    let (narrow, wide) = ([8, 8], [8, 20]);
    let (x, y) = (draft.input("x", &narrow, Float32), draft.input("y", &wide, Float32));
    let mut add_relu = |left: ValueId, right: ValueId, shape: &[i64]| {
        let product = draft.function("torch.matmul", &[left.into(), right.into()], tensor(shape, Float32));
        let sum = draft.function("operator.add", &[product.into(), right.into()], tensor(shape, Float32));
        draft.function("torch.nn.functional.relu", &[sum.into()], tensor(shape, Float32))
    };
    let first = add_relu(x, x, &narrow);
    let second = add_relu(first, y, &wide);
    let third = draft.function("torch.sigmoid", &[second.into()], tensor(&wide, Float32));
    let passes = author(&[draft.finish(&[third])], Target::Cpu);
    assert!(passes.files["fuse_0.py"].contains("torch.sigmoid") && passes.files.contains_key("fuse_1.py"));
}

/// `relu(x * y)`, and the same where nothing is known of the types: a pass for the one would be asked for the other.
#[test]
fn a_pass_that_would_be_asked_for_what_it_has_no_plan_for_is_not_written() {
    let check = |elsewhere: &str, is_written: bool| {
        let mut draft = Draft::default();
        let shape = [4, 4];
        let (x, y) = (draft.input("x", &shape, Float32), draft.input("y", &shape, Float32));
        let product = draft.function("operator.mul", &[x.into(), y.into()], tensor(&shape, Float32));
        let relu = draft.function("torch.nn.functional.relu", &[product.into()], tensor(&shape, Float32));
        let made = draft.function("torch.linalg.inv", &[relu.into()], Type::Unknown(()));
        let scaled = draft.function("operator.mul", &[made.into(), Arg::Int(2)], Type::Unknown(()));
        let last = draft.function(elsewhere, &[scaled.into()], Type::Unknown(()));
        assert_eq!(!author(&[draft.finish(&[last])], Target::Cpu).is_empty(), is_written, "{elsewhere}");
    };
    check("torch.nn.functional.silu", true);
    check("torch.nn.functional.relu", false);
}

#[test]
fn equal_tasks_give_equal_passes() {
    let task = || [layer_norm(Float32), layer_norm(BFloat16)];
    assert_eq!(author(&task(), Target::Cpu), author(&task(), Target::Cpu));
    assert_eq!(author(&task(), Target::Cuda), author(&task(), Target::Cuda));
}

#[test]
fn kernels_are_printed_as_they_are_chosen() {
    let task = [softmax(4, 128, Float32), softmax(9, 192, Float32), softmax(4, 128, Float16)];
    for target in [Target::Cpu, Target::Cuda] {
        let places = places(&task, target);
        assert_eq!(places.iter().map(|place| place.graph).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(places[0].key != places[1].key && places[0].key != places[2].key);
        for place in &places {
            assert!(!place.candidates.is_empty());
            let mut seen = vec![author(&task, target)];
            for &config in &place.candidates {
                seen.push(author_with(&task, target, &Choices::from([(place.key.clone(), config)])));
                assert!(!seen[..seen.len() - 1].contains(&seen[seen.len() - 1]), "{config}");
            }
        }
    }
    // The same kernel with other sizes.
    let cpu = places(&task, Target::Cpu);
    assert!(cpu[0].key.code == cpu[1].key.code && cpu[0].key.sizes != cpu[1].key.sizes);
}

#[test]
fn types_must_fit_the_graph() {
    let graph: Graph = Graph::builder().finish(&[]).unwrap();
    assert!(TypedGraph::new(graph, vec![Type::Unknown(())]).is_err());
}
