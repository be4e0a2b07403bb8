#!/bin/sh
# Rebuilds the modules of the tests: ./build.sh
# It needs rustc and cargo with the target wasm32-unknown-unknown.
set -eu
cd "$(dirname "$0")"
for name in numbers hostile badalloc command; do
	rustc --edition 2021 --target wasm32-unknown-unknown --crate-type cdylib -C opt-level=s -C panic=abort \
		-C strip=symbols -C lto -C link-arg=-zstack-size=65536 -o ../$name.wasm $name.rs
done
RUSTFLAGS='-C link-arg=-zstack-size=65536 --remap-path-prefix '"$HOME"'=' CARGO_TARGET_DIR=/tmp/spiced-guests \
	cargo build --quiet --release --manifest-path arrow/Cargo.toml --target wasm32-unknown-unknown
cp /tmp/spiced-guests/wasm32-unknown-unknown/release/arrow_guest.wasm ../arrow.wasm
