package lint

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// The rules of trust, for tools of MCP servers only: their texts are written by third
// parties and may change. [Instructions] and [HiddenText] check more there.
const (
	AsksForSecrets = "asks-for-secrets" // error: text that has the model pass on files, secrets or the conversation
	Shadowing      = "shadowing"        // error: text that says how to use another owner's tool
	DisguisedName  = "disguised-name"   // error: a name that differs from another by something easily overlooked
	SharedName     = "shared-name"      // warning: a name that a tool of another server, or a built-in one, has too
	OpenLink       = "open-link"        // warning: an address with a placeholder
	LongText       = "long-text"        // warning: an unusually long text
)

// Limits of the rules of trust.
const (
	leastPhrase  = 12   // minimum bytes of a text to check for phrases
	minDisguised = 6    // minimum letters of a name to check for misspellings
	maxText      = 4000 // characters of a text; those of public servers are shorter
	leastCode    = 40   // minimum characters of base64 to decode
	leastGap     = 40   // spaces or lines in a row
	maxPlace     = 120  // bytes of the path to a text
	aroundName   = 100  // bytes before and after a tool's name to check for directions
)

// sourceMCP is the prefix of a server's name in the source of tools.
const sourceMCP = "mcp:"

// checkTrust applies the rules of trust.
func checkTrust(definitions []*tools.Definition) []Finding {
	ours, theirs := runtimeTools(), []*tools.Definition{}
	for _, d := range definitions {
		if isForeign(d) {
			theirs = append(theirs, d)
		} else {
			ours = append(ours, d)
		}
	}
	known := ownersOf(slices.Concat(ours, theirs))
	list, found := make([]*foreign, len(theirs)), make([][]Finding, len(theirs))
	each(len(theirs), func(i int) {
		list[i] = foreignOf(theirs[i])
		found[i] = append(checkForeign(list[i]), known.shadows(list[i])...)
	})
	alike := lookAlikes(ours[:min(len(ours), MaxCompared)], theirs[:min(len(theirs), MaxCompared)])
	return append(slices.Concat(found...), alike...)
}

// foreign is a tool of an MCP server.
type foreign struct {
	*tools.Definition
	passages []passage
}

// passage is one of the texts of a definition.
type passage struct {
	where string // for messages: "its description"
	text  string
	plain string // see [plain]
}

func foreignOf(d *tools.Definition) *foreign {
	t := &foreign{Definition: d}
	t.add("its description", d.Description)
	for name, raw := range map[string][]byte{"its parameters": d.Parameters, "its results": d.Returns} {
		if schema, err := tools.Decode(raw); err == nil {
			t.walk(name+" at ", "", schema)
		}
	}
	slices.SortStableFunc(t.passages, func(a, b passage) int { return strings.Compare(a.where, b.where) })
	return t
}

// ownName returns the name that the server gives a tool, as people read it: with _ for other
// characters, and without the hash that such a name ends in.
func ownName(d *tools.Definition) string {
	if _, own, ok := strings.Cut(d.Name, "__"); ok && isForeign(d) {
		if readable := hashed.ReplaceAllString(own, ""); readable != "" {
			return readable
		}
		return own
	}
	return d.Name
}

// hashed matches the hash at the end of names of servers' tools.
var hashed = regexp.MustCompile("_[0-9a-f]{8}$")

func isForeign(d *tools.Definition) bool { return strings.HasPrefix(d.Source, sourceMCP) }

func (t *foreign) add(where, text string) {
	t.passages = append(t.passages, passage{where, text, plain(text)})
}

