package spicepod

import "time"

// Auth is `runtime.auth`.
type Auth struct {
	APIKey *APIKey `yaml:"api-key" doc:"Authentication by API key."`
}

// APIKey is `runtime.auth.api-key`.
type APIKey struct {
	Enabled    bool            `yaml:"enabled" default:"true" doc:"Ask for a key. A change takes a restart."`
	Keys       []Text          `yaml:"keys" doc:"The keys; one that ends in :rw may write. May hold references."`
	Principals []Principal     `yaml:"principals" doc:"Keys with names."`
	Limits     PrincipalLimits `yaml:"limits" doc:"What each key may ask for, unless its principal says otherwise."`
}

// Principal is an entry of `runtime.auth.api-key.principals`: who holds a key.
type Principal struct {
	Name       string           `yaml:"name" required:"true" doc:"The name, for logs, SCRAM and ctx('principal')."`
	Key        Text             `yaml:"key" required:"true" doc:"The key; one that ends in :rw may write. May hold references."`
	UserID     string           `yaml:"user_id" doc:"For whom the principal acts. Default: its name."`
	SpaceID    string           `yaml:"space_id" doc:"The space in which it acts."`
	OnBehalfOf bool             `yaml:"on_behalf_of" doc:"It may name the user and the space itself, request by request: a backend that serves many."`
	Limits     *PrincipalLimits `yaml:"limits" doc:"What it may ask for, in place of those of all."`
}

// PrincipalLimits bounds what a caller may ask for.
type PrincipalLimits struct {
	RequestsPerSecond float64 `yaml:"requests_per_second" min:"0" doc:"How many requests a second, on average; 0 for no limit."`
	Burst             int     `yaml:"burst" min:"0" doc:"How many of them at once; 0: as many as a second has, at least one."`
	MaxConcurrent     int     `yaml:"max_concurrent" min:"0" doc:"How many requests at the same time; 0 for no limit."`
}

// AuditMode says when calls are recorded.
type AuditMode string

// When calls are recorded.
const (
	AuditAuto AuditMode = "auto" // when keys are needed
	AuditOn   AuditMode = "on"
	AuditOff  AuditMode = "off"
)

// Audit is `runtime.audit`.
type Audit struct {
	Mode AuditMode `yaml:"mode" enum:"auto,on,off" default:"auto" doc:"Record each statement, call of a tool and request that is not let through: always, never, or (auto) when keys are needed."`
	File string    `yaml:"file" doc:"File to which the records are added, a JSON object a line; relative to the Spicepod's folder. Default: the log."`
}

// TLS is `runtime.tls`.
type TLS struct {
	Enabled         bool   `yaml:"enabled" default:"true" doc:"Encrypt the doors."`
	Certificate     Text   `yaml:"certificate" doc:"The certificate, with its chain, as PEM."`
	CertificateFile string `yaml:"certificate_file" doc:"File of the certificate, relative to the Spicepod's folder."`
	Key             Text   `yaml:"key" doc:"The key as PEM. May hold references."`
	KeyFile         string `yaml:"key_file" doc:"File of the key, relative to the Spicepod's folder."`
}

// CORS is `runtime.cors`.
type CORS struct {
	Enabled        bool     `yaml:"enabled" default:"false" doc:"Let web pages of other sites call the HTTP API."`
	AllowedOrigins []string `yaml:"allowed_origins" doc:"Their origins, such as https://app.example.com; * is every one. Default: *."`
}

// Origins are the sites whose pages may call the API; "*" is every one.
func (c CORS) Origins() []string {
	switch {
	case !c.Enabled:
		return nil
	case len(c.AllowedOrigins) == 0:
		return []string{"*"}
	}
	return c.AllowedOrigins
}

// PostgresAuth says how clients of the PostgreSQL protocol show their key.
type PostgresAuth string

// How they show it.
const (
	PostgresSCRAM    PostgresAuth = "scram-sha-256" // without sending it
	PostgresPassword PostgresAuth = "password"      // as it is, over TLS or on loopback
)

// Postgres is `runtime.postgres`.
type Postgres struct {
	Enabled        bool          `yaml:"enabled" default:"true" doc:"Open the door."`
	Address        string        `yaml:"address" default:"127.0.0.1:5432" doc:"Where it listens, as host:port. The flag --postgres goes before it."`
	Connections    int           `yaml:"max_connections" min:"1" default:"1000" doc:"How many clients at once."`
	IdleTimeout    time.Duration `yaml:"idle_timeout" default:"1h" doc:"How long a client may be silent between statements; 0: 1h."`
	Authentication PostgresAuth  `yaml:"authentication" enum:"scram-sha-256,password" default:"scram-sha-256" doc:"How clients show their key: by SCRAM, without sending it, or as a password, over TLS or on loopback."`
}

// Flight is `runtime.flight`.
type Flight struct {
	Enabled     bool   `yaml:"enabled" default:"true" doc:"Open the door."`
	Address     string `yaml:"address" default:"127.0.0.1:50051" doc:"Where it listens, as host:port. The flag --flight goes before it."`
	Connections int    `yaml:"max_connections" min:"1" default:"1000" doc:"How many clients at once."`
}
