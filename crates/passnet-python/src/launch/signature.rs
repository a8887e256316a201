//! Signatures of kernels, and the check of arguments against them.
//!
//! A kernel reads memory according to the types in its signature. With a tensor of another type, device or layout, it would read or write
//! other memory. Each call that does not repeat an earlier call is therefore checked.

use passnet_native::kernel_code::TensorMemory;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::PyTuple,
};

use super::{
    argument::{Kind, address},
    recording::unobserved,
};

/// The device of the tensors of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelDevice {
    Cpu,
    /// The CUDA device with this ordinal.
    Cuda(i32),
}

/// The parameters of a kernel.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) kinds: Vec<Kind>,
    parameters: Vec<Parameter>,
}

/// A parameter as Python describes it: name, type as declared, code of its kind, and for a pointer the types of tensors, whether
/// any strides are accepted, whether the kernel writes to it, and the number of its elements in postfix notation.
pub(super) type Described = (String, String, String, Vec<Py<PyAny>>, bool, bool, Option<Vec<SizeTerm>>);

#[derive(Debug)]
struct Parameter {
    name: String,
    declared: String,
    accepts: Accepts,
}

#[derive(Debug)]
enum Accepts {
    Tensor {
        /// Allowed `torch.dtype` objects; empty if all types are allowed. Each type has one object.
        dtypes: Vec<Py<PyAny>>,
        is_strided: bool,
        is_written: bool,
        extent: Option<Vec<SizeTerm>>,
    },
    Integer {
        is_signed: bool,
        bits: u32,
    },
    Float,
    Double,
}

/// An element of an expression in postfix notation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SizeTerm {
    /// The value of the parameter in this place.
    Parameter(usize),
    Number(i64),
    Operator(char),
}

impl<'py> FromPyObject<'_, 'py> for SizeTerm {
    type Error = PyErr;

    /// Converts `("parameter", place)`, `("number", value)`, or an operator such as `("+", 0)`.
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (kind, number): (String, i64) = value.extract()?;
        match (kind.as_str(), usize::try_from(number)) {
            ("parameter", Ok(place)) => Ok(Self::Parameter(place)),
            ("number", _) => Ok(Self::Number(number)),
            ("+" | "-" | "*" | "/", _) => Ok(Self::Operator(kind.chars().next().unwrap_or('+'))),
            _ => Err(PyValueError::new_err(format!("`{kind}` is not a term of an expression"))),
        }
    }
}

impl Accepts {
    fn parse(described: Described) -> PyResult<Parameter> {
        let (name, declared, code, dtypes, is_strided, is_written, extent) = described;
        let accepts = match code.as_str() {
            "*" => Self::Tensor { dtypes, is_strided, is_written, extent },
            "f" => Self::Float,
            "d" => Self::Double,
            _ => {
                let bits = code[1..].parse().map_err(|_| PyValueError::new_err(format!("`{code}` is not a kind")))?;
                Self::Integer { is_signed: code.starts_with('i'), bits }
            }
        };
        Ok(Parameter { name, declared, accepts })
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Tensor { .. } => Kind::Pointer,
            Self::Integer { .. } => Kind::Integer,
            Self::Float => Kind::Float,
            Self::Double => Kind::Double,
        }
    }
}

impl Signature {
    pub(super) fn new(name: String, parameters: Vec<Described>) -> PyResult<Self> {
        let parameters: Vec<_> = parameters.into_iter().map(Accepts::parse).collect::<PyResult<_>>()?;
        let kinds = parameters.iter().map(|parameter| parameter.accepts.kind()).collect();
        Ok(Self { name, kinds, parameters })
    }

    /// Checks the arguments of a call, and returns one word for each.
    pub(super) fn words_of(&self, arguments: &Bound<'_, PyTuple>, device: KernelDevice) -> PyResult<Vec<u64>> {
        if arguments.len() != self.parameters.len() {
            let message = format!("{} takes {} arguments, got {}", self.name, self.parameters.len(), arguments.len());
            return Err(PyTypeError::new_err(message));
        }
        let mut has_extents = false;
        let mut words = Vec::with_capacity(self.parameters.len());
        for (parameter, value) in self.parameters.iter().zip(arguments.iter_borrowed()) {
            words.push(match &parameter.accepts {
                Accepts::Tensor { dtypes, is_strided, is_written, extent } => {
                    has_extents |= extent.is_some();
                    self.check_type(parameter, dtypes, &value)?;
                    self.check_device(parameter, device, &value)?;
                    self.check_layout(parameter, *is_strided, *is_written, &value)?;
                    address(&value)?
                }
                Accepts::Integer { is_signed, bits } => self.integer(parameter, *is_signed, *bits, &value)?,
                Accepts::Float => u64::from((self.float(parameter, &value)? as f32).to_bits()),
                Accepts::Double => self.float(parameter, &value)?.to_bits(),
            });
        }
        if has_extents {
            self.check_extents(arguments, &words)?;
        }
        Ok(words)
    }

