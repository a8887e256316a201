//! One rule per file: a struct whose documentation is the rule's manual.

mod annotation;
mod api_not_allowed;
mod decorator_not_allowed;
mod dunder_access;
mod entry_point;
mod escaping_closure;
mod exception_handler;
mod hidden_text;
mod import_not_allowed;
mod invalid_source;
mod kernel_language;
mod kernel_launch;
mod launch_hook;
mod module_as_value;
mod module_name;
mod module_state;
mod native_call;
mod native_flag;
mod native_include;
mod native_source;
mod native_state;
mod order_file;
mod pattern;
mod rebound_name;
mod replacement_args;
mod replacement_func;
mod shared_mutation;
mod star_import;
mod statement_not_allowed;
mod tensor_attribute;
mod tensor_operator;
mod tensor_read;
mod too_large;
mod unassigned_name;
mod unexpected_file;
mod unknown_attribute;
mod unknown_call;
mod unknown_name;

pub(crate) use annotation::Annotation;
pub(crate) use api_not_allowed::ApiNotAllowed;
pub(crate) use decorator_not_allowed::DecoratorNotAllowed;
pub(crate) use dunder_access::DunderAccess;
pub(crate) use entry_point::EntryPoint;
pub(crate) use escaping_closure::EscapingClosure;
pub(crate) use exception_handler::ExceptionHandler;
pub(crate) use hidden_text::HiddenText;
pub(crate) use import_not_allowed::ImportNotAllowed;
pub(crate) use invalid_source::InvalidSource;
pub(crate) use kernel_language::KernelLanguage;
pub(crate) use kernel_launch::KernelLaunch;
pub(crate) use launch_hook::LaunchHook;
pub(crate) use module_as_value::ModuleAsValue;
pub(crate) use module_name::ModuleName;
pub(crate) use module_state::ModuleState;
pub(crate) use native_call::NativeCall;
pub(crate) use native_flag::NativeFlag;
pub(crate) use native_include::NativeInclude;
pub(crate) use native_source::NativeSource;
pub(crate) use native_state::NativeState;
pub(crate) use order_file::OrderFile;
pub(crate) use pattern::Pattern;
pub(crate) use rebound_name::ReboundName;
pub(crate) use replacement_args::ReplacementArgs;
pub(crate) use replacement_func::ReplacementFunc;
pub(crate) use shared_mutation::SharedMutation;
pub(crate) use star_import::StarImport;
pub(crate) use statement_not_allowed::StatementNotAllowed;
pub(crate) use tensor_attribute::TensorAttribute;
pub(crate) use tensor_operator::TensorOperator;
pub(crate) use tensor_read::TensorRead;
pub(crate) use too_large::TooLarge;
pub(crate) use unassigned_name::UnassignedName;
pub(crate) use unexpected_file::UnexpectedFile;
pub(crate) use unknown_attribute::UnknownAttribute;
pub(crate) use unknown_call::UnknownCall;
pub(crate) use unknown_name::UnknownName;

use crate::rule::Rule;

/// All rules, in the order of their ids.
pub(crate) const ALL: &[Rule] = &[
    Rule::of::<UnexpectedFile>(),
    Rule::of::<TooLarge>(),
    Rule::of::<InvalidSource>(),
    Rule::of::<HiddenText>(),
    Rule::of::<OrderFile>(),
    Rule::of::<ModuleName>(),
    Rule::of::<ImportNotAllowed>(),
    Rule::of::<StarImport>(),
    Rule::of::<UnknownName>(),
    Rule::of::<DunderAccess>(),
    Rule::of::<ReboundName>(),
    Rule::of::<ApiNotAllowed>(),
    Rule::of::<ModuleAsValue>(),
    Rule::of::<DecoratorNotAllowed>(),
    Rule::of::<StatementNotAllowed>(),
    Rule::of::<ExceptionHandler>(),
    Rule::of::<Annotation>(),
    Rule::of::<EntryPoint>(),
    Rule::of::<Pattern>(),
    Rule::of::<ReplacementArgs>(),
    Rule::of::<ReplacementFunc>(),
    Rule::of::<TensorOperator>(),
    Rule::of::<TensorAttribute>(),
    Rule::of::<TensorRead>(),
    Rule::of::<UnknownCall>(),
    Rule::of::<UnknownAttribute>(),
    Rule::of::<UnassignedName>(),
    Rule::of::<ModuleState>(),
    Rule::of::<SharedMutation>(),
    Rule::of::<EscapingClosure>(),
    Rule::of::<KernelLanguage>(),
    Rule::of::<KernelLaunch>(),
    Rule::of::<LaunchHook>(),
    Rule::of::<NativeSource>(),
    Rule::of::<NativeInclude>(),
    Rule::of::<NativeCall>(),
    Rule::of::<NativeState>(),
    Rule::of::<NativeFlag>(),
];
