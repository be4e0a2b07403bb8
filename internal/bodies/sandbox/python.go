package sandbox

import (
	_ "embed"
	"os/exec"
)

//go:embed shim.py
var shim string

// PythonCommand is the command of workers that run Python code.
func PythonCommand(python string) []string {
	return []string{python, "-I", "-B", "-X", "utf8", "-c", shim}
}

// environment is all that the code sees of it.
func environment(o *Options, scratch string) []string {
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + scratch, "TMPDIR=" + scratch, "LANG=C.UTF-8",
		// Libraries that start a thread for each processor, and memory that they reserve for
		// each, would meet the limits.
		"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1", "MALLOC_ARENA_MAX=2",
	}
	return append(env, o.Env...)
}

// plainCommand runs the command without a shim, where there is none.
func plainCommand(o *Options, argv []string, scratch string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = environment(o, scratch)
	cmd.Dir = scratch
	setGroup(cmd)
	return cmd
}