    /// Returns the memory of the tensors among the arguments of a call, from their first to their last elements.
    pub(super) fn memory_of(&self, arguments: &Bound<'_, PyTuple>) -> PyResult<Vec<TensorMemory>> {
        let mut tensors = Vec::new();
        for (place, (parameter, value)) in self.parameters.iter().zip(arguments.iter_borrowed()).enumerate() {
            let Accepts::Tensor { is_written, .. } = parameter.accepts else { continue };
            let py = value.py();
            let sizes: Vec<usize> = value.getattr(intern!(py, "shape"))?.extract()?;
            let strides: Vec<usize> = value.call_method0(intern!(py, "stride"))?.extract()?;
            let element: usize = value.call_method0(intern!(py, "element_size"))?.extract()?;
            let last: usize = sizes.iter().zip(&strides).map(|(size, stride)| size.saturating_sub(1) * stride).sum();
            let nbytes = if sizes.contains(&0) { 0 } else { (last + 1) * element };
            tensors.push(TensorMemory { parameter: place, address: address(&value)? as usize, nbytes, is_written });
        }
        Ok(tensors)
    }

    /// Returns the name of the parameter in a place.
    pub(super) fn parameter(&self, place: usize) -> &str {
        self.parameters.get(place).map_or("", |parameter| &parameter.name)
    }

    fn check_type(&self, parameter: &Parameter, dtypes: &[Py<PyAny>], value: &Bound<'_, PyAny>) -> PyResult<()> {
        let expected = || match dtypes {
            [] => "a tensor".to_owned(),
            some => format!(
                "a tensor of {}",
                some.iter().map(|dtype| short(dtype.bind(value.py()))).collect::<Vec<_>>().join(" or ")
            ),
        };
        let Ok(dtype) = value.getattr(intern!(value.py(), "dtype")) else {
            let got = value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
            return Err(self.wrong(value.py(), parameter, &expected(), &format!("`{got}`")));
        };
        if dtypes.is_empty() || dtypes.iter().any(|accepted| accepted.is(&dtype)) {
            return Ok(());
        }
        Err(self.wrong(value.py(), parameter, &expected(), &format!("a tensor of {}", short(&dtype))))
    }

    fn check_device(&self, parameter: &Parameter, device: KernelDevice, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        let (is_there, expected) = match device {
            KernelDevice::Cpu => (value.getattr(intern!(py, "is_cpu"))?.is_truthy()?, "a tensor on the CPU".to_owned()),
            KernelDevice::Cuda(index) => {
                let on = value.call_method0(intern!(py, "get_device"))?.extract::<i32>()?;
                let is_there = on == index && value.getattr(intern!(py, "is_cuda"))?.is_truthy()?;
                (is_there, format!("a tensor on cuda:{index}, the current device"))
            }
        };
        if is_there {
            return Ok(());
        }
        let device = value.getattr(intern!(py, "device"))?;
        Err(self.wrong(py, parameter, &expected, &format!("a tensor on {device}")))
    }

    fn check_layout(
        &self,
        parameter: &Parameter,
        is_strided: bool,
        is_written: bool,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = value.py();
        for (is_lazy, done) in [("is_conj", "conjugated"), ("is_neg", "negated")] {
            if value.call_method0(is_lazy)?.is_truthy()? {
                let got = format!("a view that is lazily {done}; its memory has other values");
                return Err(self.wrong(py, parameter, "a tensor whose values are in memory", &got));
            }
        }
        // Inside of a transformation such as `torch.func.functionalize`, a tensor describes values that are stored elsewhere. For a
        // sparse tensor, PyTorch raises an error.
        let has_memory = unobserved(py, || {
            Ok(address(value)? != 0 || value.call_method0(intern!(py, "numel"))?.extract::<u64>()? == 0)
        });
        if !has_memory.unwrap_or(false) {
            return Err(self.wrong(py, parameter, "a tensor whose values are in memory", "a tensor without memory"));
        }
        let expected = if !is_strided {
            if value.call_method0(intern!(py, "is_contiguous"))?.is_truthy()? {
                return Ok(());
            }
            format!(
                "a contiguous tensor, since it is not declared as `{} strided {}`",
                parameter.declared, parameter.name
            )
        } else if is_written && repeats_elements(value)? {
            "a tensor to write to, without elements that share memory".to_owned()
        } else {
            return Ok(());
        };
        let sizes: Vec<i64> = value.getattr(intern!(py, "shape"))?.extract()?;
        let shape = PyTuple::new(py, sizes)?;
        let strides = value.call_method0(intern!(py, "stride"))?;
        Err(self.wrong(py, parameter, &expected, &format!("one of shape {shape} with strides {strides}")))
    }

