//! The check digit of Luhn. Numbers are passed as they are, so that spiced needs nothing
//! but the exported function; a boolean is an i32.
//!
//!     rustc --target wasm32-unknown-unknown --crate-type cdylib -C opt-level=s -C panic=abort -C strip=symbols luhn.rs
#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

#[no_mangle]
pub extern "C" fn luhn(number: i64) -> i32 {
    let (mut rest, mut sum, mut double) = (number, 0, false);
    while rest > 0 {
        let digit = rest % 10 * if double { 2 } else { 1 };
        sum += digit / 10 + digit % 10;
        rest /= 10;
        double = !double;
    }
    (number >= 0 && sum % 10 == 0) as i32
}
