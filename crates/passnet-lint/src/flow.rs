//! Data flow through the host code of a pass directory.
//!
//! An abstract interpreter runs every function over the values of [`Value`]. It ignores the order of statements: a variable holds
//! the join of all values that are assigned to it anywhere. It repeats until nothing changes. Then it runs once more to report,
//! so each finding is made once and from the final values. A value that it cannot follow becomes [`Value::Mixed`], and any use of
//! such a value is a finding: unknown values are rejected, never assumed to be harmless.

mod api;
mod arguments;
mod attributes;
mod calls;
mod class_kinds;
mod classes;
mod conditions;
mod constant;
mod decorators;
mod definitions;
mod deletion;
mod dtypes;
mod entry;
mod expressions;
mod generators;
mod imports;
mod iteration;
mod lasting;
mod launches;
mod matches;
mod modules;
mod named;
mod names;
mod natives;
mod partials;
#[cfg(test)]
mod properties;
mod pure;
mod reflection;
mod scope;
mod standard;
mod statements;
mod text;
mod traced;
mod tuning;

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Expr, Parameters, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{
    bound::Bound,
    class::CheckedClass,
    evidence::Findings,
    finding::Finding,
    ids::{ClassId, SiteId},
    rule::Violation,
    rules::TooLarge,
    source::ParsedFile,
    value::Value,
};

pub(super) use super::ids::{FunctionId, ModuleId};

/// Number of rounds after which a directory is rejected as too intricate. Honest directories need three to five.
const MAX_ROUNDS: usize = 40;

/// Purpose of a function; each kind has separate rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionRole {
    /// Wrappers, helpers and grid functions, which run on the host around launches.
    Host,
    /// Compiled by Triton.
    Kernel,
    /// `pattern`: traced.
    Pattern,
    ReplacementArgs,
    ReplacementFunc,
}

/// The code of a function.
#[derive(Clone, Copy)]
pub(super) enum Body<'a> {
    Def(&'a StmtFunctionDef),
    Lambda(&'a Expr),
    /// `functools.partial`: it calls other functions.
    Partial,
}

/// A function or lambda of the directory.
pub(super) struct CheckedFunction<'a> {
    pub(super) module: ModuleId,
    /// The function inside which this one is defined.
    pub(super) parent: Option<FunctionId>,
    pub(super) role: FunctionRole,
    pub(super) parameters: Option<&'a Parameters>,
    pub(super) body: Body<'a>,
    /// Variables that the function binds, with the join of all values that they may hold.
    locals: BTreeMap<&'a str, Value>,
    /// The join of the defaults of its parameters, which live as long as the function.
    defaults: Value,
    returned: Value,
}

/// Object that a name at module level is bound to.
enum Binding<'a> {
    Value(Value),
    /// `from .module import name`.
    Imported(ModuleId, &'a str),
}

/// A file of the directory.
struct Module<'a> {
    names: BTreeMap<&'a str, Binding<'a>>,
}

/// Place of code: the file, and the function that contains the code.
#[derive(Clone, Copy)]
pub(super) struct CodeLocation {
    pub(super) module: ModuleId,
    pub(super) function: Option<FunctionId>,
}

