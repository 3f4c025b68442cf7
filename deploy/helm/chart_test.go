package helm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// all switches on everything that can be, with a value of every setting.
const all = `
image: {repository: registry.example.com/sluice, digest: "sha256:` + digest + `", pullPolicy: Always, pullSecrets: [{name: registry}]}
secret: {name: sluice, redisUrl: true, operatorToken: true, operatorTokens: true, smtpUrl: true, oidcClientSecret: true, temporalApiKey: true, temporalTlsCa: true, temporalTlsCert: true}
temporal: {address: "temporal.internal:7233", namespace: orders, taskQueue: sluice-eu, engine: table}
settings: {SLUICE_PUBLIC_URL: "https://sluice.example.com", SLUICE_LOG_LEVEL: warn}
api:
  settings: {SLUICE_LOG_LEVEL: debug, SLUICE_TRUSTED_PROXIES: "10.0.0.0/8"}
  autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 9, cpuPercent: 60}
  podDisruptionBudget: {enabled: true, maxUnavailable: 25%}
  podAnnotations: {example.com/team: orders}
  nodeSelector: {kubernetes.io/arch: amd64}
  tolerations: [{key: dedicated, operator: Equal, value: sluice, effect: NoSchedule}]
worker: {drainSeconds: 60, autoscaling: {enabled: true}}
service: {type: LoadBalancer, port: 443, annotations: {example.com/internal: "true"}}
ingress: {enabled: true, className: nginx, host: sluice.example.com, tlsSecretName: tls, annotations: {example.com/a: b}}
metrics: {serviceMonitor: {enabled: true, interval: 15s, labels: {release: prometheus}}}
networkPolicy:
  apiFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}]
  egress: {enabled: true, rules: [{to: [{podSelector: {matchLabels: {app: postgres}}}], ports: [{protocol: TCP, port: 5432}]}]}
serviceAccount: {annotations: {example.com/role: sluice}}
`

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// variants are values under which the chart is checked.
var variants = map[string]string{
	"the least": "secret: {name: sluice}",
	"all":       all,
	"nothing that can be left out": `
secret: {name: sluice}
api: {podDisruptionBudget: {enabled: false}}
worker: {podDisruptionBudget: {enabled: false}}
metrics: {enabled: false}
networkPolicy: {enabled: false}
serviceAccount: {create: false}`,
}

