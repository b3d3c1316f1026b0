// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/e2e/generated"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/images/reference"
)

var update = flag.Bool("update", false, "write the table of docs/porch.md anew")

// porchFunctions lists the functions in config.yaml of Porch 1.5.8's function runner image. The file has three references for each
// function: a digest, the tag latest and a version.
var porchFunctions = []struct{ name, digest, version string }{
	{"set-image", "3f488461ec89741aa4a693cbde683d6abe8e1427e2dec25bb99c5ddf81e39339", "v0.1.2"},
	{"set-namespace", "744d6bee447d42891a0ae09fa33f0dd8df43fdb71f6df3eecc0c1a4756f53b0e", "v0.4.2"},
	{"upsert-resource", "e7c19a7dbfb391506ccb021d6b6dc35152c019eed962e16f98831850600ccf40", "v0.2.1"},
	{"set-project-id", "bd4a262d125b48127fae24c97828f2414a1fb7547a98ced849eba18dcef51b58", "v0.2.1"},
	{"apply-setters", "b13f1cb460e04461290c6a43dbd9c76c8e0d7eced95d5c7a0e8a80ea2253204d", "v0.2.2"},
	{"search-replace", "68149a9d65ff8e0da26c57a74f828ac93573fb7211b06c63802107b8d159145d", "v0.2.1"},
	{"ensure-name-substring", "d1c3450f7e23fbc165ebdba258b4cd27bd22a0c5976ddd82f0d68af37ebc5591", "v0.2.1"},
	{"set-annotations", "cc7461139e070ffe36e9bb126b7c1818008f851a08a8a1dbb126b98366df068c", "v0.1.5"},
	{"set-labels", "584115f2212bc154ba34412063f19711b19237ff05b312c2947f49a365429e3e", "v0.2.2"},
	{"starlark", "95805cafaffa63449e9885c10a9c00bfc3f75c9794ee14b78e4723dcc9c71e76", "v0.5.2"},
}

// porchImages returns the references of all Porch functions with the catalog's prefix, and their short forms.
func porchImages() (images, short []string) {
	for _, f := range porchFunctions {
		for _, suffix := range []string{":" + f.version, ":latest", "@sha256:" + f.digest} {
			images = append(images, reference.CatalogPrefix+"/"+f.name+suffix)
			short = append(short, f.name+strings.Replace(suffix, f.digest, f.digest[:8]+"…", 1))
		}
	}
	return images, short
}

// The table in docs/porch.md lists the evaluators of the images in Porch's config file. The test gets them from a function runner with the
// curated functions.
func TestPorchImages(t *testing.T) {
	t.Parallel()
	exec, err := binaries.WriteExecConfig(t.Context(), bin, t.TempDir(), binaries.Functions, binaries.FunctionsLight)
	if err != nil {
		t.Fatal(err)
	}
	images, short := porchImages()
	columns := map[string][]string{}
	for _, tags := range []string{"own", "compatible", "all"} {
		columns[tags] = evaluatedBy(t, images, append(exec.Flags(), "--executable-tags="+tags)...)
	}
	var table strings.Builder
	table.WriteString("| image | `own` (default) | `own`, closed network without a mirror | `compatible` | `all` |\n| --- | --- | --- | --- | --- |\n")
	for i, image := range short {
		closed := columns["own"][i]
		if closed == functionPod {
			closed = "fails: no image"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", image, columns["own"][i], closed, columns["compatible"][i], columns["all"][i])
	}
	const first, last = "<!-- images of Porch's config.yaml -->\n", "<!-- end -->\n"
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "docs", "porch.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), first)
	_, after, ends := strings.Cut(rest, last)
	if !found || !ends {
		t.Fatalf("%s lacks the lines %q and %q", file, first, last)
	}
	want := before + first + "\n" + table.String() + "\n" + last + after
	generated.Check(t, file, want, *update, "go -C e2e test ./conformance -run TestPorchImages -update")
}

const functionPod = "function pod"

// evaluatedBy returns the evaluator of each image: an executable if a function runner without pods evaluates it, else a pod.
func evaluatedBy(t *testing.T, images []string, flags ...string) []string {
	t.Helper()
	runner, err := server.Start(t.Context(), filepath.Join(bin, binaries.FunctionRunner), filepath.Join(t.TempDir(), "log"), flags...)
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, runner)
	conn, err := grpc.NewClient(runner.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	resp, err := evaluatorv1grpc.NewFunctionEvaluatorServiceClient(conn).Prepare(t.Context(), &evaluatorv1.PrepareRequest{Images: images})
	if err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, f := range resp.GetFunctions() {
		switch {
		case f.GetState() == evaluatorv1.PrepareState_PREPARE_STATE_NOT_FOUND:
			by = append(by, functionPod)
		case f.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_EXEC:
			t.Fatalf("%s: evaluator = %v, want exec", f.GetImage(), f)
		default:
			_, version, _ := strings.Cut(f.GetImplementation(), " ")
			cell := "executable " + version
			if reference.Substitution(f.GetImage(), version) != "" {
				cell += ", warning"
			}
			by = append(by, cell)
		}
	}
	if len(by) != len(images) {
		t.Fatalf("got %d results for %d images", len(by), len(images))
	}
	return by
}
