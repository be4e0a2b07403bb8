package functions

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/plural"
)

// junitSuite and junitCase are the parts of the JUnit format that CI systems read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *junitSkipped `xml:"skipped,omitempty"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the results as JUnit XML: one suite, a case for each test, with the
// function as its class.
func WriteJUnit(w io.Writer, results []TestResult) error {
	suite := junitSuite{Name: "spiced", Tests: len(results)}
	var total time.Duration
	for _, r := range results {
		total += r.Duration
		c := junitCase{
			Class: r.Function, Name: r.Name, File: r.Position.File, Line: r.Position.Line,
			Time: seconds(r.Duration),
		}
		switch {
		case r.Skipped:
			suite.Skipped++
			c.Skipped = &junitSkipped{xmlText(r.Message)}
		case !r.Passed:
			suite.Failures++
			c.Failure = &junitFailure{xmlText(r.Message), xmlText(r.Position.String() + ": " + r.Message)}
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// xmlText replaces characters that XML does not allow.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' {
			return '\uFFFD'
		}
		return r
	}, s)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }

// WriteText writes the results as text: a line for each function, with its position for each
// test that failed, and the reason where its tests were skipped, then the total.
func WriteText(w io.Writer, results []TestResult) error {
	var b strings.Builder
	for i := 0; i < len(results); {
		end := i
		var bad []TestResult
		var took time.Duration
		for ; end < len(results) && results[end].Function == results[i].Function; end++ {
			took += results[end].Duration
			if !results[end].Passed {
				bad = append(bad, results[end])
			}
		}
		word := "ok  "
		switch {
		case results[i].Skipped:
			fmt.Fprintf(&b, "skip  %s  %d  %s\n", results[i].Function, end-i, strings.ReplaceAll(results[i].Message, "\n", " "))
			i = end
			continue
		case len(bad) > 0:
			word = "FAIL"
		}
		fmt.Fprintf(&b, "%s  %s  %d/%d  %s\n", word, results[i].Function, end-i-len(bad), end-i,
			took.Round(10*time.Microsecond))
		for _, r := range bad {
			fmt.Fprintf(&b, "      %s: %s: %s\n", r.Position, r.Name, strings.ReplaceAll(r.Message, "\n", "\n        "))
		}
		i = end
	}
	b.WriteString(Total(results) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Total returns how many tests there are, and how many of them failed or were skipped.
func Total(results []TestResult) string {
	failed, skipped := 0, 0
	for _, r := range results {
		switch {
		case r.Skipped:
			skipped++
		case !r.Passed:
			failed++
		}
	}
	text := fmt.Sprintf("%s, %d failed", plural.Of(len(results), "test"), failed)
	if skipped > 0 {
		text += fmt.Sprintf(", %d skipped", skipped)
	}
	return text
}
