// An OpAMP agent and an OpAMP server, by OpenTelemetry's own library, for tests/components_test.py.
//
//	opamp agent URL SERVICE     an agent that obeys: a line of JSON for each configuration it is offered
//	opamp server                a server on a free port of loopback, whose address is its first line; then a line of JSON
//	                            for each message. A line of standard input is JSON text: the configuration from now on
//
// Both end with standard input.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/open-telemetry/opamp-go/client"
	agent "github.com/open-telemetry/opamp-go/client/types"
	"github.com/open-telemetry/opamp-go/protobufs"
	"github.com/open-telemetry/opamp-go/server"
	"github.com/open-telemetry/opamp-go/server/types"
)

type quiet struct{}

func (quiet) Debugf(context.Context, string, ...any)       {}
func (quiet) Errorf(_ context.Context, f string, a ...any) { log.Printf(f, a...) }

var output sync.Mutex

func say(what any) {
	text, err := json.Marshal(what)
	if err != nil {
		log.Fatal(err)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(string(text))
}

func text(key, value string) *protobufs.KeyValue {
	return &protobufs.KeyValue{Key: key, Value: &protobufs.AnyValue{Value: &protobufs.AnyValue_StringValue{StringValue: value}}}
}

func files(config *protobufs.AgentConfigMap) map[string]string {
	found := map[string]string{}
	for name, file := range config.GetConfigMap() {
		found[name] = string(file.Body)
	}
	return found
}

func runAgent(url, service string) {
	var mutex sync.Mutex
	var current *protobufs.AgentConfigMap
	c := client.NewHTTP(quiet{})
	c.SetAgentDescription(&protobufs.AgentDescription{IdentifyingAttributes: []*protobufs.KeyValue{
		text("service.name", service), text("service.instance.id", service+"-go")}})
	capabilities := protobufs.AgentCapabilities_AgentCapabilities_ReportsStatus |
		protobufs.AgentCapabilities_AgentCapabilities_AcceptsRemoteConfig |
		protobufs.AgentCapabilities_AgentCapabilities_ReportsRemoteConfig |
		protobufs.AgentCapabilities_AgentCapabilities_ReportsEffectiveConfig |
		protobufs.AgentCapabilities_AgentCapabilities_ReportsHeartbeat
	if err := c.SetCapabilities(&capabilities); err != nil {
		log.Fatal(err)
	}
	poll := time.Second
	err := c.Start(context.Background(), agent.StartSettings{
		OpAMPServerURL:    url,
		InstanceUid:       agent.InstanceUid{1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10, 11, 12, 13, 14, 15, 16},
		HeartbeatInterval: &poll,
		EnableCompression: true,
		Callbacks: agent.Callbacks{
			OnError: func(_ context.Context, e *protobufs.ServerErrorResponse) {
				say(map[string]any{"error": e.ErrorMessage})
			},
			GetEffectiveConfig: func(context.Context) (*protobufs.EffectiveConfig, error) {
				mutex.Lock()
				defer mutex.Unlock()
				return &protobufs.EffectiveConfig{ConfigMap: current}, nil
			},
			OnMessage: func(ctx context.Context, m *agent.MessageData) {
				if m.RemoteConfig == nil {
					return
				}
				mutex.Lock()
				current = m.RemoteConfig.Config
				mutex.Unlock()
				say(map[string]any{"files": files(m.RemoteConfig.Config)})
				c.SetRemoteConfigStatus(&protobufs.RemoteConfigStatus{LastRemoteConfigHash: m.RemoteConfig.ConfigHash,
					Status: protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED})
				c.UpdateEffectiveConfig(ctx)
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	io.Copy(io.Discard, os.Stdin)
	c.Stop(context.Background())
}

func runServer() {
	var mutex sync.Mutex
	var config *protobufs.AgentRemoteConfig
	answer := func(_ context.Context, _ types.Connection, m *protobufs.AgentToServer) *protobufs.ServerToAgent {
		said := map[string]any{"sequence": m.SequenceNum, "capabilities": m.Capabilities}
		if d := m.AgentDescription; d != nil {
			attributes := map[string]string{}
			for _, pair := range d.IdentifyingAttributes {
				attributes[pair.Key] = pair.Value.GetStringValue()
			}
			said["agent"] = attributes
		}
		if e := m.EffectiveConfig; e != nil {
			said["effective"] = files(e.ConfigMap)
		}
		if s := m.RemoteConfigStatus; s != nil {
			said["status"], said["error"] = s.Status.String(), s.ErrorMessage
		}
		say(said)
		mutex.Lock()
		defer mutex.Unlock()
		capabilities := protobufs.ServerCapabilities_ServerCapabilities_AcceptsStatus |
			protobufs.ServerCapabilities_ServerCapabilities_OffersRemoteConfig |
			protobufs.ServerCapabilities_ServerCapabilities_AcceptsEffectiveConfig
		return &protobufs.ServerToAgent{InstanceUid: m.InstanceUid, Capabilities: uint64(capabilities), RemoteConfig: config}
	}
	s := server.New(quiet{})
	err := s.Start(server.StartSettings{ListenEndpoint: "127.0.0.1:0", ListenPath: "/v1/opamp",
		Settings: server.Settings{Callbacks: types.Callbacks{OnConnecting: func(*http.Request) types.ConnectionResponse {
			return types.ConnectionResponse{Accept: true, ConnectionCallbacks: types.ConnectionCallbacks{OnMessage: answer}}
		}}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/v1/opamp\n", s.Addr())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var body string
		if err := json.Unmarshal(lines.Bytes(), &body); err != nil {
			log.Fatal(err)
		}
		hash := sha256.Sum256([]byte(body))
		mutex.Lock()
		config = &protobufs.AgentRemoteConfig{ConfigHash: hash[:], Config: &protobufs.AgentConfigMap{
			ConfigMap: map[string]*protobufs.AgentConfigFile{"profiling.yaml": {Body: []byte(body), ContentType: "text/yaml"}}}}
		mutex.Unlock()
	}
	s.Stop(context.Background())
}

func main() {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "agent":
		runAgent(os.Args[2], os.Args[3])
	case len(os.Args) == 2 && os.Args[1] == "server":
		runServer()
	default:
		log.Fatal("opamp agent URL SERVICE | opamp server")
	}
}
