// Package deploy holds what runs Sluice elsewhere: an image, a compose file,
// manifests. Its tests hold the files against each other, where a change of one
// is easily forgotten in another and nobody would notice before it hurts.
package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"sluice/config"
	"sluice/router"
)

const k8s = "kubernetes/"

func TestYAML(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")) {
			documents(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestGatewayConfigIsGood(t *testing.T) {
	for _, warning := range router.Advise(gatewayConfig(t)) {
		t.Errorf("sluice.yaml: %s", warning)
	}
}

// Each replica that the autoscaler may start is listed, under the name that
// Kubernetes gives it, and no other.
func TestReplicasAreThePods(t *testing.T) {
	cfg := gatewayConfig(t)
	most := make(map[string]int)
	for _, hpa := range documents(t, k8s+"scaling/hpa.yaml") {
		most[at[string](t, hpa, "spec.scaleTargetRef.name")] = at[int](t, hpa, "spec.maxReplicas")
	}
	for name, p := range cfg.Pools {
		set := "vllm-" + name
		var want []string
		for i := range most[set] {
			want = append(want, fmt.Sprintf("http://%s-%d.%s.vllm.svc.cluster.local:8000", set, i, set))
		}
		if got := p.Replicas; !slices.Equal(got, want) {
			t.Errorf("pools.%s.replicas\n got %q\nwant %q", name, got, want)
		}
	}
}

// The engine's limits in the gateway's file are those that vLLM is started with,
// and all gateways together give a replica no more than it runs.
func TestEngineIsAsStarted(t *testing.T) {
	cfg := gatewayConfig(t)
	gateways := at[int](t, documents(t, k8s+"gateway/statefulset.yaml")[0], "spec.replicas")
	vllm := container(t, k8s+"vllm/statefulset.yaml")
	for name, p := range cfg.Pools {
		pool := documents(t, k8s+"pools/"+name+"/kustomization.yaml")[0]
		var patch map[string]any
		if err := yaml.Unmarshal([]byte(at[string](t, pool, "patches.0.patch")), &patch); err != nil {
			t.Fatal(err)
		}
		env := merge(environment(t, vllm), environment(t, at[map[string]any](t, patch, "spec.template.spec.containers.0")))
		flag := func(name string) int {
			for _, arg := range at[[]any](t, vllm, "args") {
				if value, ok := strings.CutPrefix(arg.(string), "--"+name+"="); ok {
					return number(t, expand(value, env))
				}
			}
			t.Fatalf("vLLM is started without --%s", name)
			return 0
		}
		got := config.Engine{
			MaxModelLen: flag("max-model-len"), MaxNumSeqs: flag("max-num-seqs"),
			MaxNumBatchedTokens: flag("max-num-batched-tokens"),
			PaddingGap:          number(t, env["VLLM_TPU_BUCKET_PADDING_GAP"]), Fields: p.Engine.Fields,
		}
		if !reflect.DeepEqual(got, p.Engine) {
			t.Errorf("pools.%s.engine\n got %+v\nwant %+v, as vLLM is started", name, p.Engine, got)
		}
		if model := env["MODEL"]; model != p.Model {
			t.Errorf("pools.%s.model: got %q, want %q, as vLLM serves", name, p.Model, model)
		}
		if sum := gateways * p.Cap.Total; sum > got.MaxNumSeqs {
			t.Errorf("pools.%s: %d gateways with cap %d each are more than the %d sequences of the engine", name, gateways, p.Cap.Total, got.MaxNumSeqs)
		}
	}
}

// A pod has time to drain before it is killed.
func TestTimeToStop(t *testing.T) {
	times := gatewayConfig(t).Timeouts
	gateway := documents(t, k8s+"gateway/statefulset.yaml")[0]
	grace := time.Duration(at[int](t, gateway, "spec.template.spec.terminationGracePeriodSeconds")) * time.Second
	if need := times.DrainDelay + times.Drain; times.DrainDelay == 0 || grace <= need+2*time.Second {
		t.Errorf("gateway: a grace period of %s for %s of draining, delay %s", grace, need, times.DrainDelay)
	}
	vllm := documents(t, k8s+"vllm/statefulset.yaml")[0]
	grace = time.Duration(at[int](t, vllm, "spec.template.spec.terminationGracePeriodSeconds")) * time.Second
	need := at[int](t, vllm, "spec.template.spec.containers.0.lifecycle.preStop.sleep.seconds")
	for _, arg := range at[[]any](t, vllm, "spec.template.spec.containers.0.args") {
		if value, ok := strings.CutPrefix(arg.(string), "--shutdown-timeout="); ok {
			need += number(t, value)
		}
	}
	if grace <= time.Duration(need)*time.Second {
		t.Errorf("vllm: a grace period of %s for %d s of stopping", grace, need)
	}
}

// Google Managed Prometheus has the same rules as any other.
func TestRulesAreTheSame(t *testing.T) {
	plain := documents(t, "prometheus/rules.yml")[0]
	managed := documents(t, k8s+"scaling/rules.yaml")[0]
	if !reflect.DeepEqual(plain["groups"], at[any](t, managed, "spec.groups")) {
		t.Error("prometheus/rules.yml and kubernetes/scaling/rules.yaml differ; change both")
	}
}

// The autoscaler asks for what the rules record.
func TestAutoscalerAsksForRecordedMetrics(t *testing.T) {
	rules, err := os.ReadFile("prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, hpa := range documents(t, k8s+"scaling/hpa.yaml") {
		for i := range at[[]any](t, hpa, "spec.metrics") {
			name := at[string](t, hpa, fmt.Sprintf("spec.metrics.%d.external.metric.name", i))
			record := strings.Split(name, "|")[1]
			if !bytes.Contains(rules, []byte("record: "+record+"\n")) {
				t.Errorf("no rule records %s", record)
			}
		}
	}
}

func gatewayConfig(t *testing.T) *config.Config {
	t.Helper()
	cfg, err := config.Load(k8s+"gateway/sluice.yaml", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// documents reads a file; a key that comes twice is an error.
func documents(t *testing.T, path string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc map[string]any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, doc)
	}
}

// at finds a value by its path, such as spec.containers.0.args.
func at[T any](t *testing.T, doc any, path string) T {
	t.Helper()
	for key := range strings.SplitSeq(path, ".") {
		switch v := doc.(type) {
		case map[string]any:
			doc = v[key]
		case []any:
			doc = v[number(t, key)]
		}
	}
	value, ok := doc.(T)
	if !ok {
		t.Fatalf("%s: got %v (%T)", path, doc, doc)
	}
	return value
}

func container(t *testing.T, path string) map[string]any {
	t.Helper()
	return at[map[string]any](t, documents(t, path)[0], "spec.template.spec.containers.0")
}

func environment(t *testing.T, container map[string]any) map[string]string {
	t.Helper()
	env := make(map[string]string)
	for _, e := range at[[]any](t, container, "env") {
		variable := e.(map[string]any)
		if value, plain := variable["value"].(string); plain {
			env[variable["name"].(string)] = value
		}
	}
	return env
}

func merge(under, over map[string]string) map[string]string {
	for k, v := range over {
		under[k] = v
	}
	return under
}

var reference = regexp.MustCompile(`\$\((\w+)\)`)

// expand puts variables in, as Kubernetes does.
func expand(value string, env map[string]string) string {
	return reference.ReplaceAllStringFunc(value, func(ref string) string { return env[reference.FindStringSubmatch(ref)[1]] })
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
