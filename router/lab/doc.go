// Package lab is the laboratory: it runs the real router against modelled
// replicas in virtual time, beside other policies, and measures goodput: what is
// served within its SLO.
//
// A workload (workloads/*.yaml) says what arrives: kinds of requests with their
// shares, lengths and SLOs, bursts, shifts, shared beginnings. Arrivals are an open
// loop and the same for every policy of a run. A run (Run, world) plays them
// against engines of router/tpu whose constants are drawn anew for each run, and
// judges those that arrive in its middle; the rest of the run warms up and drains.
// The policy sees what the gateway would see: estimates, first tokens, ends, and
// metrics once a second.
//
// The measure is normalised value goodput: each class's requests within SLO,
// weighed with what their pool is worth to the route, divided by what the fleet
// could serve of that class alone; summed. The yardstick is the best static split
// that a search finds for that very workload and load, with the true classes known
// (split.go, search.go). What the search found is committed (yardstick.yaml), for
// Find takes a quarter of an hour a workload; a test fails when the router falls
// behind it.
//
// Everything here is modelled. It ranks policies; it says nothing about how many
// requests a real TPU serves.
package lab
