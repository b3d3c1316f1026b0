// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command protoc-gen-go-grpc-package is a protoc plugin that generates gRPC services into Go packages of their own.
//
// Its arguments are the command line of protoc-gen-go-grpc. The services of a file in package foov1 are generated into package foov1grpc,
// in the subdirectory foov1grpc. protoc-gen-go-grpc itself has no option for another package, so programs that use only messages would link
// gRPC. Its generator cannot be imported, because it is in a main package.
//
// Use the plugin with the option paths=source_relative. It passes all options to protoc-gen-go-grpc.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "protoc-gen-go-grpc-package:", err)
		os.Exit(1)
	}
}

// run reads a request from in, generates code with the plugin command, and writes the response to out.
func run(ctx context.Context, command []string, in io.Reader, out io.Writer) error {
	if len(command) == 0 {
		return errors.New("no arguments: give the command line of protoc-gen-go-grpc")
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	req := &pluginpb.CodeGeneratorRequest{}
	if err := proto.Unmarshal(data, req); err != nil {
		return fmt.Errorf("parse request: %w", err)
	}
	names, err := splitServices(req)
	if err != nil {
		return err
	}
	resp, err := generate(ctx, command, req)
	if err != nil {
		return err
	}
	restoreNames(resp, names)
	if data, err = proto.Marshal(resp); err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	if _, err := out.Write(data); err != nil {
		return fmt.Errorf("write response: %w", err)
	}
	return nil
}

func generate(ctx context.Context, command []string, req *pluginpb.CodeGeneratorRequest) (*pluginpb.CodeGeneratorResponse, error) {
	data, err := proto.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(data)
	cmd.Stderr = os.Stderr
	data, err = cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", command, err)
	}
	resp := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(data, resp); err != nil {
		return nil, fmt.Errorf("parse response of %q: %w", command, err)
	}
	return resp, nil
}

// splitServices moves the services of each file to a new file, which has another Go package and imports the original file. It returns the
// names of the original files by the names of the new files.
func splitServices(req *pluginpb.CodeGeneratorRequest) (map[string]string, error) {
	wanted := req.GetFileToGenerate()
	originals := make(map[string]string)
	var files []*descriptorpb.FileDescriptorProto
	req.FileToGenerate = nil
	for _, file := range req.GetProtoFile() {
		files = append(files, file)
		if !slices.Contains(wanted, file.GetName()) || len(file.GetService()) == 0 {
			continue
		}
		services, err := serviceFile(file)
		if err != nil {
			return nil, err
		}
		file.Service = nil
		files = append(files, services)
		req.FileToGenerate = append(req.FileToGenerate, services.GetName())
		originals[services.GetName()] = file.GetName()
	}
	req.ProtoFile = files
	return originals, nil
}

// serviceFile returns a file with the services of a file, in the same proto package.
func serviceFile(file *descriptorpb.FileDescriptorProto) (*descriptorpb.FileDescriptorProto, error) {
	importPath, name, err := goPackage(file)
	if err != nil {
		return nil, err
	}
	name += "grpc"
	services := proto.CloneOf(file)
	services.Name = new(path.Join(path.Dir(file.GetName()), name, path.Base(file.GetName())))
	services.Options.GoPackage = new(path.Join(importPath, name) + ";" + name)
	services.Dependency = append(services.Dependency, file.GetName())
	services.MessageType, services.EnumType, services.Extension = nil, nil, nil
	return services, nil
}

// goPackage returns the import path and the package name in the option go_package, which is "path" or "path;name".
func goPackage(file *descriptorpb.FileDescriptorProto) (importPath, name string, err error) {
	importPath, name, found := strings.Cut(file.GetOptions().GetGoPackage(), ";")
	if importPath == "" {
		return "", "", fmt.Errorf("%s: option go_package is missing; set it, or enable managed mode in Buf", file.GetName())
	}
	if !found {
		name = path.Base(importPath)
	}
	return importPath, name, nil
}

// restoreNames replaces the names of new files in generated code with the names of the original files. Server reflection looks up the file
// in grpc.ServiceDesc.Metadata.
func restoreNames(resp *pluginpb.CodeGeneratorResponse, originals map[string]string) {
	for _, file := range resp.GetFile() {
		for name, original := range originals {
			if path.Dir(file.GetName()) == path.Dir(name) {
				file.Content = new(strings.ReplaceAll(file.GetContent(), name, original))
			}
		}
	}
}
