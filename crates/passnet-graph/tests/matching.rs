//! Matches and near misses, case by case.
#![allow(clippy::unwrap_used)]

mod common;

use common::graph;
use passnet_graph::{
    Graph,
    matching::{MatchError, Occurrences, Pattern, PatternError, PreparedGraph, SearchLimits, match_json},
    wire,
};

fn find(target: &Graph, pattern: &Graph) -> Occurrences {
    PreparedGraph::new(target).find(&Pattern::new(pattern).unwrap(), SearchLimits::default()).unwrap()
}

/// Matches as text, e.g. `x=a p=b; ...`: what stands for inputs and nodes of the pattern.
fn matches(target: &str, pattern: &str) -> String {
    let (target, pattern) = (graph(target), graph(pattern));
    let found = find(&target, &pattern);
    assert_eq!(found.matches.is_empty(), found.nearest.is_some());
    let lines: Vec<String> = found
        .matches
        .iter()
        .map(|found| {
            let inputs = pattern
                .input_names()
                .zip(&found.inputs)
                .filter_map(|(name, arg)| Some(format!("{name}={}", target.arg_text((*arg)?))));
            let nodes = pattern
                .nodes()
                .zip(&found.nodes)
                .filter_map(|(node, theirs)| Some(format!("{}={}", node.name, target.node((*theirs)?).name)));
            inputs.chain(nodes).collect::<Vec<_>>().join(" ")
        })
        .collect();
    lines.join("; ")
}

#[track_caller]
fn check(target: &str, pattern: &str, expected: &str) {
    assert_eq!(matches(target, pattern), expected, "\ntarget  {target}\npattern {pattern}");
}

#[test]
fn calls_and_constants() {
    let relu = "x | p = torch.relu x | p";
    check("a | r = torch.relu a | r", relu, "x=a p=r");
    check("a | r = torch.relu a ; s = torch.relu r | s", relu, "x=a p=r; x=r p=s");
    check("a | r = .relu a | r", relu, "");
    check("a | r = torch.relu a inplace=False | r", relu, "");
    let add = |constant: &str| format!("x | p = operator.add x {constant} | p");
    for constant in ["1", "1.0", "True", "'1'", "None", "[ 1 ]", "[ 1 [ 2 ] ]", "0.0", "nan"] {
        check(&add(constant).replace("x", "a"), &add(constant), "x=a p=p");
    }
    for (ours, theirs) in [("1", "1.0"), ("1", "True"), ("0", "False"), ("0.0", "-0.0"), ("[ 1 ]", "[ 1 1 ]")] {
        check(&add(theirs), &add(ours), "");
        check(&add(ours), &add(theirs), "");
    }
    check("a | r = .view a ( 1 2 ) | r", "x | p = .view x [ 1 2 ] | p", "x=a p=r");
    check("a | r = torch.f a k=1 j=2 | r", "x | p = torch.f x j=2 k=1 | p", "x=a p=r");
    check("a | r = torch.f a k=1 j=2 | r", "x | p = torch.f x j=2 i=1 | p", "");
    check("a b | r = operator.sub a b | r", "x y | p = operator.sub y x | p", "x=b y=a p=r");
}

#[test]
fn inputs_stand_for_anything_but_always_the_same() {
    let double = "x | p = operator.add x x | p";
    check("a b | r = operator.add a b | r", double, "");
    check("a b | r = operator.add a a | r", double, "x=a p=r");
    let sum = "x y | p = operator.add x y | p";
    check("a | r = operator.add a a | r", sum, "x=a y=a p=r");
    check("a | r = operator.add a 1.5 | r", sum, "x=a y=1.5 p=r");
    check("a b | r = torch.cat [ a b ] | r", "x | p = torch.cat x | p", "x=[a, b] p=r");
    check(
        "a b | r = torch.cat [ a b ] ; s = .f r ( a b ) | s",
        "x | p = torch.cat x ; q = .f p x | q",
        "x=(a, b) p=r q=s",
    );
    check("a | r = torch.relu a ; s = operator.add r r | s", "x y | p = torch.relu x ; q = operator.add p y | q", "");
}

#[test]
fn inner_values_do_not_escape() {
    let pair = "x | p = torch.relu x ; q = torch.exp p | q";
    check("a | r = torch.relu a ; e = torch.exp r | e", pair, "x=a p=r q=e");
    check("a | r = torch.relu a ; e = torch.exp r | e r", pair, "");
    check("a | r = torch.relu a ; e = torch.exp r ; s = torch.sin r | e s", pair, "");
    let any = "x y | p = torch.relu x ; q = operator.add p y | q p";
    check("a | r = torch.relu a ; s = operator.add r r | r s", any, "");
    let both = "x | p = torch.relu x ; q = torch.exp p | q p";
    check("a | r = torch.relu a ; e = torch.exp r ; s = torch.sin r | e s", both, "x=a p=r q=e");
    check(
        "a | r = torch.relu a ; e = operator.add r r | e",
        "x | p = torch.relu x ; q = operator.add p p | q",
        "x=a p=r q=e",
    );
}