/// The whole directory under analysis.
pub(super) struct Flow<'a> {
    sources: &'a [ParsedFile<'a>],
    modules: Vec<Module<'a>>,
    functions: Vec<CheckedFunction<'a>>,
    function_at: BTreeMap<(ModuleId, TextSize), FunctionId>,
    heap: Vec<Value>,
    /// Sites by place: a call of a method begins where its receiver does, so the place has an end, too.
    site_at: BTreeMap<(ModuleId, TextSize, TextSize), SiteId>,
    /// Containers that are dictionaries, which are iterated over by their keys. All keys are plain.
    dictionaries: BTreeSet<SiteId>,
    classes: Vec<CheckedClass<'a>>,
    /// Constants of the class whose body is run, by name.
    class_constants: BTreeMap<&'a str, Value>,
    /// Classes that `namedtuple` makes.
    class_at: BTreeMap<(ModuleId, TextSize), ClassId>,
    /// The functions and the values of partial functions, and the partial functions by place.
    partials: BTreeMap<FunctionId, Bound>,
    partial_at: BTreeMap<(ModuleId, TextSize, TextSize), FunctionId>,
    /// Number of `with` blocks around the statement that is run.
    open_contexts: usize,
    /// Functions whose results are stored: `functools.cache`.
    cached: BTreeSet<FunctionId>,
    /// Functions that may only compute plain values from plain values, because a function that is cached calls them.
    pure: BTreeSet<FunctionId>,
    /// Values of dictionaries by key, if all keys are names in the text.
    keys: BTreeMap<SiteId, Option<BTreeMap<&'a str, Value>>>,
    /// Containers that are changed after they were made.
    altered: BTreeSet<SiteId>,
    /// Functions that `triton.set_allocator` gets.
    allocators: BTreeSet<FunctionId>,
    /// Values of `*` parameters by position, as long as all calls pass as many.
    extra: BTreeMap<FunctionId, Option<Vec<Value>>>,
    /// Places of functions that only patterns call.
    traced: BTreeSet<(ModuleId, TextSize)>,
    /// Uses of methods that may copy, in the reporting round.
    copies: Vec<(ModuleId, TextRange, String)>,
    /// Decorators that store results, in the reporting round.
    stored: Vec<(ModuleId, TextRange)>,
    asks_alignment: bool,
    /// Containers that are iterators, which have a position.
    iterators: BTreeSet<SiteId>,
    changed: bool,
    reporting: bool,
    findings: Findings,
    /// Values from which an attribute was read in the reporting round.
    #[cfg(test)]
    bases: Vec<(TextRange, Value)>,
}

