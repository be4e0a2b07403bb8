package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/protocols/repl"
)

// chatFlags are the flags of `spiced chat`.
type chatFlags struct {
	connection
	model, system, message string
}

func newChat(std streams) *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat [DIR|FILE]",
		Short: "Chat with a model of a Spicepod, and watch the tools it calls",
		Long: `Load the Spicepod in DIR, by default this folder, or connect to a running spiced with --url, and chat with a
model. Messages come from the terminal, from -m, or from standard input, one per line.
/help lists the commands: /tools shows what the model can call, /model changes the model.`,
		Example: `  spiced chat examples/quickstart -m "how far is it from SFO to JFK?"
  spiced chat --url http://127.0.0.1:8090 --model my-model`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			return runChat(cmd.Context(), std, podPath(args), f, cmd.Flags().Changed("message"))
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.StringVar(&f.model, "model", "", "the model to chat with (default: the only one)")
	flags.StringVar(&f.system, "system", "", "instructions before the conversation")
	flags.StringVarP(&f.message, "message", "m", "", "send this message, print the answer, and exit")
	return cmd
}

func runChat(ctx context.Context, std streams, path string, f chatFlags, once bool) error {
	server, end, err := f.open(ctx, std, path)
	if err != nil {
		return err
	}
	defer end()
	opts := repl.ChatOptions{Options: server, Model: f.model, System: f.system}
	if once {
		return repl.Ask(ctx, opts, f.message)
	}
	ctx, stop := onTerminal(ctx, std, &opts.Options, ".spiced_chat_history")
	defer stop()
	return repl.Chat(ctx, opts)
}
