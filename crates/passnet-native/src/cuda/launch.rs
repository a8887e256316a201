//! Modules, kernels and launches on the device.

use std::{
    ffi::{CString, c_int, c_void},
    ptr,
};

use super::driver::{CudaError, DriverFunctions, Handle};

const LOCAL_SIZE_BYTES: c_int = 3;
const MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
/// Shared memory that a kernel may use without a request, in bytes.
const DEFAULT_SHARED_BYTES: u32 = 48 * 1024;

/// Number of blocks of a launch in x, y and z.
pub type Grid = [u32; 3];

/// Returns the ordinal of the device whose context is current on this thread.
///
/// # Errors
///
/// If there is no driver or no current context.
pub fn current_device() -> Result<i32, CudaError> {
    let driver = DriverFunctions::get()?;
    let mut device = 0;
    // SAFETY: writes to a local variable.
    #[expect(unsafe_code, reason = "call of the driver")]
    let status = unsafe { (driver.ctx_get_device)(&raw mut device) };
    driver.check("cuCtxGetDevice", status)?;
    Ok(device)
}

/// Returns an attribute of a device that is a number of at least 0. `number` is a `CUdevice_attribute`.
pub(super) fn device_attribute(device: i32, number: c_int) -> Result<u32, CudaError> {
    let driver = DriverFunctions::get()?;
    let mut value = 0;
    // SAFETY: writes to a local variable.
    #[expect(unsafe_code, reason = "call of the driver")]
    let status = unsafe { (driver.device_get_attribute)(&raw mut value, number, device) };
    driver.check("cuDeviceGetAttribute", status).map(|()| value.unsigned_abs())
}

/// Machine code on the device.
#[derive(Debug)]
pub struct Module {
    driver: &'static DriverFunctions,
    handle: Handle,
}

// SAFETY: the handle is an identifier of the driver, whose functions may be called from any thread.
#[expect(unsafe_code, reason = "handles of the driver may be used by several threads")]
unsafe impl Send for Module {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "handles of the driver may be used by several threads")]
unsafe impl Sync for Module {}

impl Module {
    /// Loads a cubin, or PTX that ends with a NUL, into the current context.
    ///
    /// # Errors
    ///
    /// If the driver refuses the code.
    pub fn load(cubin: &[u8]) -> Result<Self, CudaError> {
        let driver = DriverFunctions::get()?;
        let mut handle = ptr::null_mut();
        // SAFETY: a cubin is an ELF file, which contains its length, and PTX ends with a NUL; the driver copies it.
        #[expect(unsafe_code, reason = "call of the driver")]
        let status = unsafe { (driver.module_load_data)(&raw mut handle, cubin.as_ptr().cast()) };
        driver.check("cuModuleLoadData", status)?;
        Ok(Self { driver, handle })
    }

    /// Returns the function `name`, which will be launched in blocks of `block` threads with `shared_bytes` of dynamic shared
    /// memory.
    ///
    /// # Errors
    ///
    /// If there is no such function, or the device does not have this much shared memory.
    pub fn kernel(&self, name: &str, block: [u32; 3], shared_bytes: u32) -> Result<Kernel, CudaError> {
        let unknown = || CudaError::Unavailable(format!("no kernel can be called {name:?}"));
        let name = CString::new(name).map_err(|_| unknown())?;
        let mut function = ptr::null_mut();
        // SAFETY: the module lives as long as `self`; the name ends with a NUL; the result goes to a local variable.
        #[expect(unsafe_code, reason = "call of the driver")]
        let status = unsafe { (self.driver.module_get_function)(&raw mut function, self.handle, name.as_ptr()) };
        self.driver.check("cuModuleGetFunction", status)?;
        if shared_bytes > DEFAULT_SHARED_BYTES {
            let bytes = c_int::try_from(shared_bytes).unwrap_or(c_int::MAX);
            // SAFETY: `function` is the handle that the driver has just given.
            #[expect(unsafe_code, reason = "call of the driver")]
            let status = unsafe { (self.driver.func_set_attribute)(function, MAX_DYNAMIC_SHARED_BYTES, bytes) };
            self.driver.check("cuFuncSetAttribute", status)?;
        }
        Ok(Kernel { driver: self.driver, function, block, shared_bytes })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the handle was made by `load` and is not used again; kernels of the module are kept together with it. An error is
        // ignored: after a fatal error the context is lost with all its modules.
        #[expect(unsafe_code, reason = "call of the driver")]
        unsafe {
            (self.driver.module_unload)(self.handle);
        }
    }
}

/// A function on the device with the shape of its blocks.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    driver: &'static DriverFunctions,
    function: Handle,
    block: [u32; 3],
    shared_bytes: u32,
}

