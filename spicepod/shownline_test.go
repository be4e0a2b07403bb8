package spicepod

import "testing"

// A line that sets a secret is not shown with a problem; one that refers to a secret is.
func TestShownLine(t *testing.T) {
	for line, shown := range map[string]bool{
		`  - { name: m, from: "openai:gpt", params: { openai_api_key: sk-0123 } }`: false,
		`    params: { pg_pass: 'hunter2', pg_prot: 5432 }`:                        false,
		`      "pg_pass": hunter2`:                                                 false,
		`      s3_key: AKIA0123`:                                                   false,
		`      s3_secret: abc`:                                                     false,
		`      key: alice-0123456789`:                                              false,
		`      abfs_sas_string: sv=2024`:                                           false,
		`      http_headers: "Authorization: Bearer abc"`:                          false,
		`      pg_connection_string: "host=h password=p"`:                          false,
		`    from: "https://ann:hunter2@host/a.csv"`:                               false,
		`      openai_api_key: ${env:KEY}, endpont: x`:                             true,
		`      pg_pass: "${secrets:pg}"`:                                           true,
		`      pg_pass:`:                                                           true,
		`    primary_key: id`:                                                      true,
		`    from: "https://host:8080/a.csv"`:                                      true,
		`    params: { max_tokens: 100 }`:                                          true,
	} {
		s := &source{text: line, lines: []int{0}}
		if got := s.shownLine("datasets[0].params", 1) != ""; got != shown {
			t.Errorf("%s: shown: %v", line, got)
		}
	}
}
