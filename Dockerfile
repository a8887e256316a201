# PassNet with PyTorch, for a CPU or for CUDA.
#
#   docker build -t passnet .
#   docker build -t passnet:cuda --build-arg BASE=nvidia/cuda:13.0.1-base-ubuntu24.04 --build-arg TORCH=torch .
#   docker run --rm --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined passnet doctor
#
# The sandbox of the workers makes namespaces and mounts, which the default profiles of Docker forbid. Without the capability
# and the two options PassNet runs, and `doctor` lists the layers that are missing. No pass gets the capability.

ARG BASE=debian:bookworm-slim

FROM rust:1.95-bookworm AS build
# The toolchain of the image, whatever `rust-toolchain.toml` asks for: rustup would download that one.
ENV RUSTUP_TOOLCHAIN=${RUST_VERSION}
# `--build-arg PROFILE=dev` builds in a fraction of the time, and the commands are slower; kernels and timings are the same.
ARG PROFILE=release
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 python3-dev python3-pip python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN python3 -m venv /build && /build/bin/pip wheel --no-deps --config-settings=profile=${PROFILE} --wheel-dir /wheels .

# For work on PassNet itself; `.devcontainer` uses it.
FROM build AS development
RUN apt-get update \
    && apt-get install --yes --no-install-recommends chromium g++ git zstd \
    && rm -rf /var/lib/apt/lists/* \
    && rustup component add clippy rustfmt

FROM ${BASE}
# CPU wheels of PyTorch come from their own index. For CUDA, the wheels of PyPI contain the CUDA libraries.
ARG TORCH="torch --index-url https://download.pytorch.org/whl/cpu"
# C++ passes and Inductor need a compiler; Triton needs one, and the headers of Python.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
ENV VIRTUAL_ENV=/opt/passnet PATH=/opt/passnet/bin:$PATH
RUN python3 -m venv /opt/passnet \
    && pip install --no-cache-dir ${TORCH} \
    && pip install --no-cache-dir numpy setuptools
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/passnet-*.whl && passnet --version
WORKDIR /work
ENTRYPOINT ["passnet"]
CMD ["--help"]
