// Prints a chat, over restarts of the service and of this program. Needs only Go's standard library.
//
//	go run examples/follow.go http://127.0.0.1:8080 demo-stream
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Message has the fields that this program prints; docs/messages.md lists all.
type Message struct {
	Author  string `json:"author"`
	Message string `json:"message"`
}

// follow reads one connection. It returns the last cursor, and whether the chat is over.
func follow(service, video, cursor string, handle func(string, Message)) (string, bool, error) {
	request, err := http.NewRequest("GET", service+"/v1/stream?videoId="+url.QueryEscape(video), nil)
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
		return cursor, false, fmt.Errorf("the service answered %s", response.Status)
	}
	lines := bufio.NewReader(response.Body) // a Scanner fails at lines of more than 64 KiB
	id, event := "", ""
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return cursor, false, err
		}
		name, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
		switch string(name) {
		case "id":
			id = string(value)
		case "event":
			event = string(value)
		case "data":
			if event == "end" {
				return cursor, true, nil
			}
			if event != "message" {
				continue
			}
			var message Message
			if err := json.Unmarshal(value, &message); err != nil {
				return cursor, false, err
			}
			handle(id, message)
			cursor = id
		}
	}
}

func main() {
	service, video := os.Args[1], os.Args[2]
	file := video + ".last-id"
	stored, _ := os.ReadFile(file) // a first start has none
	cursor := string(stored)
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
		time.Sleep(3 * time.Second)
	}
}
