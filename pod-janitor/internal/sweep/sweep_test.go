// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sweep_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

// decided returns the decisions, such as "delete Pod a: expired" and "report Pod b: stuck".
func decided(o sweep.Objects) []string {
	var all []string
	for _, d := range sweep.Decide(o, rules, now).Decisions {
		what := "report"
		if d.Delete {
			what = "delete"
		}
		all = append(all, fmt.Sprintf("%s %s %s: %s", what, d.Kind, d.Name, d.Reason))
	}
	return all
}

// Each case is about a single pod.
func TestPod(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	failed, succeeded := phase(corev1.PodFailed), phase(corev1.PodSucceeded)
	fallen := func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }
	expired := used(2*40*time.Minute + grace + tick)
	const gone, kept = "delete", ""
	for name, tc := range map[string]struct {
		pod    *corev1.Pod
		want   string
		reason sweep.Reason
	}{
		"in use": {functionPod("a"), kept, ""},

		"failed":                                {functionPod("a", failed, ended(grace+tick)), gone, sweep.Failed},
		"failed, for as long as the grace":      {functionPod("a", failed, ended(grace)), kept, ""},
		"failed, without containers":            {functionPod("a", failed, fallen), gone, sweep.Failed},
		"failed, without containers, young":     {functionPod("a", failed, fallen, created(grace)), kept, ""},
		"failed, in the future":                 {functionPod("a", failed, ended(-day)), kept, ""},
		"failed, young, ended before":           {functionPod("a", failed, ended(day), created(grace)), kept, ""},
		"failed, invalid annotations":           {functionPod("a", failed, ended(day), ttl("x")), gone, sweep.Failed},
		"failed and expired":                    {functionPod("a", failed, ended(day), expired), gone, sweep.Failed},
		"finished":                              {functionPod("a", succeeded, ended(grace+tick)), gone, sweep.Finished},
		"finished, for as long as the grace":    {functionPod("a", succeeded, ended(grace)), kept, ""},
		"finished just now, but idle for a day": {functionPod("a", succeeded, ended(grace), used(day)), gone, sweep.Expired},
		"running, a container ended":            {functionPod("a", ended(day)), kept, ""},

		"expired":                          {functionPod("a", expired), gone, sweep.Expired},
		"expired, at the boundary":         {functionPod("a", used(2*40*time.Minute+grace)), kept, ""},
		"expired, no time to live":         {functionPod("a", unannotated(functionpod.TTLAnnotation), used(2*podTTL+grace+tick)), gone, sweep.Expired},
		"no time to live, at the boundary": {functionPod("a", unannotated(functionpod.TTLAnnotation), used(2*podTTL+grace)), kept, ""},
		"never used":                       {functionPod("a", unannotated(functionpod.LastUseAnnotation)), gone, sweep.Expired},
		"never used, at the boundary":      {functionPod("a", unannotated(functionpod.LastUseAnnotation), created(80*time.Minute+grace)), kept, ""},
		"never used, past the boundary":    {functionPod("a", unannotated(functionpod.LastUseAnnotation), created(80*time.Minute+grace+tick)), gone, sweep.Expired},
		"created without annotations":      {functionPod("a", annotations(nil)), gone, sweep.Expired},
		"pending, never used":              {functionPod("a", phase(corev1.PodPending), unannotated(functionpod.LastUseAnnotation)), gone, sweep.Expired},
		"used before its creation":         {functionPod("a", used(72*time.Hour), created(80*time.Minute)), kept, ""},
		"used in the future":               {functionPod("a", used(-day)), kept, ""},
		"created in the future":            {functionPod("a", created(-day), used(day)), kept, ""},
		"unknown creation time":            {functionPod("a", func(p *corev1.Pod) { p.CreationTimestamp = metav1.Time{} }, used(day)), kept, ""},
		"used in another time zone":        {functionPod("a", annotation(functionpod.LastUseAnnotation, "2026-05-04T21:59:00+10:00")), kept, ""},
		"short time to live, young":        {functionPod("a", ttl("1s"), created(grace), used(grace)), kept, ""},
		"short time to live":               {functionPod("a", ttl("1s"), used(grace+3*tick)), gone, sweep.Expired},
		"the longest time to live":         {functionPod("a", ttl("2562047h47m16.854775807s"), used(71*time.Hour)), kept, ""},
		"half of the longest time to live": {functionPod("a", ttl("1281023h53m38s"), used(71*time.Hour)), kept, ""},
		"invalid time to live":             {functionPod("a", ttl("soon"), expired), "report", sweep.Uncertain},
		"invalid time to live, used later": {functionPod("a", ttl("soon"), used(-day)), "report", sweep.Uncertain},
		"empty time to live":               {functionPod("a", ttl(""), expired), "report", sweep.Uncertain},
		"time to live is zero":             {functionPod("a", ttl("0s"), expired), "report", sweep.Uncertain},
		"negative time to live":            {functionPod("a", ttl("-1h"), expired), "report", sweep.Uncertain},
		"time to live overflows":           {functionPod("a", ttl("9999999999h"), expired), "report", sweep.Uncertain},
		"last use is a word":               {functionPod("a", annotation(functionpod.LastUseAnnotation, "yesterday")), "report", sweep.Uncertain},
		"last use is empty":                {functionPod("a", annotation(functionpod.LastUseAnnotation, "")), "report", sweep.Uncertain},
		"last use is a number":             {functionPod("a", annotation(functionpod.LastUseAnnotation, "1777852800")), "report", sweep.Uncertain},
		"terminating, invalid annotations": {functionPod("a", terminating(0), ttl("x")), "report", sweep.Uncertain},

		"stuck":                        {functionPod("a", terminating(grace+tick), expired), "report", sweep.Stuck},
		"terminating, at the boundary": {functionPod("a", terminating(grace), expired), kept, ""},
		"terminating for a while":      {functionPod("a", terminating(-time.Hour), expired), kept, ""},
		"failed and terminating":       {functionPod("a", terminating(grace), failed, ended(day)), kept, ""},
		"stuck, invalid annotations":   {functionPod("a", terminating(day), ttl("x")), "report", sweep.Stuck},
		"stuck, of the warmer":         {warmerPod(terminating(day)), "report", sweep.Stuck},
		"terminating, of the warmer":   {warmerPod(terminating(grace)), kept, ""},

		"warmer":                         {warmerPod(created(time.Hour + tick)), gone, sweep.Expired},
		"warmer, at the boundary":        {warmerPod(created(time.Hour)), kept, ""},
		"warmer, finished":               {warmerPod(created(30*time.Minute), succeeded, ended(grace+tick)), gone, sweep.Finished},
		"warmer, finished, at the grace": {warmerPod(created(30*time.Minute), succeeded, ended(grace)), kept, ""},
		"warmer, failed":                 {warmerPod(created(30*time.Minute), failed, ended(grace+tick)), gone, sweep.Failed},
		"warmer, finished, young":        {warmerPod(created(grace), succeeded, ended(grace+tick)), kept, ""},
		"warmer, created in the future":  {warmerPod(created(-day)), kept, ""},
		"warmer, invalid last use":       {warmerPod(annotations(map[string]string{functionpod.LastUseAnnotation: "x"})), gone, sweep.Expired},
	} {
		result := sweep.Decide(sweep.Objects{Pods: []*corev1.Pod{tc.pod}}, rules, now)
		got, reason := "", sweep.Reason("")
		if len(result.Decisions) == 1 {
			d := result.Decisions[0]
			got, reason = "report", d.Reason
			if d.Delete {
				got = gone
			}
			if d.Name != "a" || d.UID != "uid-a" || d.ResourceVersion != "7" || d.Kind != sweep.Pod || d.Image == "" || d.Since.After(now) {
				t.Errorf("%s: decision = %+v", name, d)
			}
		}
		if got != tc.want || reason != tc.reason {
			t.Errorf("%s: decision = %q %q, want %q %q", name, got, reason, tc.want, tc.reason)
		}
		wantKept := 1
		if got == gone {
			wantKept = 0
		}
		if diff := cmp.Diff(map[sweep.Kind]int{sweep.Pod: 1}, result.Seen); diff != "" || result.Kept != wantKept {
			t.Errorf("%s: Kept = %d, want %d; Seen (-want +got):\n%s", name, result.Kept, wantKept, diff)
		}
	}
}

