//! Functions that break the rules of Spice's exports, each in its own way.
#![no_std]

use core::arch::wasm32;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    wasm32::unreachable()
}

static mut NEXT: usize = 0;

/// Allocates from the end of the memory, and frees nothing.
#[no_mangle]
pub unsafe extern "C" fn spice_alloc(len: i32) -> i32 {
    if NEXT == 0 {
        NEXT = wasm32::memory_size(0) * 65536;
    }
    let at = NEXT;
    NEXT = (NEXT + len as usize + 15) & !15;
    while wasm32::memory_size(0) * 65536 < NEXT {
        if wasm32::memory_grow(0, 1) == usize::MAX {
            wasm32::unreachable();
        }
    }
    at as i32
}

#[no_mangle]
pub extern "C" fn spice_dealloc(_: i32, _: i32) {}

fn pack(at: i32, len: i32) -> i64 {
    ((at as u32 as u64) << 32 | len as u32 as u64) as i64
}

/// Returns the bytes between two marks in the input: what the test wants it to return.
#[no_mangle]
pub unsafe extern "C" fn replay(at: i32, len: i32, _: i32, _: i32) -> i64 {
    let input = core::slice::from_raw_parts(at as *const u8, len as usize);
    let mut from = 0;
    let mut i = 0;
    while i + 8 <= input.len() {
        if &input[i..i + 8] == b"<replay>" && from == 0 {
            from = i + 8;
        }
        if &input[i..i + 8] == b"</repla>" {
            return pack(at + from as i32, (i - from) as i32);
        }
        i += 1;
    }
    0
}

#[no_mangle]
pub extern "C" fn echo(at: i32, len: i32, _: i32, _: i32) -> i64 {
    pack(at, len)
}

#[no_mangle]
pub extern "C" fn echo_args(_: i32, _: i32, at: i32, len: i32) -> i64 {
    pack(at, len)
}

#[no_mangle]
pub extern "C" fn outside(_: i32, _: i32, _: i32, _: i32) -> i64 {
    pack(-16, 32)
}

#[no_mangle]
pub extern "C" fn huge(_: i32, _: i32, _: i32, _: i32) -> i64 {
    pack(8, -1)
}

#[no_mangle]
pub extern "C" fn nothing(_: i32, _: i32, _: i32, _: i32) -> i64 {
    0
}

#[no_mangle]
pub extern "C" fn trap(_: i32, _: i32, _: i32, _: i32) -> i64 {
    wasm32::unreachable()
}

#[no_mangle]
pub extern "C" fn spin(_: i32, _: i32, _: i32, _: i32) -> i64 {
    loop {
        core::hint::black_box(0);
    }
}

#[no_mangle]
pub unsafe extern "C" fn grow(_: i32, _: i32, _: i32, _: i32) -> i64 {
    while wasm32::memory_grow(0, 1) != usize::MAX {
        let end = wasm32::memory_size(0) * 65536;
        *((end - 1) as *mut u8) = 1;
    }
    wasm32::unreachable()
}

/// Fills its memory again and again: each is one long instruction.
#[no_mangle]
pub unsafe extern "C" fn fill(at: i32, _: i32, _: i32, _: i32) -> i64 {
    wasm32::memory_grow(0, 512);
    loop {
        core::ptr::write_bytes(at as *mut u8, core::hint::black_box(7), 32 << 20);
    }
}

#[no_mangle]
pub extern "C" fn wrong(_: i32) -> i32 {
    1
}
