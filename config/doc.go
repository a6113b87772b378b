// Package config is the operator's one file: its structure, its defaults, how
// it is read, and every way in which it can be wrong.
//
// # Layers
//
// A configuration is laid in layers: defaults, then the file, then SLUICE_
// environment variables, then flags. Each layer is read into a tree whose leaves
// have the types of the structs already; koanf merges the trees and nothing is
// guessed when the result is decoded. The lowest layer holds a default entry for
// each pool, route and tenant that a higher one names, so that a key that is
// absent has its default, while one that says false, or 0, keeps that.
// Three defaults follow from what else is written: the caps of a pool from its
// size, the cap of a class never above the pool's total, and the value of a
// preference from its position (1, 0.8, 0.64, …).
//
// Variables and flags change entries of the file and can't add one: the name of
// a variable can't spell the name of a pool. In a variable two underscores stand
// between levels and one for whatever isn't a letter or digit in a name. What
// Kubernetes sets for a Service called sluice is ignored, and so is a variable
// that the file names as the place of a secret; any other SLUICE_ variable that
// isn't a setting is an error.
//
// # Mistakes
//
// Parse and Load are strict, and say everything at once: Problems has one line
// for each mistake, with the file, the line, the path of the key and what to
// change, and none for a mere consequence of another. The structs are the
// schema, so a key that they don't have is unknown and the nearest that they
// have is suggested. What YAML would quietly turn into something else (no, 010,
// a model called 7) is refused. A file that is empty is an error, not a wish for
// no pools: it was probably cut.
//
// Validate judges a Config by itself: no I/O, no knowledge of TPUs. What is
// allowed but unwise is for `sluice check` to warn of.
//
// # Decisions
//
//   - A route serves both classes, each from at least one pool, unless its class
//     is fixed; then the other class needs none.
//   - The name of a route can't be the model of a pool that has an implicit route,
//     and two pools with an implicit route can't serve the same model: one name,
//     one meaning. implicit_route: false resolves it.
//   - The URL of a replica is its identity, so each has one spelling (lower case,
//     no slash at the end, the shortest IPv6) and stands in one place.
//   - Times need a unit; sizes take units of 1,024 only, because MB would be a guess.
//   - A key written where its hash belongs is never shown.
package config