// The pod "old" belongs to a function with a younger pod "new" in another pool.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	idle := used(20*time.Minute + grace + tick)
	younger := func(options ...podOption) *corev1.Pod {
		return functionPod("new", append([]podOption{of("q", "t2"), created(time.Hour)}, options...)...)
	}
	older := func(options ...podOption) *corev1.Pod {
		return functionPod("old", append([]podOption{idle}, options...)...)
	}
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"another template":           {[]*corev1.Pod{older(), younger()}, "older template than new"},
		"another image":              {[]*corev1.Pod{older(), younger(of("q", "t1"))}, "older image than new"},
		"at the boundary":            {[]*corev1.Pod{older(used(20*time.Minute + grace)), younger()}, ""},
		"default time to live":       {[]*corev1.Pod{older(unannotated(functionpod.TTLAnnotation), used(15*time.Minute+grace+tick)), younger()}, "older template than new"},
		"default, at the boundary":   {[]*corev1.Pod{older(unannotated(functionpod.TTLAnnotation), used(15*time.Minute+grace)), younger()}, ""},
		"the longest time to live":   {[]*corev1.Pod{older(ttl("2562047h47m16.854775807s")), younger()}, ""},
		"alone":                      {[]*corev1.Pod{older()}, ""},
		"the same pool":              {[]*corev1.Pod{older(), younger(of("p", "t1"))}, ""},
		"not ready":                  {[]*corev1.Pod{older(), younger(unready)}, ""},
		"without conditions":         {[]*corev1.Pod{older(), younger(func(p *corev1.Pod) { p.Status.Conditions = nil })}, ""},
		"ready, not running":         {[]*corev1.Pod{older(), younger(phase(corev1.PodPending))}, ""},
		"ready, terminating":         {[]*corev1.Pod{older(), younger(terminating(0))}, ""},
		"of the same age":            {[]*corev1.Pod{older(), younger(created(72 * time.Hour))}, ""},
		"not younger":                {[]*corev1.Pod{older(), younger(created(73 * time.Hour))}, ""},
		"younger by a second":        {[]*corev1.Pod{older(), younger(created(72*time.Hour - tick))}, "older template than new"},
		"another function":           {[]*corev1.Pod{older(), younger(annotation(functionpod.ReferenceAnnotation, "r.io/other:v1"))}, ""},
		"of functions without names": {[]*corev1.Pod{older(unannotated(functionpod.ReferenceAnnotation)), younger(unannotated(functionpod.ReferenceAnnotation))}, ""},
		"of others":                  {[]*corev1.Pod{older(), younger(unlabelled(functionpod.PoolLabel))}, ""},
		"young":                      {[]*corev1.Pod{older(created(grace), ttl("1s")), younger(created(0))}, ""},
		"invalid last use":           {[]*corev1.Pod{older(annotation(functionpod.LastUseAnnotation, "x")), younger()}, "annotation krmfn.dev/last-use is \"x\", want a time in RFC 3339 format"},
		"of two pools, the youngest decides": {[]*corev1.Pod{
			older(), functionPod("between", of("r", "t1"), created(2*time.Hour)), younger(),
		}, "older template than new"},
		"its own pool has the youngest": {[]*corev1.Pod{
			older(), younger(), functionPod("younger", created(time.Minute)), functionPod("youngest", created(tick)),
		}, "older template than new"},
	} {
		for _, pods := range [][]*corev1.Pod{tc.pods, reversed(tc.pods)} {
			got := ""
			for _, d := range sweep.Decide(sweep.Objects{Pods: pods}, rules, now).Decisions {
				if d.Name != "old" {
					t.Errorf("%s: %s pod %s", name, d.Reason, d.Name)
				}
				got = d.Detail
				if d.Delete != (d.Reason == sweep.Superseded) {
					t.Errorf("%s: decision = %+v", name, d)
				}
			}
			if got != tc.want {
				t.Errorf("%s: decision = %q, want %q", name, got, tc.want)
			}
		}
	}
}

