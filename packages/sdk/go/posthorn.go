// Package posthorn is a client of Posthorn's REST API, and verifies what it delivers. It needs the standard library alone.
//
// What is refused with 429 or 503 is tried again after its Retry-After; what got no answer is tried again where that cannot do anything
// twice: reads, and calls with an idempotency key. A call that takes a key and was given none gets one of its own, so that a publish
// whose answer was lost happens once. A Client may be used by many goroutines; it does not cache.
package posthorn

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Options of a Client.
type Options struct {
	// Where Posthorn is, such as https://posthorn.example.net.
	URL   string
	Token string
	// The slug that operations take where they name none.
	Workspace string
	// How often a call is tried again. Default 3; below 0 for never.
	Retries int
	// The longest Retry-After that is waited for. Default 10 seconds.
	MaxWait time.Duration
	// Default: one with a timeout of 30 seconds.
	HTTPClient *http.Client
}

// Client has a method for each operation.
type Client struct{ options Options }

// String does not show the token.
func (client Client) String() string { return "Posthorn at " + client.options.URL }

// GoString does not show the token.
func (client Client) GoString() string { return client.String() }

// Error is what Posthorn answered in place of what was asked for, or why there is no answer.
type Error struct {
	// One of the Tag constants, NoAnswer or UnknownAnswer.
	Tag string
	// Of HTTP; 0 without an answer.
	Status int
	Detail string
	// All that the problem says, such as issues, traceId or retryAfterSeconds.
	Facts map[string]any
	cause error
}

const (
	// NoAnswer is the Tag where the connection failed, or the time was over.
	NoAnswer = "NoAnswer"
	// UnknownAnswer is the Tag where somebody else answered, such as a proxy.
	UnknownAnswer = "UnknownAnswer"
)

func (err *Error) Error() string { return err.Tag + ": " + err.Detail }

// Unwrap gives the cause of NoAnswer.
func (err *Error) Unwrap() error { return err.cause }

// String, Int and Bool give optional members their values.
func String(value string) *string { return &value }

// Int gives an optional member its value.
func Int(value int64) *int64 { return &value }

// Bool gives an optional member its value.
func Bool(value bool) *bool { return &value }

