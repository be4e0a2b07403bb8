//go:build !race

package main

// residentLeft is how much larger the process may be after a crowd than it was
// before: allocators keep some of what they had.
const residentLeft = 256 << 20