func reversed(pods []*corev1.Pod) []*corev1.Pod {
	all := make([]*corev1.Pod, 0, len(pods))
	for i := range pods {
		all = append(all, pods[len(pods)-1-i])
	}
	return all
}

func TestService(t *testing.T) {
	t.Parallel()
	live := functionPod("live")
	for name, tc := range map[string]struct {
		service *corev1.Service
		want    sweep.Reason
	}{
		"of a pod":                    {service("live", "uid-live"), ""},
		"of a pod before":             {service("live", "uid-before"), sweep.Orphaned},
		"of a pod of another name":    {service("other", "uid-live"), ""},
		"of two pods, one left":       {service("other", "uid-before", "uid-live"), ""},
		"of two pods, none left":      {service("other", "uid-before", "uid-earlier"), sweep.Orphaned},
		"as old as the grace":         {serviceWith(service("live", "uid-before"), func(s *corev1.Service) { s.CreationTimestamp = ago(grace) }), ""},
		"older than the grace":        {serviceWith(service("live", "uid-before"), func(s *corev1.Service) { s.CreationTimestamp = ago(grace + tick) }), sweep.Orphaned},
		"created in the future":       {serviceWith(service("live", "uid-before"), func(s *corev1.Service) { s.CreationTimestamp = ago(-time.Hour) }), ""},
		"terminating":                 {serviceWith(service("live", "uid-before"), func(s *corev1.Service) { s.DeletionTimestamp = new(ago(time.Hour)) }), ""},
		"without owner":               {service("gone"), sweep.Orphaned},
		"without owner, pod there":    {service("live"), ""},
		"without owner, pod by label": {service("selected"), ""},
		"without owner, young":        {serviceWith(service("gone"), func(s *corev1.Service) { s.CreationTimestamp = ago(grace) }), ""},
		"of a Deployment":             {serviceWith(service("gone", "uid-before"), func(s *corev1.Service) { s.OwnerReferences[0].Kind = "Deployment" }), sweep.Uncertain},
		"of another kind of Pod":      {serviceWith(service("gone", "uid-before"), func(s *corev1.Service) { s.OwnerReferences[0].APIVersion = "x.io/v1" }), sweep.Uncertain},
	} {
		other := functionPod("foreign", labels(map[string]string{functionpod.ImageLabel: "selected"}))
		result := sweep.Decide(sweep.Objects{Pods: []*corev1.Pod{live, other}, Services: []*corev1.Service{tc.service}}, rules, now)
		got := sweep.Reason("")
		for _, d := range result.Decisions {
			got = d.Reason
			if d.Kind != sweep.Service || d.Delete != (d.Reason == sweep.Orphaned) {
				t.Errorf("%s: decision = %+v", name, d)
			}
		}
		if got != tc.want {
			t.Errorf("%s: decision = %q, want %q", name, got, tc.want)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	with := func(change func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
		return secret(2*day, change)
	}
	porch := functionPod("a", labels(map[string]string{functionpod.ImageLabel: "a"}), pulling("auth-secret"))
	for name, tc := range map[string]struct {
		secret *metav1.PartialObjectMetadata
		pods   []*corev1.Pod
		want   sweep.Reason
	}{
		"none":                        {},
		"renewed":                     {secret: secret(time.Minute)},
		"at the boundary":             {secret: secret(day)},
		"past the boundary":           {secret: secret(day + tick), want: sweep.Unused},
		"renewed in the future":       {secret: secret(-day)},
		"other pods":                  {secret: secret(2 * day), pods: []*corev1.Pod{functionPod("a"), functionPod("b", pulling("other"))}, want: sweep.Unused},
		"used by a pod":               {secret: secret(2 * day), pods: []*corev1.Pod{functionPod("a"), functionPod("b", pulling("auth-secret"))}},
		"used by a pod of others":     {secret: secret(2 * day), pods: []*corev1.Pod{porch}},
		"of others":                   {secret: with(func(s *metav1.PartialObjectMetadata) { s.Labels = nil })},
		"of another owner":            {secret: with(func(s *metav1.PartialObjectMetadata) { s.Labels[functionpod.PullSecretLabel] = "me" })},
		"young":                       {secret: with(func(s *metav1.PartialObjectMetadata) { s.CreationTimestamp = ago(grace) })},
		"terminating":                 {secret: with(func(s *metav1.PartialObjectMetadata) { s.DeletionTimestamp = new(ago(day)) })},
		"never renewed":               {secret: with(func(s *metav1.PartialObjectMetadata) { s.Annotations = nil }), want: sweep.Uncertain},
		"invalid renewal":             {secret: with(func(s *metav1.PartialObjectMetadata) { s.Annotations[functionpod.LastUseAnnotation] = "x" }), want: sweep.Uncertain},
		"invalid and in use":          {secret: with(func(s *metav1.PartialObjectMetadata) { s.Annotations = nil }), pods: []*corev1.Pod{porch}, want: sweep.Uncertain},
		"renewed before its creation": {secret: with(func(s *metav1.PartialObjectMetadata) { s.CreationTimestamp = ago(time.Hour) })},
	} {
		result := sweep.Decide(sweep.Objects{Pods: tc.pods, Secret: tc.secret}, rules, now)
		got := sweep.Reason("")
		for _, d := range result.Decisions {
			got = d.Reason
			if d.Kind != sweep.Secret || d.Delete != (d.Reason == sweep.Unused) {
				t.Errorf("%s: decision = %+v", name, d)
			}
		}
		if got != tc.want {
			t.Errorf("%s: decision = %q, want %q", name, got, tc.want)
		}
	}
}

// Objects of others are not deleted, reported or counted.
func TestOthers(t *testing.T) {
	t.Parallel()
	broken := []podOption{phase(corev1.PodFailed), ended(48 * time.Hour), created(96 * time.Hour), ttl("x")}
	var o sweep.Objects
	for i, labels := range []map[string]string{
		nil,
		{functionpod.ImageLabel: "fn-1"},
		{functionpod.PoolLabel: "p"},
		{functionpod.OrdinalLabel: "1"},
		{functionpod.PoolLabel: "", functionpod.OrdinalLabel: "1"},
		{functionpod.PoolLabel: "p", functionpod.OrdinalLabel: ""},
		{functionpod.WarmerLabel: ""},
		{functionpod.PullSecretLabel: functionpod.Keeper},
	} {
		pod := functionPod(fmt.Sprintf("pod-%d", i), broken...)
		pod.Labels = labels
		s := service(fmt.Sprintf("service-%d", i), "uid-gone")
		s.Labels = maps.Clone(labels)
		o.Pods, o.Services = append(o.Pods, pod), append(o.Services, s)
	}
	// The image warmer creates no Services.
	warmer := service("service-warmer", "uid-gone")
	warmer.Labels = map[string]string{functionpod.WarmerLabel: "run"}
	o.Services = append(o.Services, warmer)
	result := sweep.Decide(o, rules, now)
	if diff := cmp.Diff(sweep.Result{Seen: map[sweep.Kind]int{}}, result); diff != "" {
		t.Error(diff)
	}
}

// Pods come first. Objects of one kind are sorted by last use, regardless of the order of the lists.
func TestOrder(t *testing.T) {
	t.Parallel()
	o := sweep.Objects{
		Pods: []*corev1.Pod{
			functionPod("late", used(3*time.Hour)), functionPod("b", used(4*time.Hour)), functionPod("kept"),
			functionPod("a", used(4*time.Hour)), functionPod("first", terminating(71*time.Hour)),
		},
		Services: []*corev1.Service{service("z", "uid-gone"), service("y", "uid-gone")},
		Secret:   secret(48 * time.Hour),
	}
	want := []string{
		"report Pod first: stuck", "delete Pod a: expired", "delete Pod b: expired", "delete Pod late: expired",
		"delete Service y: orphaned", "delete Service z: orphaned", "delete Secret auth-secret: unused",
	}
	if diff := cmp.Diff(want, decided(o)); diff != "" {
		t.Error(diff)
	}
}

// Annotations of any content are shortened and quoted in messages.
func TestInvalidAnnotationsAreQuoted(t *testing.T) {
	t.Parallel()
	pod := functionPod("a", ttl("\n"+strings.Repeat("x", 100000)))
	d := sweep.Decide(sweep.Objects{Pods: []*corev1.Pod{pod}}, rules, now).Decisions
	if len(d) != 1 || len(d[0].Detail) > 200 || strings.Contains(d[0].Detail, "\n") {
		t.Errorf("decisions = %+v", d)
	}
}
