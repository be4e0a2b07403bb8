package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/tools"
)

// hangsFor is the longest run of the tool "hang".
const hangsFor = 20 * time.Second

// fakeVariable makes the test binary a server: see TestMain.
const fakeVariable = "FAKE_MCP"

// fake runs the named server and returns its exit status.
func fake(name string) int {
	switch name {
	case "garbage":
		for i := range 200 {
			fmt.Println("this is no message", i, strings.Repeat("x", 100))
		}
		io.Copy(io.Discard, os.Stdin)
	case "silent":
		io.Copy(io.Discard, os.Stdin)
	case "exit":
		fmt.Fprintln(os.Stderr, "no token \x1b[31mtop-secret\x1b[0m for me")
		return 3
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		net.Dial("tcp", os.Getenv("FAKE_LIFE"))
		fmt.Fprintln(os.Stderr, "I stay")
		select {}
	case "child": // of another fake: lives as long as its connection
		net.Dial("tcp", os.Getenv("FAKE_LIFE"))
		select {}
	case "late":
		gate, err := net.Dial("tcp", os.Getenv("FAKE_GATE"))
		if err != nil {
			return 1
		}
		io.Copy(io.Discard, gate) // until the test opens it
		serve(sdkServer())
	case "flood":
		out := bufio.NewWriter(os.Stderr)
		for range 20_000 {
			fmt.Fprintf(out, "%s\x07\n", strings.Repeat("z", 200))
		}
		out.Flush()
		serve(sdkServer())
	case "banner":
		fmt.Println("Welcome to my server!\n[not json\n{\"neither\": 1}\n[]\n\n7")
		serve(sdkServer())
	case "sdk":
		serve(sdkServer())
	default:
		raw(name)
	}
	return 0
}

func serve(s *mcp.Server) { s.Run(context.Background(), &mcp.StdioTransport{MaxLineLength: -1}) }

var anyObject = map[string]any{"type": "object"}

// sdkServer is a well-behaved server.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1.2.3"}, nil)
	add := func(name string, call func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: "It does " + name + ".", InputSchema: anyObject}, call)
	}
	text := func(parts ...string) *mcp.CallToolResult {
		r := &mcp.CallToolResult{}
		for _, part := range parts {
			r.Content = append(r.Content, &mcp.TextContent{Text: part})
		}
		return r
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	add("word", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("plain words"), nil
	})
	add("meta", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(fmt.Sprint(r.Params.Meta["spiced/trace"])), nil
	})
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := text("it broke", "badly")
		r.IsError = true
		return r, nil
	})
	add("process", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		dir, _ := os.Getwd()
		facts, _ := json.Marshal(map[string]any{"dir": dir, "args": os.Args[1:], "env": os.Environ(), "pid": os.Getpid()})
		return text(string(facts)), nil
	})
	add("bear", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), fakeVariable+"=child")
		return text("born"), child.Start()
	})
	add("mixed", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := text("a picture")
		r.Content = append(r.Content, &mcp.ImageContent{MIMEType: "image/png", Data: []byte{1, 2, 3}},
			&mcp.ResourceLink{URI: "file:///x", Name: "x"})
		return r, nil
	})
	add("hang", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if gate := os.Getenv("FAKE_GATE"); gate != "" {
			knock, err := net.Dial("tcp", gate)
			if err == nil {
				defer knock.Close()
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(hangsFor): // a cancel that overtakes its call does nothing
		}
		return nil, ctx.Err()
	})
	add("die", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(9)
		return nil, nil
	})
	add("ask", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		//lint:ignore SA1019 older servers ask; that they are refused is tested
		_, roots := r.Session.ListRoots(ctx, nil)
		//lint:ignore SA1019 older servers ask; that they are refused is tested
		_, sampling := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{})
		_, elicitation := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who are you?"})
		return text(fmt.Sprint(roots != nil, sampling != nil, elicitation != nil)), nil
	})
	add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			add("grown"+strconv.Itoa(i), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("grown"), nil })
		}
		return text("ok"), nil
	})
	return s
}

// raw is a server that breaks the protocol in ways that the SDK does not allow.
func raw(name string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	var held json.RawMessage
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if name == "hundred megabytes" && m.Method == "tools/call" && strings.Contains(in.Text(), "big") {
			fmt.Print(`{"result":{"content":[{"type":"text","text":"`)
			for range 100 {
				os.Stdout.WriteString(strings.Repeat("m", 1<<20))
			}
			fmt.Printf(`"}]},"jsonrpc":"2.0","id":%s}`+"\n", m.ID)
			if held != nil { // the answer to the call before
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", held)
			}
			continue
		}
		if name == "hundred megabytes" && m.Method == "tools/call" && strings.Contains(in.Text(), "held") {
			held = m.ID
			fmt.Fprintln(os.Stderr, "it is held")
			continue
		}
		if name == "broken" && m.Method == "tools/call" {
			breaks(in.Text(), m.ID)
			continue
		}
		answer, _ := json.Marshal(rawAnswer(name, m.Method, m.Params.Cursor))
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, answer)
	}
}

