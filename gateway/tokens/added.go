package tokens

// addedTokens finds tokens that are taken out of the text before it is merged: a
// tree of their bytes.
type addedTokens struct {
	first [256]int32 // node of the first byte; 0: no token begins with it
	nodes []addedNode
}

type addedNode struct {
	id   int32 // of the token that ends here; noToken: none
	next []addedEdge
}

type addedEdge struct {
	b    byte
	node int32
}

func newAddedTokens() addedTokens { return addedTokens{nodes: make([]addedNode, 1)} }

// add takes a token, not empty.
func (a *addedTokens) add(content string, id int32) {
	if a.first[content[0]] == 0 {
		a.first[content[0]] = a.node()
	}
	at := a.first[content[0]]
	for i := 1; i < len(content); i++ {
		to := a.step(at, content[i])
		if to == 0 {
			to = a.node()
			a.nodes[at].next = append(a.nodes[at].next, addedEdge{content[i], to})
		}
		at = to
	}
	a.nodes[at].id = id
}

func (a *addedTokens) node() int32 {
	a.nodes = append(a.nodes, addedNode{id: noToken})
	return int32(len(a.nodes) - 1)
}

// step is the node behind at by the byte b, 0 if there is none.
func (a *addedTokens) step(at int32, b byte) int32 {
	for _, edge := range a.nodes[at].next {
		if edge.b == b {
			return edge.node
		}
	}
	return 0
}

// at finds the longest token that begins at text[start], and where it ends.
func (a *addedTokens) at(text []byte, start int) (id int32, end int) {
	id = noToken
	at := a.first[text[start]]
	for i := start + 1; at != 0; i++ {
		if n := a.nodes[at].id; n != noToken {
			id, end = n, i
		}
		if i == len(text) {
			break
		}
		at = a.step(at, text[i])
	}
	return id, end
}

// has tells whether this is a token.
func (a *addedTokens) has(content string) bool {
	id, end := a.at([]byte(content), 0)
	return id != noToken && end == len(content)
}
