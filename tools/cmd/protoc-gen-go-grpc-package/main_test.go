// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// stock is the command line of protoc-gen-go-grpc.
var stock = []string{"go", "tool", "protoc-gen-go-grpc"}

// greeting returns a file with a service and a comment: rpc Greet(Name) returns (stream Name).
func greeting(goPackage string) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{
		Name:        new("acme/greeting/v1/greeting.proto"),
		Package:     new("acme.greeting.v1"),
		Syntax:      new("proto3"),
		Options:     &descriptorpb.FileOptions{GoPackage: new(goPackage)},
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Name")}},
		Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: new("GreetingService"),
			Method: []*descriptorpb.MethodDescriptorProto{{
				Name:            new("Greet"),
				InputType:       new(".acme.greeting.v1.Name"),
				OutputType:      new(".acme.greeting.v1.Name"),
				ServerStreaming: new(true),
			}},
		}},
		SourceCodeInfo: &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{{
			Path: []int32{6, 0}, Span: []int32{1, 0, 1}, LeadingComments: new(" It greets.\n"),
		}}},
	}
}

// messages returns a file without services.
func messages() *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{
		Name:        new("acme/title/v1/title.proto"),
		Package:     new("acme.title.v1"),
		Options:     &descriptorpb.FileOptions{GoPackage: new("example.com/acme/title/v1;titlev1")},
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Title")}},
	}
}

func TestServicesGetTheirOwnPackage(t *testing.T) {
	t.Parallel()

	tests := map[string]struct{ goPackage, name, dir string }{
		"path and name": {"example.com/acme/greeting/v1;greetingv1", "greetingv1grpc", "acme/greeting/v1/greetingv1grpc"},
		"path alone":    {"example.com/acme/greeting", "greetinggrpc", "acme/greeting/v1/greetinggrpc"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			files := generated(t, greeting(test.goPackage), messages())
			if len(files) != 1 {
				t.Fatalf("got %d files, want 1", len(files))
			}
			if got, want := files[0].GetName(), test.dir+"/greeting_grpc.pb.go"; got != want {
				t.Errorf("name of the file = %s, want %s", got, want)
			}

			code := files[0].GetContent()
			parsed, err := parser.ParseFile(token.NewFileSet(), "", code, parser.ParseComments)
			if err != nil {
				t.Fatalf("generated code: %v\n%s", err, code)
			}
			if parsed.Name.Name != test.name {
				t.Errorf("package = %s, want %s", parsed.Name.Name, test.name)
			}
			importPath, _, _ := strings.Cut(test.goPackage, ";")
			if !slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+importPath+`"` }) {
				t.Errorf("generated code does not import the package of the messages, %s", importPath)
			}
			for _, want := range []string{
				"// source: acme/greeting/v1/greeting.proto\n",
				`Metadata: "acme/greeting/v1/greeting.proto"`,
				`"/acme.greeting.v1.GreetingService/Greet"`,
				"// It greets.\n",
			} {
				if !strings.Contains(code, want) {
					t.Errorf("generated code lacks %q:\n%s", want, code)
				}
			}
		})
	}
}

func TestFilesWithoutServicesAreSkipped(t *testing.T) {
	t.Parallel()

	if files := generated(t, messages()); len(files) != 0 {
		t.Errorf("got %d files, want none", len(files))
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		command []string
		request []byte
		want    string
	}{
		"no command":         {nil, nil, "no arguments: give the command line of protoc-gen-go-grpc"},
		"broken request":     {stock, []byte("\xff"), "parse request"},
		"no Go package":      {stock, request(t, greeting("")), "acme/greeting/v1/greeting.proto: option go_package is missing"},
		"no such command":    {[]string{"/does/not/exist"}, nil, `run ["/does/not/exist"]`},
		"command that fails": {[]string{"go", "tool", "no-such-tool"}, nil, `run ["go" "tool" "no-such-tool"]: exit status 2`},
		"not a plugin":       {[]string{"go", "version"}, nil, `parse response of ["go" "version"]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			err := run(t.Context(), test.command, bytes.NewReader(test.request), &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("run() error = %v, want %q", err, test.want)
			}
		})
	}
}

// request returns an encoded request to generate code for all files.
func request(t *testing.T, files ...*descriptorpb.FileDescriptorProto) []byte {
	t.Helper()
	req := &pluginpb.CodeGeneratorRequest{Parameter: new("paths=source_relative"), ProtoFile: files}
	for _, file := range files {
		req.FileToGenerate = append(req.FileToGenerate, file.GetName())
	}
	data, err := proto.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// generated returns the files that the plugin generates.
func generated(t *testing.T, files ...*descriptorpb.FileDescriptorProto) []*pluginpb.CodeGeneratorResponse_File {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), stock, bytes.NewReader(request(t, files...)), &out); err != nil {
		t.Fatal(err)
	}
	resp := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(out.Bytes(), resp); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("", resp.GetError()); diff != "" {
		t.Fatalf("error of the plugin: %s", diff)
	}
	return resp.GetFile()
}