// breaks writes what a call asks for instead of an answer.
func breaks(call string, id json.RawMessage) {
	switch {
	case strings.Contains(call, "cut"):
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"te`+"\n", id)
	case strings.Contains(call, "deep"):
		fmt.Printf(`{"jsonrpc":"2.0","result":%s%s,"id":%s}`+"\n", strings.Repeat("[", 100_000), strings.Repeat("]", 100_000), id)
	case strings.Contains(call, "noise"):
		fmt.Println("\xff\xfe no message")
	case strings.Contains(call, "without id"):
		fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what was that"}}`)
	case strings.Contains(call, "held"):
		fmt.Fprintln(os.Stderr, "it is held")
	default:
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", id)
	}
}

func rawAnswer(name, method, cursor string) any {
	type object = map[string]any
	switch method {
	case "initialize":
		return object{
			"protocolVersion": "2025-06-18", "serverInfo": object{"name": name, "version": "1"},
			"capabilities": object{"tools": object{}},
		}
	case "tools/list":
		list, next := rawTools(name, cursor)
		return object{"tools": list, "nextCursor": next}
	case "tools/call":
		return rawResult(name)
	}
	return object{}
}

func rawResult(name string) any {
	type object = map[string]any
	content := []object{{"type": "text", "text": `{"n": 9007199254740993}`}}
	switch name {
	case "exact": // without the text that repeats it
		return object{"content": []object{{"type": "text", "text": "a number"}}, "structuredContent": object{"n": json.Number("9007199254740993")}}
	case "structured":
		return object{"content": content, "structuredContent": object{"n": json.Number("9007199254740993")}}
	case "structured and media":
		return object{"content": []object{{"type": "text", "text": "one"}, {"type": "image"}}, "structuredContent": object{"n": 1}}
	case "wrapped number":
		return object{"content": []object{{"type": "text", "text": "9007199254740993"}}, "structuredContent": object{"result": json.Number("9007199254740993")}}
	case "wrapped text":
		return object{"content": []object{{"type": "text", "text": "12"}}, "structuredContent": object{"result": "12"}}
	case "wrapped null":
		return object{"content": []object{{"type": "text", "text": "null"}}, "structuredContent": object{"result": nil}}
	case "wrapped object":
		return object{"content": []object{}, "structuredContent": object{"result": object{"result": 1}}}
	case "wrapped and more", "not marked":
		return object{"content": []object{}, "structuredContent": object{"result": 1, "more": 2}}
	}
	return object{"content": content[:0], "structuredContent": object{"other": 1}}
}

func rawTools(name, cursor string) (list []any, next string) {
	type object = map[string]any
	tool := func(name string, schema any) { list = append(list, object{"name": name, "inputSchema": schema}) }
	switch name {
	case "five thousand":
		page, _ := strconv.Atoi(cursor)
		for i := range 1000 {
			tool(fmt.Sprintf("tool_%05d", page*1000+i), anyObject)
		}
		if page < 5 {
			next = strconv.Itoa(page + 1)
		}
	case "endless":
		tool("a", anyObject)
		next = "again"
	case "names":
		for _, n := range []string{
			"same", "same", "Same", "", strings.Repeat("n", 300), strings.Repeat("n", 301), "a.b/c", "a b/c", "a__b", "a_-_b", "ünder",
		} {
			tool(n, anyObject)
		}
	case "schemas":
		for n, schema := range []any{
			nil, "text", true,
			[]any{},
			object{"type": 7},
			object{"$ref": "#/nowhere"},
			object{"properties": object{"a": object{"type": "integer"}}},
		} {
			tool("schema"+strconv.Itoa(n), schema)
		}
	case "hints":
		for n, hints := range []any{nil, object{}, object{"readOnlyHint": true}, object{"destructiveHint": false, "idempotentHint": true, "openWorldHint": false}} {
			list = append(list, object{"name": "hints" + strconv.Itoa(n), "title": "A title", "inputSchema": anyObject, "annotations": hints})
		}
	case "wrapped number", "wrapped text", "wrapped null", "wrapped object", "wrapped and more", "not marked":
		list = append(list, object{"name": name, "inputSchema": anyObject, "outputSchema": object{
			"type": "object", "properties": object{"result": object{"title": "R"}}, "required": []string{"result"}, tools.WrappedResult: name != "not marked",
		}})
	default:
		tool("one", anyObject)
	}
	return list, next
}
