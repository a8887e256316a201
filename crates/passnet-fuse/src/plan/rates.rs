//! Constants of each class of devices, and the time that they predict.

use passnet_graph::Target;
use passnet_record::{DeviceRates, RegionCosts, SideRates};

/// An H200. Fitted to 517 places of the public tasks by `benches/predictions.py`: the error is in `docs/results/h200.md`.
static CUDA: DeviceRates = DeviceRates {
    eager: SideRates {
        begin_ns: 0.0,
        call_ns: 9320.0,
        convolution_ns: 11_600.0,
        view_ns: 1370.0,
        tensor_ns: 0.0,
        byte_ns: 3.06e-4,
        element_ns: 1.92e-5,
        half_element_ns: 3.34e-4,
        function_ns: 3.05e-5,
        window_ns: 4.76e-3,
        half_product_ns: 2.29e-6,
        product_ns: 1.36e-5,
    },
    fused: SideRates {
        begin_ns: 1800.0,
        call_ns: 3490.0,
        convolution_ns: 0.0,
        view_ns: 1110.0,
        tensor_ns: 1480.0,
        byte_ns: 2.30e-4,
        element_ns: 3.78e-5,
        half_element_ns: 8.31e-5,
        function_ns: 3.06e-5,
        window_ns: 1.50e-3,
        half_product_ns: 3.13e-6,
        product_ns: 2.92e-5,
    },
    wait_ns: 4760.0,
    far_byte_ns: 0.0,
    overlaps: true,
};

/// A core of a server CPU. Fitted by hand: the error is in `docs/results/cpu.md`.
static CPU: DeviceRates = DeviceRates {
    eager: SideRates {
        begin_ns: 0.0,
        call_ns: 1900.0,
        convolution_ns: 0.0,
        view_ns: 750.0,
        tensor_ns: 0.0,
        byte_ns: 1.0 / 50.0,
        element_ns: 0.0,
        half_element_ns: 0.1,
        function_ns: 0.3,
        window_ns: 2.5,
        half_product_ns: 0.0,
        product_ns: 0.0,
    },
    fused: SideRates {
        begin_ns: 550.0,
        call_ns: 150.0,
        convolution_ns: 0.0,
        view_ns: 375.0,
        tensor_ns: 350.0,
        byte_ns: 1.0 / 90.0,
        element_ns: 0.02,
        half_element_ns: 0.05,
        function_ns: 0.17,
        // Measured on kernels that store the elements of windows first.
        window_ns: 0.6,
        half_product_ns: 0.0,
        product_ns: 0.0,
    },
    wait_ns: 0.0,
    far_byte_ns: 0.033,
    overlaps: false,
};

/// Bytes that a cache of a CPU holds.
const CACHE: i64 = 16 << 20;

/// Returns the constants of the class of devices that a target stands for.
pub(crate) fn rates_of(target: Target) -> &'static DeviceRates {
    match target {
        Target::Cpu => &CPU,
        Target::Cuda => &CUDA,
    }
}

/// Returns the predicted time of one side in nanoseconds: one call, and the wait for its end. `benches/predictions.py` has the same
/// formula.
pub(crate) fn predicted_ns(rates: &DeviceRates, side: &SideRates, costs: &RegionCosts) -> f64 {
    let mut host = side.begin_ns + costs.views as f64 * side.view_ns + costs.tensors as f64 * side.tensor_ns;
    let mut device = 0.0_f64;
    for call in &costs.calls {
        host += side.call_ns + call.convolutions as f64 * side.convolution_ns;
        let work = call.bytes as f64 * side.byte_ns
            + call.elements as f64 * side.element_ns
            + call.half_elements as f64 * side.half_element_ns
            + call.functions as f64 * side.function_ns
            + call.windows as f64 * side.window_ns
            + call.half_products as f64 * side.half_product_ns
            + call.products as f64 * side.product_ns;
        if rates.overlaps {
            // A kernel begins when it was launched and the kernel before it has ended.
            device = device.max(host) + work;
        } else {
            host += work;
        }
    }
    let bytes: i64 = costs.calls.iter().map(|call| call.bytes).sum();
    host += (bytes - CACHE).max(0) as f64 * rates.far_byte_ns;
    host.max(device) + rates.wait_ns
}

#[cfg(test)]
mod tests {
    use passnet_record::CallCosts;

    use super::*;

    #[test]
    fn a_device_computes_while_the_host_continues() {
        let bytes = |count: &[i64]| RegionCosts {
            calls: count.iter().map(|&bytes| CallCosts { bytes, ..CallCosts::default() }).collect(),
            ..RegionCosts::default()
        };
        let ns = |costs: &RegionCosts| predicted_ns(&CUDA, &CUDA.eager, costs) - CUDA.wait_ns;
        let call = CUDA.eager.call_ns;
        let check = |expected: f64, count: &[i64]| {
            let found = ns(&bytes(count));
            assert!((found - expected).abs() < 1e-6 * expected.max(1.0), "{count:?}: {found} instead of {expected}");
        };
        // So many bytes that they take as long as two and a half calls.
        let many = (2.5 * call / CUDA.eager.byte_ns) as i64;
        check(0.0, &[]);
        check(call, &[0]);
        check(3.5 * call, &[many]);
        check(3.5 * call, &[many, 0, 0]);
        check(4.0 * call, &[many, 0, 0, 0]);
        check(5.5 * call, &[0, 0, many]);
        check(6.0 * call, &[many, many]);
        // A CPU does one after the other.
        let cpu = predicted_ns(&CPU, &CPU.eager, &bytes(&[50, 50, 50]));
        assert!((cpu - 3.0 * (CPU.eager.call_ns + 1.0)).abs() < 1e-6, "{cpu}");
    }
}
