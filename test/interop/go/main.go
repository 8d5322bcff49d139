// A client and a server of a2a-go, for interop tests.
//
//	peer client URL BINDING          calls the agent and prints what came of it as JSON
//	peer server HTTP_PORT GRPC_PORT  serves an agent that returns what it gets
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func main() {
	run := serve
	if os.Args[1] == "client" {
		run = call
	}
	if err := run(os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func call(url, binding string) error {
	ctx := context.Background()
	card, err := agentcard.DefaultResolver.Resolve(ctx, url)
	if err != nil {
		return err
	}
	var offered []*a2a.AgentInterface
	for _, each := range card.SupportedInterfaces {
		if string(each.ProtocolBinding) == binding && each.ProtocolVersion == a2a.Version {
			offered = append(offered, each)
		}
	}
	factory := a2aclient.NewFactory(
		a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())),
	)
	client, err := factory.CreateFromEndpoints(ctx, offered)
	if err != nil {
		return err
	}
	request := func(part *a2a.Part) *a2a.SendMessageRequest {
		return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, part)}
	}
	sent, err := client.SendMessage(ctx, request(a2a.NewTextPart("hello")))
	if err != nil {
		return err
	}
	task := sent.(*a2a.Task)
	var events []string
	for event, err := range client.SendStreamingMessage(ctx, request(a2a.NewTextPart("hello"))) {
		if err != nil {
			return err
		}
		events = append(events, fmt.Sprintf("%T", event))
	}
	file := a2a.NewRawPart([]byte("YSBmaWxl"))
	file.MediaType = "text/plain"
	answered, err := client.SendMessage(ctx, request(file))
	if err != nil {
		return err
	}
	echoed := answered.(*a2a.Task).Artifacts[0].Parts[0].Content.(a2a.Raw)
	var held a2a.TaskID
	for event, err := range client.SendStreamingMessage(ctx, request(a2a.NewTextPart("hold"))) {
		if err != nil {
			return err
		}
		held = event.TaskInfo().TaskID
		break
	}
	canceled, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: held})
	if err != nil {
		return err
	}
	var unknown error
	for _, err := range client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: "no-such-task"}) {
		unknown = err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"state":    task.Status.State,
		"text":     task.Artifacts[0].Parts[0].Text(),
		"events":   events,
		"file":     string(echoed),
		"canceled": canceled.Status.State,
		"unknown":  errors.Is(unknown, a2a.ErrTaskNotFound),
	})
}

type echo struct{}

func (echo) Execute(_ context.Context, execution *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_ = yield(a2a.NewSubmittedTask(execution, execution.Message), nil) &&
			yield(a2a.NewStatusUpdateEvent(execution, a2a.TaskStateWorking, nil), nil) &&
			yield(a2a.NewArtifactEvent(execution, execution.Message.Parts...), nil) &&
			yield(a2a.NewStatusUpdateEvent(execution, a2a.TaskStateCompleted, nil), nil)
	}
}

func (echo) Cancel(_ context.Context, execution *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(execution, a2a.TaskStateCanceled, nil), nil)
	}
}

func serve(httpPort, grpcPort string) error {
	url := "http://127.0.0.1:" + httpPort
	card := &a2a.AgentCard{
		Name:               "Go",
		Description:        "Returns what it gets.",
		Version:            "1.0.0",
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{{ID: "echo", Name: "Echo", Description: "Returns it.", Tags: []string{"echo"}}},
		SupportedInterfaces: []*a2a.AgentInterface{
			{URL: url + "/rpc", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: a2a.Version},
			{URL: url + "/rest", ProtocolBinding: a2a.TransportProtocolHTTPJSON, ProtocolVersion: a2a.Version},
			{URL: "127.0.0.1:" + grpcPort, ProtocolBinding: a2a.TransportProtocolGRPC, ProtocolVersion: a2a.Version},
		},
	}
	handler := a2asrv.NewHandler(echo{})
	listener, err := net.Listen("tcp", "127.0.0.1:"+grpcPort)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(server)
	go func() { _ = server.Serve(listener) }()
	mux := http.NewServeMux()
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	return http.ListenAndServe("127.0.0.1:"+httpPort, mux)
}
