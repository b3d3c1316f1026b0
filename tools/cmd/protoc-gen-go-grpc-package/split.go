// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// splitServices moves the services of every file to generate into a file of their own, which imports the first and has
// another Go package, so that a generator qualifies the messages by itself. It returns the name of the original for
// each new file.
func splitServices(req *pluginpb.CodeGeneratorRequest) (map[string]string, error) {
	generate := make(map[string]bool, len(req.GetFileToGenerate()))
	for _, name := range req.GetFileToGenerate() {
		generate[name] = true
	}
	originals := make(map[string]string)
	var files []*descriptorpb.FileDescriptorProto
	req.FileToGenerate = nil
	for _, file := range req.GetProtoFile() {
		files = append(files, file)
		if !generate[file.GetName()] || len(file.GetService()) == 0 {
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

// serviceFile returns a file with the services of the given one, in the same proto package.
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

// goPackage splits the go_package option, "path", "path;name" or "path.with/base", into import path and name.
func goPackage(file *descriptorpb.FileDescriptorProto) (importPath, name string, err error) {
	importPath, name, found := strings.Cut(file.GetOptions().GetGoPackage(), ";")
	if importPath == "" {
		return "", "", fmt.Errorf("%s: option go_package is missing; set it, or turn on Buf's managed mode", file.GetName())
	}
	if !found {
		name = path.Base(importPath)
	}
	return importPath, name, nil
}

// restoreNames has generated code name the files that people wrote. The name goes into grpc.ServiceDesc.Metadata, where
// server reflection looks the file up in the registry.
func restoreNames(resp *pluginpb.CodeGeneratorResponse, originals map[string]string) {
	for _, file := range resp.GetFile() {
		for made, original := range originals {
			if path.Dir(file.GetName()) == path.Dir(made) {
				file.Content = new(strings.ReplaceAll(file.GetContent(), made, original))
			}
		}
	}
}
