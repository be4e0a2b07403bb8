package sandbox

import (
	"fmt"
	"strings"
)

// layer is a part of the isolation.
type layer uint

const (
	layerFiles  layer = 1 << iota // Landlock
	layerSpaces                   // user, network and IPC namespaces
	layerPIDs                     // a PID namespace
	layerCalls                    // seccomp
	layerLimits                   // resource limits
	layerMeter                    // what this process watches
	layerUser                     // another user, where this process is root
	layerEnv                      // closed descriptors
)

// Isolation says how the code is isolated on this machine.
type Isolation struct {
	On      []string // what is in use
	Missing []string // what the system lacks
	Full    bool     // nothing that [Options.Required] asks for is missing

	on       layer
	landlock int  // version of the interface; 0: none
	root     bool // this process is root, and its workers run as another user
	network  bool // the code may open connections
}

// NotIsolatedError is the error of a sandbox whose required isolation cannot be had.
type NotIsolatedError struct{ Isolation Isolation }

// Error says what is missing.
func (e *NotIsolatedError) Error() string {
	return fmt.Sprintf("this system cannot isolate the code: it lacks %s", strings.Join(e.Isolation.Missing, ", and "))
}

// has reports whether a layer is in use.
func (i Isolation) has(l layer) bool { return i.on&l == l }

// leastLandlock is the version of Landlock that also stops truncation of files.
const leastLandlock = 3

// judged fills in the texts.
func (i Isolation) judged() Isolation {
	i.On, i.Missing, i.Full = nil, nil, true
	add := func(on bool, what string, required bool, missing string) {
		switch {
		case on:
			i.On = append(i.On, what)
		default:
			i.Missing = append(i.Missing, missing)
			i.Full = i.Full && !required
		}
	}
	spaces, names := i.has(layerSpaces), "user, network, IPC and UTS namespaces"
	if i.network {
		names = "user, IPC and UTS namespaces"
	}
	add(i.has(layerFiles) && i.landlock >= leastLandlock, fmt.Sprintf("Landlock %d", i.landlock), true,
		"Landlock (Linux 6.2 or later, with landlock in the list of 'lsm=', and system calls landlock_* that no seccomp "+
			"filter of a unit or container refuses)")
	add(i.has(layerCalls), "seccomp", true, "seccomp filters (Linux on amd64 or arm64)")
	add(i.has(layerLimits), "resource limits", true, "resource limits for single processes")
	add(spaces, names, false,
		"user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)")
	add(spaces && i.has(layerPIDs), "PID namespace", false, "PID namespaces")
	if i.root {
		i.On = append(i.On, "another user")
	}
	return i
}

// Networked returns the isolation of workers whose code may open connections.
func (i Isolation) Networked(network bool) Isolation {
	i.network = network
	return i.judged()
}

// without returns the isolation with layers left out.
func (i Isolation) without(off layer) Isolation {
	i.on &^= off
	i.root = i.root && i.has(layerSpaces|layerUser)
	return i.judged()
}
