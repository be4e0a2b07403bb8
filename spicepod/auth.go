package spicepod

import "time"

// Auth is `runtime.auth`.
type Auth struct {
	APIKey *APIKey `yaml:"api-key" doc:"Authentication by API key."`
	Former any     `yaml:"api_key" served:"renamed" instead:"'runtime.auth.api-key'" doc:"Another name of api-key."`
	OIDC   any     `yaml:"oidc" served:"refused" instead:"'runtime.auth.api-key' with a key for each caller" doc:"Authentication by tokens of an issuer."`

	Approvers []string `yaml:"approvers" doc:"Names of the principals who decide about calls that need approval. See docs/approvals.md."`
}

// APIKey is `runtime.auth.api-key`.
type APIKey struct {
	Enabled    bool            `yaml:"enabled" default:"true" doc:"Require a key. A change requires a restart."`
	Keys       []Text          `yaml:"keys" doc:"The keys; a key that ends in :rw may write, and one that ends in :ro, or in neither, may not; the ending is no part of the key. May contain references."`
	Principals []Principal     `yaml:"principals" doc:"Keys with names."`
	Limits     PrincipalLimits `yaml:"limits" doc:"Limits of each key, unless its principal has others."`
}

// Principal is an entry of `runtime.auth.api-key.principals`: the holder of a key.
type Principal struct {
	Name       string           `yaml:"name" required:"true" doc:"The name, for logs, SCRAM and ctx('principal')."`
	Key        Text             `yaml:"key" required:"true" doc:"The key; a key that ends in :rw may write, and one that ends in :ro, or in neither, may not; the ending is no part of the key. May contain references."`
	UserID     string           `yaml:"user_id" doc:"The user that the principal acts for. Default: the name."`
	SpaceID    string           `yaml:"space_id" doc:"The space in which it acts."`
	OnBehalfOf bool             `yaml:"on_behalf_of" doc:"The principal may set the user and the space for each request: a backend that serves many users."`
	Limits     *PrincipalLimits `yaml:"limits" doc:"Limits of the principal, instead of those of all keys."`
}

// PrincipalLimits are the limits of a caller.
type PrincipalLimits struct {
	RequestsPerSecond float64 `yaml:"requests_per_second" min:"0" doc:"Requests per second, on average; 0 for no limit."`
	Burst             int     `yaml:"burst" min:"0" doc:"Maximum burst of requests; 0 means as many as in a second, and at least one."`
	MaxConcurrent     int     `yaml:"max_concurrent" min:"0" doc:"Concurrent requests; 0 for no limit."`
	Weight            int     `yaml:"weight" min:"0" doc:"Share of the concurrent statements when other keys compete for them: a key with 2 gets twice the share of a key with 1; 0 means 1."`
}

// AuditMode says when calls are recorded.
type AuditMode string

// When calls are recorded.
const (
	AuditAuto AuditMode = "auto" // if keys are required
	AuditOn   AuditMode = "on"
	AuditOff  AuditMode = "off"
)

// Audit is `runtime.audit`.
type Audit struct {
	Mode AuditMode `yaml:"mode" enum:"auto,on,off" default:"auto" doc:"Record each statement, each tool call and each rejected request: always, never, or (auto) if keys are required."`
	File string    `yaml:"file" doc:"File to which the records are appended, one JSON object per line; relative to the Spicepod's folder. Records that cannot be written to it go to the log. Default: the log."`
}

// TLS is `runtime.tls`.
type TLS struct {
	Enabled         bool   `yaml:"enabled" default:"true" doc:"Encrypt all listeners."`
	Certificate     Text   `yaml:"certificate" doc:"The certificate, with its chain, as PEM."`
	CertificateFile string `yaml:"certificate_file" doc:"File of the certificate, relative to the Spicepod's folder."`
	Key             Text   `yaml:"key" doc:"The key as PEM. May contain references."`
	KeyFile         string `yaml:"key_file" doc:"File of the key, relative to the Spicepod's folder."`

	Unset []Unset `yaml:"-"` // references of Certificate and Key to variables that are not set

	ClientAuthMode   string `yaml:"client_auth_mode" served:"refused" instead:"'runtime.auth.api-key', or a proxy that checks certificates of clients" doc:"Whether clients need a certificate."`
	ClientAuthCAFile string `yaml:"client_auth_ca_file" served:"no" instead:"'runtime.auth.api-key'" doc:"File of the authority of clients' certificates."`
}

// CORS is `runtime.cors`.
type CORS struct {
	Enabled        bool     `yaml:"enabled" default:"false" doc:"Allow web pages of other origins to call the HTTP API."`
	AllowedOrigins []string `yaml:"allowed_origins" doc:"The allowed origins, such as https://app.example.com; * allows all. Default: *."`
}

// Origins are the allowed origins; "*" means all.
func (c CORS) Origins() []string {
	switch {
	case !c.Enabled:
		return nil
	case len(c.AllowedOrigins) == 0:
		return []string{"*"}
	}
	return c.AllowedOrigins
}

// PostgresAuth is how clients of the PostgreSQL protocol authenticate.
type PostgresAuth string

// Authentication methods.
const (
	PostgresSCRAM    PostgresAuth = "scram-sha-256" // does not send the key
	PostgresPassword PostgresAuth = "password"      // sends the key, over TLS or on loopback
)

// Postgres is `runtime.postgres`.
type Postgres struct {
	Enabled        bool          `yaml:"enabled" default:"true" doc:"Serve the protocol."`
	Address        string        `yaml:"address" default:"127.0.0.1:5432" doc:"Address of the listener, as host:port. The flag --postgres overrides it."`
	Connections    int           `yaml:"max_connections" min:"1" default:"1000" doc:"Concurrent connections of clients that have logged in."`
	PerCaller      int           `yaml:"max_connections_per_caller" min:"0" doc:"Concurrent connections of one key, or of one address where no keys are required; 0: a quarter of max_connections."`
	Pending        int           `yaml:"max_pending_connections" min:"1" default:"2000" doc:"Concurrent connections of clients that have not logged in, at most half of them from one address; a new one closes the one that has been silent for longest."`
	IdleTimeout    time.Duration `yaml:"idle_timeout" default:"1h" doc:"How long a client may be idle between statements; 0: 1h."`
	Authentication PostgresAuth  `yaml:"authentication" enum:"scram-sha-256,password" default:"scram-sha-256" doc:"How clients authenticate: with SCRAM, which does not send the key, or with the key as the password, over TLS or on loopback."`
}

// Flight is `runtime.flight`.
type Flight struct {
	Enabled     bool   `yaml:"enabled" default:"true" doc:"Serve the protocol."`
	MaxMessage  any    `yaml:"max_message_size" served:"no" instead:"nothing: results are sent in batches of bounded size" doc:"The largest message."`
	WriteLimit  any    `yaml:"do_put_rate_limit_enabled" served:"no" instead:"'runtime.auth.api-key.limits'" doc:"Whether the rate of writes is limited."`
	Address     string `yaml:"address" default:"127.0.0.1:50051" doc:"Address of the listener, as host:port. The flag --flight overrides it."`
	Connections int    `yaml:"max_connections" min:"1" default:"1000" doc:"Concurrent connections that have sent a call with a valid key; a new one closes the oldest without calls."`
	PerCaller   int    `yaml:"max_connections_per_caller" min:"0" doc:"Concurrent connections of one key, or of one address where no keys are required; 0: a quarter of max_connections."`
	Pending     int    `yaml:"max_pending_connections" min:"1" default:"2000" doc:"Concurrent connections that have made no such call, at most half of them from one address; a new one closes the one that has been silent for longest."`
}
