package runtime

import "testing"

// TestUnsetVariablesAreFaultsOfTheirComponents: the rest of the Spicepod serves.
func TestUnsetVariablesAreFaultsOfTheirComponents(t *testing.T) {
	r := start(t, files{
		"ok.csv": "a\n1\n",
		"spicepod.yaml": `datasets:
  - { name: fine, from: 'file:ok.csv' }
  - { name: remote, from: 'https://${env:SPICED_T_HOST}/a.csv', params: { http_password: '${secrets:spiced_t_password}' } }
models:
  - { name: m, from: 'openai:gpt', params: { openai_api_key: '${env:SPICED_T_KEY}' } }
embeddings:
  - { name: e, from: 'openai:embed', params: { openai_api_key: '${env:SPICED_T_KEY}' } }
tools:
  - { name: server, from: 'mcp:https://mcp.example/mcp', params: { mcp_auth_token: '${env:SPICED_T_TOKEN}' } }
functions:
  - { name: twice, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: 'x * 2' }
  - { name: total, from: sql, signature: { args: [], returns: int64 }, body: '(SELECT sum(a) FROM remote)' }
`,
	})
	r.want("SELECT twice(a) FROM fine", "2")
	r.refused("SELECT total()", "function total is not served: it waits for dataset remote: the variable SPICED_T_HOST is not set (spicepod.yaml:")
	r.refused("FROM remote", "dataset \"remote\" is not served: the variable SPICED_T_HOST is not set (spicepod.yaml:")
	for range 2 { // a reload reports them again
		r.want("SELECT component, count(*) FROM spiced.load_errors WHERE message LIKE 'the variable SPICED_T_% is not set' GROUP BY ALL ORDER BY ALL",
			"dataset remote,2;embedding e,1;model m,1;tool server,1")
		r.reload()
	}
}
