// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setimage

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// imageChange is what a functionConfig of set-image asks for.
type imageChange struct {
	Name    string `yaml:"name"`
	NewName string `yaml:"newName"`
	NewTag  string `yaml:"newTag"`
	Digest  string `yaml:"digest"`

	fields []types.FieldSpec // more that hold images
}

// imageVersion is what may follow the name of an image: a tag and a digest. Some tools leave braces in them, to be filled
// in later.
var imageVersion = regexp.MustCompile(`^(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$`)

// of returns what becomes of an image, and whether it is the one that is meant: of that very name, in any version. The
// parts for which nothing new is given stay, but a digest never stays behind a new tag.
func (c imageChange) of(image string) (string, bool) {
	version, ok := strings.CutPrefix(image, c.Name)
	if !ok || !imageVersion.MatchString(version) {
		return "", false
	}
	switch {
	case c.Digest != "":
		version = "@" + c.Digest
	case c.NewTag != "":
		version = ":" + c.NewTag
	}
	return cmp.Or(c.NewName, c.Name) + version, true
}

// imageChangeOf reads the functionConfig of a list. What is wrong with it is noted in the results of the list, twice, as
// programs that read the catalog's results know it.
func imageChangeOf(rl *fn.ResourceList) (change imageChange, ok bool) {
	if rl.FunctionConfig.IsEmpty() {
		rl.Results.Infof("`FunctionConfig` is not given")
	}
	change, err := parseImageChange(rl.FunctionConfig)
	var unknown unknownConfigError
	switch {
	case errors.As(err, &unknown):
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		err = fmt.Errorf("function is terminated by %s: %w", rl.FunctionConfig.ShortString(), err)
	case err != nil:
		rl.Results.ErrorE(err)
		err = fmt.Errorf("function is terminated: %w", err)
	default:
		return change, true
	}
	rl.Results.ErrorE(err)
	return imageChange{}, false
}

// unknownConfigError says that a functionConfig is of a kind that the function does not take.
type unknownConfigError struct{ kind string }

func (e unknownConfigError) Error() string {
	return fmt.Sprintf("unknown FunctionConfig `%s`, expect SetImage", e.kind)
}

func parseImageChange(config *fn.KubeObject) (imageChange, error) {
	var (
		change imageChange
		err    error
	)
	switch {
	case config.IsEmpty():
	case config.GetAPIVersion() == "v1" && config.GetKind() == "ConfigMap":
		err = change.readData(config)
	case config.GetAPIVersion() == fn.KptFunctionAPIVersion && config.GetKind() == "SetImage":
		var typed struct {
			Image  imageChange       `yaml:"image"`
			Fields []types.FieldSpec `yaml:"additionalImageFields"`
		}
		if err := function.NodeOf(config).Decode(&typed); err != nil {
			return imageChange{}, fmt.Errorf("unable to read the FunctionConfig: %w", err)
		}
		change = typed.Image
		change.fields = typed.Fields
	default:
		return imageChange{}, unknownConfigError{config.GetKind()}
	}
	switch {
	case err != nil:
		return imageChange{}, err
	case change.Name == "":
		return imageChange{}, errors.New("must specify `name`")
	case change.NewName == "" && change.NewTag == "" && change.Digest == "":
		return imageChange{}, errors.New("must specify one of `newName`, `newTag`, or `digest`")
	}
	return change, nil
}

// readData reads the data of a ConfigMap.
func (c *imageChange) readData(config *fn.KubeObject) error {
	texts, err := functionconfig.Data(config)
	if err != nil {
		return err
	}
	for _, name := range functionconfig.Keys(config) {
		if !c.readField(name, texts[name]) {
			return fmt.Errorf("ConfigMap has wrong field name %s", name)
		}
	}
	return nil
}

func (c *imageChange) readField(name, text string) bool {
	switch name {
	case "name":
		c.Name = text
	case "newName":
		c.NewName = text
	case "newTag":
		c.NewTag = text
	case "digest":
		c.Digest = text
	default:
		return false
	}
	return true
}