// New makes a Client.
func New(options Options) *Client {
	options.URL = strings.TrimRight(options.URL, "/")
	if options.Retries == 0 {
		options.Retries = 3
	}
	if options.MaxWait == 0 {
		options.MaxWait = 10 * time.Second
	}
	if options.HTTPClient == nil {
		options.HTTPClient = &http.Client{
			Timeout:       30 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Client{options}
}

type answerKey struct{}

// WithAnswer hands the head of each answer of calls under the context to see: its etag, its rate limits, its x-trace-id. The Client
// reads the body.
func WithAnswer(ctx context.Context, see func(*http.Response)) context.Context {
	return context.WithValue(ctx, answerKey{}, see)
}

type operation struct {
	method, path   string
	query, headers []string
	// 0: no body, 1: where one of its members is given, 2: always.
	body int
}

type request struct {
	url    string
	header http.Header
	body   []byte
	isSafe bool
}

var placeholder = regexp.MustCompile(`\{\w+\}`)
var capital = regexp.MustCompile(`[A-Z]`)

func (client *Client) request(op operation, params any, nulls []string, cursor string) (*request, error) {
	encoded, err := encode(params)
	if err != nil {
		return nil, err
	}
	body := map[string]json.RawMessage{}
	if err := json.Unmarshal(encoded, &body); err != nil {
		return nil, err
	}
	for _, name := range nulls {
		body[name] = json.RawMessage("null")
	}
	take := func(name string) (string, bool) {
		raw, isGiven := body[name]
		delete(body, name)
		var text string
		if isGiven && json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		return text, isGiven && string(raw) != "null"
	}
	path := placeholder.ReplaceAllStringFunc(op.path, func(part string) string {
		name := strings.Trim(part, "{}")
		text, _ := take(name)
		if text == "" && name == "workspace" {
			text = client.options.Workspace
		}
		// These would lead to another operation.
		if text == "" || text == "." || text == ".." {
			err = fmt.Errorf("posthorn: %s is missing", name)
		}
		return url.PathEscape(text)
	})
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for _, name := range op.query {
		if text, isGiven := take(name); isGiven {
			query.Set(name, text)
		}
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	// A publish has its key in the body; every other call in a header.
	takesKey := op.method == "POST" && strings.HasSuffix(op.path, "/events")
	for _, name := range op.headers {
		takesKey = takesKey || name == "idempotencyKey"
	}
	takesKey = takesKey && client.options.Retries > 0
	if _, isGiven := body["idempotencyKey"]; takesKey && !isGiven {
		body["idempotencyKey"] = newKey()
	}
	header := http.Header{"Authorization": {"Bearer " + client.options.Token}, "Accept": {"application/json"}}
	for _, name := range op.headers {
		if text, isGiven := take(name); isGiven {
			header.Set(capital.ReplaceAllStringFunc(name, func(letter string) string { return "-" + letter }), text)
		}
	}
	made := &request{url: client.options.URL + path, header: header, isSafe: op.method == "GET" || takesKey}
	if len(query) > 0 {
		made.url += "?" + query.Encode()
	}
	if op.body == 2 || op.body == 1 && len(body) > 0 {
		header.Set("Content-Type", "application/json")
		made.body, err = encode(body)
	}
	return made, err
}

// As encoding/json, but without \u003c for <: a payload is carried as it was written.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(buffer.Bytes(), "\n"), err
}

func newKey() json.RawMessage {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic(err)
	}
	return json.RawMessage(fmt.Sprintf("\"%x\"", random))
}

// Calls until there is an answer that stays. `into` gives what an answer of that status is read into.
func (client *Client) call(ctx context.Context, op operation, params any, nulls []string, into func(status int) any) error {
	return client.page(ctx, op, params, nulls, "", into)
}

func (client *Client) page(ctx context.Context, op operation, params any, nulls []string, cursor string, into func(status int) any) error {
	made, err := client.request(op, params, nulls, cursor)
	if err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		failed := client.attempt(ctx, op, made, into)
		if failed == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait, isPassing := 250*time.Millisecond<<tries, made.isSafe
		if wait > client.options.MaxWait || wait <= 0 {
			wait = client.options.MaxWait
		}
		if failed.Tag != NoAnswer {
			isPassing = failed.Status == http.StatusTooManyRequests || failed.Status == http.StatusServiceUnavailable
			if after, err := strconv.ParseFloat(fmt.Sprint(failed.Facts["retryAfterSeconds"]), 64); err == nil {
				wait = time.Duration(after * float64(time.Second))
			}
		}
		if tries >= client.options.Retries || !isPassing || wait > client.options.MaxWait {
			return failed
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

func (client *Client) attempt(ctx context.Context, op operation, made *request, into func(status int) any) *Error {
	var body io.Reader
	if made.body != nil {
		body = bytes.NewReader(made.body)
	}
	sent, err := http.NewRequestWithContext(ctx, op.method, made.url, body)
	if err != nil {
		return noAnswer(err)
	}
	sent.Header = made.header
	answer, err := client.options.HTTPClient.Do(sent)
	if err != nil {
		return noAnswer(err)
	}
	defer answer.Body.Close()
	if see, isWanted := ctx.Value(answerKey{}).(func(*http.Response)); isWanted {
		see(answer)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return noAnswer(err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return problem(answer, text)
	}
	if into == nil || len(text) == 0 {
		return nil
	}
	if err := decode(text, into(answer.StatusCode)); err != nil {
		return &Error{Tag: UnknownAnswer, Status: answer.StatusCode, Detail: err.Error(), cause: err}
	}
	return nil
}

// Numbers of values of any type keep all their digits, as json.Number.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func noAnswer(err error) *Error {
	var of *url.Error
	if errors.As(err, &of) {
		return &Error{Tag: NoAnswer, Detail: of.Err.Error(), cause: err}
	}
	return &Error{Tag: NoAnswer, Detail: err.Error(), cause: err}
}

func problem(answer *http.Response, text []byte) *Error {
	facts := map[string]any{}
	if after, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		facts["retryAfterSeconds"] = after
	}
	read := map[string]any{}
	tag, detail := "", ""
	if decode(text, &read) == nil {
		tag, _ = read["_tag"].(string)
		detail, _ = read["detail"].(string)
	}
	if tag == "" {
		if len(text) > 200 {
			text = text[:200]
		}
		return &Error{Tag: UnknownAnswer, Status: answer.StatusCode, Detail: string(text), Facts: facts}
	}
	for name, value := range read {
		if name != "_tag" && name != "detail" && name != "status" {
			facts[name] = value
		}
	}
	return &Error{Tag: tag, Status: answer.StatusCode, Detail: detail, Facts: facts}
}

// Iterator goes through the items of all pages:
//
//	deliveries := client.ListWebhookDeliveries(ctx, params)
//	for deliveries.Next() { … deliveries.Value() … }
//	if err := deliveries.Err(); err != nil { … }
type Iterator[T any] struct {
	page    func(cursor string) (items []T, next *string, err error)
	items   []T
	next    *string
	started bool
	err     error
}

// Next goes to the next item, and asks for the next page where this one is over. False: at the end, or Err says why.
func (iterator *Iterator[T]) Next() bool {
	if len(iterator.items) > 0 {
		iterator.items = iterator.items[1:]
	}
	for len(iterator.items) == 0 {
		if iterator.err != nil || iterator.started && iterator.next == nil {
			return false
		}
		cursor := ""
		if iterator.next != nil {
			cursor = *iterator.next
		}
		iterator.started = true
		iterator.items, iterator.next, iterator.err = iterator.page(cursor)
	}
	return true
}

// Value is the item that Next went to.
func (iterator *Iterator[T]) Value() T { return iterator.items[0] }

// Err is why Next ended before the end.
func (iterator *Iterator[T]) Err() error { return iterator.err }

func list[T any](ctx context.Context, client *Client, op operation, params any) *Iterator[T] {
	return &Iterator[T]{page: func(cursor string) ([]T, *string, error) {
		var page struct {
			Items      []T     `json:"items"`
			NextCursor *string `json:"nextCursor"`
		}
		err := client.page(ctx, op, params, nil, cursor, func(int) any { return &page })
		return page.Items, page.NextCursor, err
	}}
}
