// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/registry/private"
)

var _ = Describe("A registry with passwords and a private certificate authority", Label("registry"), func() {
	BeforeEach(configure)

	DescribeTable("accepts the function runner and nodes", func(ctx context.Context, bearer bool) {
		begin := time.Now()
		registry.SetLogin(private.Login{User: user, Password: first, Bearer: bearer})
		image, digest := push(ctx, fmt.Sprintf("team/private:bearer-%t", bearer))
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		pods, err := f.FunctionPods(ctx, image)
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(HaveLen(1))
		Expect(pods[0].Spec.ImagePullSecrets).To(ContainElement(corev1.LocalObjectReference{Name: "auth-secret"}))
		Expect(pods[0].Spec.Containers[0].Image).To(HaveSuffix("@" + digest))
		noneSees(ctx, begin, first)
	},
		Entry("with basic authentication", false),
		Entry("with bearer tokens", true),
	)

	It("fails calls at once if the password is wrong, without creating a pod", func(ctx context.Context) {
		begin := time.Now()
		registry.SetLogin(private.Login{User: user, Password: "another"})
		DeferCleanup(func() { registry.SetLogin(private.Login{User: user, Password: first}) })
		image, _ := push(ctx, "team/refused:v1")
		watch := f.Watch(ctx)
		Expect(f.Failure(ctx, image)).To(MatchError(SatisfyAll(ContainSubstring("UNAUTHORIZED"), ContainSubstring("check the image's name and the credentials"))))
		Expect(watch.MaxLive(image)).To(BeZero())
		noneSees(ctx, begin, first)
	})

	// The API server authorises a node to read a Secret only after it has processed a pod on the node that refers to the Secret. The
	// kubelet does not wait for that.
	It("rejects a node that has no pull secret yet, and no call fails", func(ctx context.Context) {
		secrets := f.Client.CoreV1().Secrets(f.Release.FunctionNamespace)
		secret, err := secrets.Get(ctx, "auth-secret", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		secret.ObjectMeta = metav1.ObjectMeta{Name: secret.Name, Namespace: secret.Namespace, Labels: secret.Labels, Annotations: secret.Annotations}
		restored := make(chan error, 1)
		restore := sync.OnceFunc(func() {
			_, err := secrets.Create(context.WithoutCancel(ctx), secret, metav1.CreateOptions{})
			restored <- err
		})
		registry.OnRefusal(func(r *http.Request) {
			if strings.HasPrefix(r.UserAgent(), "containerd/") {
				restore()
			}
		})
		DeferCleanup(func() { registry.OnRefusal(nil) })
		image, _ := push(ctx, "team/late:v1")
		begin := time.Now()
		Expect(secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{})).To(Succeed())
		DeferCleanup(restore)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		Expect(restored).To(Receive(Not(HaveOccurred())))
		Expect(f.Logs(ctx, begin)).To(SatisfyAll(ContainSubstring("function pod failed"), ContainSubstring("check the pull secrets")))
	})

	It("fails calls with an error that names the side without trust in its authority", func(ctx context.Context) {
		other := newAuthority("other authority")
		Expect(registry.SetAuthority(other)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(registry.SetAuthority(authority)).To(Succeed())
			trust(ctx, authority)
			nodesTrust(ctx, authority)
		})
		image, _ := push(ctx, "team/untrusted:v1")
		By("trusting it nowhere")
		Expect(f.Failure(ctx, image)).To(MatchError(SatisfyAll(
			ContainSubstring("the function runner, not a node"), ContainSubstring(other.Name), ContainSubstring("ca.crt"))))
		By("trusting it only in the function runner")
		trust(ctx, authority, other)
		Eventually(ctx, func() error { return f.Failure(ctx, image) }).WithTimeout(mountTimeout).WithPolling(2 * time.Second).Should(
			MatchError(SatisfyAll(ContainSubstring("not the function runner, refuses the registry's certificate"), ContainSubstring("x509"))))
		By("trusting it on nodes, too")
		nodesTrust(ctx, other)
		// The pool backs off after the failure of its pod.
		Eventually(ctx, func() error { return f.Evaluate(ctx, image) }).WithTimeout(patience).WithPolling(time.Second).Should(Succeed())
	})
})

