module github.com/krmfn/krmfn/wrapper-server

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/krmfn/krmfn/proto v0.0.0
	github.com/krmfn/krmfn/services v0.0.0
	github.com/spf13/pflag v1.0.10
	go.uber.org/goleak v1.3.0
	google.golang.org/grpc v1.85.0
)

require (
	github.com/grpc-ecosystem/go-grpc-middleware/v2 v2.3.4 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/krmfn/krmfn/proto => ../proto
	github.com/krmfn/krmfn/services => ../services
)
