// Prints a chat, over restarts of the service and of this program. Needs only Go's standard library.
//
//	go run examples/follow.go http://127.0.0.1:8080 demo-stream
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// A keepalive comes every 15 s: a connection that brings nothing for this long is dead.
const idle = 45 * time.Second

// Message has the fields that this program prints; docs/messages.md lists all.
type Message struct {
	Author  string `json:"author"`
	Message string `json:"message"`
}

// Refusal is the service's answer to a request that it does not serve.
type Refusal struct {
	Status  int
	Message string `json:"message"`
}

func (r Refusal) Error() string { return r.Message }

// isFinal reports whether the same request would be refused again.
func (r Refusal) isFinal() bool {
	return r.Status >= 400 && r.Status < 500 && r.Status != 408 && r.Status != 429
}

// follow reads one connection. It returns the last cursor, and whether the chat is over.
func follow(service, video, cursor string, handle func(string, Message)) (string, bool, error) {
	alive, leave := context.WithCancel(context.Background())
	defer leave()
	dead := time.AfterFunc(idle, leave)
	defer dead.Stop()
	address := service + "/v1/stream?videoId=" + url.QueryEscape(video)
	request, err := http.NewRequestWithContext(alive, "GET", address, nil)
	if err != nil {
		return cursor, false, err
	}
	if cursor != "" {
		request.Header.Set("Last-Event-ID", cursor)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return cursor, false, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		refusal := Refusal{Status: response.StatusCode, Message: response.Status}
		_ = json.NewDecoder(response.Body).Decode(&refusal) // a proxy's answer has no message
		return cursor, false, refusal
	}
	lines := bufio.NewReader(response.Body) // a Scanner fails at lines of more than 64 KiB
	id, event := "", ""
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return cursor, false, err
		}
		dead.Reset(idle)
		name, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
		switch string(name) {
		case "id":
			id = string(value)
		case "event":
			event = string(value)
		case "data":
			var message Message
			if err := json.Unmarshal(value, &message); err != nil {
				return cursor, false, err
			}
			switch event {
			case "end":
				return cursor, true, nil
			case "error": // the service cannot read the chat now
				return cursor, false, fmt.Errorf("%s", message.Message)
			case "message":
				handle(id, message)
				cursor = id
			}
		}
	}
}

func main() {
	if len(os.Args) != 3 || !strings.HasPrefix(os.Args[1], "http") {
		fmt.Fprintln(os.Stderr, "usage: go run follow.go http://127.0.0.1:8080 <video id>")
		os.Exit(2)
	}
	service, video := os.Args[1], os.Args[2]
	file := video + ".last-id"
	stored, _ := os.ReadFile(file) // a first start has none
	cursor := string(bytes.TrimSpace(stored))
	handle := func(id string, message Message) {
		fmt.Println(id, message.Author, message.Message)
		// After the message is handled, and at once: a kill leaves the old id or the new one.
		if err := os.WriteFile(file+".new", []byte(id), 0o644); err != nil {
			panic(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			panic(err)
		}
	}
	for {
		var isOver bool
		var err error
		if cursor, isOver, err = follow(service, video, cursor, handle); isOver {
			return
		}
		fmt.Fprintln(os.Stderr, err)
		if refusal, isRefusal := err.(Refusal); isRefusal && refusal.isFinal() {
			os.Exit(1)
		}
		time.Sleep(3 * time.Second)
	}
}
