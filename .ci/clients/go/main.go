// Command go runs the official Go client against the gateway.
//
// Arguments: the data address of the demo, of the gateway with scripted replicas,
// of a scripted replica.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

const model = "gemma-3"

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: go DEMO FAULTS REPLICA")
		os.Exit(2)
	}
	c := &clients{ctx: context.Background(), replica: os.Args[3]}
	c.demo = openai.NewClient(option.WithBaseURL("http://"+os.Args[1]+"/v1"), option.WithAPIKey("none"))
	c.faults = openai.NewClient(option.WithBaseURL("http://"+os.Args[2]+"/v1"), option.WithAPIKey("sk-tests"))
	c.stranger = openai.NewClient(option.WithBaseURL("http://"+os.Args[2]+"/v1"), option.WithAPIKey("sk-wrong"))
	for _, check := range c.checks() {
		if err := check.run(); err != nil {
			fmt.Printf("FAILED go %s\n%v\n", check.name, err)
			continue
		}
		fmt.Println("ok go", check.name)
	}
}

type clients struct {
	ctx                    context.Context
	demo, faults, stranger openai.Client
	replica                string
}

type check struct {
	name string
	run  func() error
}

func (c *clients) checks() []check {
	return []check{
		{"chat", c.chat},
		{"chat streamed", c.chatStreamed},
		{"chat streamed with usage", c.chatWithUsage},
		{"completions", c.completions},
		{"completions streamed", c.completionsStreamed},
		{"responses", c.responses},
		{"responses streamed", c.responsesStreamed},
		{"embeddings", c.embeddings},
		{"models list and get", c.models},
		{"unknown model is 404", c.unknownModel},
		{"wrong parameter is 400", c.wrongParameter},
		{"too long is 400", c.tooLong},
		{"wrong key is 401", c.wrongKey},
		{"no room is 429 with Retry-After", c.noRoom},
		{"retries after Retry-After and succeeds", c.retries},
		{"a busy replica's 429 is retried", c.busy},
		{"x-should-retry: false is honoured", c.shouldNotRetry},
		{"a cut stream is an error", func() error { return c.broken("cut go", "before it was complete") }},
		{"an error in mid-stream is an error", func() error { return c.broken("error event go", "the engine died") }},
	}
}

func say(message string) []openai.ChatCompletionMessageParamUnion {
	return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(message)}
}

func ask(model, message string, maxTokens int64) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: model, Messages: say(message)}
	if maxTokens != 0 {
		p.MaxTokens = openai.Int(maxTokens)
	}
	return p
}

func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// status wants err to be the API's error with a status, and gives it to also.
func status(err error, code int, also func(*openai.Error) bool) error {
	var e *openai.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("want an error of the API, got %v", err)
	}
	return want(e.StatusCode == code && (also == nil || also(e)), "got %d, param %q, code %q: %w", e.StatusCode, e.Param, e.Code, err)
}

func (c *clients) chat() error {
	a, err := c.demo.Chat.Completions.New(c.ctx, ask(model, "Hello, who are you?", 20))
	if err != nil {
		return err
	}
	choice := a.Choices[0]
	return want(choice.Message.Content != "" && choice.FinishReason == "length" && a.Usage.CompletionTokens == 20, "got %s", a.RawJSON())
}

func (c *clients) chatStreamed() error {
	r := readAll(c.demo.Chat.Completions.NewStreaming(c.ctx, ask(model, "Hello, who are you?", 60)), time.Now())
	asked := slices.ContainsFunc(r.chunks, func(k openai.ChatCompletionChunk) bool {
		return len(k.Choices) == 0 || k.JSON.Usage.Valid()
	})
	return errors.Join(r.err,
		want(len(r.chunks) > 10 && r.text != "", "got %d chunks", len(r.chunks)),
		want(r.first < r.whole*6/10, "first token after %s of %s: not progressive", r.first, r.whole),
		want(!asked, "usage that nobody asked for"))
}

func (c *clients) chatWithUsage() error {
	p := ask(model, "Hello, who are you?", 10)
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	r := readAll(c.demo.Chat.Completions.NewStreaming(c.ctx, p), time.Now())
	if r.err != nil || len(r.chunks) == 0 {
		return fmt.Errorf("%d chunks, %w", len(r.chunks), r.err)
	}
	last := r.chunks[len(r.chunks)-1]
	return want(len(last.Choices) == 0 && last.Usage.CompletionTokens == 10, "got %s", last.RawJSON())
}

func (c *clients) completions() error {
	a, err := c.demo.Completions.New(c.ctx, openai.CompletionNewParams{
		Model: model, MaxTokens: openai.Int(12), Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once upon")},
	})
	if err != nil {
		return err
	}
	return want(a.Choices[0].Text != "" && a.Usage.CompletionTokens == 12, "got %s", a.RawJSON())
}

func (c *clients) completionsStreamed() error {
	s := c.demo.Completions.NewStreaming(c.ctx, openai.CompletionNewParams{
		Model: model, MaxTokens: openai.Int(30), Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once upon")},
	})
	defer s.Close()
	n, text := 0, ""
	for s.Next() {
		n++
		text += s.Current().Choices[0].Text
	}
	return errors.Join(s.Err(), want(n > 3 && text != "", "got %d chunks, %q", n, text))
}

func hello() responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: model, MaxOutputTokens: openai.Int(16), Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hello")},
	}
}

