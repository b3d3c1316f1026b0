// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload is a pod, or an object that creates pods.
type workload struct {
	*object
	// labels and spec describe the pods. selector is the workload's pod selector, or nil if the kind needs none.
	labels   map[string]string
	spec     corev1.PodSpec
	selector *metav1.LabelSelector
}

// workloads returns all workloads of a rendering.
func workloads(t *testing.T, r *rendering) []*workload {
	t.Helper()
	var all []*workload
	for _, o := range r.objects {
		w := &workload{object: o}
		switch o.GetKind() {
		case "Deployment":
			deployment := as[appsv1.Deployment](t, o)
			w.labels, w.spec, w.selector = deployment.Spec.Template.Labels, deployment.Spec.Template.Spec, deployment.Spec.Selector
		case "CronJob":
			template := as[batchv1.CronJob](t, o).Spec.JobTemplate.Spec.Template
			w.labels, w.spec = template.Labels, template.Spec
		case "Job":
			template := as[batchv1.Job](t, o).Spec.Template
			w.labels, w.spec = template.Labels, template.Spec
		case "Pod":
			w.labels, w.spec = o.GetLabels(), as[corev1.Pod](t, o).Spec
		default:
			continue
		}
		all = append(all, w)
	}
	return all
}

// TestReferences checks that service accounts, ConfigMaps and volumes that pods refer to exist. Otherwise the pods would not start.
func TestReferences(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		there := map[string]bool{}
		for _, o := range r.objects {
			there[o.GetKind()+" "+o.GetName()] = true
		}
		for _, w := range workloads(t, r) {
			if account := w.spec.ServiceAccountName; account != "" && !there["ServiceAccount "+account] {
				t.Errorf("%s uses service account %s, which the chart does not create", w, account)
			}
			if w.spec.ServiceAccountName == "" && (w.spec.AutomountServiceAccountToken == nil || *w.spec.AutomountServiceAccountToken) {
				t.Errorf("%s mounts a token of the default service account", w)
			}
			volumes := map[string]bool{}
			for _, v := range w.spec.Volumes {
				volumes[v.Name] = true
				if c := v.ConfigMap; c != nil && (c.Optional == nil || !*c.Optional) && !there["ConfigMap "+c.Name] {
					t.Errorf("%s mounts ConfigMap %s, which the chart does not create", w, c.Name)
				}
			}
			for _, c := range w.spec.Containers {
				for _, m := range c.VolumeMounts {
					if !volumes[m.Name] {
						t.Errorf("%s mounts volume %s, which it does not define", w, m.Name)
					}
					delete(volumes, m.Name)
				}
			}
			for name := range volumes {
				t.Errorf("%s defines volume %s, but does not mount it", w, name)
			}
		}
	})
}
