package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sluice/router/tune"
)

func (t *tuned) print(w io.Writer, format string) error {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(t)
	case "diff":
		fmt.Fprint(w, t.todo("# "), t.Diff) // patch skips what comes before ---
		return nil
	}
	for i := range t.Pools {
		printPool(w, &t.Pools[i])
	}
	fmt.Fprint(w, t.todo(""), t.Diff)
	if t.Diff == "" && len(t.ByHand) == 0 {
		fmt.Fprintln(w, "Nothing to change.")
	}
	return nil
}

func printPool(w io.Writer, rep *tune.Report) {
	fmt.Fprintf(w, "pool %s\n  seen: %s\n", rep.Pool, rep.Seen)
	for _, note := range rep.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
	if rep.Problem != "" {
		fmt.Fprintf(w, "  nothing is proposed: %s\n", rep.Problem)
	}
	for i := range rep.Proposals {
		printProposal(w, &rep.Proposals[i])
	}
	fmt.Fprintln(w)
}

func printProposal(w io.Writer, p *tune.Proposal) {
	what := fmt.Sprintf("leave it at %d", p.From)
	if p.Changes() {
		what = fmt.Sprintf("%d → %d", p.From, p.To)
	}
	fmt.Fprintf(w, "\n  %s: %s\n    why: %s\n", p.Setting, what, p.Reason)
	if p.Effect != "" {
		fmt.Fprintf(w, "    effect: %s\n", p.Effect)
	}
	fmt.Fprintf(w, "    rests on: %s\n", p.Trust)
	for _, row := range p.Table {
		fmt.Fprintf(w, "      %s\n", row)
	}
}

// todo is what the diff can't do.
func (t *tuned) todo(mark string) string {
	var b strings.Builder
	for _, pool := range slices.Sorted(maps.Keys(t.Restart)) {
		fmt.Fprintf(&b, "%sRestart the replicas of %s with %s; the file repeats what they were started with.\n", mark, pool, strings.Join(t.Restart[pool], " "))
	}
	for _, line := range t.ByHand {
		fmt.Fprintf(&b, "%sBy hand: %s\n", mark, line)
	}
	if b.Len() > 0 {
		b.WriteString(strings.TrimRight(mark, " ") + "\n")
	}
	return b.String()
}