func (c *clients) responses() error {
	a, err := c.demo.Responses.New(c.ctx, hello())
	if err != nil {
		return err
	}
	return want(a.OutputText() != "", "got %s", a.RawJSON())
}

func (c *clients) responsesStreamed() error {
	s := c.demo.Responses.NewStreaming(c.ctx, hello())
	defer s.Close()
	var kinds []string
	for s.Next() {
		kinds = append(kinds, s.Current().Type)
	}
	return errors.Join(s.Err(), want(slices.Contains(kinds, "response.output_text.delta"), "got %q", kinds))
}

func (c *clients) embeddings() error {
	a, err := c.demo.Embeddings.New(c.ctx, openai.EmbeddingNewParams{
		Model: model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}},
	})
	if err != nil {
		return err
	}
	return want(len(a.Data) == 2 && len(a.Data[1].Embedding) > 0, "got %s", a.RawJSON())
}

func (c *clients) models() error {
	list, err := c.demo.Models.List(c.ctx)
	if err != nil {
		return err
	}
	found := slices.ContainsFunc(list.Data, func(m openai.Model) bool { return m.ID == model })
	one, err := c.demo.Models.Get(c.ctx, model)
	if err != nil {
		return err
	}
	_, none := c.demo.Models.Get(c.ctx, "nothing")
	return errors.Join(want(found && one.ID == model, "got %s", list.RawJSON()), status(none, 404, nil))
}

func (c *clients) unknownModel() error {
	_, err := c.demo.Chat.Completions.New(c.ctx, ask("gpt-0", "Hello", 0))
	return status(err, 404, func(e *openai.Error) bool { return e.Param == "model" && e.Code == "model_not_found" })
}

func (c *clients) wrongParameter() error {
	_, negative := c.demo.Chat.Completions.New(c.ctx, ask(model, "Hello", -1))
	seeded := ask(model, "Hello", 0)
	seeded.Seed = openai.Int(1)
	_, err := c.demo.Chat.Completions.New(c.ctx, seeded)
	return errors.Join(status(negative, 400, nil), status(err, 400, func(e *openai.Error) bool { return e.Param == "seed" }))
}

func (c *clients) tooLong() error {
	tokens := openai.CompletionNewParamsPromptUnion{OfArrayOfTokens: slices.Repeat([]int64{7}, 40_000)}
	_, err := c.demo.Completions.New(c.ctx, openai.CompletionNewParams{Model: model, Prompt: tokens})
	return status(err, 400, func(e *openai.Error) bool { return e.Code == "context_length_exceeded" })
}

func (c *clients) wrongKey() error {
	_, err := c.stranger.Chat.Completions.New(c.ctx, ask("scripted", "Hello", 0))
	return status(err, 401, func(e *openai.Error) bool { return e.Code == "invalid_api_key" })
}

// held runs f while the only slot of the route single is taken, for 1.5 s.
func (c *clients) held(f func() error) error {
	s := c.faults.Chat.Completions.NewStreaming(c.ctx, ask("single", "hold 1500", 0))
	if !s.Next() {
		return fmt.Errorf("hold the slot: %w", s.Err())
	}
	rest := make(chan read, 1)
	go func() { rest <- readAll(s, time.Now()) }()
	err := f()
	return errors.Join(err, (<-rest).err)
}

func (c *clients) noRoom() error {
	return c.held(func() error {
		_, err := c.faults.Chat.Completions.New(c.ctx, ask("single", "Hello", 0), option.WithMaxRetries(0))
		return status(err, 429, func(e *openai.Error) bool {
			seconds, wrong := strconv.Atoi(e.Response.Header.Get("Retry-After"))
			return e.Code == "queue_full" && wrong == nil && seconds >= 1
		})
	})
}

func (c *clients) retries() error {
	return c.held(func() error { return c.after("single", "after retry go", 1) })
}

// after asks and wants an answer after a second, and the replica asked so often.
func (c *clients) after(route, message string, times int) error {
	start := time.Now()
	a, err := c.faults.Chat.Completions.New(c.ctx, ask(route, message, 0))
	if err != nil {
		return err
	}
	waited := time.Since(start)
	return errors.Join(want(a.Choices[0].Message.Content != "" && waited >= time.Second, "answered after %s", waited), c.called(message, times))
}

func (c *clients) busy() error { return c.after("scripted", "busy go", 2) }

func (c *clients) shouldNotRetry() error {
	_, err := c.faults.Chat.Completions.New(c.ctx, ask("scripted", "lost go", 0))
	return errors.Join(c.called("lost go", 1), status(err, 502, func(e *openai.Error) bool {
		return e.Response.Header.Get("x-should-retry") == "false"
	}))
}

func (c *clients) broken(message, said string) error {
	r := readAll(c.faults.Chat.Completions.NewStreaming(c.ctx, ask("scripted", message, 0)), time.Now())
	return want(r.text == "one two " && r.err != nil && strings.Contains(r.err.Error(), said), "read %q, error %v", r.text, r.err)
}

// called wants the scripted replica to have got the message so often.
func (c *clients) called(message string, times int) error {
	answer, err := http.Get("http://" + c.replica + "/calls?of=" + url.QueryEscape(message))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	n, err := io.ReadAll(answer.Body)
	return errors.Join(err, want(string(n) == strconv.Itoa(times), "the replica got %q %s times, want %d", message, n, times))
}