#[test]
fn dead_nodes_do_not_count() {
    let first = "x | s = .split x 2 ; a = operator.getitem s 0 ; b = operator.getitem s 1 ; e = torch.exp a | e";
    let target = "t | s = .split t 2 ; u = operator.getitem s 0 ; e = torch.exp u | e";
    check(target, first, "x=t s=s a=u e=e");
    let (target, pattern) = (
        graph(
            "t | s = .split t 2 ; d = operator.getitem s 1 ; n = .neg d ; u = operator.getitem s 0 ; e = torch.exp u | e",
        ),
        graph(first),
    );
    let found = find(&target, &pattern);
    let dead: Vec<&str> = found.matches[0].dead.iter().map(|&node| target.node(node).name).collect();
    assert_eq!(dead, ["d", "n"]);
    check("t | e = torch.exp t | t", "x | p = torch.exp x | p", "");
    assert_eq!(Pattern::new(&graph("x | p = torch.exp x | x")).unwrap_err(), PatternError::Empty);
}

#[test]
fn patterns_of_several_pieces() {
    let qk = "x a b | q = torch.linear x a ; k = torch.linear x b | q k";
    check(
        "h w0 w1 w2 o | q = torch.linear h w0 ; k = torch.linear h w1 ; v = torch.linear h w2 ; z = torch.linear o w2 | q k v z",
        qk,
        "x=h a=w0 b=w1 q=q k=k",
    );
    // The second piece has to take the other branch of the first value, so the choice is undone.
    let fork = "x | a = torch.relu x ; b = torch.exp a ; c = torch.exp a ; d = torch.sin c | b d";
    let target = "t | r = torch.relu t ; f = torch.exp r ; s = torch.sin f ; g = torch.exp r | s g";
    check(target, fork, "x=t a=r b=g c=f d=s");
    // Nothing in common at all.
    let loose = "x y | a = torch.relu x ; b = torch.exp y | a b";
    check("s t | e = torch.exp s ; r = torch.relu t | e r", loose, "x=t y=s a=r b=e");
}

#[test]
fn matches_share_no_node() {
    let chain = "x | p = torch.relu x ; q = torch.relu p | q";
    check(
        "a | r = torch.relu a ; s = torch.relu r ; t = torch.relu s ; u = torch.relu t | u",
        chain,
        "x=a p=r q=s; x=s p=t q=u",
    );
}

#[test]
fn a_replacement_needs_a_place() {
    let loose = "x y | a = torch.relu x ; b = torch.exp y | a b";
    // `y` is computed from `a`.
    check("s | r = torch.relu s ; n = .neg r ; e = torch.exp n | e r", loose, "");
    // A use of `a` comes before `y` is computed.
    check("s t | r = torch.relu s ; n = .neg r ; m = .neg t ; e = torch.exp m | e n", loose, "");
    check("s t | m = .neg t ; r = torch.relu s ; n = .neg r ; e = torch.exp m | e n", loose, "x=s y=m a=r b=e");
    let target = graph("s t | m = .neg t ; r = torch.relu s ; n = .neg r ; e = torch.exp m | e n");
    let found = find(&target, &graph(loose));
    assert_eq!(target.node(found.matches[0].insert_after).name, "r");
}

#[test]
fn matches_that_need_each_other_first_are_not_both_taken() {
    // Each match alone is sound. If each were replaced by one call, the first would read the second and the second the first.
    let target = "s t | r0 = torch.relu s ; r1 = torch.relu t ; e0 = torch.exp r1 ; e1 = torch.exp r0 | e0 e1";
    let loose = "x y | a = torch.relu x ; b = torch.exp y | a b";
    check(target, loose, "x=s y=r1 a=r0 b=e0");
}

