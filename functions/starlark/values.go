// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"github.com/qri-io/starlib/util"
	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/internal/yamlprint"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// listToStarlark returns the value of ctx.resource_list. It shares nothing with rl.
func listToStarlark(rl *fn.ResourceList) (*starlark.Dict, error) {
	items := make([]starlark.Value, 0, len(rl.Items))
	for _, item := range rl.Items {
		value, err := nodeToStarlark(function.NodeOf(item))
		if err != nil {
			return nil, err
		}
		items = append(items, value)
	}
	config, err := nodeToStarlark(function.NodeOf(rl.FunctionConfig))
	if err != nil {
		return nil, err
	}
	list := starlark.NewDict(4)
	for _, entry := range []struct {
		key   string
		value starlark.Value
	}{
		{"apiVersion", starlark.String(kio.ResourceListAPIVersion)},
		{"kind", starlark.String(kio.ResourceListKind)},
		{"items", starlark.NewList(items)},
		{"functionConfig", config},
	} {
		if err := list.SetKey(starlark.String(entry.key), entry.value); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// nodeToStarlark converts YAML. Timestamps become strings, as in Kubernetes.
func nodeToStarlark(node *yaml.Node) (starlark.Value, error) {
	node = yamlnode.Copy(node)
	datesToStrings(node)
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, err
	}
	return toStarlark(value)
}

func datesToStrings(node *yaml.Node) {
	if node.Tag == "!!timestamp" {
		node.Tag = yaml.NodeTagString
	}
	for _, value := range node.Content {
		datesToStrings(value)
	}
}

// toStarlark converts the result of a YAML decoder. It sorts the keys of dicts, so that every run has the same order.
func toStarlark(value any) (starlark.Value, error) {
	switch value := value.(type) {
	case []any:
		elements := make([]starlark.Value, 0, len(value))
		for _, element := range value {
			converted, err := toStarlark(element)
			if err != nil {
				return nil, err
			}
			elements = append(elements, converted)
		}
		return starlark.NewList(elements), nil
	case map[string]any:
		return toDict(value)
	case map[any]any:
		return toDict(value)
	default:
		return util.Marshal(value)
	}
}

func toDict[K comparable](values map[K]any) (starlark.Value, error) {
	keys := slices.SortedFunc(maps.Keys(values), func(a, b K) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	dict := starlark.NewDict(len(keys))
	for _, key := range keys {
		name, err := toStarlark(any(key))
		if err != nil {
			return nil, err
		}
		value, err := toStarlark(values[key])
		if err != nil {
			return nil, err
		}
		if err := dict.SetKey(name, value); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

// maxDepth is the maximum nesting of a script's items, as in the YAML parser. Starlark lists can contain themselves.
const maxDepth = 10_000

// itemsFromStarlark converts the items of a list to resources. Missing items yield nil.
func itemsFromStarlark(list *starlark.Dict, limit int) (fn.KubeObjects, error) {
	found, ok, err := list.Get(starlark.String("items"))
	if err != nil || !ok {
		return nil, err
	}
	reader := valueReader{left: limit, limit: limit}
	value, err := reader.read(found, 0)
	if err != nil {
		return nil, reader.within("value", err)
	}
	values, ok := value.([]any)
	if !ok {
		return nil, noList(value)
	}
	items := make(fn.KubeObjects, 0, len(values))
	for _, value := range values {
		node, err := toNode(value)
		if err != nil {
			return nil, err
		}
		if kind := node.YNode().Kind; kind != yaml.MappingNode {
			return nil, fmt.Errorf("failed to extract objects: unhandled node kind %v", kind)
		}
		items = append(items, fn.MoveToKubeObject(node))
	}
	return items, nil
}

// noList returns the error for items that are not a list, worded like that of the library of the catalog's function. None
// counts as an empty list.
func noList(value any) error {
	root, err := toNode(map[string]any{"items": value})
	if err != nil {
		return err
	}
	items, err := root.Pipe(yaml.Lookup("items"))
	if err != nil {
		return err
	}
	_, err = items.Elements()
	return err
}

// toNode converts a value to a YAML node. Call it per item, because the encoder keeps all its events.
func toNode(value any) (*yaml.RNode, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return nil, err
	}
	node, err := yaml.Parse(string(text))
	if err == nil {
		return node, nil
	}
	// The encoder's output cannot be parsed if a multi-line text begins with a tab.
	n, err := yamlprint.Value(value)
	if err != nil {
		return nil, err
	}
	return yaml.NewRNode(n), nil
}

// valueReader converts Starlark values to input for a YAML encoder. A value that occurs several times counts each time.
type valueReader struct {
	left, limit int   // bytes
	exceeded    error // the exceeded limit; the error then has no path
}

func (r *valueReader) read(value starlark.Value, depth int) (any, error) {
	const valueSize = 16
	if r.left -= valueSize + 2*depth; r.left < 0 { // including indentation
		r.exceeded = fmt.Errorf("the items that the script leaves have more than %d MiB, which is the limit", r.limit>>20)
		return nil, r.exceeded
	}
	if depth > maxDepth {
		r.exceeded = fmt.Errorf("the items that the script leaves are nested more than %d deep, or contain themselves", maxDepth)
		return nil, r.exceeded
	}
	switch value := value.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(value), nil
	case starlark.Int:
		var number int
		err := starlark.AsInt(value, &number)
		return number, err
	case starlark.Float:
		return float64(value), nil
	case starlark.String:
		r.left -= len(value)
		return string(value), nil
	case startime.Time:
		return time.Time(value), nil
	case *starlark.Dict:
		return r.readDict(value, depth)
	case *starlark.List, starlark.Tuple:
		return r.readSequence(value.(starlark.Indexable), depth)
	case *starlark.Set:
		return nil, errors.New("sets aren't yet supported")
	default:
		return nil, fmt.Errorf("unrecognized starlark type: %s", value.Type())
	}
}

func (r *valueReader) readSequence(sequence starlark.Indexable, depth int) (any, error) {
	elements := make([]any, sequence.Len())
	for i := range elements {
		element, err := r.read(sequence.Index(i), depth+1)
		if err != nil {
			return nil, err
		}
		elements[i] = element
	}
	return elements, nil
}

// readDict returns a map[string]any if all keys are strings, because the encoder sorts such maps differently.
func (r *valueReader) readDict(dict *starlark.Dict, depth int) (any, error) {
	byString, byAny := make(map[string]any, dict.Len()), map[any]any{}
	for _, entry := range dict.Items() {
		value, err := r.read(entry[1], depth+1)
		if err != nil {
			return nil, r.within("value", err)
		}
		if key, ok := entry[0].(starlark.String); ok {
			r.left -= len(key)
			byString[string(key)] = value
			continue
		}
		key, err := r.read(entry[0], depth+1)
		if err != nil {
			return nil, r.within("key", err)
		}
		if _, isTuple := key.([]any); isTuple {
			return nil, fmt.Errorf("a %s cannot be a key in YAML", entry[0].Type())
		}
		byAny[key] = value
	}
	if len(byAny) == 0 {
		return byString, nil
	}
	for key, value := range byString {
		byAny[key] = value
	}
	return byAny, nil
}

// within adds the location to an error, like the catalog's function, unless a limit was exceeded.
func (r *valueReader) within(part string, err error) error {
	if r.exceeded != nil {
		return err
	}
	return fmt.Errorf("unmarshaling starlark %s: %w", part, err)
}
