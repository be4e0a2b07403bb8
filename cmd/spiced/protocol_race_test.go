//go:build race

package main

// residentLeft is how much larger the process may be after a crowd than it was
// before. The race detector keeps a shadow of all memory that was ever used.
const residentLeft = 4 << 30