// walk adds all text of a decoded JSON value, names and values, each with its position
// as a JSON Pointer (RFC 6901).
func (t *foreign) walk(what, path string, value any) {
	switch v := value.(type) {
	case string:
		t.add(what+strconv.Quote(path), v)
	case []any:
		for _, item := range v {
			t.walk(what, path, item)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			t.add(what+strconv.Quote(path), name)
			inner := path
			if len(path)+len(name) < maxPlace {
				inner += "/" + pointerEscape.Replace(name)
			}
			t.walk(what, inner, v[name])
		}
	}
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// plain returns a text as a model reads it: normalized (Unicode's NFKC), in lower case,
// without invisible characters, white space as one space.
func plain(text string) string {
	var b strings.Builder
	space := false
	for _, r := range norm.NFKC.String(text) {
		switch {
		case unicode.IsSpace(r):
			space = true
			continue
		case unicode.Is(unicode.Cf, r):
			continue
		case space:
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// pattern is what a rule looks for in plain text.
type pattern struct {
	rule, message, hint string
	phrases             []phrase
}

// phrase is an expression, and words: each match contains one of them, a fast check that
// mostly suffices.
type phrase struct {
	words []string
	find  func() *regexp.Regexp // compiles it once it is needed
}

func phraseOf(expression string, words ...string) phrase {
	return phrase{words, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

func (x phrase) in(text string) string {
	if !slices.ContainsFunc(x.words, func(w string) bool { return strings.Contains(text, w) }) {
		return ""
	}
	return x.find().FindString(text)
}

const distrust = "read all texts of the tool before you offer it; pin: checksum prevents later changes"

// patterns are the phrases of known attacks on users of MCP servers, which the tools of
// public servers hardly ever have.
var patterns = []pattern{
	{Instructions, "gives the model an order", distrust, []phrase{
		phraseOf(`\b(before|prior to|instead of) (using|calling|invoking|running|executing|making) (any|all|every|each)( of the)?( other)? (tools?|functions?)\b`, "before", "prior to", "instead of"),
		phraseOf(`\b(before|instead of) (any|all|every|each)( other)? (tool|function)( calls?| use)?\b`, "before",
			"instead of"),
		phraseOf(`\b(do not|don['’]?t|never|avoid|stop)( ever)? (use|using|call|calling|trust|trusting) (any |all |the )?other (tools?|servers?|functions?)\b`, "other tool", "other server", "other function"),
		phraseOf(`\b(all|any|the) other (tools?|servers?)\b.{0,60}\b(deprecated|broken|disabled|obsolete|unsafe|forbidden|insecure)\b`, "other tool", "other server"),
		phraseOf(`\b(keep|hide) (this|it|that)\b.{0,30}\bfrom (the|your) users?\b`, "from the user", "from your user"),
		phraseOf(`\bwithout (the|your) users?['’]?s? (knowing|knowledge|noticing|awareness)\b`, "without the user",
			"without your user"),
		phraseOf(`\busers? (must not|must never|should not|should never|shall not|need not|does not need to|doesn['’]?t need to) (know|see|notice|be (told|informed|aware))\b`, "user"),
		phraseOf(`\b(secretly|covertly|silently|quietly) (also )?(send|call|copy|forward|include|upload|execute|run|read|append|post|transmit)s?\b`, "secretly", "covertly", "silently", "quietly"),
		phraseOf(`\byou are now (a|an|the|in)\b`, "you are now"),
		phraseOf(`\b(new|updated|revised|real|actual|hidden|secret) (system )?(instructions?|directives?) ?:`, "instruction",
			"directive"),
		phraseOf(`\bsystem (override|prompt|instruction)s? ?:`, "system"),
		phraseOf(`<\|[a-z_]{2,20}\|>|\[/?inst\]|<</?sys>>|</?(system|assistant|user|tool_call|function_calls)>`,
			"<", "inst]"),
	}},
	{AsksForSecrets, "asks for files, secrets or the conversation", distrust, []phrase{
		phraseOf(`\b(read|open|cat|load|include|send|pass|attach|upload|copy|print|get|provide|access|put)\b.{0,80}(\.ssh/|\bid_(rsa|ed25519|ecdsa|dsa)\b|\.aws/(credentials|config)|/etc/(passwd|shadow)|\bmcp\.json|claude_desktop_config|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.kube/config|\.docker/config|\.(bash|zsh)_history|\.gnupg)`,
			".ssh", "id_", ".aws", "/etc/", "mcp.json", "claude_desktop", "rc", ".git-", ".kube", ".docker",
			"_history", ".gnupg"),
		phraseOf(`\b(read|open|cat|load)\b.{0,40}\.env\b.{0,80}\b(pass|send|include|append|attach|put|add)\b`, ".env"),
		phraseOf(`\b(include|pass|send|provide|append|attach|add|copy|put|insert|forward|supply|share|write|fill)\b.{0,60}\b(entire|full|whole|complete|all|previous|prior|current)\b.{0,30}\b(conversation|chat history|chat log|system prompt|message history|dialog(ue)? history)\b`,
			"conversation", "chat", "history", "system prompt"),
		phraseOf(`\b(pass|send|append|attach|insert|forward|supply|share|collect|extract|put|include)\b.{0,40}\b(all|any|every|users?['’]s?|their|contents? of)\b.{0,40}\b(passwords|api[ _-]?keys|secrets|credentials|private keys?|access tokens|cookies)\b`,
			"passwords", "keys", "secrets", "credentials", "private key", "tokens", "cookies"),
		phraseOf(`\b(pass|send|append|attach|insert|forward|supply|share|collect|extract|put)\b.{0,40}\benvironment variables\b`, "environment variables"),
	}},
	{OpenLink, "has an address with a placeholder", "make sure that no private data gets into that address", []phrase{
		phraseOf(`https?://[^\s"'<>)\]=]*[?&][^\s"'<>)\]=]*=["']?(\{|\$|<|\[|%7b|%s)[^\s]*`, "://"),
		phraseOf(`!\[[^\]]*\]\(https?:[^)]*\)`, "!["),
	}},
}

// checkForeign checks the texts of a tool; each rule reports once.
func checkForeign(t *foreign) []Finding {
	var found []Finding
	said := map[string]bool{}
	for _, p := range t.passages {
		for _, f := range p.check(t.Definition) {
			if !said[f.Rule] {
				said[f.Rule] = true
				found = append(found, f)
			}
		}
	}
	return found
}

func (p passage) check(d *tools.Definition) []Finding {
	var found []Finding
	for _, pattern := range patterns {
		if said := pattern.in(p); said != "" {
			found = append(found, finding(pattern.rule, d,
				fmt.Sprintf("it %s in %s: %q", pattern.message, p.where, truncate.Runes(said, maxExcerpt)), pattern.hint))
		}
	}
	if said := concealed(p.text); said != "" && hidden(p.text) == "" { // else [checkTexts] has it
		found = append(found, finding(HiddenText, d, fmt.Sprintf("it has %s in %s", said, p.where), distrust))
	}
	if n := utf8.RuneCountInString(p.text); n > maxText {
		found = append(found, finding(LongText,
			d, fmt.Sprintf("it has %d characters in %s; tools seldom have more than %d", n, p.where, maxText),
			"read all of it before you offer the tool"))
	}
	return found
}

// in returns the match in a passage, or "". Orders visible only in the plain text count
// too; [checkTexts] finds those in the text itself.
func (x pattern) in(p passage) string {
	if len(p.plain) < leastPhrase {
		return ""
	}
	said := ""
	for _, phrase := range x.phrases {
		if said = phrase.in(p.plain); said != "" {
			break
		}
	}
	if x.rule != Instructions {
		return said
	}
	if said == "" && p.plain != strings.ToLower(p.text) {
		said = firstOrder(p.plain)
	}
	if said != "" && order(p.text) != "" {
		return ""
	}
	return said
}

// firstOrder returns the order in a text, or "".
func firstOrder(text string) string {
	for _, find := range orders {
		if said := find.FindString(text); said != "" {
			return said
		}
	}
	return ""
}

// concealed describes what people cannot see in a text, or returns "".
func concealed(text string) string {
	last, blanks := ' ', 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			blanks++
		case unicode.Is(unicode.Cc, r):
			return fmt.Sprintf("the control character %U, which terminals obey and do not show,", r)
		case blank(r), smuggled(last, r):
			return fmt.Sprintf("the invisible character %U", r)
		case blanks >= leastGap:
			return fmt.Sprintf("%d spaces in a row, which push what follows out of sight,", blanks)
		default:
			blanks = 0
		}
		last = r
	}
	if said := decoded(text); said != "" {
		return fmt.Sprintf("base64, which says %q,", truncate.Runes(said, maxExcerpt))
	}
	return ""
}

// blank reports whether a letter, mark or symbol is rendered as blank.
func blank(r rune) bool {
	return strings.ContainsRune("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0", r)
}

// smuggled reports whether an allowed invisible character may carry hidden text:
// variation selectors after a character without variants, and joiners in a row. A run
// of them can encode a text.
func smuggled(last, r rune) bool {
	switch {
	case r >= 0xe0100 && r <= 0xe01ef: // variants of ideographs
		return !unicode.Is(unicode.Han, last)
	case selector(r):
		return selector(last) || unicode.IsLetter(last)
	}
	return unicode.Is(unicode.Cf, r) && r == last
}

func selector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f }

// urlSafe converts the URL-safe alphabet of base64 (RFC 4648, section 5).
var urlSafe = strings.NewReplacer("-", "+", "_", "/")

// decoded returns the first sentence in a text's base64, or "".
func decoded(text string) string {
	for run := range strings.FieldsFuncSeq(text, noBase64) {
		if len(run) < leastCode {
			continue
		}
		said, err := base64.RawStdEncoding.DecodeString(urlSafe.Replace(run[:len(run)-len(run)%4]))
		if err == nil && bytes.ContainsRune(said, ' ') && !bytes.ContainsFunc(said, unprintable) {
			return string(said)
		}
	}
	return ""
}

func noBase64(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("+/-_", r)
}

func unprintable(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r)
}