// SAFETY: the handle is an identifier of the driver, whose functions may be called from any thread.
#[expect(unsafe_code, reason = "handles of the driver may be used by several threads")]
unsafe impl Send for Kernel {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "handles of the driver may be used by several threads")]
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Returns a function that another library has loaded, for example Triton.
    ///
    /// # Errors
    ///
    /// If there is no driver.
    ///
    /// # Safety
    ///
    /// `function` must be a `CUfunction` that stays loaded as long as the kernel is launched.
    #[expect(unsafe_code, reason = "a handle is trusted")]
    pub unsafe fn from_handle(function: usize, block: [u32; 3], shared_bytes: u32) -> Result<Self, CudaError> {
        Ok(Self { driver: DriverFunctions::get()?, function: function as Handle, block, shared_bytes })
    }

    /// Returns the bytes of local memory that a thread uses.
    pub(super) fn local_bytes(&self) -> Result<u32, CudaError> {
        let mut bytes = 0;
        // SAFETY: the function stays loaded as long as the kernel is used; the result goes to a local variable.
        #[expect(unsafe_code, reason = "call of the driver")]
        let status = unsafe { (self.driver.func_get_attribute)(&raw mut bytes, LOCAL_SIZE_BYTES, self.function) };
        self.driver.check("cuFuncGetAttribute", status).map(|()| bytes.unsigned_abs())
    }

    /// Launches the kernel on `stream`. An empty grid launches nothing.
    ///
    /// # Errors
    ///
    /// If the driver refuses the launch, or reports an error of earlier asynchronous work.
    ///
    /// # Safety
    ///
    /// The arguments must match the kernel's parameters, and there must be at least as many arguments as parameters. Memory that the
    /// kernel accesses through them must stay allocated until the kernel has run.
    #[expect(unsafe_code, reason = "the caller vouches for the arguments")]
    pub unsafe fn launch(&self, grid: Grid, stream: usize, mut arguments: ParameterWords) -> Result<(), CudaError> {
        if grid.contains(&0) || !crate::census::launch() {
            return Ok(());
        }
        let (mut few, mut many) = ([ptr::null_mut(); FEW], Vec::new());
        let places = arguments.places(&mut few, &mut many);
        let ([x, y, z], [bx, by, bz]) = (grid, self.block);
        // SAFETY: each place holds the address of a word of `arguments`, which lives until the call returns, by when the driver
        // has copied them; the rest is the caller's word.
        let status = unsafe {
            (self.driver.launch_kernel)(
                self.function,
                x,
                y,
                z,
                bx,
                by,
                bz,
                self.shared_bytes,
                stream as Handle,
                places.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.driver.check("cuLaunchKernel", status)
    }
}

/// Number of null words after the arguments. A Triton kernel has further parameters for scratch memory (two in Triton 3.6), which are
/// null if it uses none. The driver reads only as many words as the kernel has parameters.
const SPARE: usize = 8;

/// Number of words of a launch up to which their addresses need no allocation.
const FEW: usize = 64 + SPARE;

/// Values of a kernel's parameters in order, each in the low bytes of a word.
///
/// The only limit is that of the device, which the compiler of the kernel checks: 4 KB of parameters, and 32 KB from compute capability
/// 7.0 with CUDA 12.1 (CUDA C++ programming guide, "`__global__` function parameters").
#[derive(Debug)]
pub struct ParameterWords(Vec<u64>);

impl ParameterWords {
    /// Returns the address of each word, stored in one of the two buffers.
    fn places<'buffer>(
        &mut self,
        few: &'buffer mut [*mut c_void; FEW],
        many: &'buffer mut Vec<*mut c_void>,
    ) -> &'buffer mut [*mut c_void] {
        let count = self.0.len();
        let places = if count <= FEW {
            &mut few[..count]
        } else {
            many.resize(count, ptr::null_mut());
            &mut many[..]
        };
        for (place, word) in places.iter_mut().zip(&mut self.0) {
            *place = ptr::from_mut(word).cast();
        }
        places
    }
}

impl FromIterator<u64> for ParameterWords {
    fn from_iter<I: IntoIterator<Item = u64>>(words: I) -> Self {
        let words = words.into_iter();
        let mut all = Vec::with_capacity(words.size_hint().0 + SPARE);
        all.extend(words);
        all.extend([0; SPARE]);
        Self(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words that a driver reads if it gets the addresses of `count` arguments.
    fn read_by_driver(count: u64) -> Vec<u64> {
        let mut arguments: ParameterWords = (1..=count).collect();
        let (mut few, mut many) = ([ptr::null_mut(); FEW], Vec::new());
        let places = arguments.places(&mut few, &mut many);
        // SAFETY: each place is that of a word of `arguments`, which is alive.
        #[expect(unsafe_code, reason = "reads as the driver does")]
        places.iter().map(|&place| unsafe { *place.cast::<u64>() }).collect()
    }

    #[test]
    fn each_argument_has_a_place_and_null_words_follow() {
        for count in [0, 1, 62, 63, 64, 65, 200, 4095] {
            let expected: Vec<u64> = (1..=count).chain([0; SPARE]).collect();
            assert_eq!(read_by_driver(count), expected, "{count} arguments");
        }
    }
}
