package environment

import (
	"strings"
	"testing"
)

func TestRequirementsHaveOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"numpy":                           "numpy",
		"  Foo_.Bar ":                     "foo-bar",
		"numpy==2.1.3":                    "numpy==2.1.3",
		"numpy (>=2, <3)":                 "numpy<3,>=2",
		"pandas[Excel, sql_x]>=2,!=2.2.*": "pandas[excel,sql-x]!=2.2.*,>=2",
		"torch ==2.4.0+cpu":               "torch==2.4.0+cpu",
		`tomli>=2;python_version<"3.11"`:  `tomli>=2 ; python_version < "3.11"`,
		`x ; (os_name == 'nt' or sys_platform in "linux darwin") and extra_ok`:                    "",
		`x ; (os_name == 'nt' or sys_platform not in "linux darwin") and python_version ~= "3.9"`: `x ; ( os_name == 'nt' or sys_platform not in "linux darwin" ) and python_version ~= "3.9"`,
	} {
		r, err := parseRequirement(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is accepted as %q", text, r)
		case want != "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && r.String() != want:
			t.Errorf("%q is %q, want %q", text, r, want)
		}
	}
}

// TestHostileRequirementsAreRefused: each entry becomes a line of a file that pip reads.
func TestHostileRequirementsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "is empty",
		" ":                                    "is empty",
		"--index-url https://evil.example":     "is an option of pip",
		"-r requirements.txt":                  "is an option of pip",
		"-e .":                                 "is an option of pip",
		"idna --index-url=https-evil":          "is not a package with versions",
		"idna\n--index-url evil":               "has a line break",
		"idna\r--pre":                          "has a line break",
		"idna\u2028--pre":                      "has a line break",
		"idna\x00":                             "has a line break",
		"git+https://github.com/x/y":           "names a URL",
		"file:///etc/passwd":                   "names a URL",
		"idna @ https://evil.example/i.whl":    "names a URL",
		"idna@file:x":                          "names a URL",
		"../x":                                 "is a path",
		"./x.whl":                              "is a path",
		"/tmp/x.whl":                           "is a path",
		`C:\x.whl`:                             "is a path",
		".":                                    "is a path",
		"idna; python_version > '3' --pre":     "does not end before",
		"idna; python_version > '3' # comment": "does not end before",
		"idna; evil_variable == '3'":           "needs a variable or a text",
		"idna; '1' == '${HOME}'":               "needs a variable or a text",
		"idna; " + strings.Repeat("(", 100):    "needs a variable or a text",
		"requests; rm -rf /":                   `has no valid marker after the semicolon: the marker needs a variable or a text before "rm -rf /"`,
		"requests; os_name == '/etc'":          "has no valid marker after the semicolon",
		"requests; python_version < '3' @ x":   "does not end before",
		"idna;":                                "needs a variable or a text",
		"idna==":                               `"==" is not a version`,
		"idna=3":                               `"=3" is not a version`,
		"idna ==3 --hash=sha256:abc":           "is not a version",
		"idna ${HOME}":                         "is not a version",
		"idna[":                                "the ] after the extras is missing",
		"idna[-r]":                             "is not the name of an extra",
		"ïdna":                                 "not printable ASCII",
		"#idna":                                "is not a package",
		strings.Repeat("a", maxRequirement+1):  "the limit is 512",
	} {
		r, err := parseRequirement(text)
		if err == nil {
			t.Errorf("%q is accepted as %q", text, r)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, want %q", text, err, want)
		}
	}
}

func TestRequirementsAreMerged(t *testing.T) {
	var list requirements
	for _, text := range []string{"Pandas>=2", "numpy", "pandas[sql]<3", "numpy", "numpy ; os_name == 'nt'"} {
		r, err := parseRequirement(text)
		if err != nil {
			t.Fatal(err)
		}
		list = list.add(r)
	}
	if got := strings.Join(list.texts(), "|"); got != "numpy|numpy ; os_name == 'nt'|pandas[sql]<3,>=2" {
		t.Error(got)
	}
}

func TestConflictsOfVersions(t *testing.T) {
	for text, want := range map[string]string{
		"x==1,==1.0":    "",
		"x==1,==2":      "==1 ==2",
		"x==1.10,>=1.9": "",
		"x==1.10,<1.9":  "==1.10 <1.9",
		"x==2,!=2.0":    "==2 !=2.0",
		"x==2,>2":       "==2 >2",
		"x==2,<=1.99":   "==2 <=1.99",
		"x==2,~=2.1":    "==2 ~=2.1",
		"x==2,==2.*":    "", // pip judges
		"x==2rc1,>3":    "", // pip judges
		"x>=2,<1":       "", // pip judges
		"x==010.0,==10": "",
	} {
		r, err := parseRequirement(text)
		if err != nil {
			t.Fatal(err)
		}
		one, other, found := r.conflict()
		if got := strings.TrimSpace(one + " " + other); got != want || found != (want != "") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
