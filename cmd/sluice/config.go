package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/httpapi/operator"
	"github.com/sluicehq/sluice/adapters/limiter/redis"
	"github.com/sluicehq/sluice/adapters/secrets"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/tenant"
)

// envPrefix stands before the name of every setting.
const envPrefix = "SLUICE_"

// config is every setting of the gateway. Only this file reads the environment, and
// otel.go what is not the gateway's own there.
// The tag help is shown by sluice --help.
type config struct {
	DatabaseURL     string        `env:"DATABASE_URL" envDefault:"sqlite:data/sluice.db" help:"where everything is kept: sqlite:<file> or postgres://user:password@host:port/database?sslmode=…"`
	DatabaseURLFile string        `env:"DATABASE_URL_FILE,file" help:"file that holds the database URL, in place of SLUICE_DATABASE_URL"`
	DatabasePool    int           `env:"DATABASE_MAX_CONNECTIONS" envDefault:"16" help:"greatest number of connections to PostgreSQL"`
	EncryptionKey   string        `env:"ENCRYPTION_KEY" help:"key that secrets in the database are encrypted with, 32 bytes in base64, such as sluice secrets generate-key prints (default: with SQLite the file <database>.key, which the first start makes)"`
	EncryptionFile  string        `env:"ENCRYPTION_KEY_FILE,file" help:"file that holds the key, in place of SLUICE_ENCRYPTION_KEY"`
	RedisURL        string        `env:"REDIS_URL" help:"Redis or Valkey in which all processes count requests and fires of triggers together: redis://user:password@host:port/0 or rediss://… (default: each process counts on its own)"`
	RedisURLFile    string        `env:"REDIS_URL_FILE,file" help:"file that holds the Redis URL, in place of SLUICE_REDIS_URL"`
	Listen          string        `env:"LISTEN" envDefault:"127.0.0.1:8080" help:"address and port to serve on; port 0 takes a free one"`
	BaseURL         string        `env:"BASE_URL" help:"address under which clients reach the gateway; shown at the start and in the requests to paste (default: http://<the address it listens on>)"`
	URL             string        `env:"URL" help:"address of the gateway that sluice workflow speaks to, such as https://gateway.example.com (default: none)"`
	APIKey          string        `env:"API_KEY" help:"secret key that sluice workflow speaks to it with (default: none)"`
	PublicURL       string        `env:"PUBLIC_URL" help:"address under which the world outside reaches the gateway, as senders to hooks do (default: SLUICE_BASE_URL)"`
	HooksURL        string        `env:"HOOKS_URL" help:"origin of its own for the addresses of hooks, such as https://hooks.example.com; it leads to the same gateway (default: SLUICE_PUBLIC_URL)"`
	SMTPURL         string        `env:"SMTP_URL" help:"mail server that invitations and password resets are sent by: smtp://user:password@host:587?from=sluice@example.com, or smtps://… with TLS from the beginning (default: none; links are shown to whoever makes them)"`
	SMTPURLFile     string        `env:"SMTP_URL_FILE,file" help:"file that holds the mail server's URL, in place of SLUICE_SMTP_URL"`
	OIDCIssuer      string        `env:"OIDC_ISSUER" help:"identity provider with which people sign in to the console, as its issuer is named: https://login.example.com (default: none; people have passwords)"`
	OIDCClient      string        `env:"OIDC_CLIENT_ID" help:"what the identity provider knows the gateway by; people come back to <SLUICE_PUBLIC_URL>/console/api/oidc/callback"`
	OIDCSecret      string        `env:"OIDC_CLIENT_SECRET" help:"secret of the gateway at the identity provider (default: none, for a public client)"`
	OIDCSecretFile  string        `env:"OIDC_CLIENT_SECRET_FILE,file" help:"file that holds the secret, in place of SLUICE_OIDC_CLIENT_SECRET"`
	OIDCDomains     []string      `env:"OIDC_ALLOWED_DOMAINS" help:"domains of the verified mail addresses of people who sign in with the identity provider, separated by commas, such as example.com (default: any)"`
	Engine          string        `env:"ENGINE" envDefault:"table" help:"what gives the runs that begin from now on to workers: table, which is the database alone, or temporal"`
	TemporalAddress string        `env:"TEMPORAL_ADDRESS" help:"host and port of the Temporal server that runs are handed over to; with SLUICE_ENGINE=table for those that began there (default: none)"`
	TemporalSpace   string        `env:"TEMPORAL_NAMESPACE" envDefault:"default" help:"namespace there, which has to exist"`
	TemporalQueue   string        `env:"TEMPORAL_TASK_QUEUE" envDefault:"sluice" help:"task queue there; one for each database"`
	TemporalCert    string        `env:"TEMPORAL_TLS_CERT" help:"certificate that the gateway shows to Temporal, in PEM (default: none)"`
	TemporalCertF   string        `env:"TEMPORAL_TLS_CERT_FILE,file" help:"file that holds it, in place of SLUICE_TEMPORAL_TLS_CERT"`
	TemporalKey     string        `env:"TEMPORAL_TLS_KEY" help:"private key of that certificate, in PEM"`
	TemporalKeyF    string        `env:"TEMPORAL_TLS_KEY_FILE,file" help:"file that holds it, in place of SLUICE_TEMPORAL_TLS_KEY"`
	TemporalCA      string        `env:"TEMPORAL_TLS_CA" help:"certificates of who may have signed for the Temporal server, in PEM; the connection is encrypted then, and with a certificate or an API key (default: whom the system trusts)"`
	TemporalCAF     string        `env:"TEMPORAL_TLS_CA_FILE,file" help:"file that holds them, in place of SLUICE_TEMPORAL_TLS_CA"`
	TemporalAPIKey  string        `env:"TEMPORAL_API_KEY" help:"API key for Temporal (default: none)"`
	TemporalAPIKeyF string        `env:"TEMPORAL_API_KEY_FILE,file" help:"file that holds it, in place of SLUICE_TEMPORAL_API_KEY"`
	LogLevel        zerolog.Level `env:"LOG_LEVEL" envDefault:"info" help:"trace, debug, info, warn, error or disabled"`
	LogFormat       string        `env:"LOG_FORMAT" help:"json or console (default: console on a terminal, else json)"`
	MetricsListen   string        `env:"METRICS_LISTEN" help:"address and port that only the operator reaches, to serve /metrics for Prometheus and /debug/pprof/ on; port 0 takes a free one (default: none)"`
	MetricsTenants  []string      `env:"METRICS_TENANTS" help:"tenants whose calls of webhook endpoints and custom nodes, and whose storage, are shown one by one, as identifiers separated by commas, or * for the first 1000 (default: none)"`
	CORSOrigins     []string      `env:"CORS_ORIGINS" help:"origins that browsers may call from, separated by commas, or * for any (default: none)"`
	TrustedProxies  []string      `env:"TRUSTED_PROXIES" help:"address ranges of proxies whose X-Forwarded-For is believed, separated by commas (default: none)"`
	OperatorToken   string        `env:"OPERATOR_TOKEN" help:"secret with which you make and manage tenants over HTTP below /v1/operator, 32 to 1024 printable ASCII characters without spaces (default: none, and no such API)"`
	OperatorFile    string        `env:"OPERATOR_TOKEN_FILE,file" help:"file that holds the operator's token, in place of SLUICE_OPERATOR_TOKEN"`
	OperatorTokens  string        `env:"OPERATOR_TOKENS_FILE" help:"file with the tokens of several operators, a line name=token for each, and behind a space read, tenants or runs where it may not do everything; it is read again when it changes (default: none)"`
	EgressAllow     []string      `env:"EGRESS_ALLOW" help:"address ranges that outgoing calls may reach although private, separated by commas, such as 10.0.0.0/8 (default: none)"`
	WorkerRuns      int           `env:"WORKER_CONCURRENCY" envDefault:"256" help:"how many runs this process works on at the same time"`
	TenantRuns      int           `env:"WORKER_PER_TENANT" envDefault:"64" help:"how many runs of one tenant are worked on at the same time, by all processes together"`
	Memory          byteSize      `env:"MEMORY" help:"how much memory the process may take, such as 512MiB or 2GiB; tenants share most of it (default: GOMEMLIMIT, else three quarters of what the container or the machine has, at most 4GiB)"`
	WorkerMemory    int64         `env:"WORKER_MEMORY_BYTES" help:"how large the runs that this process works on may be together, as they are stored, for it to take more, except one of each tenant that has none (default: a part of SLUICE_MEMORY)"`
	RunRetention    int           `env:"RUN_RETENTION" envDefault:"30" help:"how many days finished runs are kept of tenants that have no number of days of their own, 1 to 3650"`
	TenantStorage   byteSize      `env:"STORAGE_PER_TENANT" envDefault:"10GiB" help:"how much the runs of one tenant may take, with their payloads, results and histories, for it to start more, such as 500MiB; 0 for any size"`
	AuditRetention  time.Duration `env:"AUDIT_RETENTION" envDefault:"9600h" help:"how long entries of the audit log are kept, at least 24h"`
	Code            string        `env:"CODE" envDefault:"on" help:"on, or off to leave out the node type code: nothing runs what tenants write in JavaScript"`
	WorkerDrain     time.Duration `env:"WORKER_DRAIN" envDefault:"10s" help:"how long calls of nodes may take to finish after SIGTERM; what is left is made again by another process"`
	MaxBody         int64         `env:"MAX_BODY_BYTES" envDefault:"1048576" help:"greatest size of a request body"`
	MaxConnections  int           `env:"MAX_CONNECTIONS" envDefault:"20000" help:"greatest number of clients' connections; fewer where the system's limit of open files asks for it"`
	HeaderTimeout   time.Duration `env:"HEADER_TIMEOUT" envDefault:"10s" help:"how long a client may take to send a request's headers"`
	BodyTimeout     time.Duration `env:"BODY_TIMEOUT" envDefault:"60s" help:"how long a client may take to send a whole request"`
	AnswerTimeout   time.Duration `env:"ANSWER_TIMEOUT" envDefault:"120s" help:"how long a request may take, from its headers until the client has received the answer"`
	IdleTimeout     time.Duration `env:"IDLE_TIMEOUT" envDefault:"120s" help:"how long a connection may wait for its next request; longer than the balancer's in front"`
	DrainDelay      time.Duration `env:"DRAIN_DELAY" envDefault:"0s" help:"how long to serve on after SIGTERM while /readyz says 503, so that balancers take notice"`
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"30s" help:"how long running requests may take to finish after SIGTERM"`

	egressAllow []netip.Prefix // what EgressAllow says

	namedTokens []operator.Token   // what the file OperatorTokens says
	hidden      *telemetry.Secrets // the texts of these, as they are now

	// tracesEndpoint is the whole URL that traces are sent to; empty for none.
	tracesEndpoint string
}

// runsCode says whether code of tenants is run.
func (c config) runsCode() bool { return c.Code != "off" }

// errConfiguration marks errors of the configuration, which end the process with
// exit code 2.
var errConfiguration = errors.New("the configuration is not valid")

// readConfig reads the settings from the environment, a list of NAME=value. All
// mistakes are reported at once.
func readConfig(environ []string) (config, error) {
	var cfg config
	var mistakes []error
	err := env.ParseWithOptions(&cfg, env.Options{
		Prefix: envPrefix, Environment: env.ToMap(environ),
		FuncMap: map[reflect.Type]env.ParserFunc{reflect.TypeFor[zerolog.Level](): parseLevel},
	})
	var found env.AggregateError
	if errors.As(err, &found) {
		mistakes = append(mistakes, plain(found)...)
	} else if err != nil {
		mistakes = append(mistakes, err)
	}
	given := env.ToMap(environ)
	mistakes = append(mistakes, fromFile(given, "DATABASE_URL", &cfg.DatabaseURL, cfg.DatabaseURLFile)...)
	mistakes = append(mistakes, fromFile(given, "REDIS_URL", &cfg.RedisURL, cfg.RedisURLFile)...)
	mistakes = append(mistakes, fromFile(given, "OPERATOR_TOKEN", &cfg.OperatorToken, cfg.OperatorFile)...)
	mistakes = append(mistakes, fromFile(given, "ENCRYPTION_KEY", &cfg.EncryptionKey, cfg.EncryptionFile)...)
	mistakes = append(mistakes, fromFile(given, "OIDC_CLIENT_SECRET", &cfg.OIDCSecret, cfg.OIDCSecretFile)...)
	mistakes = append(mistakes, fromFile(given, "SMTP_URL", &cfg.SMTPURL, cfg.SMTPURLFile)...)
	mistakes = append(mistakes, fromFile(given, "TEMPORAL_TLS_CERT", &cfg.TemporalCert, cfg.TemporalCertF)...)
	mistakes = append(mistakes, fromFile(given, "TEMPORAL_TLS_KEY", &cfg.TemporalKey, cfg.TemporalKeyF)...)
	mistakes = append(mistakes, fromFile(given, "TEMPORAL_TLS_CA", &cfg.TemporalCA, cfg.TemporalCAF)...)
	mistakes = append(mistakes, fromFile(given, "TEMPORAL_API_KEY", &cfg.TemporalAPIKey, cfg.TemporalAPIKeyF)...)
	mistakes = append(mistakes, cfg.mistakes()...)
	if cfg.namedTokens, err = cfg.readOperatorTokens(); err != nil {
		mistakes = append(mistakes, eachSetting("OPERATOR_TOKENS_FILE", err)...)
	}
	cfg.hidden = new(telemetry.Secrets)
	cfg.hide(cfg.namedTokens)
	if cfg.egressAllow, err = egress.ParseAllow(cfg.EgressAllow); err != nil {
		mistakes = append(mistakes, eachSetting("EGRESS_ALLOW", err)...)
	}
	var standard []error
	cfg.tracesEndpoint, standard = tracesEndpoint(given)
	mistakes = append(mistakes, standard...)
	if mistakes = firstOfEach(mistakes); len(mistakes) > 0 {
		for _, name := range unknownSettings(environ) { // the cause of another mistake, perhaps
			mistakes = append(mistakes, fmt.Errorf("%s looks like a setting, but there is none of that name", name))
		}
		return config{}, fmt.Errorf("%w:\n%w", errConfiguration, errors.Join(mistakes...))
	}
	return cfg, nil
}

// mistake is what is wrong with a setting.
type mistake struct{ name, message string }

func (m mistake) Error() string { return envPrefix + m.name + " " + m.message }

// firstOfEach drops the mistakes that only follow from one found before: of a setting
// that could not be read, the zero value breaks rules as well.
func firstOfEach(mistakes []error) []error {
	var kept []error
	unread := make(map[string]bool)
	for _, err := range mistakes {
		var m mistake
		if errors.As(err, &m) {
			if unread[m.name] {
				continue
			}
			if !strings.HasPrefix(m.message, holds) { // of a list, each entry that is wrong is named
				unread[m.name] = true
			}
		}
		kept = append(kept, err)
	}
	return kept
}

// plain rewrites the reader's errors so that they name the variable instead of the
// field of the struct, and never its value, which may be a secret.
func plain(found env.AggregateError) []error {
	var all []error
	for _, err := range found.Errors {
		var parse env.ParseError
		var file env.LoadFileContentError
		switch {
		case errors.As(err, &parse):
			all = append(all, setting(variableOf(parse.Name), "is not "+kindOf(parse.Type)))
		case errors.As(err, &file):
			all = append(all, setting(strings.TrimPrefix(file.Key, envPrefix), "names a file that cannot be read: "+reason(file.Err)))
		default:
			all = append(all, err)
		}
	}
	return all
}

func reason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func variableOf(field string) string {
	f, _ := reflect.TypeFor[config]().FieldByName(field)
	name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
	return name
}

func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 30s or 2m"
	case t == reflect.TypeFor[zerolog.Level]():
		return "one of trace, debug, info, warn, error and disabled"
	case t == reflect.TypeFor[byteSize]():
		return "a size such as 512MiB or 2GiB"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "a whole number"
	default:
		return "a " + t.String()
	}
}

func parseLevel(text string) (any, error) {
	level, err := zerolog.ParseLevel(text)
	if err != nil || text == "" {
		return nil, errors.New("unknown level")
	}
	return level, nil
}

// eachSetting says of a setting what a parser found, one mistake at a time.
func eachSetting(name string, err error) []error {
	var all []error
	for text := range strings.SplitSeq(err.Error(), "\n") {
		all = append(all, setting(name, holds+text))
	}
	return all
}

// holds begins what is said of one entry of a list.
const holds = "holds "

func setting(name, message string) error { return mistake{name, message} }

// mistakes lists what is wrong with the values.
func (c config) mistakes() []error {
	var found []error
	check := func(ok bool, name, message string) {
		if !ok {
			found = append(found, setting(name, message))
		}
	}
	_, err := databaseOf(c.DatabaseURL)
	check(err == nil, "DATABASE_URL", "must be sqlite:<file> or postgres://user:password@host:port/database")
	if c.EncryptionKey != "" {
		_, err := secrets.ParseKey(c.EncryptionKey)
		check(err == nil, "ENCRYPTION_KEY", secrets.ErrMalformedKey.Error())
	}
	check(c.RedisURL == "" || redis.CheckAddress(c.RedisURL) == nil, "REDIS_URL", "must be redis://user:password@host:port/0, rediss://… or unix://…")
	check(c.DatabasePool >= 2 && c.DatabasePool <= 1000, "DATABASE_MAX_CONNECTIONS", "must be between 2 and 1000")
	check(isListen(c.Listen), "LISTEN", "must be an address and a port, such as 127.0.0.1:8080 or :8080")
	check(c.MetricsListen == "" || isListen(c.MetricsListen), "METRICS_LISTEN", "must be an address and a port, such as 127.0.0.1:9090 or :9090")
	for _, id := range c.MetricsTenants {
		check(id == telemetry.EveryTenant || strings.HasPrefix(id, tenant.IDPrefix+"_"), "METRICS_TENANTS", fmt.Sprintf("holds %q; a tenant reads %s_…, and * stands for the first %d", id, tenant.IDPrefix, telemetry.MaxTenants))
	}
	check(c.BaseURL == "" || isHTTP(c.BaseURL), "BASE_URL", "must be an http:// or https:// address")
	check(c.PublicURL == "" || isHTTP(c.PublicURL), "PUBLIC_URL", "must be an http:// or https:// address")
	c.checkPeople(check)
	c.checkEngine(check)
	check(c.HooksURL == "" || isOrigin(strings.TrimSuffix(c.HooksURL, "/")), "HOOKS_URL", "must be an origin, such as https://hooks.example.com, without a path")
	check(slices.Contains([]string{"", "json", "console"}, c.LogFormat), "LOG_FORMAT", "must be json or console")
	check(c.OperatorToken == "" || operator.IsToken(c.OperatorToken), "OPERATOR_TOKEN", fmt.Sprintf("must be %d to %d printable ASCII characters without spaces, such as openssl rand -hex 32 gives",
		operator.MinToken, operator.MaxToken))
	for _, origin := range c.CORSOrigins {
		check(origin == "*" || isOrigin(origin), "CORS_ORIGINS", fmt.Sprintf("holds %q; an origin reads https://app.example.com, without a path", origin))
	}
	for _, proxy := range c.TrustedProxies {
		_, errPrefix := netip.ParsePrefix(proxy)
		_, errAddr := netip.ParseAddr(proxy)
		check(errPrefix == nil || errAddr == nil, "TRUSTED_PROXIES", fmt.Sprintf("holds %q; a range reads 10.0.0.0/8", proxy))
	}
	check(c.WorkerRuns >= 1 && c.WorkerRuns <= 10_000, "WORKER_CONCURRENCY", "must be between 1 and 10000")
	check(c.RunRetention >= tenant.MinRunRetentionDays && c.RunRetention <= tenant.MaxRunRetentionDays, "RUN_RETENTION", "must be between 1 and 3650 days")
	check(c.TenantRuns >= 1 && c.TenantRuns <= 10_000, "WORKER_PER_TENANT", "must be between 1 and 10000")
	check(c.AuditRetention >= 24*time.Hour, "AUDIT_RETENTION", "must be at least 24h")
	check(c.Code == "on" || c.Code == "off", "CODE", "must be on or off")
	check(c.Memory == 0 || c.Memory >= budget.MinMemory, "MEMORY", fmt.Sprintf("must be at least %s", byteSize(budget.MinMemory)))
	check(c.WorkerMemory == 0 || c.WorkerMemory >= 1<<20, "WORKER_MEMORY_BYTES", "must be at least 1048576")
	check(c.WorkerDrain > 0, "WORKER_DRAIN", "must be longer than nothing")
	check(c.MaxBody >= 1024 && c.MaxBody <= 64<<20, "MAX_BODY_BYTES", "must be between 1024 and 67108864")
	check(c.MaxConnections >= 1 && c.MaxConnections <= 1_000_000, "MAX_CONNECTIONS", "must be between 1 and 1000000")
	check(c.HeaderTimeout > 0, "HEADER_TIMEOUT", "must be longer than nothing")
	check(c.BodyTimeout >= c.HeaderTimeout, "BODY_TIMEOUT", "must not be shorter than SLUICE_HEADER_TIMEOUT, for it counts the headers in")
	check(c.AnswerTimeout > 0, "ANSWER_TIMEOUT", "must be longer than nothing")
	check(c.IdleTimeout > 0, "IDLE_TIMEOUT", "must be longer than nothing")
	check(c.DrainDelay >= 0, "DRAIN_DELAY", "must not be negative")
	check(c.ShutdownTimeout > 0, "SHUTDOWN_TIMEOUT", "must be longer than nothing")
	return found
}

// fromFile takes a setting from the content of the file that its variable …_FILE names.
// A file that is empty would silently leave the default in force.
func fromFile(given map[string]string, name string, value *string, content string) []error {
	if given[envPrefix+name+"_FILE"] == "" {
		return nil
	}
	if given[envPrefix+name] != "" {
		return []error{setting(name, "and "+envPrefix+name+"_FILE are both set; set one of them")}
	}
	if content = strings.TrimSpace(content); content == "" {
		return []error{setting(name+"_FILE", "names a file that is empty")}
	}
	*value = content
	return nil
}

func isListen(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return isHTTP(text) && err == nil && u.Path == "" && u.RawQuery == "" && u.User == nil
}

// unknownSettings lists variables that look like settings but are none: most often
// a misspelled name.
func unknownSettings(environ []string) []string {
	known := make(map[string]bool)
	for _, s := range settings() {
		known[s.name] = true
	}
	var unknown []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, envPrefix) && !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// warnOfUnknown warns of them.
func warnOfUnknown(log zerolog.Logger, environ []string) {
	for _, name := range unknownSettings(environ) {
		log.Warn().Str("variable", name).Msg("this variable looks like a setting, but there is none of that name; see sluice --help")
	}
}

// settingHelp describes one setting for people.
type settingHelp struct{ name, fallback, help string }

// settings lists the gateway's own, and then the standard ones that it honours.
func settings() []settingHelp {
	t := reflect.TypeFor[config]()
	all := make([]settingHelp, 0, t.NumField())
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("env"), ",")
		if name != "" {
			all = append(all, settingHelp{envPrefix + name, tag.Get("envDefault"), tag.Get("help")})
		}
	}
	return append(all, standardSettings...)
}
