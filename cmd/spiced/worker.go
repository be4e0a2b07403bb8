package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/sql/isolate"
)

// newWorker is the command of the processes that run isolated statements. It
// communicates with its parent only.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:    workerCommand,
		Short:  "Run isolated statements for a parent process",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			defer time.AfterFunc(idleAfter, releaseStartup).Stop()
			return isolate.Main(os.Stdin, os.Stdout)
		},
	}
}

const workerCommand = "worker"

// worker returns the command that starts a worker: this program.
func worker() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("workers for isolated statements: %w", err)
	}
	return []string{self, workerCommand}, nil
}
