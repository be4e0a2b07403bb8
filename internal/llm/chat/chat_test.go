package chat_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

func TestObjectScanner(t *testing.T) {
	cases := []struct {
		text  string
		end   int
		empty bool
	}{
		{`{}`, 2, true},
		{` { } x`, 4, true},
		{`{"a":1}`, 7, false},
		{`{"a":{"b":[1,2,{"c":"}"}]}}{}`, 27, false},
		{`{"a":"\"}\\"}`, 13, false},
		{`{"é":"{"}`, 10, false},
		{`{"a":1`, -1, false},
		{`{"a":"}`, -1, false},
		{``, -1, true},
		{`null`, -1, true},
		{`[[]]`, 4, false},
	}
	for _, c := range cases {
		var whole chat.ObjectScanner
		if end := whole.Write(c.text); end != c.end || whole.Empty() != c.empty || whole.Done() != (c.end >= 0) {
			t.Errorf("%q: end %d, empty %v, done %v", c.text, end, whole.Empty(), whole.Done())
		}
		for cut := range len(c.text) {
			var s chat.ObjectScanner
			end := s.Write(c.text[:cut])
			if end < 0 {
				if end = s.Write(c.text[cut:]); end >= 0 {
					end += cut
				}
			}
			if end != c.end {
				t.Errorf("%q cut at %d: end %d, want %d", c.text, cut, end, c.end)
			}
		}
	}
}

func FuzzObjectScanner(f *testing.F) {
	f.Add(`{"a":{"b":"}\""}}`, 3)
	f.Add(`{}}`, 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if cut < 0 || cut > len(text) {
			return
		}
		var whole, pieces chat.ObjectScanner
		want := whole.Write(text)
		got := pieces.Write(text[:cut])
		if got < 0 {
			if got = pieces.Write(text[cut:]); got >= 0 {
				got += cut
			}
		}
		if got != want {
			t.Errorf("%q cut at %d: end %d, want %d", text, cut, got, want)
		}
	})
}

// stream yields deltas, then err if there is one.
func stream(err error, deltas ...chat.Delta) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
		if err != nil {
			yield(chat.Delta{}, err)
		}
	}
}

func TestCollect(t *testing.T) {
	signed := chat.Part{Kind: chat.PartThinking, Text: "hm", Raw: []byte(`{"signature":"s"}`)}
	got, err := chat.Collect(stream(nil,
		chat.Delta{Kind: chat.DeltaStart},
		chat.Delta{Kind: chat.DeltaThinking, Text: "h"},
		chat.Delta{Kind: chat.DeltaThinking, Text: "m"},
		chat.Delta{Kind: chat.DeltaPart, Part: &signed},
		chat.Delta{Kind: chat.DeltaText, Text: "Let "},
		chat.Delta{Kind: chat.DeltaText, Text: "me see"},
		chat.Delta{Kind: chat.DeltaCall, Index: 0, Call: &chat.Call{ID: "a", Name: "f"}},
		chat.Delta{Kind: chat.DeltaCall, Index: 1, Call: &chat.Call{ID: "b", Name: "g"}},
		chat.Delta{Kind: chat.DeltaArguments, Index: 1, Text: `{"x"`},
		chat.Delta{Kind: chat.DeltaArguments, Index: 0, Text: `{}`},
		chat.Delta{Kind: chat.DeltaArguments, Index: 1, Text: `:1}`},
		chat.Delta{Kind: chat.DeltaRound},
		chat.Delta{Kind: chat.DeltaText, Text: "Done"},
		chat.Delta{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 1}},
		chat.Delta{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 3}},
		chat.Delta{Kind: chat.DeltaFinish, Reason: chat.ReasonStop},
	))
	if err != nil {
		t.Fatal(err)
	}
	want := &chat.Response{
		Parts: []chat.Part{
			signed,
			{Kind: chat.PartText, Text: "Let me see"},
			{Kind: chat.PartCall, Call: &chat.Call{ID: "a", Name: "f", Arguments: "{}"}},
			{Kind: chat.PartCall, Call: &chat.Call{ID: "b", Name: "g", Arguments: `{"x":1}`}},
			{Kind: chat.PartText, Text: "Done"},
		},
		Reason: chat.ReasonStop, Usage: chat.Usage{Input: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRoundsOfTextStayApart(t *testing.T) {
	got, _ := chat.Collect(stream(nil,
		chat.Delta{Kind: chat.DeltaText, Text: "a"}, chat.Delta{Kind: chat.DeltaRound}, chat.Delta{Kind: chat.DeltaText, Text: "b"}))
	if len(got.Parts) != 2 || got.Message().Text() != "ab" {
		t.Errorf("parts %+v", got.Parts)
	}
}

func TestCollectKeepsWhatCameBeforeAnError(t *testing.T) {
	broken := &chat.Error{Code: errcode.StreamBroken, Message: "it broke"}
	got, err := chat.Collect(stream(broken, chat.Delta{Kind: chat.DeltaText, Text: "half"}))
	if !errors.Is(err, broken) || got.Message().Text() != "half" {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestAsErrorKeepsTheTextOfOurFaultsBack(t *testing.T) {
	e := chat.AsError(fmt.Errorf("secret: %w", errors.New("cause")))
	if e.Code != errcode.Internal || strings.Contains(e.Error(), "secret") || e.Cause == nil {
		t.Errorf("%+v", e)
	}
	own := chat.Invalid("n", "n is %d", 2)
	if got := chat.AsError(fmt.Errorf("x: %w", own)); got != own {
		t.Errorf("%+v", got)
	}
}
