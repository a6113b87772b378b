package vllmsim

import (
	"math"
	"slices"
)

// workload is which of the published measurements a request resembles.
type workload uint8

const (
	generationLoad     workload = iota // about 500 tokens in, 1,000 out
	classificationLoad                 // about 4,000 tokens in, 10 out
)

// longPrompt is how many times its answer's bound a prompt must exceed to make a
// classification. The published ones lie far on either side: 0.5 and 400.
const longPrompt = 8

func workloadOf(prompt, bound int) workload {
	if prompt > longPrompt*bound {
		return classificationLoad
	}
	return generationLoad
}

// publishedUsers are the columns of the table: users in a closed loop, each of
// whom asks again as soon as it is answered.
var publishedUsers = [...]float64{16, 32, 64, 128}

// figures are one line of the table: a multiple for each column.
type figures [len(publishedUsers)]float64

// row is what was published of one model under one workload. 1 is Gemma 3 12B
// with 16 users under the same workload.
type row struct{ throughput, latency figures }

// publishedRows is the published table: Gemma 3 with vLLM on one host of TPU v6e
// 2x2, max-model-len 128000, max-num-batched-tokens 8192, max-num-seqs 512.
var publishedRows = map[string][2]row{
	"gemma-3-12b": {
		generationLoad:     {throughput: figures{1.00, 1.98, 2.96, 8.19}, latency: figures{1.00, 1.13, 1.40, 1.70}},
		classificationLoad: {throughput: figures{1.00, 1.18, 2.04, 6.37}, latency: figures{1.00, 0.99, 1.79, 2.90}},
	},
	"gemma-3-27b": {
		generationLoad:     {throughput: figures{1.05, 1.97, 4.00, 4.12}, latency: figures{1.20, 1.68, 2.93, 3.33}},
		classificationLoad: {throughput: figures{0.76, 1.53, 3.15, 6.04}, latency: figures{1.20, 1.95, 1.95, 3.88}},
	},
}

// PublishedSizes lists the sizes that Options.Published can have.
func PublishedSizes() []string {
	var sizes []string
	for size := range publishedRows {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	return sizes
}

// cell is what the table says of a load.
type cell struct {
	latency float64 // end to end, in 12B's with 16 users
	excess  float64 // requests counted, in those that users waiting so long can have made
}

// at is the cell for so many users: between columns by their logarithm, outside
// them the nearest.
func (r row) at(users int) cell {
	place := min(max(math.Log2(float64(users)/publishedUsers[0]), 0), float64(len(publishedUsers)-1))
	left := int(place)
	right := min(left+1, len(publishedUsers)-1)
	a, b, share := r.column(left), r.column(right), place-float64(left)
	return cell{latency: a.latency + share*(b.latency-a.latency), excess: a.excess + share*(b.excess-a.excess)}
}

// column is a cell of the table itself. By Little's law users are throughput
// times latency, when each waits for an answer all the time and each answer is
// counted. Where the product is larger, more was counted than was waited for;
// where it is smaller, users waited for what was never counted.
func (r row) column(i int) cell {
	users := publishedUsers[i] / publishedUsers[0]
	return cell{latency: r.latency[i], excess: r.throughput[i] * r.latency[i] / users}
}

// early is the share of counted requests that must have failed at once.
func (c cell) early() float64 { return max(0, 1-1/c.excess) }

// lost is the share of users' time that must have gone into requests that were
// never answered.
func (c cell) lost() float64 { return max(0, 1-c.excess) }

// lostPatience is how many times the latency of an answer a lost request lasts,
// before its client is taken to have given up.
const lostPatience = 3

// hang is the share of requests that must be lost, so that they take the lost
// share of users' time when each lasts lostPatience times as long as another.
func (c cell) hang() float64 {
	lost := c.lost()
	return lost / (lostPatience*(1-lost) + lost)
}
