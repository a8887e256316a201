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
mod unexpected_file;
mod unknown_attribute;
mod unknown_call;
mod unknown_name;

pub(in crate::lint) use annotation::Annotation;
pub(in crate::lint) use api_not_allowed::ApiNotAllowed;
pub(in crate::lint) use decorator_not_allowed::DecoratorNotAllowed;
pub(in crate::lint) use dunder_access::DunderAccess;
pub(in crate::lint) use entry_point::EntryPoint;
pub(in crate::lint) use escaping_closure::EscapingClosure;
pub(in crate::lint) use exception_handler::ExceptionHandler;
pub(in crate::lint) use hidden_text::HiddenText;
pub(in crate::lint) use import_not_allowed::ImportNotAllowed;
pub(in crate::lint) use invalid_source::InvalidSource;
pub(in crate::lint) use kernel_language::KernelLanguage;
pub(in crate::lint) use kernel_launch::KernelLaunch;
pub(in crate::lint) use launch_hook::LaunchHook;
pub(in crate::lint) use module_as_value::ModuleAsValue;
pub(in crate::lint) use module_name::ModuleName;
pub(in crate::lint) use module_state::ModuleState;
pub(in crate::lint) use native_call::NativeCall;
pub(in crate::lint) use native_flag::NativeFlag;
pub(in crate::lint) use native_include::NativeInclude;
pub(in crate::lint) use native_source::NativeSource;
pub(in crate::lint) use native_state::NativeState;
pub(in crate::lint) use order_file::OrderFile;
pub(in crate::lint) use pattern::Pattern;
pub(in crate::lint) use rebound_name::ReboundName;
pub(in crate::lint) use replacement_args::ReplacementArgs;
pub(in crate::lint) use replacement_func::ReplacementFunc;
pub(in crate::lint) use shared_mutation::SharedMutation;
pub(in crate::lint) use star_import::StarImport;
pub(in crate::lint) use statement_not_allowed::StatementNotAllowed;
pub(in crate::lint) use tensor_attribute::TensorAttribute;
pub(in crate::lint) use tensor_operator::TensorOperator;
pub(in crate::lint) use tensor_read::TensorRead;
pub(in crate::lint) use too_large::TooLarge;
pub(in crate::lint) use unexpected_file::UnexpectedFile;
pub(in crate::lint) use unknown_attribute::UnknownAttribute;
pub(in crate::lint) use unknown_call::UnknownCall;
pub(in crate::lint) use unknown_name::UnknownName;

use crate::lint::rule::Rule;

/// Every rule, by id.
pub(in crate::lint) const ALL: &[Rule] = &[
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
