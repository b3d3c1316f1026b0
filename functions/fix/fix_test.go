// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestFix(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "a package of version v1alpha1 with a subpackage",
			Items: `
- apiVersion: kpt.dev/v1alpha1
  kind: Kptfile
  metadata:
    name: nginx # mine
    annotations: {internal.config.kubernetes.io/path: Kptfile}
  packageMetadata:
    tags: [web]
    url: https://example.com
    email: a@example.com # who
    shortDescription: describe this package
    version: v1
  upstream:
    type: git
    git:
      commit: 4d2aa98b45ddee4b5fa45fbca16f2ff887de9efb
      repo: git@github.com:GoogleContainerTools/kpt
      directory: package-examples/nginx
      ref: v0.2
  dependencies: [{name: x}]
  inventory: {namespace: n, name: i, inventoryID: "1"}
  openAPI:
    definitions:
      io.k8s.cli.setters.replicas:
        description: number of replicas
        x-k8s-cli: {setter: {name: replicas, value: "3"}}
      io.k8s.cli.setters.image:
        x-k8s-cli: {setter: {name: image, value: nginx}}
      io.k8s.cli.setters.tag:
        x-k8s-cli: {setter: {name: tag, value: "1.0"}}
      io.k8s.cli.setters.list:
        type: array
        x-k8s-cli: {setter: {name: list, listValues: [a, b]}}
      io.k8s.cli.setters.size:
        x-k8s-cli: {setter: {name: size, value: small, enumValues: {small: 5Mi}}}
      io.k8s.cli.substitutions.full:
        x-k8s-cli:
          substitution:
            name: full
            pattern: ${it}:${tag-setter}
            values:
            - marker: ${it}
              ref: '#/definitions/io.k8s.cli.setters.image'
            - marker: ${tag-setter}
              ref: '#/definitions/io.k8s.cli.setters.tag'
      io.k8s.cli.substitutions.nested:
        x-k8s-cli:
          substitution:
            pattern: docker.io/${full}/${other}
            values: [{marker: '${full}', ref: '#/definitions/io.k8s.cli.substitutions.full'}]
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    annotations: {internal.config.kubernetes.io/path: sub/d.yaml}
  spec:
    replicas: 3 # {"$openapi":"replicas"}
    args: # {"$kpt-set":"list"}
    - a
    image: nginx:1.0 # {"$kpt-set":"full"}
    nested: docker.io/nginx:1.0/x # {"$ref":"#/definitions/io.k8s.cli.substitutions.nested"}
    own: x # {"$openapi":"own"} and more
- apiVersion: kpt.dev/v1alpha1
  kind: Kptfile
  metadata:
    name: sub
    annotations: {internal.config.kubernetes.io/path: sub/Kptfile}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: labels
    annotations:
      internal.config.kubernetes.io/path: sub/fns/labels.yaml
      config.kubernetes.io/function: |
        container: {image: gcr.io/kpt-fn/set-labels:v0.1}
  data: {a: b}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: nginx # mine
    annotations: {internal.config.kubernetes.io/path: Kptfile}
  info:
    site: https://example.com
    emails:
    - a@example.com # who
    description: describe this package
    keywords: [web]
  upstream:
    type: git
    git:
      repo: git@github.com:GoogleContainerTools/kpt
      directory: package-examples/nginx
      ref: v0.2
  inventory: {namespace: n, name: i, inventoryID: "1"}
  upstreamLock:
    type: git
    git:
      repo: git@github.com:GoogleContainerTools/kpt
      directory: package-examples/nginx
      ref: v0.2
      commit: 4d2aa98b45ddee4b5fa45fbca16f2ff887de9efb
  pipeline:
    mutators:
    - image: gcr.io/kpt-fn/apply-setters:v0.2
      configPath: setters.yaml
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    annotations: {internal.config.kubernetes.io/path: sub/d.yaml}
  spec:
    replicas: 3 # kpt-set: ${replicas}
    args: # kpt-set: ${list}
    - a
    image: nginx:1.0 # kpt-set: ${image}:${tag}
    nested: docker.io/nginx:1.0/x # kpt-set: docker.io/${image}:${tag}/${other}
    own: x # kpt-set: ${own} and more
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: sub
    annotations: {internal.config.kubernetes.io/path: sub/Kptfile}
  pipeline:
    mutators:
    - image: gcr.io/kpt-fn/set-labels:v0.1
      configPath: fns/labels.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: labels
    annotations:
      internal.config.kubernetes.io/path: sub/fns/labels.yaml
      config.kubernetes.io/local-config: "true"
  data: {a: b}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: setters
    annotations:
      config.kubernetes.io/local-config: "true"
      internal.config.kubernetes.io/path: setters.yaml
      internal.config.kubernetes.io/index: "0"
  data:
    # number of replicas
    replicas: "3"
    image: nginx
    tag: "1.0"
    list: "[a, b]"
    size: 5Mi
results:
- file:
    path: Kptfile
  message: Updated version of Kptfile from "kpt.dev/v1alpha1" to "kpt.dev/v1"
  severity: info
- file:
    path: Kptfile
  message: Transformed "packageMetadata" to "info"
  severity: info
- file:
    path: Kptfile
  message: Transformed "upstream" to "upstream" and "upstreamLock"
  severity: info
- file:
    path: Kptfile
  message: 'Removed "dependencies", which version v1 does not have: get them with ` + "`kpt pkg get`" + `'
  severity: info
- file:
    path: Kptfile
  message: Transformed "openAPI" definitions to "gcr.io/kpt-fn/apply-setters:v0.2" function with the values in "setters.yaml"
  severity: info
- file:
    path: sub/Kptfile
  message: Updated version of Kptfile from "kpt.dev/v1alpha1" to "kpt.dev/v1"
  severity: info
- file:
    path: sub/Kptfile
  message: Added "gcr.io/kpt-fn/set-labels:v0.1" to mutators list, please move it to validators section if it is a validator function
  severity: info
`,
		},
		{
			Name: "packages of later versions keep their comments",
			Items: `
- {apiVersion: kpt.dev/v1alpha2, kind: Kptfile, metadata: {name: a, annotations: {config.kubernetes.io/path: a/Kptfile}}}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: b, annotations: {config.kubernetes.io/path: b/Kptfile}}
- apiVersion: v1
  kind: Secret
  metadata: {name: s, annotations: {config.kubernetes.io/path: b/s.yaml}} # {"$openapi":"x"}
`,
			Want: `
items:
- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a, annotations: {config.kubernetes.io/path: a/Kptfile}}}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: b, annotations: {config.kubernetes.io/path: b/Kptfile}}
- apiVersion: v1
  kind: Secret
  metadata: {name: s, annotations: {config.kubernetes.io/path: b/s.yaml}} # {"$openapi":"x"}
results:
- file:
    path: a/Kptfile
  message: Updated version of Kptfile from "kpt.dev/v1alpha2" to "kpt.dev/v1"
  severity: info
- file:
    path: b/Kptfile
  message: Kptfile is already of version "kpt.dev/v1"
  severity: info
`,
		},
		{
			Name:  "a substitution within itself",
			Items: minimalPackage("{\"$openapi\":\"s\"}", "kpt.dev/v1alpha1", "\n  openAPI: {definitions: {io.k8s.cli.substitutions.s: {x-k8s-cli: {substitution: {pattern: 'a${s}', values: [{marker: '${s}', ref: s}]}}}}}"),
			Want: "items:\n" + minimalPackage("kpt-set: a${s}", "kpt.dev/v1", "") + `results:
- message: Updated version of Kptfile from "kpt.dev/v1alpha1" to "kpt.dev/v1"
  severity: info
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

// minimalPackage returns a package with a resource that has a comment.
func minimalPackage(comment, version, more string) string {
	return "- apiVersion: " + version + "\n  kind: Kptfile\n  metadata: {name: a}" + more + "\n- kind: A\n  a: x # " + comment + "\n"
}

func TestFixFails(t *testing.T) {
	t.Parallel()
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name:  "no Kptfile",
			Items: "- {apiVersion: v1, kind: Secret}\n",
			Want: `
items:
- {apiVersion: v1, kind: Secret}
results:
- message: failed to find Kptfile, please include --include-meta-resources flag if a Kptfile is present
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name:  "an unknown version",
			Items: "- {apiVersion: kpt.dev/v2, kind: Kptfile, metadata: {name: k}}\n",
			Want: `
items:
- {apiVersion: kpt.dev/v2, kind: Kptfile, metadata: {name: k}}
results:
- file:
    index: -1
  message: 'the version of the Kptfile is "kpt.dev/v2": want kpt.dev/v1alpha1, kpt.dev/v1alpha2 or kpt.dev/v1'
  resourceRef:
    name: k
    apiVersion: kpt.dev/v2
    kind: Kptfile
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an unreadable function",
			Items: minimalPackage("c", "kpt.dev/v1alpha1", "") +
				"- {kind: F, metadata: {name: f, annotations: {config.k8s.io/function: 'container: ['}}}\n",
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: a}
- kind: A
  a: x # c
- {kind: F, metadata: {name: f, annotations: {config.k8s.io/function: 'container: ['}}}
results:
- file:
    index: -1
  message: 'annotation config.k8s.io/function: yaml: line 1: did not find expected node content'
  resourceRef:
    name: f
    kind: F
  severity: error
`,
			Err: functiontest.Failed,
		},
	})
}
