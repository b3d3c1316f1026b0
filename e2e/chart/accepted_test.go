// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/internal/cluster/podcacheconfig"
	"github.com/krmfn/krmfn/internal/images/policy"
)

// createErrors returns the errors of an API server that gets create requests for the manifests. The keys are invalid manifests. The program
// is built with the node image's go.mod file, so that e2e does not depend on the API server's modules.
func createErrors(t *testing.T, manifests []string) map[string]string {
	t.Helper()
	in, err := json.Marshal(manifests)
	if err != nil {
		t.Fatal(err)
	}
	validate := exec.CommandContext(t.Context(), "go", "run", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace",
		"-modfile", inCheckout(t, "e2e", "offline", "nodeimage", "recipe", "modules", "kubernetes.mod"), "./testdata/validate")
	validate.Env = append(validate.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	validate.Stdin = bytes.NewReader(in)
	out, err := command.Output(validate)
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	if err := json.Unmarshal([]byte(out), &problems); err != nil || len(problems) != len(manifests) {
		t.Fatalf("got %d results, %v, want %d", len(problems), err, len(manifests))
	}
	invalid := map[string]string{}
	for i, problem := range problems {
		if problem != "" {
			invalid[manifests[i]] = problem
		}
	}
	return invalid
}

// isCustom reports whether the kind of a manifest is not one of Kubernetes' own.
func isCustom(manifest string) bool {
	return strings.Contains(manifest, "apiVersion: monitoring.coreos.com/") || strings.Contains(manifest, "apiVersion: cert-manager.io/")
}

// acceptable returns an error if a program refuses a command line or a configuration in a manifest, or if an object of the Prometheus operator
// has an unknown field.
func acceptable(manifest string) error {
	var o unstructured.Unstructured
	if err := yaml.UnmarshalStrict([]byte(manifest), &o.Object); err != nil {
		return fmt.Errorf("%w in\n%s", err, manifest)
	}
	convert := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation
	switch o.GetKind() {
	case "Pod":
		return commandLines(&o, "spec")
	case "Deployment", "Job":
		return commandLines(&o, "spec", "template", "spec")
	case "CronJob":
		return commandLines(&o, "spec", "jobTemplate", "spec", "template", "spec")
	case "ServiceMonitor":
		return convert(o.Object, new(monitoringv1.ServiceMonitor), true)
	case "PodMonitor":
		return convert(o.Object, new(monitoringv1.PodMonitor), true)
	case "PrometheusRule":
		return convert(o.Object, new(monitoringv1.PrometheusRule), true)
	case "ConfigMap":
		data, _, err := unstructured.NestedStringMap(o.Object, "data")
		return errors.Join(err, configurations(data))
	}
	return nil
}

// commandLines parses the command lines of containers as the programs do.
func commandLines(o *unstructured.Unstructured, path ...string) error {
	fields, _, err := unstructured.NestedMap(o.Object, path...)
	if err != nil {
		return err
	}
	var spec corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec); err != nil {
		return err
	}
	for _, c := range spec.Containers {
		args, environ := commandLine(c)
		if of, known := components[c.Name]; known {
			if err := of.parse(args, environ); err != nil {
				return fmt.Errorf("%s %s does not start: %w", o.GetKind(), o.GetName(), err)
			}
		}
	}
	return nil
}

// configurations parses the settings of functions and the image policy. A policy that names files is not complete without them.
func configurations(data map[string]string) error {
	_, problems, err := podcacheconfig.Parse([]byte(data["pod-cache-config.yaml"]))
	if len(problems) > 0 {
		err = errors.Join(err, problems[0])
	}
	if rules := data["image-policy.yaml"]; rules != "" && !strings.Contains(rules, "file:") && !strings.Contains(rules, "trustedRoot:") {
		_, wrong := policy.Parse([]byte(rules))
		err = errors.Join(err, wrong)
	}
	return err
}
