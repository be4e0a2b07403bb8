package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/data/documents"
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

// newSandboxWorker is the command of the processes that run the code of sandboxes. It
// isolates itself and then becomes the interpreter of the code.
func newSandboxWorker() *cobra.Command {
	return &cobra.Command{
		Use:    sandboxCommand,
		Short:  "Run the code of a sandbox for a parent process",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return sandbox.Main() },
	}
}

// newDocumentWorker is the command of the processes that read documents, in a sandbox.
func newDocumentWorker() *cobra.Command {
	return &cobra.Command{
		Use:    documentCommand + " FOLDER [compile]",
		Short:  "Read documents for a parent process, or compile what reads PDFs to a folder",
		Hidden: true,
		Args:   cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return documents.Compile(args[0])
			}
			return documents.Main(os.Stdin, os.Stdout, args[0])
		},
	}
}

const (
	workerCommand   = "worker"
	sandboxCommand  = "sandbox-worker"
	documentCommand = "document-worker"
)

// worker returns the command that starts a worker: this program.
func worker() ([]string, error) { return ourselves(workerCommand) }

// sandboxWorker returns the command that starts a worker of a sandbox: this program.
func sandboxWorker() ([]string, error) { return ourselves(sandboxCommand) }

// documentWorker returns the command that reads documents: this program.
func documentWorker() ([]string, error) { return ourselves(documentCommand) }

func ourselves(command string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("worker processes: %w", err)
	}
	return []string{self, command}, nil
}