    fn integer(&self, parameter: &Parameter, is_signed: bool, bits: u32, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        // A float is refused, because it has no `__index__`.
        let number = value.extract::<i64>().map(i128::from).or_else(|_| value.extract::<u64>().map(i128::from));
        if let Ok(number) = number {
            let (low, high) = if is_signed { (-(1_i128 << (bits - 1)), 1_i128 << (bits - 1)) } else { (0, 1 << bits) };
            if (low..high).contains(&number) {
                return Ok(number as u64);
            }
        }
        let expected = match (is_signed, bits) {
            (_, 1) => "True or False".to_owned(),
            (true, bits) => format!("an integer of {bits} bits"),
            (false, bits) => format!("a non-negative integer of {bits} bits"),
        };
        Err(self.wrong(value.py(), parameter, &expected, &shown(value)))
    }

    fn float(&self, parameter: &Parameter, value: &Bound<'_, PyAny>) -> PyResult<f64> {
        value.extract::<f64>().map_err(|_| self.wrong(value.py(), parameter, "a number", &shown(value)))
    }

    /// Compares the numbers of elements with those that the signature declares.
    fn check_extents(&self, arguments: &Bound<'_, PyTuple>, words: &[u64]) -> PyResult<()> {
        for (parameter, value) in self.parameters.iter().zip(arguments.iter_borrowed()) {
            let Accepts::Tensor { extent: Some(extent), .. } = &parameter.accepts else { continue };
            let Some(expected) = evaluate(extent, words) else {
                let expected = "a number of elements that can be computed";
                return Err(self.wrong(value.py(), parameter, expected, "one that overflows or divides by zero"));
            };
            let count: i64 = value.call_method0(intern!(value.py(), "numel"))?.extract()?;
            if count != expected {
                let expected = format!("a tensor of {expected} elements");
                return Err(self.wrong(value.py(), parameter, &expected, &format!("one of {count}")));
            }
        }
        Ok(())
    }

    fn wrong(&self, py: Python<'_>, parameter: &Parameter, expected: &str, got: &str) -> PyErr {
        argument_error(py, &self.name, &parameter.name, expected, got)
    }
}

/// Returns the exception for an argument that does not match the signature.
pub(super) fn argument_error(py: Python<'_>, kernel: &str, argument: &str, expected: &str, got: &str) -> PyErr {
    let message = format!("kernel `{kernel}`, argument `{argument}`: expected {expected}, got {got}");
    let error =
        py.import("passnet.kernels").and_then(|module| module.getattr("KernelArgumentError")?.call1((message,)));
    error.map_or_else(|failure| failure, PyErr::from_value)
}

/// Returns whether elements with different indices share a place in memory, as in an expanded tensor.
fn repeats_elements(tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = tensor.py();
    let sizes: Vec<i64> = tensor.getattr(intern!(py, "shape"))?.extract()?;
    let strides: Vec<i64> = tensor.call_method0(intern!(py, "stride"))?.extract()?;
    Ok(sizes.iter().zip(&strides).any(|(&size, &stride)| size > 1 && stride == 0))
}

/// Returns the value of an expression; `None` on overflow or division by zero.
fn evaluate(terms: &[SizeTerm], words: &[u64]) -> Option<i64> {
    let mut stack: Vec<i64> = Vec::with_capacity(terms.len());
    for term in terms {
        let value = match *term {
            SizeTerm::Parameter(place) => words.get(place)?.cast_signed(),
            SizeTerm::Number(number) => number,
            SizeTerm::Operator(operator) => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                match operator {
                    '+' => left.checked_add(right)?,
                    '-' => left.checked_sub(right)?,
                    '*' => left.checked_mul(right)?,
                    _ => left.checked_div(right)?,
                }
            }
        };
        stack.push(value);
    }
    stack.pop()
}

/// Returns the name of a dtype without prefix: `float32` for `torch.float32`.
fn short(dtype: &Bound<'_, PyAny>) -> String {
    dtype.to_string().trim_start_matches("torch.").to_owned()
}

fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "something else".to_owned(), |text| format!("`{text}`"))
}
