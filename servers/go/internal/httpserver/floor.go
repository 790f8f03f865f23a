package httpserver

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// floor answers a JSON-RPC request with its own params, without the SDK: what
// JSON-RPC over HTTP costs at least.
func floor(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID     jsontext.Value `json:"id"`
		Params jsontext.Value `json:"params"`
	}
	if err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxBody), &request); err != nil {
		http.Error(w, "the body must be a JSON-RPC request: "+err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Result  jsontext.Value `json:"result"`
	}{"2.0", request.ID, request.Params})
}
