// Conformance calls the client for packages/sdk/test/Conformance.deep.test.ts: a call on each line of the input, its outcome on each
// line of the output. Methods are found by their operation's id.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/posthorn/posthorn-go"
)

type call struct {
	Client struct {
		URL, Token, Workspace string
		Retries               int
	}
	Call   string
	Params json.RawMessage
	Nulls  []string
	Verify *struct {
		Secrets []string
		Headers map[string]string
		Body    string
		Now     int64
	}
}

type outcome struct {
	Value any            `json:"value,omitempty"`
	Etag  string         `json:"etag,omitempty"`
	Error map[string]any `json:"error,omitempty"`
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 8<<20)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		var given call
		if err := json.Unmarshal(input.Bytes(), &given); err != nil {
			panic(err)
		}
		var made outcome
		var err error
		if given.Verify != nil {
			made.Value, err = verify(given)
		} else {
			ctx := posthorn.WithAnswer(context.Background(), func(answer *http.Response) { made.Etag = answer.Header.Get("etag") })
			made.Value, err = perform(ctx, given)
		}
		if err != nil {
			made.Value, made.Error = nil, described(err)
		}
		if err := output.Encode(made); err != nil {
			panic(err)
		}
	}
}

func verify(given call) (any, error) {
	header := http.Header{}
	for name, value := range given.Verify.Headers {
		header.Set(name, value)
	}
	return posthorn.VerifyAt(given.Verify.Secrets, header, []byte(given.Verify.Body), time.Unix(given.Verify.Now, 0))
}

func perform(ctx context.Context, given call) (any, error) {
	retries := given.Client.Retries
	if retries == 0 {
		retries = -1
	}
	client := posthorn.New(posthorn.Options{
		URL: given.Client.URL, Token: given.Client.Token, Workspace: given.Client.Workspace, Retries: retries})
	method := reflect.ValueOf(client).MethodByName(strings.ToUpper(given.Call[:1]) + given.Call[1:])
	params := reflect.New(method.Type().In(1))
	if err := json.Unmarshal(given.Params, params.Interface()); err != nil {
		return nil, err
	}
	if len(given.Nulls) > 0 {
		params.Elem().FieldByName("Null").Set(reflect.ValueOf(given.Nulls))
	}
	results := method.Call([]reflect.Value{reflect.ValueOf(ctx), params.Elem()})
	last := results[len(results)-1]
	if next := last.MethodByName("Next"); next.IsValid() {
		items := []any{}
		for next.Call(nil)[0].Bool() {
			items = append(items, last.MethodByName("Value").Call(nil)[0].Interface())
		}
		err, _ := last.MethodByName("Err").Call(nil)[0].Interface().(error)
		return items, err
	}
	err, _ := last.Interface().(error)
	if len(results) == 1 {
		return nil, err
	}
	answer := results[0]
	// Of an answer that has several shapes, the one that came.
	if strings.HasSuffix(answer.Type().String(), "Answer") && err == nil {
		for index := 0; index < answer.Elem().NumField(); index++ {
			if field := answer.Elem().Field(index); !field.IsNil() {
				return field.Interface(), nil
			}
		}
	}
	return answer.Interface(), err
}

func described(err error) map[string]any {
	var refused *posthorn.Error
	var unverified *posthorn.VerificationError
	switch {
	case errors.As(err, &refused):
		return map[string]any{"tag": refused.Tag, "status": refused.Status, "detail": refused.Detail, "facts": refused.Facts}
	case errors.As(err, &unverified):
		return map[string]any{"tag": unverified.Reason}
	}
	return map[string]any{"tag": "other", "detail": err.Error()}
}