impl<'a> Flow<'a> {
    /// Registers imports, definitions and names of all files.
    pub(super) fn new(sources: &'a [ParsedFile<'a>]) -> Self {
        let modules = sources.iter().map(|_| Module { names: BTreeMap::new() }).collect();
        let mut flow = Self {
            sources,
            modules,
            functions: Vec::new(),
            function_at: BTreeMap::new(),
            heap: Vec::new(),
            site_at: BTreeMap::new(),
            dictionaries: BTreeSet::new(),
            classes: Vec::new(),
            class_at: BTreeMap::new(),
            partials: BTreeMap::new(),
            partial_at: BTreeMap::new(),
            open_contexts: 0,
            cached: BTreeSet::new(),
            pure: BTreeSet::new(),
            traced: BTreeSet::new(),
            keys: BTreeMap::new(),
            altered: BTreeSet::new(),
            allocators: BTreeSet::new(),
            extra: BTreeMap::new(),
            copies: Vec::new(),
            stored: Vec::new(),
            asks_alignment: false,
            iterators: BTreeSet::new(),
            class_constants: BTreeMap::new(),
            changed: false,
            reporting: true,
            findings: Findings::default(),
            #[cfg(test)]
            bases: Vec::new(),
        };
        // Imports of all files come first, because they decide which decorators make a kernel.
        for id in flow.module_ids() {
            flow.register_imports(id);
        }
        flow.find_traced();
        for id in flow.module_ids() {
            flow.register_definitions(id);
        }
        flow.check_sibling_imports();
        flow.reporting = false;
        flow
    }

    /// Runs to the fixed point and reports.
    pub(super) fn run(&mut self) {
        let mut rounds = self.settle(0);
        // Parameters that no call reaches are known only once all calls are known. The tensors that they then get may lead to new
        // calls.
        if self.seed_uncalled() {
            rounds = self.settle(rounds);
        }
        self.reporting = true;
        self.round();
        self.check_copies();
        // Before the fixed point, findings may miss a value. So such a directory is refused.
        if rounds >= MAX_ROUNDS {
            let violation = TooLarge {
                subject: "the data flow between functions".to_owned(),
                limit: format!("{MAX_ROUNDS} rounds"),
            };
            self.report(ModuleId(0), &TextRange::default(), &violation);
        }
    }

    /// Returns the findings that hold at the end, including the findings that made values unknown.
    pub(super) fn into_findings(mut self) -> BTreeSet<Finding> {
        let names = self.modules.iter().flat_map(|module| module.names.values());
        let bound = names.filter_map(|binding| match binding {
            Binding::Value(value) => Some(value),
            Binding::Imported(..) => None,
        });
        let held = self.functions.iter().flat_map(|function| function.locals.values().chain([&function.returned]));
        let mut reasons = BTreeSet::new();
        bound.chain(held).chain(&self.heap).for_each(|value| value.reasons(&mut reasons));
        reasons.into_iter().for_each(|evidence| self.findings.confirm(evidence));
        self.findings.list(self.sources)
    }

    fn settle(&mut self, mut rounds: usize) -> usize {
        loop {
            self.changed = false;
            self.round();
            rounds += 1;
            if !self.changed || rounds >= MAX_ROUNDS {
                return rounds;
            }
        }
    }

    /// Interprets every module and every host function once.
    fn round(&mut self) {
        for id in self.module_ids() {
            self.run_module(id);
        }
        // In every round, because the modules bind the names that `replacement_func` may return.
        self.seed_entry_points();
        // Lambdas and nested functions join the table while their parents run.
        let mut next = 0;
        while next < self.functions.len() {
            self.run_function(FunctionId(next));
            next += 1;
        }
    }

    pub(super) fn module_ids(&self) -> Vec<ModuleId> {
        (0..self.sources.len()).map(ModuleId).collect()
    }

    pub(super) fn source(&self, id: ModuleId) -> &'a ParsedFile<'a> {
        &self.sources[id.0]
    }

    pub(super) fn statements(&self, id: ModuleId) -> &'a [Stmt] {
        self.sources[id.0].body()
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = (FunctionId, &CheckedFunction<'a>)> {
        self.functions.iter().enumerate().map(|(index, function)| (FunctionId(index), function))
    }

    fn function(&self, id: FunctionId) -> &CheckedFunction<'a> {
        &self.functions[id.0]
    }

    /// Records a finding and returns the unknown value that carries its evidence.
    pub(super) fn report(&mut self, module: ModuleId, node: &impl Ranged, violation: &impl Violation) -> Value {
        Value::Reported(self.findings.record(module, node.range(), violation, self.reporting))
    }

    /// Returns the site of a container expression. The site holds at least `element`.
    fn site(&mut self, frame: CodeLocation, node: &impl Ranged, element: Value) -> SiteId {
        let next = SiteId(self.heap.len());
        let place = (frame.module, node.range().start(), node.range().end());
        let site = *self.site_at.entry(place).or_insert(next);
        if site == next {
            self.heap.push(Value::Nothing);
            self.changed = true;
        }
        self.put(site, element);
        site
    }

    fn put(&mut self, site: SiteId, element: Value) {
        let slot = &mut self.heap[site.0];
        let joined = slot.clone().join(element);
        if joined != *slot {
            *slot = joined;
            self.changed = true;
        }
    }

    /// Joins a value into a local variable of a function.
    fn put_local(&mut self, id: FunctionId, name: &'a str, value: Value) {
        let slot = self.functions[id.0].locals.entry(name).or_insert(Value::Nothing);
        let joined = slot.clone().join(value);
        if joined != *slot {
            *slot = joined;
            self.changed = true;
        }
    }

    fn put_returned(&mut self, id: FunctionId, value: Value) {
        let slot = &mut self.functions[id.0].returned;
        let joined = slot.clone().join(value);
        if joined != *slot {
            *slot = joined;
            self.changed = true;
        }
    }

    /// Returns the join of all elements of containers.
    fn elements(&self, sites: &BTreeSet<SiteId>) -> Value {
        sites.iter().fold(Value::Nothing, |joined, site| joined.join(self.heap[site.0].clone()))
    }

    /// Returns whether a value and all of its parts are plain data: fit for host arithmetic, printing and comparisons.
    fn is_plain(&self, value: &Value) -> bool {
        self.all_parts(value, &mut |part| matches!(part, Value::Nothing | Value::Plain | Value::LaunchArgument))
    }

    /// Returns whether all parts of a value satisfy the test, including elements of tuples and containers.
    fn all_parts(&self, value: &Value, test: &mut dyn FnMut(&Value) -> bool) -> bool {
        // A container can hold itself.
        let mut seen = BTreeSet::new();
        let mut open = vec![value.clone()];
        while let Some(part) = open.pop() {
            match part {
                Value::Tuple(elements) => open.extend(elements),
                Value::Items { sites, .. } => {
                    open.extend(
                        sites.into_iter().filter(|site| seen.insert(*site)).map(|site| self.heap[site.0].clone()),
                    );
                }
                // Its finding is recorded already. A second finding for each use would hide the first one.
                Value::Reported(_) => {}
                part if test(&part) => {}
                _ => return false,
            }
        }
        true
    }
}
