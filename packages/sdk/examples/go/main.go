// A first verified delivery: registers an endpoint here, publishes an event, and verifies what arrives.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/posthorn/posthorn-go"
)

func main() {
	ctx := context.Background()
	client := posthorn.New(posthorn.Options{
		URL:       os.Getenv("POSTHORN_URL"),
		Token:     os.Getenv("POSTHORN_TOKEN"),
		Workspace: os.Getenv("POSTHORN_WORKSPACE"),
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	endpoint, err := client.CreateWebhookEndpoint(ctx, posthorn.CreateWebhookEndpointParams{
		URL:          fmt.Sprintf("http://%s/", listener.Addr()),
		EventTypes:   []string{"first.go"},
		RevealSecret: posthorn.Bool(true),
	})
	if err != nil {
		log.Fatal(err)
	}

	done := make(chan string)
	go http.Serve(listener, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			log.Fatal(err)
		}
		verified, err := posthorn.Verify([]string{*endpoint.SigningSecret}, request.Header, body)
		if err != nil {
			log.Fatal(err)
		}
		writer.WriteHeader(http.StatusNoContent)
		done <- fmt.Sprintf("verified %s: %s", verified.ID, body)
	}))

	if _, err := client.PublishEvent(ctx, posthorn.PublishEventParams{
		EventType: "first.go",
		Payload:   map[string]any{"hello": "world"},
	}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-done)
}
