// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// user is the one that the images of Porch run as, so that pod security settings made for them fit.
const user = "10001:10001"

// home is the directory of that user, and homeDir the same as a working directory.
const (
	home    = "home/nonroot/"
	homeDir = "/home/nonroot"
)

// authorities is where programs look for the certificates to trust.
const authorities = "etc/ssl/certs/ca-certificates.crt"

// Sources are where the content of images comes from, for one architecture.
type Sources struct {
	// Binaries is the directory of the commands.
	Binaries string
	// CABundle is a PEM file of the certificates to trust. Images are without where it is empty.
	CABundle string
	// Functions are those that the function runner has beside it.
	Functions []function.Function
}

// Images lists the images. Paths are those of Porch's images, which manifests and pod templates name.
func (s Sources) Images() ([]Image, error) {
	runner, err := s.functionRunner()
	if err != nil {
		return nil, err
	}
	return []Image{
		runner, s.wrapperServer(), s.taskHandler(),
		s.program("krmfn", "Renders packages and evaluates KRM functions from the command line", "usr/local/bin/", "/"),
		s.functions(),
		s.program("pod-janitor", "Deletes function pods that no function runner needs any more", home, homeDir),
		s.program("image-warmer", "Makes the images of functions known and present before they are needed", home, homeDir),
	}, nil
}

// functionRunner has the curated functions beside the server, so that it evaluates them without a pod.
func (s Sources) functionRunner() (Image, error) {
	config, err := functions.ExecConfig(s.Functions)
	if err != nil {
		return Image{}, err
	}
	const complete, light = "functions", "functions-light"
	programs := files{
		home + "functions/" + complete: executable(s.binary(complete)),
		home + "functions/" + light:    executable(s.binary(light)),
	}
	for _, f := range s.Functions {
		program := light
		if f.Heavy {
			program = complete
		}
		programs[home+"functions/"+f.Name] = symlink(program)
	}
	return Image{
		Name:  "function-runner",
		title: "Evaluates KRM functions over gRPC",
		layers: []files{
			s.base(),
			programs,
			{
				home + "server":            executable(s.binary("function-runner")),
				home + "config.yaml":       text(string(config)),
				home + "grpc-health-probe": executable(s.binary("wrapper-server")),
				"grpc-health-probe":        symlink(home + "grpc-health-probe"),
			},
		},
		entrypoint: []string{"/" + home + "server", "--config=/" + home + "config.yaml", "--functions=/" + home + "functions"},
		ports:      []string{"9445/tcp"},
		dir:        homeDir,
	}, nil
}

// wrapperServer is copied into function pods, by its own cp or as an image volume, from either of two directories:
// pod templates name the one or, if they are older, the other.
func (s Sources) wrapperServer() Image {
	const dir, olderDir = home + "wrapper-server/", "wrapper-server/"
	return Image{
		Name:  "wrapper-server",
		title: "Serves one KRM function over gRPC from inside its pod",
		layers: []files{{
			dir + "wrapper-server":         executable(s.binary("wrapper-server")),
			dir + "grpc-health-probe":      symlink("wrapper-server"),
			olderDir + "wrapper-server":    hardlink(dir + "wrapper-server"),
			olderDir + "grpc-health-probe": symlink("wrapper-server"),
			"bin/cp":                       symlink("../" + dir + "wrapper-server"),
			"usr/bin/cp":                   symlink("../../" + dir + "wrapper-server"),
		}},
		entrypoint: []string{"/" + dir + "wrapper-server"},
		ports:      []string{"9446/tcp"},
		dir:        "/",
	}
}

// taskHandler has the curated functions beside the server, which runs some of them in processes, and what a probe calls.
func (s Sources) taskHandler() Image {
	return Image{
		Name:  "task-handler",
		title: "Renders kpt packages over gRPC",
		layers: []files{s.base(), {home + "functions": executable(s.binary("functions"))}, {
			home + "server":     executable(s.binary("task-handler")),
			"grpc-health-probe": executable(s.binary("wrapper-server")),
		}},
		entrypoint: []string{"/" + home + "server"},
		ports:      []string{"9447/tcp"},
		dir:        homeDir,
	}
}

// program has the program of its own name, in a directory, and nothing beside it.
func (s Sources) program(name, title, in, dir string) Image {
	return Image{
		Name:       name,
		title:      title,
		layers:     []files{s.base(), {in + name: executable(s.binary(name))}},
		entrypoint: []string{"/" + in + name},
		dir:        dir,
	}
}

// functions is a function itself, which changes nothing, where no other is named: helm test calls it in a pod.
func (s Sources) functions() Image {
	image := s.program("functions", "Has the curated KRM functions in one program: functions NAME", "usr/local/bin/", "/")
	image.cmd = []string{"no-op"}
	return image
}

// base is what programs expect to find in any system: who they are, whom to trust, where to put temporary files.
func (s Sources) base() files {
	f := files{
		"etc/passwd": text("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:10001:10001:nonroot:/home/nonroot:/sbin/nologin\n"),
		"etc/group":  text("root:x:0:\nnonroot:x:10001:\n"),
		"tmp":        directory(0o1777),
	}
	if s.CABundle != "" {
		f[authorities] = readable(s.CABundle)
	}
	return f
}

func (s Sources) binary(name string) string {
	return filepath.Join(s.Binaries, name)
}

// HasCommand tells whether the command that an image is for has been built.
func (s Sources) HasCommand(i Image) bool {
	_, err := os.Stat(s.binary(i.Name))
	return err == nil
}
