//! Functions of Arrow data, with Spice's exports.

mod stream;

use stream::{int, range, read, valid, write, Column};

#[no_mangle]
pub extern "C" fn spice_alloc(len: i32) -> i32 {
    let mut bytes = Vec::<u8>::with_capacity(len.max(1) as usize);
    let at = bytes.as_mut_ptr();
    std::mem::forget(bytes);
    at as i32
}

/// # Safety
/// The bytes are those of spice_alloc or of a result.
#[no_mangle]
pub unsafe extern "C" fn spice_dealloc(at: i32, len: i32) {
    drop(Vec::from_raw_parts(at as *mut u8, 0, len.max(1) as usize));
}

unsafe fn bytes<'a>(at: i32, len: i32) -> &'a [u8] {
    std::slice::from_raw_parts(at as *const u8, len as usize)
}

fn give(out: Vec<u8>) -> i64 {
    let out = out.into_boxed_slice();
    let packed = (out.as_ptr() as i64) << 32 | out.len() as i64;
    std::mem::forget(out);
    packed
}

/// Adds one to an int64.
#[no_mangle]
pub unsafe extern "C" fn spice_transform(at: i32, len: i32, _: i32, _: i32) -> i64 {
    let mut out = Vec::new();
    for batch in read(bytes(at, len)) {
        let (nulls, values) = (batch.buffers[0], batch.buffers[1]);
        out.extend((0..batch.rows).map(|i| valid(nulls, i).then(|| int(values, i).wrapping_add(1))));
    }
    give(write(&[("value", Column::Ints(out))]))
}

fn texts<'a>(buffers: &[&'a [u8]], i: usize) -> Option<&'a str> {
    valid(buffers[0], i).then(|| std::str::from_utf8(&buffers[2][range(buffers[1], i)]).unwrap())
}

/// Makes a text upper case, with an exclamation mark.
#[no_mangle]
pub unsafe extern "C" fn shout(at: i32, len: i32, _: i32, _: i32) -> i64 {
    let mut out = Vec::new();
    for batch in read(bytes(at, len)) {
        out.extend((0..batch.rows).map(|i| texts(&batch.buffers, i).map(|t| t.to_ascii_uppercase() + "!")));
    }
    give(write(&[("value", Column::Texts(out))]))
}

/// Adds the numbers of a list, as list_sum does.
#[no_mangle]
pub unsafe extern "C" fn total(at: i32, len: i32, _: i32, _: i32) -> i64 {
    let mut out = Vec::new();
    for batch in read(bytes(at, len)) {
        let b = &batch.buffers;
        for i in 0..batch.rows {
            let numbers = range(b[1], i).filter(|j| valid(b[0], i) && valid(b[2], *j)).map(|j| int(b[3], j));
            out.push(numbers.reduce(i64::wrapping_add));
        }
    }
    give(write(&[("value", Column::Ints(out))]))
}

/// Splits the documents of a table into words of a least length.
#[no_mangle]
pub unsafe extern "C" fn tokens(at: i32, len: i32, args: i32, args_len: i32) -> i64 {
    let least = read(bytes(args, args_len)).first().map_or(0, |a| int(a.buffers[1], 0)) as usize;
    let (mut words, mut positions) = (Vec::new(), Vec::new());
    for batch in read(bytes(at, len)) {
        for i in 0..batch.rows {
            let found = texts(&batch.buffers, i).unwrap_or("").split_whitespace().enumerate();
            for (n, word) in found.filter(|(_, w)| w.len() >= least) {
                words.push(Some(word.to_string()));
                positions.push(Some(n as i64));
            }
        }
    }
    give(write(&[("token", Column::Texts(words)), ("position", Column::Ints(positions))]))
}

/// Returns the largest number of a table, no row if there is none.
#[no_mangle]
pub unsafe extern "C" fn largest(at: i32, len: i32, _: i32, _: i32) -> i64 {
    let batches = read(bytes(at, len));
    let numbers = batches.iter().flat_map(|b| (0..b.rows).filter(|i| valid(b.buffers[0], *i)).map(|i| int(b.buffers[1], i)));
    give(write(&[("value", Column::Ints(numbers.max().map(Some).into_iter().collect()))]))
}

/// Counts to its argument.
#[no_mangle]
pub unsafe extern "C" fn span(_: i32, _: i32, at: i32, len: i32) -> i64 {
    let args = read(bytes(at, len));
    give(write(&[("i", Column::Ints((0..int(args[0].buffers[1], 0)).map(Some).collect()))]))
}