#[test]
fn storage_is_respected() {
    let sum = "x y | p = torch.relu x ; q = operator.add p y | q";
    check("a b | r = torch.relu a ; n = .neg b ; s = operator.add r b | s n", sum, "x=a y=b p=r q=s");
    for change in [".add_ a 1", "operator.iadd b 1", "torch.nn.functional.silu a inplace=True", "torch.relu_ b"] {
        check(&format!("a b | r = torch.relu a ; {change} ; s = operator.add r b | s"), sum, "");
        check(&format!("a b | {change} ; r = torch.relu a ; s = operator.add r b | s"), sum, "x=a y=b p=r q=s");
        check(&format!("a b | r = torch.relu a ; s = operator.add r b ; {change} | s"), sum, "x=a y=b p=r q=s");
    }
    check("a b c | r = torch.relu a ; .add_ c 1 ; s = operator.add r b | s", sum, "x=a y=b p=r q=s");
    let no_grad = "torch._C._set_grad_enabled False";
    check(&format!("a b | r = torch.relu a ; {no_grad} ; s = operator.add r b | s"), sum, "");
    check(&format!("a b | {no_grad} ; r = torch.relu a ; s = operator.add r b | s"), sum, "x=a y=b p=r q=s");
    let assertion = "n = operator.gt a b ; torch._assert n";
    check(&format!("a b | r = torch.relu a ; {assertion} ; s = operator.add r b | s"), sum, "x=a y=b p=r q=s");
    // A view of `a` is changed.
    check("a b | v = .view a 1 ; r = torch.relu a ; .add_ v 1 ; s = operator.add r b | s", sum, "");
    // The match changes `a`, which is read in between.
    let change = "x y | p = .add_ x 1 ; q = operator.add p y | q";
    check("a b | r = .add_ a 1 ; n = torch.exp a ; s = operator.add r b | s n", change, "");
    check("a b | r = .add_ a 1 ; n = torch.exp b ; s = operator.add r b | s n", change, "x=a y=b p=r q=s");
    // A node that allocates the memory, or reads it before the change, stays before the change. A node that reads the memory afterwards
    // does not.
    let later = "x y z | n = .neg y ; p = .add_ x 1 ; q = operator.add p z | n q";
    let bound = "x=h y=a z=b n=n p=r q=s";
    check("a b | n = .neg a ; h = torch.exp b ; r = .add_ h 1 ; s = operator.add r b | n s", later, bound);
    check("a b h | n = .neg a ; e = torch.exp h ; r = .add_ h 1 ; s = operator.add r b | n s e", later, bound);
    check("a b h | n = .neg a ; r = .add_ h 1 ; e = torch.exp h ; s = operator.add r b | n s e", later, "");
    // The replacement, with the change, would be before `n` is used, and so before `e` reads the memory that is changed.
    check(
        "a b h | n = .neg a ; c = torch.sin n ; e = torch.exp h ; r = .add_ h 1 ; s = operator.add r b | s c e",
        later,
        "",
    );
    // The pattern reads `x` before it changes it.
    let order = "x | p = torch.exp x ; q = .add_ x 1 ; r = operator.add p q | r";
    check("a | q = .add_ a 1 ; p = torch.exp a ; r = operator.add p q | r", order, "");
    check("a | p = torch.exp a ; q = .add_ a 1 ; r = operator.add p q | r", order, "x=a p=p q=q r=r");
}

#[track_caller]
fn check_nearest(target: &str, pattern: &str, expected: (usize, &str, &str, &str, &str)) {
    let nearest = find(&graph(target), &graph(pattern)).nearest.unwrap();
    let found = (nearest.matched, &*nearest.node, &*nearest.what, &*nearest.expected, &*nearest.found);
    assert_eq!(found, expected);
}

#[test]
fn nearest_miss_says_what_differs() {
    let pattern = "x w | l = torch.linear x w ; g = torch.nn.functional.gelu l approximate='tanh' | g";
    check_nearest(
        "a w | l = torch.linear a w ; g = torch.nn.functional.gelu l approximate='none' | g",
        pattern,
        (
            1,
            "g",
            "argument",
            "torch.nn.functional.gelu(l, approximate='tanh')",
            "torch.nn.functional.gelu(l, approximate='none')",
        ),
    );
    check_nearest(
        "a w | r = torch.relu a ; m = operator.matmul r w ; g = torch.nn.functional.gelu m approximate='tanh' | g",
        pattern,
        (1, "m", "target", "torch.linear(x, w)", "operator.matmul(r, w)"),
    );
    check_nearest(
        "a w | l = torch.linear a w ; g = torch.nn.functional.gelu l | g",
        pattern,
        (1, "g", "arity", "torch.nn.functional.gelu(l, approximate='tanh')", "torch.nn.functional.gelu(l)"),
    );
    check_nearest(
        "a w | l = torch.linear a w ; g = torch.nn.functional.gelu l approximate='tanh' ; n = .neg l | g n",
        pattern,
        (1, "l", "escape", "`l` used only inside the match (else the pattern must return its `l`)", "`n = l.neg()`"),
    );
    check_nearest(
        "a w | l = torch.linear a w ; r = torch.relu l | r",
        pattern,
        (1, "r", "target", "torch.nn.functional.gelu(l, approximate='tanh')", "torch.relu(l)"),
    );
    check_nearest(
        "a | s = torch.sin a | s",
        pattern,
        (
            0,
            "",
            "target",
            "torch.nn.functional.gelu(l, approximate='tanh')",
            "no call of `torch.nn.functional.gelu` in the graph",
        ),
    );
    check_nearest(
        "a b | s = operator.add a b | s",
        "x | p = operator.add x x | p",
        (0, "s", "argument", "operator.add(x, x) with `x` standing for `a`", "operator.add(a, b)"),
    );
    check_nearest(
        "a b | r = torch.relu a ; c = .add_ b 1 ; s = operator.add r b | s",
        "x y | p = torch.relu x ; q = operator.add p y | q",
        (
            2,
            "s",
            "order",
            "nothing else that changes what the match reads, or uses what it changes, between its nodes",
            "`c = b.add_(1)`",
        ),
    );
}

