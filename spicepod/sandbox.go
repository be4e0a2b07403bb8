package spicepod

import (
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Sandbox is one entry of `sandboxes:`: where the code of functions with `from: exec` runs.
type Sandbox struct {
	Name         string         `yaml:"name" required:"true" doc:"Name of the sandbox. One named default exists without an entry."`
	Runtime      SandboxRuntime `yaml:"runtime" enum:"python,command,wasm" default:"python" doc:"What the code is: Python; an executable; or a WebAssembly module with WASI."`
	Description  string         `yaml:"description" doc:"What the functions have in common."`
	Dependencies []string       `yaml:"dependencies" doc:"Packages that every function needs, as pip takes them: numpy, or numpy==2.1.3."`
	Secrets      []string       `yaml:"secrets" doc:"Names of environment variables that every function reads. The code sees these, those of the functions, and no others."`
	Network      SandboxNetwork `yaml:"network" enum:"none,all" default:"none" doc:"What the code can connect to."`
	Limits       SandboxLimits  `yaml:"limits" doc:"Limits of each worker process."`
	Isolation    IsolationNeed  `yaml:"isolation" enum:"required,best_effort" default:"required" doc:"Whether the code runs where the system cannot isolate it fully."`
	Build        SandboxBuild   `yaml:"build" enum:"manual,auto" default:"manual" doc:"When the packages are installed: by 'spiced sandbox build', or also at load."`
	Metadata     map[string]any `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
}

// SandboxRuntime is what the code of a sandbox is.
type SandboxRuntime string

// The runtimes of sandboxes.
const (
	RuntimePython  SandboxRuntime = "python"
	RuntimeCommand SandboxRuntime = "command"
	RuntimeWASM    SandboxRuntime = "wasm"
)

// SandboxNetwork is what the code of a sandbox can connect to.
type SandboxNetwork string

// The networks of sandboxes.
const (
	NetworkNone SandboxNetwork = "none"
	NetworkAll  SandboxNetwork = "all"
)

// IsolationNeed says whether code runs where the system cannot isolate it fully.
type IsolationNeed string

// The needs of isolation.
const (
	IsolationRequired   IsolationNeed = "required"
	IsolationBestEffort IsolationNeed = "best_effort"
)

// SandboxBuild says when the packages of a sandbox are installed.
type SandboxBuild string

// When packages are installed.
const (
	BuildManual SandboxBuild = "manual"
	BuildAuto   SandboxBuild = "auto"
)

// SandboxLimits are the limits of each worker process of a sandbox.
type SandboxLimits struct {
	Memory    Size          `yaml:"memory" default:"512MiB" doc:"Memory of a worker."`
	CPU       time.Duration `yaml:"cpu" default:"60s" doc:"Processor time of a call; a worker that takes more is killed."`
	Processes int           `yaml:"processes" default:"16" min:"1" doc:"Processes and threads of a worker."`
	Workers   int           `yaml:"workers" default:"2" min:"1" doc:"Workers that run at once."`
	Output    Size          `yaml:"output" default:"64MiB" doc:"Size of the result of a call."`
}

// Limits of the limits of sandboxes.
const (
	minSandboxMemory  Size = 32 << 20
	maxSandboxWorkers      = 256
)

// checkSandbox applies the rules of one sandbox.
func (d *decoder) checkSandbox(s *Sandbox) {
	if s.Name != "" && !functionName.MatchString(s.Name) {
		d.failPath("name", fmt.Sprintf("sandbox name %q is not allowed", truncate.Runes(s.Name, maxShown)),
			"a name is 1 to 64 letters, digits, _ or -")
	}
	if s.Limits.Memory < minSandboxMemory {
		d.failPath("limits.memory", fmt.Sprintf("a worker needs at least %s of memory", minSandboxMemory),
			"leave memory out, or raise it")
	}
	if s.Limits.Output <= 0 {
		d.failPath("limits.output", "a result needs some room", "leave output out, or write a size such as 64MiB")
	}
	if s.Limits.Workers > maxSandboxWorkers {
		d.failPath("limits.workers",
			fmt.Sprintf("%d workers are too many; the limit is %d", s.Limits.Workers, maxSandboxWorkers), "")
	}
}

// DefaultSandbox is the name of the sandbox that always exists.
const DefaultSandbox = "default"

// NewSandbox returns a sandbox with the defaults of its keys.
func NewSandbox() Sandbox { return Defaults[Sandbox]() }
