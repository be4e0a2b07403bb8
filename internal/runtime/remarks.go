package runtime

import (
	"fmt"
	"os"

	"github.com/spiced-sql/spiced/spicepod"
)

// remarkFiles warns about folders that are not there, and about copies in files without a
// state directory.
func remarkFiles(b *build) {
	warn := func(path, component, hint, message string) {
		p := b.pod.Problem(path, message, hint)
		p.Severity, p.Component = spicepod.Warning, component
		b.problem(p)
	}
	for i, root := range b.pod.DataRoots() {
		if i < len(b.pod.Runtime.DataRoots) && !isFolder(root) {
			warn(fmt.Sprintf("runtime.data_roots[%d]", i), "", "correct the path, or make the folder and restart spiced",
				fmt.Sprintf("the data root %s is not a folder", b.pod.Runtime.DataRoots[i]))
		}
	}
	if folder := b.pod.Runtime.Extensions.Directory; folder != "" && !isFolder(folder) {
		warn("runtime.extensions.directory", "",
			"correct the path, or leave it out: extensions are then taken from where DuckDB installs them",
			"runtime.extensions.directory is not a folder")
	}
	if b.s.state.temp == nil || !b.s.serves { // a command that ends has no other folder
		return
	}
	kept := func(path, component string, a *spicepod.Acceleration) {
		if a != nil && a.Enabled && (a.Mode == spicepod.ModeFile || a.Mode == spicepod.ModeFileUpdate) {
			warn(path+".acceleration.mode", component, "start spiced serve with --state-dir FOLDER, or leave mode out",
				fmt.Sprintf("mode: %s keeps the rows in the state directory; without one, they are loaded again at each start",
					a.Mode))
		}
	}
	for i, d := range b.pod.Datasets {
		kept(fmt.Sprintf("datasets[%d]", i), "dataset "+d.Name, d.Acceleration)
	}
	for i, v := range b.pod.Views {
		kept(fmt.Sprintf("views[%d]", i), "view "+v.Name, v.Acceleration)
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
