package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"sluice/gateway/openai"
	"sluice/gateway/tokens"
)

// tally is what one kind of case came to.
type tally struct{ equal, of int }

func compare(tokenizer, casesFile, reference string) error {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began, busy := time.Now(), processorTime()
	t, err := tokens.Load(tokenizer)
	if err != nil {
		return err
	}
	took, busy := time.Since(began), processorTime()-busy
	runtime.GC()
	runtime.ReadMemStats(&after)
	fmt.Printf("loaded in %d ms (%d ms of processor time), %.1f MiB of memory\n\n", took.Milliseconds(), busy.Milliseconds(), float64(after.HeapAlloc-before.HeapAlloc)/(1<<20))

	kinds, err := compareAll(t, casesFile, reference)
	if err != nil {
		return err
	}
	total := tally{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Printf("%-26s %5d of %5d equal\n", kind, kinds[kind].equal, kinds[kind].of)
		total.equal += kinds[kind].equal
		total.of += kinds[kind].of
	}
	fmt.Printf("%-26s %5d of %5d equal\n", "all", total.equal, total.of)
	sources, err := readTexts()
	if err != nil {
		return err
	}
	speeds(t, sources)
	estimates(t, sources)
	if total.equal != total.of || total.of < 300 {
		return fmt.Errorf("%d of %d cases are equal", total.equal, total.of)
	}
	return nil
}

// compareAll tells each kind's tally, and prints the first cases that differ.
func compareAll(t *tokens.Tokenizer, casesFile, reference string) (map[string]tally, error) {
	cases, closeCases, err := lines(casesFile)
	if err != nil {
		return nil, err
	}
	defer closeCases()
	answers, closeAnswers, err := lines(reference)
	if err != nil {
		return nil, err
	}
	defer closeAnswers()
	kinds := map[string]tally{}
	shown := 0
	for cases.Scan() {
		if !answers.Scan() {
			return nil, errors.New("the reference says less than was asked")
		}
		var c testCase
		var want []int32
		if err := errJoin(json.Unmarshal(cases.Bytes(), &c), json.Unmarshal(answers.Bytes(), &want)); err != nil {
			return nil, err
		}
		got := encoded(t, c)
		k := kinds[c.Kind]
		k.of++
		if slices.Equal(got.ids, want) && got.count == len(want) {
			k.equal++
		} else if shown++; shown <= 20 {
			fmt.Printf("DIFFERS %s %.200s\n  got  %v (counted %d)\n  want %v\n", c.Kind, cases.Bytes(), got.ids, got.count, want)
		}
		kinds[c.Kind] = k
	}
	return kinds, errJoin(cases.Err(), answers.Err())
}

// lines reads a file line by line.
func lines(path string) (*bufio.Scanner, func(), error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	return s, func() { _ = f.Close() }, nil // it was only read
}

type encoding struct {
	ids   []int32
	count int
}

// encoded is a case's tokens, and how many the gateway would count; none for a
// conversation that is refused.
func encoded(t *tokens.Tokenizer, c testCase) encoding {
	text := []byte(c.Text)
	if c.Messages != nil {
		text = rendered(c.Messages)
	}
	return encoding{t.Encode(nil, text), t.Count(text)}
}

// rendered takes a conversation the way of a request.
func rendered(messages []byte) []byte {
	body := slices.Concat([]byte(`{"model":"m","messages":`), messages, []byte(`}`))
	facts, err := openai.Inspect(openai.Chat, body, openai.MaxDepth)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	said, ok := facts.Said(body)
	chat := tokens.Chat{System: said.System, HasSystem: said.HasSystem}
	for _, turn := range said.Turns {
		chat.Turns = append(chat.Turns, tokens.Turn{Role: turn.Role, Parts: turn.Texts})
	}
	if !ok || !chat.Alternates() {
		return nil
	}
	return tokens.AppendChat(nil, &chat)
}

// processorTime is what this process has used: on a machine that others use too it
// says more than the clock.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("BUG: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
