# Sourced by the benchmarks, in the repository's root: sets $passnet, the command, and PASSNET_PYTHON and PASSNET_SITE for it.
# WHEEL, a file made by `cargo xtask wheel`, serves machines without Rust; without it everything is built here.
if [[ -n ${WHEEL:-} ]]; then
    PASSNET_PYTHON=${PASSNET_PYTHON:-python3} PASSNET_SITE=$(mktemp -d)
    "$PASSNET_PYTHON" -m pip install --quiet --no-index --no-deps --target "$PASSNET_SITE" "$WHEEL" || exit 3
    passnet=$PASSNET_SITE/bin/passnet
else
    cargo xtask setup && cargo build --release --package passnet || exit 3
    PASSNET_PYTHON=${PASSNET_PYTHON:-$PWD/target/venv/bin/python} PASSNET_SITE=$PWD/python
    passnet=${CARGO_TARGET_DIR:-target}/release/passnet
fi
export PASSNET_PYTHON PASSNET_SITE
