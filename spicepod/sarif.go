package spicepod

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// sarifRule is the rule of every result.
const sarifRule = "spicepod"

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string           `json:"name"`
		InformationURI string           `json:"informationUri"`
		Rules          []sarifRuleEntry `json:"rules"`
	}
	sarifRuleEntry struct {
		ID               string       `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int           `json:"startLine"`
		StartColumn int           `json:"startColumn,omitempty"`
		Snippet     *sarifMessage `json:"snippet,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// WriteSARIF writes the problems as a SARIF 2.1.0 log, with columns in Unicode code points.
func (p Problems) WriteSARIF(w io.Writer) error {
	run := sarifRun{
		Tool: sarifTool{Driver: sarifDriver{
			Name:           "spiced",
			InformationURI: "https://github.com/spiced-sql/spiced",
			Rules:          []sarifRuleEntry{{ID: sarifRule, ShortDescription: sarifMessage{"problem in a Spicepod"}}},
		}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	for _, problem := range p {
		run.Results = append(run.Results, problem.sarif())
	}
	return writeIndented(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

func (p Problem) sarif() sarifResult {
	text := p.Message
	if p.Component != "" {
		text = p.Component + ": " + text
	}
	if p.Hint != "" {
		text += "\nhint: " + p.Hint
	}
	result := sarifResult{RuleID: sarifRule, Level: p.Severity.String(), Message: sarifMessage{text}}
	if p.File == "" {
		return result
	}
	location := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{fileURI(p.File)}}}
	if p.Line > 0 {
		location.Physical.Region = &sarifRegion{StartLine: p.Line, StartColumn: p.Column}
		if p.Source != "" {
			location.Physical.Region.Snippet = &sarifMessage{p.Source}
		}
	}
	if p.Path != "" {
		location.Logical = []sarifLogical{{p.Path}}
	}
	result.Locations = []sarifLocation{location}
	return result
}

// fileURI is a relative URI for a relative file, else a file: URI.
func fileURI(file string) string {
	slashed := filepath.ToSlash(file)
	if !filepath.IsAbs(file) {
		return (&url.URL{Path: slashed}).EscapedPath()
	}
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}
