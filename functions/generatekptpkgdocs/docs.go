// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package generatekptpkgdocs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/functions/internal/validator"
	"github.com/krmfn/krmfn/functions/listsetters"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// documented is the content of a package's documentation.
type documented struct {
	heading, description, name, repo string

	setters, resources   [][]string
	subpackages, configs []string
	references           []string
}

const titleAnnotation = "blueprints.cloud.google.com/title"

var setter = regexp.MustCompile(`(?s)^Name: (.*?), Value: (.*), Type: (\w+), Count: (\d+)$`)

func packageOf(ctx context.Context, rl *fn.ResourceList) (documented, error) {
	own := origin.At(rl.Items, kptfile.FileName)
	if own == nil {
		return documented{}, errors.New("unable to find Kptfile, please include --include-meta-resources flag if a Kptfile is present")
	}
	root := function.NodeOf(own)
	p := documented{
		name: own.GetName(), heading: own.GetAnnotation(titleAnnotation),
		description: yamlnode.Text(yamlnode.Lookup(root, "info", "description")),
		repo:        yamlnode.Text(yamlnode.Lookup(root, "upstream", "git", "repo")),
	}
	if p.heading == "" {
		p.heading = p.name
	}
	listed := &fn.ResourceList{Items: rl.Items, FunctionConfig: rl.FunctionConfig}
	if _, err := listsetters.Function.Process(ctx, listed); err != nil {
		return p, err
	}
	for _, result := range listed.Results {
		if match := setter.FindStringSubmatch(result.Message); match != nil {
			p.setters = append(p.setters, match[1:])
		}
	}
	if mutators := yamlnode.Lookup(root, "pipeline", "mutators"); mutators != nil {
		for _, step := range mutators.Content {
			if file := yamlnode.Text(yamlnode.Field(step, "configPath")); file != "" && !slices.Contains(p.configs, file) {
				p.configs = append(p.configs, file)
			}
		}
	}
	for _, item := range rl.Items {
		p.add(item)
	}
	slices.Sort(p.subpackages)
	slices.SortStableFunc(p.resources, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	slices.Sort(p.references)
	p.references = slices.Compact(p.references)
	return p, nil
}

// add records a resource that is applied, or a subpackage.
func (p *documented) add(item *fn.KubeObject) {
	file := origin.File(item).Path
	if item.GetKind() == kptfile.FileName && path.Dir(file) != "." {
		p.subpackages = append(p.subpackages, path.Dir(file))
	}
	if validator.StaysLocal(item.GetAPIVersion(), item.GetAnnotation(fn.KptLocalConfig)) {
		return
	}
	p.resources = append(p.resources, []string{file, item.GetAPIVersion(), item.GetKind(), item.GetName(), item.GetNamespace()})
	if service, _, ok := strings.Cut(item.GetAPIVersion(), ".cnrm.cloud.google.com/"); ok {
		p.references = append(p.references, fmt.Sprintf("[%s](https://cloud.google.com/config-connector/docs/reference/resource-docs/%s/%s)",
			item.GetKind(), service, strings.ToLower(item.GetKind())))
	} else {
		p.references = append(p.references, item.GetKind())
	}
}

func (p documented) title() string { return "# " + p.heading + "\n\n" }

func (p documented) body() string {
	var text strings.Builder
	if p.description != "" {
		text.WriteString(strings.TrimSpace(p.description) + "\n\n")
	}
	section := func(title, none string, lines []string) {
		if len(lines) == 0 {
			lines = []string{none}
		}
		text.WriteString("## " + title + "\n\n" + strings.Join(lines, "\n") + "\n\n")
	}
	section("Setters", "This package has no setters.", table([]string{"Name", "Value", "Type", "Count"}, p.setters))
	section("Sub-packages", "This package has no sub-packages.", list(p.subpackages, "[%[1]s](%[1]s)"))
	section("Resources", "This package has no top-level resources. See sub-packages.",
		table([]string{"File", "APIVersion", "Kind", "Name", "Namespace"}, p.resources))
	section("Resource References", "This package has no top-level resources. See sub-packages.", list(p.references, "%s"))
	edit := ""
	if len(p.configs) > 0 {
		edit = "\n1.  Edit the function config file(s):\n    " + strings.Join(list(p.configs, "%s"), "\n    ") + "\n"
	}
	fmt.Fprintf(&text, usage, p.repo+"@${VERSION}", p.name, edit)
	return text.String()
}

func list(elements []string, format string) []string {
	lines := make([]string, len(elements))
	for i, element := range elements {
		lines[i] = fmt.Sprintf("- "+format, element)
	}
	return lines
}

// table formats rows as a Markdown table; nil if there are no rows.
func table(head []string, rows [][]string) []string {
	if len(rows) == 0 {
		return nil
	}
	widths := make([]int, len(head))
	rule := make([]string, len(head))
	for i := range head {
		for _, row := range append([][]string{head}, rows...) {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		rule[i] = strings.Repeat("-", widths[i]+2)
	}
	line := func(cells []string) string {
		padded := make([]string, len(cells))
		for i, cell := range cells {
			padded[i] = " " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + " "
		}
		return "|" + strings.Join(padded, "|") + "|"
	}
	lines := []string{line(head), "|" + strings.Join(rule, "|") + "|"}
	for _, row := range rows {
		lines = append(lines, line(row))
	}
	return lines
}

const usage = `## Usage

1.  Clone the package:
    ` + "```shell" + `
    kpt pkg get %s
    ` + "```" + `
    Replace ` + "`${VERSION}`" + ` with the desired repo branch or tag
    (for example, ` + "`main`" + `).

1.  Move into the local package:
    ` + "```shell" + `
    cd "./%s/"
    ` + "```" + `
%s
1.  Execute the function pipeline
    ` + "```shell" + `
    kpt fn render
    ` + "```" + `

1.  Initialize the resource inventory
    ` + "```shell" + `
    kpt live init --namespace ${NAMESPACE}
    ` + "```" + `
    Replace ` + "`${NAMESPACE}`" + ` with the namespace in which to manage
    the inventory ResourceGroup (for example, ` + "`config-control`" + `).

1.  Apply the package resources to your cluster
    ` + "```shell" + `
    kpt live apply
    ` + "```" + `

1.  Wait for the resources to be ready
    ` + "```shell" + `
    kpt live status --output table --poll-until current
    ` + "```" + `

`
