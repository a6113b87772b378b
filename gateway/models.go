package gateway

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"sluice/router"
)

const modelsPath = "/v1/models"

func isModels(path string) bool {
	return path == modelsPath || strings.HasPrefix(path, modelsPath+"/")
}

// modelEntry is one line of the list, in OpenAI's shape with vLLM's max_model_len.
type modelEntry struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len,omitempty"`
}

// serveModels lists the names that applications may use: routes, and the served
// names of pools. It is the configuration's list, so it is the same whichever
// replicas are up, and costs no replica anything.
func (h *Handler) serveModels(c *fasthttp.RequestCtx, p *policy, path string) {
	if !c.IsGet() && !c.IsHead() {
		h.reject(c, refuse(router.Invalid, "", "method_not_allowed", "%s takes GET", modelsPath).as(fasthttp.StatusMethodNotAllowed))
		c.Response.Header.Set("Allow", "GET, HEAD")
		return
	}
	if _, known := p.tenantOf(apiKey(&c.Request.Header)); !known {
		h.reject(c, unknownKey())
		return
	}
	if path == modelsPath {
		writeJSON(c, map[string]any{"object": "list", "data": p.modelList()})
		return
	}
	name := strings.TrimPrefix(path, modelsPath+"/")
	m := p.models[name]
	if m == nil {
		h.reject(c, unknownModel(name))
		return
	}
	writeJSON(c, m.entry())
}

func (p *policy) modelList() []modelEntry {
	list := make([]modelEntry, 0, len(p.models))
	for _, m := range p.models {
		list = append(list, m.entry())
	}
	slices.SortFunc(list, func(a, b modelEntry) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func (m *model) entry() modelEntry {
	return modelEntry{ID: m.name, Object: "model", OwnedBy: "sluice", MaxModelLen: m.maxLen}
}

func writeJSON(c *fasthttp.RequestCtx, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	c.Response.Header.SetContentType("application/json")
	c.SetBody(body)
}

func unknownModel(name string) *failure {
	return refuse(router.Invalid, "model", "model_not_found",
		"the model asked for does not exist, GET %s lists those that do", modelsPath).
		as(fasthttp.StatusNotFound).quoting(strconv.Quote(clip(name)))
}

func unknownKey() *failure {
	return refuse(router.Unauthorized, "", "invalid_api_key",
		"this key is not known here; send a tenant's key as \"Authorization: Bearer …\" or x-api-key")
}
