// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import "github.com/krmfn/krmfn/services/server/flags"

const (
	// wrapperImageVariable names the image of the wrapper server, as for the function runner.
	wrapperImageVariable = "WRAPPER_SERVER_IMAGE"
	// inClusterVariable is in the environment of every pod.
	inClusterVariable = "KUBERNETES_SERVICE_HOST"
)

// Parse reads arguments, which are images besides flags, and what of the environment they leave open. The error names every
// flag that is wrong; it is pflag.ErrHelp where help is asked for.
func Parse(args, environ []string) (Options, error) {
	var o Options
	set := o.Flags()
	set.Usage = func() {}
	if err := set.Parse(args); err != nil {
		return Options{}, err
	}
	o.Sources.Images = append(o.Sources.Images, set.Args()...)
	if !set.Changed("prepull") {
		o.Prepull.Enabled = flags.Getenv(environ, inClusterVariable) != ""
	}
	if o.Prepull.WrapperImage == "" {
		o.Prepull.WrapperImage = flags.Getenv(environ, wrapperImageVariable)
	}
	return o, o.validate()
}

// NeedsCluster tells whether a cluster is asked, or written to.
func (o *Options) NeedsCluster() bool {
	return o.Prepull.Enabled || o.Sources.FunctionConfigs || o.Publishes()
}

// Publishes tells whether metadata goes to a ConfigMap.
func (o *Options) Publishes() bool { return o.Metadata.File == "" && o.Metadata.ConfigMap != "" }
