// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package portforward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	protocol "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const (
	// pingPeriod keeps idle connections from being closed by what is on the way.
	pingPeriod = 5 * time.Second
	// maxStatus is the most bytes that are read of an answer that is an error.
	maxStatus = 64 << 10
)

// upgraded is a connection to the kubelet of a pod, which carries streams.
type upgraded struct {
	httpstream.Connection
	// abort, unless nil, ends the connection below at once.
	abort func()
}

// upgrade asks the API server for the ports of a pod: by WebSocket, or as older API servers and some proxies want it, by SPDY.
func (s *Service) upgrade(ctx context.Context, pod string) (upgraded, error) {
	url := s.client.Post().AbsPath("/api/v1/namespaces", s.target.Namespace, "pods", pod, "portforward").URL().String()
	connection, err := s.upgradeWebSocket(ctx, url)
	if httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) {
		return s.upgradeSPDY(ctx, url)
	}
	return connection, err
}

func (s *Service) upgradeWebSocket(ctx context.Context, url string) (upgraded, error) {
	transport, holder, err := websocket.RoundTripperFor(s.config)
	if err != nil {
		return upgraded{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return upgraded{}, err
	}
	socket, err := websocket.Negotiate(transport, holder, req, protocol.WebsocketsSPDYTunnelingPortForwardV1)
	if err != nil {
		return upgraded{}, err
	}
	connection, err := spdy.NewClientConnectionWithPings(portforward.NewTunnelingConnection("krmfn", socket), pingPeriod)
	if err != nil {
		return upgraded{}, errors.Join(err, socket.Close())
	}
	return upgraded{connection, func() { _ = socket.NetConn().Close() }}, nil
}

func (s *Service) upgradeSPDY(ctx context.Context, url string) (upgraded, error) {
	tlsConfig, err := rest.TLSConfigFor(s.config)
	if err != nil {
		return upgraded{}, err
	}
	proxy := s.config.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	upgrader, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{TLS: tlsConfig, Proxier: proxy, PingPeriod: pingPeriod})
	if err != nil {
		return upgraded{}, err
	}
	transport, err := rest.HTTPWrappersForConfig(s.config, upgrader)
	if err != nil {
		return upgraded{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return upgraded{}, err
	}
	req.Header.Set(httpstream.HeaderProtocolVersion, protocol.PortForwardV1Name)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return upgraded{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return upgraded{}, refusal(resp)
	}
	connection, err := upgrader.NewConnection(resp)
	return upgraded{Connection: connection}, err
}

// refusal returns what an API server answers instead of an upgrade, as an API status if it is one.
func refusal(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	if err != nil {
		return err
	}
	var answer metav1.Status
	if json.Unmarshal(body, &answer) == nil && answer.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: answer}
	}
	return fmt.Errorf("the API server answers %s: %.200s", resp.Status, bytes.TrimSpace(body))
}
