module github.com/krmfn/krmfn/e2e

go 1.26.0

require (
	github.com/krmfn/krmfn/proto v0.0.0
	github.com/spf13/pflag v1.0.10
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.2 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
)

replace (
	github.com/krmfn/krmfn/proto => ../proto
	github.com/krmfn/krmfn/services => ../services
)
