// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package portforwardtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	protocol "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// forward forwards ports of a pod until the connection ends.
func (c *Cluster) forward(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	pod, ok := c.pods[r.PathValue("pod")]
	c.mu.Unlock()
	f := &forwarding{cluster: c, name: r.PathValue("pod"), pod: pod}
	switch {
	case !ok || pod.Gone:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodPost:
		if _, err := httpstream.Handshake(r, w, []string{protocol.PortForwardV1Name}); err != nil {
			return
		}
		f.serve(spdy.NewResponseUpgrader().UpgradeResponse(w, r, f.accept))
	case c.NoWebSocket:
		fail(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed)
	default:
		upgrader := websocket.Upgrader{Subprotocols: []string{protocol.WebsocketsSPDYTunnelingPortForwardV1}}
		socket, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		connection, err := spdy.NewServerConnection(portforward.NewTunnelingConnection("server", socket), f.accept)
		if err != nil {
			_ = socket.Close() // it is of no use
			return
		}
		f.serve(connection)
	}
}

// forwarding is what one client forwards to one pod.
type forwarding struct {
	cluster *Cluster
	name    string
	pod     Pod

	mu     sync.Mutex
	reason httpstream.Stream
}

// serve returns when the connection has ended.
func (f *forwarding) serve(connection httpstream.Connection) {
	if connection == nil {
		return
	}
	f.cluster.mu.Lock()
	f.cluster.reached = append(f.cluster.reached, f.name)
	f.cluster.open[f.name] = append(f.cluster.open[f.name], closer{closed: connection.Close})
	f.cluster.mu.Unlock()
	<-connection.CloseChan()
}

// closer is a connection that can only be closed.
type closer struct {
	net.Conn
	closed func() error
}

func (c closer) Close() error { return c.closed() }

// accept takes the stream for errors, and then that for data.
func (f *forwarding) accept(stream httpstream.Stream, replied <-chan struct{}) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
		f.reason = stream
		return nil
	}
	reason := f.reason
	f.cluster.streams.Go(func() {
		<-replied
		f.copy(stream, reason)
	})
	return nil
}

// copy does what a kubelet does.
func (f *forwarding) copy(data, reason httpstream.Stream) {
	defer reason.Close() //nolint:errcheck // the client may be gone
	defer data.Close()   //nolint:errcheck // the client may be gone
	network, address := "tcp", f.pod.Address
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		network, address = "unix", path
	}
	backend, err := net.Dial(network, address)
	if err != nil {
		fmt.Fprintf(reason, "an error occurred forwarding: %v", err)
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(data, backend)
		_ = data.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(backend, data)
		_ = backend.Close()
	})
	both.Wait()
}
