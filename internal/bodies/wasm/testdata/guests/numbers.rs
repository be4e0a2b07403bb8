//! Functions of numbers, which spiced calls once for each row.
#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

#[no_mangle]
pub extern "C" fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

#[no_mangle]
pub extern "C" fn mix(a: i32, b: i64, c: f32, d: f64) -> f64 {
    a as f64 + b as f64 + c as f64 + d
}

#[no_mangle]
pub extern "C" fn half(x: f32) -> f32 {
    x / 2.0
}

#[no_mangle]
pub extern "C" fn is_even(x: i32) -> i32 {
    (x % 2 == 0) as i32
}

/// Its result is not always of a narrow type.
#[no_mangle]
pub extern "C" fn double(x: i32) -> i32 {
    x.wrapping_mul(2)
}

#[no_mangle]
pub extern "C" fn answer() -> i64 {
    42
}

#[no_mangle]
pub extern "C" fn divide(a: i64, b: i64) -> i64 {
    if b == 0 {
        core::arch::wasm32::unreachable()
    }
    a.wrapping_div(b)
}

/// Adds n numbers.
#[no_mangle]
pub extern "C" fn work(n: i64) -> i64 {
    let mut sum = 0i64;
    let mut i = 0;
    while i < n {
        sum = core::hint::black_box(sum.wrapping_add(i));
        i += 1;
    }
    sum
}

#[no_mangle]
pub extern "C" fn spin(x: i64) -> i64 {
    let mut y = x;
    loop {
        y = core::hint::black_box(y.wrapping_add(1));
    }
}

/// Calls itself twice: no loop, and no end.
#[no_mangle]
pub extern "C" fn branch(depth: i64) -> i64 {
    if core::hint::black_box(depth) == 0 {
        return 1;
    }
    branch(depth - 1).wrapping_add(branch(depth - 1))
}

/// Calls itself n times, which no compiler makes a loop.
#[no_mangle]
pub extern "C" fn dive(n: i64) -> i64 {
    if n == 0 {
        return 0;
    }
    dive(n - 1).rotate_left(1) ^ n
}

static mut COUNT: i64 = 0;

/// How often it has been called in this instance.
#[no_mangle]
pub extern "C" fn count() -> i64 {
    unsafe {
        COUNT += 1;
        COUNT
    }
}
