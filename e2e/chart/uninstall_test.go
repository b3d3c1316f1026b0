// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/krmfn/krmfn/e2e/install"
	runner "github.com/krmfn/krmfn/function-runner/options"
	janitor "github.com/krmfn/krmfn/pod-janitor/options"
)

// uninstallation returns the flags of the pre-delete hook, which deletes all pods in the function namespace.
func uninstallation(t *testing.T, r *rendering) janitor.Options {
	t.Helper()
	hook := as[batchv1.Job](t, named(t, r, "Job "+install.Namespace+"/pod-janitor-uninstall"))
	args, _ := commandLine(hook.Spec.Template.Spec.Containers[0])
	o, err := janitor.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestUninstallStops(t *testing.T) {
	t.Parallel()
	const runners, warmer = install.Namespace + "/function-runner", install.Namespace + "/image-warmer"
	for values, want := range map[string][]string{
		"{}": {runners},
		"imageWarmer: {enabled: true, images: [a/b:v1]}":                            {runners, warmer},
		"imageWarmer: {enabled: true, images: []}":                                  {runners},
		"{keepPorchObjects: true}":                                                  nil,
		"{keepPorchObjects: true, imageWarmer: {enabled: true, images: [a/b:v1]}}":  {warmer},
		"{keepPorchObjects: true, imageWarmer: {enabled: false, images: [a/b:v1]}}": nil,
	} {
		o := uninstallation(t, renderOnce(t, parseValues(t, values)))
		if diff := cmp.Diff(want, o.StopDeployments); diff != "" {
			t.Errorf("%s: stopped Deployments (-want +got):\n%s", values, diff)
		}
	}
}

// The hook gets the settings of the pod janitor's CronJob. The hook's own flags take precedence.
func TestUninstallHasTheJanitorsSettings(t *testing.T) {
	t.Parallel()
	r := renderOnce(t, parseValues(t, `podJanitor: {extraArgs: ["--qps=1", "--pod-ttl=3h", "--dry-run"], extraEnv: [{name: SSL_CERT_FILE, value: /ca/ca.crt}],
  extraVolumes: [{name: ca, configMap: {name: ca}}], extraVolumeMounts: [{name: ca, mountPath: /ca}]}`))
	cronJob := as[batchv1.CronJob](t, named(t, r, "CronJob "+install.Namespace+"/pod-janitor")).Spec.JobTemplate.Spec.Template.Spec
	hook := as[batchv1.Job](t, named(t, r, "Job "+install.Namespace+"/pod-janitor-uninstall")).Spec.Template.Spec
	cronJob.ServiceAccountName, hook.ServiceAccountName = "", ""
	cronJob.Containers[0].Args, hook.Containers[0].Args = nil, nil
	cronJob.Containers[0].Env = slices.DeleteFunc(cronJob.Containers[0].Env, func(v corev1.EnvVar) bool { return v.ValueFrom != nil })
	if diff := cmp.Diff(cronJob, hook); diff != "" || len(hook.Volumes) != 1 || len(hook.Containers[0].VolumeMounts) != 1 {
		t.Errorf("pods (-CronJob +hook):\n%s", diff)
	}
	if o := uninstallation(t, r); o.QPS != 50 || o.Rules.PodTTL != 3*time.Hour || o.DryRun {
		t.Errorf("qps = %v, pod-ttl = %v, dry-run = %t, want 50, 3h, false", o.QPS, o.Rules.PodTTL, o.DryRun)
	}
}

// The hook stops all Deployments that create pods, including the image warmer, and has permissions for no other Deployment.
func TestUninstallStopsDeploymentsThatCreatePods(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		if !r.values["podJanitor"].(map[string]any)["enabled"].(bool) {
			return
		}
		stopped := uninstallation(t, r).StopDeployments
		var names []string
		for _, o := range r.of("Deployment") {
			stops := slices.Contains(stopped, o.GetNamespace()+"/"+o.GetName())
			kept := o.GetAnnotations()["helm.sh/resource-policy"] == "keep"
			account := as[appsv1.Deployment](t, o).Spec.Template.Spec.ServiceAccountName
			if stops == kept && (kept || makesPods(t, r, account)) {
				t.Errorf("%s: stopped = %t, kept on uninstall = %t", o, stops, kept)
			}
			if stops {
				names = append(names, o.GetName())
			}
		}
		if len(names) != len(stopped) {
			t.Errorf("the hook stops Deployments %q, but the chart creates only %q", stopped, names)
		}
		for o, rules := range rights(t, r) {
			if o.GetName() != "pod-janitor-uninstall" || o.GetNamespace() != install.Namespace {
				continue
			}
			for _, rule := range rules {
				if slices.Contains(rule.APIGroups, "apps") && !slices.Equal(slices.Sorted(slices.Values(rule.ResourceNames)), slices.Sorted(slices.Values(names))) {
					t.Errorf("%s: resource names = %q, want %q", o, rule.ResourceNames, names)
				}
			}
		}
	})
}

// A function runner that shuts down may read the scale of its own Deployment, and of no other.
func TestFunctionRunnersKnowTheirDeployment(t *testing.T) {
	t.Parallel()
	want := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, ResourceNames: []string{"function-runner"}, Verbs: []string{"get"}}
	eachRendering(t, func(t *testing.T, r *rendering) {
		args, _ := commandLine(runnerPod(t, r).Spec.Containers[0])
		o, err := runner.Parse(args)
		if err != nil || o.Deployment != named(t, r, "Deployment "+install.Namespace+"/function-runner").GetName() {
			t.Errorf("Deployment in the function runner's flags = %q, %v, want function-runner", o.Deployment, err)
		}
		rules := as[rbacv1.Role](t, named(t, r, "Role "+install.Namespace+"/krmfn-function-runner")).Rules
		rules = slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return !slices.Contains(rule.APIGroups, "apps") })
		if diff := cmp.Diff([]rbacv1.PolicyRule{want}, rules); diff != "" {
			t.Errorf("rules for the API group apps (-want +got):\n%s", diff)
		}
	})
}

// makesPods reports whether a service account may create pods.
func makesPods(t *testing.T, r *rendering, account string) bool {
	t.Helper()
	all := rights(t, r)
	for _, o := range r.of("RoleBinding") {
		binding := as[rbacv1.RoleBinding](t, o)
		if !slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return s.Name == account }) {
			continue
		}
		for role, rules := range all {
			if role.GetNamespace() == o.GetNamespace() && role.GetName() == binding.RoleRef.Name && slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
				return slices.Contains(rule.Resources, "pods") && slices.Contains(rule.Verbs, "create")
			}) {
				return true
			}
		}
	}
	return false
}
