package engine

// #include <stdlib.h>
import "C"

import (
	"strings"
	"sync"
	"unsafe"
)

var (
	environment = map[string]bool{} // what was set
	setting     sync.Mutex
)

// setenv sets a variable, given as NAME=value, for code in C. It does so once in a process:
// that code may read variables at any time, which setenv(3) does not permit.
func setenv(variable string) {
	setting.Lock()
	defer setting.Unlock()
	if environment[variable] {
		return
	}
	environment[variable] = true
	name, value, _ := strings.Cut(variable, "=")
	n, v := C.CString(name), C.CString(value)
	defer C.free(unsafe.Pointer(n))
	defer C.free(unsafe.Pointer(v))
	C.setenv(n, v, 1)
}