func TestTheChartIsOneThatHelmFindsNothingWrongWith(t *testing.T) {
	for name, values := range variants {
		found := lint.All("sluice", parse(t, values), "here", true)
		for _, m := range found.Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

func TestKubernetesTakesWhatTheChartMakes(t *testing.T) {
	kinds := map[string]string{
		"the least": "Deployment api, Deployment worker, Job migrate, NetworkPolicy, PodDisruptionBudget api, PodDisruptionBudget worker, Service, ServiceAccount",
		"all": "Deployment api, Deployment worker, HorizontalPodAutoscaler api, HorizontalPodAutoscaler worker, Ingress, Job migrate, NetworkPolicy, " +
			"PodDisruptionBudget api, PodDisruptionBudget worker, Service, Service metrics, ServiceAccount, ServiceMonitor",
		"nothing that can be left out": "Deployment api, Deployment worker, Job migrate, Service",
	}
	for name, values := range variants {
		t.Run(name, func(t *testing.T) {
			c := rendered(t, values)
			if got := strings.Join(c.names(), ", "); got != kinds[name] {
				t.Errorf("it makes %s", got)
			}
		})
	}
}

func TestPodsAreFoundByWhatChoosesThem(t *testing.T) {
	c := rendered(t, all)
	for _, d := range c.deployments {
		labels := d.Spec.Template.Labels
		chosen := func(by string, selector map[string]string, want bool) {
			t.Helper()
			if is := within(selector, labels); is != want {
				t.Errorf("%s chooses the pods of %s: %v", by, d.Name, is)
			}
		}
		isAPI := strings.HasSuffix(d.Name, "-api")
		chosen("its Deployment", d.Spec.Selector.MatchLabels, true)
		chosen("the Service", c.services["r-sluice"].Spec.Selector, isAPI)
		chosen("the Service of metrics", c.services["r-sluice-metrics"].Spec.Selector, true)
		chosen("the NetworkPolicy", c.policy.Spec.PodSelector.MatchLabels, true)
		chosen("its budget", c.budgets[d.Name].Spec.Selector.MatchLabels, true)
		chosen("its spread", d.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels, true)
		if by := c.scalers[d.Name].Spec.ScaleTargetRef; by.Name != d.Name || d.Spec.Replicas != nil {
			t.Errorf("%s scales %s, which wants %v pods itself", d.Name, by.Name, d.Spec.Replicas)
		}
	}
	if chosen := c.monitor.Spec.Selector.MatchLabels; !within(chosen, c.services["r-sluice-metrics"].Labels) || within(chosen, c.services["r-sluice"].Labels) {
		t.Error("the ServiceMonitor does not choose the Service of metrics, or another one")
	}
}

func TestEveryProcessIsConfinedAndHasItsRoleAndItsSecrets(t *testing.T) {
	c := rendered(t, all)
	pods := map[string]core.PodSpec{c.job.Name: c.job.Spec.Template.Spec}
	for _, d := range c.deployments {
		pods[d.Name] = d.Spec.Template.Spec
	}
	files := []string{"SLUICE_DATABASE_URL_FILE=/etc/sluice/database-url", "SLUICE_ENCRYPTION_KEY_FILE=/etc/sluice/encryption-key"}
	shared := []string{
		"SLUICE_REDIS_URL_FILE=/etc/sluice/redis-url",
		"SLUICE_ENGINE=table", "SLUICE_TEMPORAL_ADDRESS=temporal.internal:7233", "SLUICE_TEMPORAL_NAMESPACE=orders", "SLUICE_TEMPORAL_TASK_QUEUE=sluice-eu",
		"SLUICE_TEMPORAL_API_KEY_FILE=/etc/sluice/temporal-api-key", "SLUICE_TEMPORAL_TLS_CA_FILE=/etc/sluice/temporal-tls-ca",
		"SLUICE_TEMPORAL_TLS_CERT_FILE=/etc/sluice/temporal-tls-cert", "SLUICE_TEMPORAL_TLS_KEY_FILE=/etc/sluice/temporal-tls-key",
		"SLUICE_METRICS_LISTEN=:9090",
	}
	public := "SLUICE_PUBLIC_URL=https://sluice.example.com"
	want := map[string]struct {
		args  string
		env   []string
		grace int64
	}{
		"r-sluice-migrate": {"migrate up", files, 0},
		"r-sluice-api": {"serve --no-migrate --role api", slices.Concat([]string{"SLUICE_LISTEN=:8080"}, files, shared, []string{
			"SLUICE_DRAIN_DELAY=10s", "SLUICE_SHUTDOWN_TIMEOUT=30s", "SLUICE_OPERATOR_TOKEN_FILE=/etc/sluice/operator-token",
			"SLUICE_OPERATOR_TOKENS_FILE=/etc/sluice/operator-tokens", "SLUICE_SMTP_URL_FILE=/etc/sluice/smtp-url", "SLUICE_OIDC_CLIENT_SECRET_FILE=/etc/sluice/oidc-client-secret",
			"SLUICE_LOG_LEVEL=debug", public, "SLUICE_TRUSTED_PROXIES=10.0.0.0/8",
		}), 50},
		"r-sluice-worker": {"serve --no-migrate --role worker", slices.Concat([]string{"SLUICE_LISTEN=:8080"}, files, shared, []string{
			"SLUICE_WORKER_DRAIN=60s", "SLUICE_LOG_LEVEL=warn", public,
		}), 70},
	}
	if got, all := slices.Sorted(maps.Keys(pods)), slices.Sorted(maps.Keys(want)); !slices.Equal(got, all) {
		t.Fatalf("there are %v", got)
	}
	for name, pod := range pods {
		one := pod.Containers[0]
		var env []string
		for _, e := range one.Env {
			env = append(env, e.Name+"="+e.Value)
		}
		if got := strings.Join(one.Args, " "); got != want[name].args || !slices.Equal(env, want[name].env) {
			t.Errorf("%s runs %s with %q", name, got, env)
		}
		var grace int64
		if pod.TerminationGracePeriodSeconds != nil {
			grace = *pod.TerminationGracePeriodSeconds
		}
		if grace != want[name].grace || one.Image != "registry.example.com/sluice@sha256:"+digest {
			t.Errorf("%s has %d s to end, and the image %s", name, grace, one.Image)
		}
		if problem := unconfined(pod); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// unconfined says in which way a pod may do more than it needs.
func unconfined(pod core.PodSpec) string {
	inside := pod.Containers[0].SecurityContext
	switch {
	case pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken:
		return "it has a token for Kubernetes"
	case !*pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault:
		return "it may be root, or make any system call"
	case *inside.AllowPrivilegeEscalation || !*inside.ReadOnlyRootFilesystem || !slices.Equal(inside.Capabilities.Drop, []core.Capability{"ALL"}):
		return "it may get more rights, or write its own files"
	case pod.Volumes[0].Secret.SecretName != "sluice" || *pod.Volumes[0].Secret.DefaultMode != 0o440 || !pod.Containers[0].VolumeMounts[0].ReadOnly:
		return "its secrets are others, or may be read by others"
	}
	return ""
}

func TestValuesThatAreWrongAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		"{}":                             "secret.name names the Secret",
		"secret: {name: s}\nreplicas: 3": "replicas",
		"secret: {name: s, password: x}": "password",
		"secret: {name: s}\napi: {replicas: many}":                                             "replicas",
		"secret: {name: s}\nsettings: {SLUICE_OPERATOR_TOKEN: secret}":                         "SLUICE_OPERATOR_TOKEN",
		"secret: {name: s}\nsettings: {SLUICE_WORKER_PER_TENANT: 32}":                          "SLUICE_WORKER_PER_TENANT",
		"secret: {name: s}\nworker: {podDisruptionBudget: {enabled: true, maxUnavailable: x}}": "maxUnavailable",
		"secret: {name: s}\nsettings: {SLUICE_TEMPORAL_API_KEY: secret}":                       "SLUICE_TEMPORAL_API_KEY",
		"secret: {name: s}\ntemporal: {address: temporal.internal}":                            "/temporal/address",
		"secret: {name: s}\ntemporal: {engine: both}":                                          "/temporal/engine",
		"secret: {name: s}\ningress: {enabled: true}":                                          "ingress.host names the host",
	} {
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

func within(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

func parse(t *testing.T, values string) map[string]any {
	t.Helper()
	parsed, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// render returns the files that Helm makes of the chart, by the names of their templates.
func render(values string) (map[string]string, error) {
	chart, err := loader.Load("sluice")
	if err != nil {
		return nil, err
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "r", Namespace: "here", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, given, release, chartutil.DefaultCapabilities) // checks them against their schema
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// content is what the chart makes.
type content struct {
	all         []string
	deployments []*apps.Deployment
	services    map[string]*core.Service
	budgets     map[string]*policy.PodDisruptionBudget
	scalers     map[string]*autoscaling.HorizontalPodAutoscaler
	job         *batch.Job
	policy      *networking.NetworkPolicy
	monitor     *monitoring.ServiceMonitor
}

// names lists the kinds of what there is, with the part of the name that is the chart's.
func (c *content) names() []string {
	slices.Sort(c.all)
	return c.all
}

func rendered(t *testing.T, values string) *content {
	t.Helper()
	files, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	c := &content{
		services: map[string]*core.Service{}, budgets: map[string]*policy.PodDisruptionBudget{}, scalers: map[string]*autoscaling.HorizontalPodAutoscaler{},
	}
	for name, text := range files {
		if path.Ext(name) != ".yaml" {
			continue
		}
		documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := c.add(document); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, document)
			}
		}
	}
	return c
}

// add reads an object as Kubernetes does that refuses what it does not know.
func (c *content) add(document []byte) error {
	var of struct {
		APIVersion, Kind string
		Metadata         struct {
			Name   string
			Labels map[string]string
		}
	}
	if err := strict.Unmarshal(document, &of); err != nil {
		return err
	}
	if of.Kind == "" {
		return nil // what is left of a template that makes nothing
	}
	object, err := c.object(of.APIVersion+" "+of.Kind, of.Metadata.Name)
	if err != nil {
		return err
	}
	c.all = append(c.all, strings.TrimSpace(of.Kind+" "+strings.TrimPrefix(strings.TrimPrefix(of.Metadata.Name, "r-sluice"), "-")))
	if of.Metadata.Labels["app.kubernetes.io/instance"] != "r" {
		return fmt.Errorf("%s has no label of its release", of.Metadata.Name)
	}
	return strict.UnmarshalStrict(document, object)
}

// object is an empty one of a kind, which is kept under its name.
func (c *content) object(kind, name string) (any, error) {
	switch kind {
	case "apps/v1 Deployment":
		c.deployments = append(c.deployments, new(apps.Deployment))
		return c.deployments[len(c.deployments)-1], nil
	case "v1 Service":
		c.services[name] = new(core.Service)
		return c.services[name], nil
	case "policy/v1 PodDisruptionBudget":
		c.budgets[name] = new(policy.PodDisruptionBudget)
		return c.budgets[name], nil
	case "autoscaling/v2 HorizontalPodAutoscaler":
		c.scalers[name] = new(autoscaling.HorizontalPodAutoscaler)
		return c.scalers[name], nil
	case "batch/v1 Job":
		c.job = new(batch.Job)
		return c.job, nil
	case "networking.k8s.io/v1 NetworkPolicy":
		c.policy = new(networking.NetworkPolicy)
		return c.policy, nil
	case "monitoring.coreos.com/v1 ServiceMonitor":
		c.monitor = new(monitoring.ServiceMonitor)
		return c.monitor, nil
	case "v1 ServiceAccount":
		return new(core.ServiceAccount), nil
	case "networking.k8s.io/v1 Ingress":
		return new(networking.Ingress), nil
	}
	return nil, fmt.Errorf("there is no kind %s", kind)
}
