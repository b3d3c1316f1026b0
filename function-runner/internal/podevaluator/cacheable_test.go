// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podevaluator"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

const variable = "ANSWER"

// configure sets a variable in the environment of all new function pods.
func (r *runner) configure(v corev1.EnvVar) {
	synctest.Wait()
	v.Name = variable
	r.limits.Overrides = &functionconfig.Overrides{Container: functionconfig.ContainerOverrides{Env: []corev1.EnvVar{v}}}
	r.manager.Changed()
	synctest.Wait()
}

// answerWithEnvironment makes each pod answer with the value of the variable in its environment.
func answerWithEnvironment(c *simulation.Cluster) {
	c.Kubelet(func(name string) {
		c.Run(name)
		var answer []byte
		for _, pod := range c.Pods() {
			if pod.Name != name {
				continue
			}
			for _, v := range podtemplate.FunctionOf(pod).Env {
				if v.Name == variable {
					answer = []byte(v.Value)
				}
			}
		}
		c.Wrapper(name).Handle(func(context.Context, []byte) (*response, error) {
			return &response{ResourceList: answer, Evaluation: &evaluationv1.Evaluation{}}, nil
		})
	})
}

// TestAnswerOfAnotherPoolIsNotCached changes the environment of the pods while a call is retried, so that the call runs in a pod of
// another pool than the one in the key of the result cache.
func TestAnswerOfAnotherPoolIsNotCached(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"known to be deterministic": true, "learned during the call": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				var determined atomic.Bool
				determined.Store(true)
				r := startWith(t, c, func(config *podevaluator.Config) {
					remembers(t)(config)
					config.Deterministic = func(string, string) (bool, bool) {
						now := known || determined.Load()
						return now, now
					}
				})
				answerWithEnvironment(c)
				wants := func(answer string, cached bool) {
					t.Helper()
					resp, err := r.callFor("list", time.Minute)
					if err != nil || string(resp.ResourceList) != answer || resp.Report.GetCached() != cached {
						t.Errorf("answer = %q, cached %v, error %v, want %q, cached %v", resp.ResourceList, resp.Report.GetCached(), err, answer, cached)
					}
				}
				r.configure(corev1.EnvVar{Value: "one"})
				if _, err := r.callFor("another list", time.Minute); err != nil {
					t.Fatal(err)
				}
				wrapper := c.Wrapper(c.Pods()[0].Name)
				wrapper.Refuse(true, true)
				determined.Store(false)
				done := make(chan struct{})
				go func() {
					defer close(done)
					wants("two", false)
				}()
				time.Sleep(3 * time.Millisecond) // during the call's attempts
				determined.Store(true)
				r.configure(corev1.EnvVar{Value: "two"})
				<-done
				wants("two", false)
				wants("two", true)
				wrapper.Refuse(false, true)
				r.configure(corev1.EnvVar{Value: "one"})
				wants("one", false)
				wants("one", true)
			})
		})
	}
}

// TestAnswersOfPodsWithSecretsAreNotCached uses pods with an environment variable from a Secret, which can change while the pool stays
// the same.
func TestAnswersOfPodsWithSecretsAreNotCached(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := startWith(t, c, remembers(t, digest("a")))
		r.configure(corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "answer"}}})
		r.wants(c, 1, false)
		r.wants(c, 2, false)
		r.configure(corev1.EnvVar{Value: "one"})
		r.wants(c, 3, false)
		r.wants(c, 3, true)
	})
}