#[test]
fn nearest_miss_of_a_second_piece_keeps_the_first() {
    check_nearest(
        "h w | q = torch.linear h w ; k = torch.relu h | q k",
        "x a b | q = torch.linear x a ; k = torch.linear x b | q k",
        (1, "k", "target", "torch.linear(x, b)", "torch.relu(h)"),
    );
}

#[test]
fn ambiguous_patterns_end_with_an_error() {
    // 12 free pieces among 60 nodes, of which the last one cannot be found.
    let nodes: Vec<String> = (0..60).map(|index| format!("r{index} = torch.relu a")).collect();
    let target = graph(
        &format!("a | {} ; e = torch.exp a ; f = torch.exp e | f", nodes.join(" ; "))
            .replace("| f", &format!("| f {}", (0..60).map(|index| format!("r{index}")).collect::<Vec<_>>().join(" "))),
    );
    let pieces: Vec<String> = (0..12).map(|index| format!("p{index} = torch.relu x")).collect();
    let outputs: Vec<String> = (0..12).map(|index| format!("p{index}")).collect();
    let pattern =
        graph(&format!("x | {} ; e = torch.exp x ; f = torch.sin e | f {}", pieces.join(" ; "), outputs.join(" ")));
    let limits = SearchLimits { comparisons: 100_000 };
    let result = PreparedGraph::new(&target).find(&Pattern::new(&pattern).unwrap(), limits);
    assert_eq!(result.unwrap_err(), MatchError::TooAmbiguous { limit: 100_000 });
}

#[test]
fn deep_graphs_are_no_problem() {
    let chain = |length: usize| {
        let mut b = Graph::builder();
        let mut last = b.input("x");
        for index in 0..length {
            let target = if index % 2 == 0 { "torch.relu" } else { "torch.exp" };
            last = b.call_function(&format!("n{index}"), target, &[last.into()], &[]);
        }
        b.finish(&[last.into()]).unwrap()
    };
    let target = chain(100_000);
    assert_eq!(find(&target, &chain(2)).matches.len(), 50_000);
    assert_eq!(find(&target, &chain(20)).matches.len(), 5_000);
    assert_eq!(find(&chain(4_100), &chain(4_000)).matches.len(), 1);
    assert!(matches!(Pattern::new(&target), Err(PatternError::TooLarge { nodes: 100_000 })));
}

#[test]
fn prefilter_counts_ops() {
    let target = graph("a | r = torch.relu a ; s = .relu r | s");
    let may = |pattern: &str| Pattern::new(&graph(pattern)).unwrap().may_occur_in(&target);
    assert!(may("x | p = torch.relu x | p"));
    assert!(may("x | p = .relu x | p"));
    assert!(!may("x | p = torch.relu x ; q = torch.relu p | q"));
    assert!(!may("x | p = torch.exp x | p"));
}

#[test]
fn json_form() {
    let target = graph("a b | r = torch.cat [ a b ] ; s = operator.add r 1.5 | s");
    let pattern = graph("x y z | p = torch.cat x ; q = operator.add p y | q");
    let text = |graph: &Graph| wire::to_value(graph).to_string();
    assert_eq!(
        match_json(&text(&target), &text(&pattern)).unwrap(),
        r#"{"matches":[[{"arg":{"list":[{"ref":0},{"ref":1}]}},{"arg":1.5},null,2,3]],"nearest":null,"#.to_owned()
            + r#""places":[{"dead":[],"insert_after":3}],"version":1}"#
    );
    assert_eq!(
        match_json(&text(&graph("a | s = torch.sin a | s")), &text(&pattern)).unwrap(),
        r#"{"matches":[],"nearest":{"expected":"operator.add(p, y)","found":"no call of `operator.add` in the graph","#
            .to_owned()
            + r#""matched":0,"node":"","total":2,"what":"target"},"places":[],"version":1}"#
    );
    let error = |target: &str, pattern: &str| match_json(target, pattern).unwrap_err().to_string();
    assert_eq!(error("{}", "{}"), "target graph: graph.version: expected an integer");
    assert!(error(&text(&target), "{").starts_with("pattern graph: the graph is not JSON"));
    assert!(error(&text(&target), &text(&graph("x | | x"))).starts_with("the pattern computes nothing"));
}
