// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/internal/images/ociimage"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// user is the user and group of Porch's images, so that pod security settings for them fit.
const user = "10001:10001"

// home is the home directory of the user, as a prefix of paths in layers. homeDir is the same directory as a working directory.
const (
	home    = "home/nonroot/"
	homeDir = "/home/nonroot"
)

// authorities is the path of the certificate bundle. Go programs look for it there.
const authorities = "etc/ssl/certs/ca-certificates.crt"

// Sources names the content of images, for one architecture.
type Sources struct {
	// Binaries is the directory of the commands.
	Binaries string
	// CABundle is a PEM file of the certificate authorities to trust. If it is empty, images have none.
	CABundle string
	// Functions are the functions in the image of the function runner.
	Functions []function.Function
}

// Images returns the images. Their paths are the same as in Porch's images, because manifests and pod templates name them.
func (s Sources) Images() ([]Image, error) {
	runner, err := s.functionRunner()
	if err != nil {
		return nil, err
	}
	return []Image{
		runner, s.wrapperServer(), s.taskHandler(),
		s.program("krmfn", "Renders packages and evaluates KRM functions from the command line", "usr/local/bin/", "/"),
		s.functions(),
		s.program("pod-janitor", "Deletes function pods that no function runner uses", home, homeDir),
		s.program("image-warmer", "Looks up images of functions and pulls them before the first call", home, homeDir),
	}, nil
}

// functionRunner returns the image of the function runner. It contains the curated functions, which the server evaluates without a pod.
func (s Sources) functionRunner() (Image, error) {
	config, err := functions.ExecConfig(s.Functions)
	if err != nil {
		return Image{}, err
	}
	const complete, light = "functions", "functions-light"
	programs := ociimage.Files{
		home + "functions/" + complete: s.executable(complete),
		home + "functions/" + light:    s.executable(light),
	}
	for _, f := range s.Functions {
		program := light
		if f.Heavy {
			program = complete
		}
		programs[home+"functions/"+f.Name] = ociimage.Symlink(program)
	}
	return Image{
		Name:  "function-runner",
		title: "Evaluates KRM functions over gRPC",
		layers: []ociimage.Files{
			s.base(),
			programs,
			{
				home + "server":            s.executable("function-runner"),
				home + "config.yaml":       ociimage.Bytes(config, 0o444),
				home + "grpc-health-probe": s.executable("wrapper-server"),
				"grpc-health-probe":        ociimage.Symlink(home + "grpc-health-probe"),
			},
		},
		entrypoint: []string{"/" + home + "server", "--config=/" + home + "config.yaml", "--functions=/" + home + "functions"},
		ports:      []string{"9445/tcp"},
		dir:        homeDir,
	}, nil
}

// wrapperServer returns the image of the wrapper server. Its cp copies the program into function pods, or they mount it as an image volume.
// Pod templates name one of two directories: older templates name olderDir.
func (s Sources) wrapperServer() Image {
	const dir, olderDir = home + "wrapper-server/", "wrapper-server/"
	return Image{
		Name:  "wrapper-server",
		title: "Serves one KRM function over gRPC from inside its pod",
		layers: []ociimage.Files{{
			dir + "wrapper-server":         s.executable("wrapper-server"),
			dir + "grpc-health-probe":      ociimage.Symlink("wrapper-server"),
			olderDir + "wrapper-server":    ociimage.Hardlink(dir + "wrapper-server"),
			olderDir + "grpc-health-probe": ociimage.Symlink("wrapper-server"),
			"bin/cp":                       ociimage.Symlink("../" + dir + "wrapper-server"),
			"usr/bin/cp":                   ociimage.Symlink("../../" + dir + "wrapper-server"),
		}},
		entrypoint: []string{"/" + dir + "wrapper-server"},
		ports:      []string{"9446/tcp"},
		dir:        "/",
	}
}

// taskHandler returns the image of the task handler. The server runs some curated functions as processes, and probes call
// grpc-health-probe.
func (s Sources) taskHandler() Image {
	return Image{
		Name:  "task-handler",
		title: "Renders kpt packages over gRPC",
		layers: []ociimage.Files{s.base(), {home + "functions": s.executable("functions")}, {
			home + "server":     s.executable("task-handler"),
			"grpc-health-probe": s.executable("wrapper-server"),
		}},
		entrypoint: []string{"/" + home + "server"},
		ports:      []string{"9447/tcp"},
		dir:        homeDir,
	}
}

// program returns an image with one program in a directory. The image has the name of the program.
func (s Sources) program(name, title, in, dir string) Image {
	return Image{
		Name:       name,
		title:      title,
		layers:     []ociimage.Files{s.base(), {in + name: s.executable(name)}},
		entrypoint: []string{"/" + in + name},
		dir:        dir,
	}
}

// functions returns the image of the curated functions. Without arguments it is the function no-op, which helm test calls in a pod.
func (s Sources) functions() Image {
	image := s.program("functions", "Runs a curated KRM function: functions NAME", "usr/local/bin/", "/")
	image.cmd = []string{"no-op"}
	return image
}

// base returns the files that most programs need: users, certificate authorities, and a directory for temporary files.
func (s Sources) base() ociimage.Files {
	f := ociimage.Files{
		"etc/passwd": ociimage.Bytes([]byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:10001:10001:nonroot:/home/nonroot:/sbin/nologin\n"), 0o444),
		"etc/group":  ociimage.Bytes([]byte("root:x:0:\nnonroot:x:10001:\n"), 0o444),
		"tmp":        ociimage.Directory(0o1777),
	}
	if s.CABundle != "" {
		f[authorities] = ociimage.Copy(s.CABundle, 0o444)
	}
	return f
}

func (s Sources) binary(name string) string { return filepath.Join(s.Binaries, name) }

func (s Sources) executable(name string) ociimage.File { return ociimage.Copy(s.binary(name), 0o555) }

// HasCommand reports whether the main program of an image has been built.
func (s Sources) HasCommand(i Image) bool {
	_, err := os.Stat(s.binary(i.Name))
	return err == nil
}