var _ = Describe("Under load, without failed calls", Label("registry"), func() {
	BeforeEach(configure)

	It("the password is changed", func(ctx context.Context) {
		begin := time.Now()
		warm, _ := push(ctx, "team/warm:password")
		Expect(f.Evaluate(ctx, warm)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, 4), warm, 20*time.Millisecond)
		DeferCleanup(func(ctx context.Context) {
			registry.SetLogin(private.Login{User: user, Password: first})
			relogin(ctx, first)
		})
		registry.SetLogin(private.Login{User: user, Password: second})
		relogin(ctx, second)
		cold, _ := push(ctx, "team/cold:password")
		Eventually(ctx, func() error { return f.Evaluate(ctx, cold) }).WithTimeout(mountTimeout).WithPolling(time.Second).Should(Succeed())
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(calls.Stop()).To(BeEmpty())
		noneSees(ctx, begin, first, second)
	})

	It("the authority is changed", func(ctx context.Context) {
		next := newAuthority("next authority")
		warm, _ := push(ctx, "team/warm:authority")
		Expect(f.Evaluate(ctx, warm)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, 4), warm, 20*time.Millisecond)
		DeferCleanup(func(ctx context.Context) {
			Expect(registry.SetAuthority(authority)).To(Succeed())
			trust(ctx, authority)
			nodesTrust(ctx, authority)
		})
		trust(ctx, authority, next)
		nodesTrust(ctx, next)
		Expect(registry.SetAuthority(next)).To(Succeed())
		cold, _ := push(ctx, "team/cold:authority")
		Eventually(ctx, func() error { return f.Evaluate(ctx, cold) }).WithTimeout(mountTimeout).WithPolling(time.Second).Should(Succeed())
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(calls.Stop()).To(BeEmpty())
	})
})

// relogin changes the function runner's password, and waits until the function runner has updated the pull secret.
func relogin(ctx context.Context, password string) {
	GinkgoHelper()
	login(ctx, password)
	Eventually(ctx, pullPassword).WithArguments(ctx).WithTimeout(mountTimeout).WithPolling(time.Second).Should(Equal(user + ":" + password))
}

// pullPassword returns the user and password that nodes use to pull images.
func pullPassword(ctx context.Context) (string, error) {
	secret, err := f.Client.CoreV1().Secrets(f.Release.FunctionNamespace).Get(ctx, "auth-secret", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	var config struct {
		Auths map[string]struct{ Auth []byte }
	}
	if err := json.Unmarshal(secret.Data[corev1.DockerConfigJsonKey], &config); err != nil {
		return "", err
	}
	return string(config.Auths[registry.Address].Auth), nil
}

// noneSees checks that passwords do not appear in the logs of the function runners, nor in pods, events, ConfigMaps and Deployments.
func noneSees(ctx context.Context, since time.Time, passwords ...string) {
	GinkgoHelper()
	logged, err := f.Logs(ctx, since)
	Expect(err).NotTo(HaveOccurred())
	var text strings.Builder
	text.WriteString(logged)
	for _, namespace := range []string{f.Release.Namespace, f.Release.FunctionNamespace} {
		pods, err := f.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		events, err := f.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		maps, err := f.Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		deployments, err := f.Client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, objects := range []any{pods, events, maps, deployments} {
			content, err := json.Marshal(objects)
			Expect(err).NotTo(HaveOccurred())
			text.Write(content)
		}
	}
	for _, password := range passwords {
		Expect(text.String()).NotTo(ContainSubstring(password))
		Expect(text.String()).NotTo(ContainSubstring(base64.StdEncoding.EncodeToString([]byte(user + ":" + password))))
	}
}
