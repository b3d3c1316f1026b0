// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package chaos

import (
	"context"
	"os"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/e2e/load"
)

const (
	// janitorTTL is the idle time after which pods expire. janitorGrace is the time that the pod janitor waits beyond twice janitorTTL.
	janitorTTL, janitorGrace = 8 * time.Second, 3 * time.Second
	// soakVariable is the environment variable with the duration of the spec; shortSoak is the default.
	soakVariable, shortSoak = "KRMFN_SOAK", 40 * time.Second
)

var _ = Describe("With a pod janitor that sweeps every second", Label("chaos", "janitor"), SpecPriority(1), func() {
	It("no pod in use is deleted while function runners are killed, and all pods are deleted after the function runners", func(ctx context.Context) {
		f.Configure(ctx, map[string]any{
			"replicas": 2, "shutdownDelay": install.ShutdownDelay, "podJanitor": map[string]any{"enabled": false},
			"pods": map[string]any{"ttl": janitorTTL.String(), "scanInterval": "1s", "maxParallelPodsPerFunction": maxPods, "maxWaitlistLength": 1},
		})
		janitor, err := f.StartJanitor(ctx, "--interval=1s", "--grace="+janitorGrace.String(), "--qps=50")
		Expect(err).NotTo(HaveOccurred())
		loads := make([]*load.UntilStopped, 3)
		for i := range loads {
			loads[i] = f.Load(ctx, f.Callers(ctx, 3), f.Push(ctx, hostile.Echo), work)
			fixture.AwaitCalls(ctx, loads[i], 50)
		}
		for end := time.Now().Add(soakTime()); time.Now().Before(end); {
			// killOne fails if the container in the status of the pod has already ended.
			Eventually(ctx, killOne).WithArguments(ctx).WithTimeout(patience).Should(Succeed())
			Expect(f.AwaitSettled(ctx)).To(Succeed())
			for _, l := range loads {
				fixture.AwaitCalls(ctx, l, 20)
			}
		}
		sweeps, swept, err := janitor.Reports()
		Expect(err).NotTo(HaveOccurred())
		Expect(sweeps).To(BeNumerically(">", 20))
		Expect(swept).To(BeEmpty())

		By("deleting all function runners")
		for _, l := range loads {
			l.Stop() // Calls over connections to killed function runners have failed.
		}
		Expect(f.Scale(ctx, 0)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(f.Scale(ctx, 2)).To(Succeed()) })
		Eventually(ctx, remaining).WithArguments(ctx).WithTimeout(2*janitorTTL + janitorGrace + patience).WithPolling(time.Second).Should(BeEmpty())
		Expect(janitor.Stop()).To(Succeed())
	})
})

// soakTime returns the duration of the spec.
func soakTime() time.Duration {
	GinkgoHelper()
	text := os.Getenv(soakVariable)
	if text == "" {
		return shortSoak
	}
	length, err := time.ParseDuration(text)
	Expect(err).NotTo(HaveOccurred(), soakVariable)
	return length
}

// killOne kills the oldest function runner: its process, or its pod if the process has been restarted before.
func killOne(ctx context.Context) error {
	runners, err := f.Runners(ctx)
	if err != nil || len(runners) == 0 {
		return err
	}
	oldest := slices.MinFunc(runners, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	if len(oldest.Status.ContainerStatuses) > 0 && oldest.Status.ContainerStatuses[0].RestartCount > 0 {
		return f.Kill(ctx, oldest.Namespace, oldest.Name)
	}
	return f.KillContainer(ctx, &oldest)
}

// remaining lists the function pods and their Services.
func remaining(ctx context.Context) ([]string, error) {
	var names []string
	pods, err := f.Client.CoreV1().Pods(f.Release.FunctionNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, pod := range pods.Items {
		names = append(names, "pod "+pod.Name)
	}
	services, err := f.Client.CoreV1().Services(f.Release.FunctionNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, service := range services.Items {
		names = append(names, "service "+service.Name)
	}
	return names, nil
}
