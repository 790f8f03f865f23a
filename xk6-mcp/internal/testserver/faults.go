package testserver

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is a way to answer a call.
type Fault struct {
	// Kind is the class that the call's failure must have; empty if the answer is odd but right.
	Kind string
	// Hangs says that only the client's own timeout ends the call.
	Hangs bool
	// Lost says that the session is lost with it.
	Lost bool

	play func(*exchange) bool
}

// Limit is the greatest size of a message that a client should take in tests: the faults that are too
// large are larger, and all others are smaller.
const Limit = 4096

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
	good       = `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`
)

// Faults are the faults of Streamable HTTP by the name of the tool to call.
func Faults() map[string]Fault { return maps.Clone(faults) }

// Names are the names of faults in order.
func Names(faults map[string]Fault) []string { return slices.Sorted(maps.Keys(faults)) }

// body answers with a body of JSON or of something else.
func body(contentType, body string) func(*exchange) bool {
	return func(x *exchange) bool { return x.respond(http.StatusOK, contentType, x.fill(body)) }
}

func status(code int, contentType, body string, header ...string) func(*exchange) bool {
	return func(x *exchange) bool { return x.respond(code, contentType, x.fill(body), header...) }
}

func events(parts ...string) func(*exchange) bool {
	return func(x *exchange) bool { return x.events(parts...) }
}

// faults cannot be a composite literal of the variable itself, because handle reads it.
var faults map[string]Fault

func init() { faults = table() }

func table() map[string]Fault {
	large := strings.Repeat("x", 2*Limit)
	rpcError := `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no"}}`
	return map[string]Fault{
		// What is odd, and right.
		"odd line ends":                {play: events(": hi\r\n\r", "event: message\r", "data: "+good+"\r\r")},
		"comments":                     {play: events(":\n\n", ": keep-alive\n", "\n", "data: "+good+"\n\n")},
		"a line in pieces":             {play: events("da", "ta: {\"jsonrpc\":\"2.0\",\n", "data: \"id\":ID,\"result\":{}}\n", "\n")},
		"split UTF-8":                  {play: events("data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":\"\xf0\x9f", "\x98\x80\"}}\n\n")},
		"byte order mark":              {play: events("\ufeffdata: " + good + "\n\n")},
		"other events":                 {play: events("event: tick\ndata: {}\n\nid: 1\nretry: 5\ndata:\n\ndata: " + good + "\n\n")},
		"duplicate id":                 {play: events("data: "+good+"\n\n", "data: "+good+"\n\n")},
		"notifications first":          {play: events(strings.Repeat(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}`+"\n\n", 3) + "data: " + good + "\n\n")},
		"server request":               {play: askFirst},
		"JSON in pieces":               {play: jsonInPieces},
		"the connection ends with it":  {play: func(x *exchange) bool { x.respond(200, jsonType, x.fill(good), "Connection: close"); return false }},
		"a stream that stays open":     {play: staysOpen},
		"a stream that goes on and on": {play: goesOn},
		"informational response": {play: func(x *exchange) bool {
			return x.write("HTTP/1.1 103 Early Hints\r\n\r\n") && x.respond(200, jsonType, x.fill(good))
		}},

		// What is no reply.
		"truncated JSON":           {Kind: "truncated", play: body(jsonType, good[:len(good)-4])},
		"empty body":               {Kind: "truncated", play: body(jsonType, "")},
		"accepted":                 {Kind: "truncated", play: status(http.StatusAccepted, jsonType, "")},
		"HTML":                     {Kind: "malformed", play: body("text/html", "<html><h1>Welcome</h1></html>")},
		"HTML as JSON":             {Kind: "malformed", play: body(jsonType, "<html><h1>Welcome</h1></html>")},
		"wrong content type":       {Kind: "malformed", play: body("text/plain", good)},
		"no content type":          {Kind: "malformed", play: body("", good)},
		"no matching id":           {Kind: "malformed", play: body(jsonType, `{"jsonrpc":"2.0","id":999999,"result":{}}`)},
		"no matching id on stream": {Kind: "malformed", play: events(`data: {"jsonrpc":"2.0","id":999999,"result":{}}` + "\n\n")},
		"id as text":               {Kind: "malformed", play: body(jsonType, `{"jsonrpc":"2.0","id":"ID","result":{}}`)},
		"no id":                    {Kind: "malformed", play: body(jsonType, `{"jsonrpc":"2.0","result":{}}`)},
		"not UTF-8":                {Kind: "malformed", play: body(jsonType, `{"jsonrpc":"2.0","id":ID,"result":{"a":"`+"\xff"+`"}}`)},
		"result and error":         {Kind: "malformed", play: body(jsonType, `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"no"}}`)},
		"neither":                  {Kind: "malformed", play: body(jsonType, `{"jsonrpc":"2.0","id":ID}`)},
		"no JSON-RPC":              {Kind: "malformed", play: body(jsonType, `{"id":ID,"result":{}}`)},
		"an array":                 {Kind: "malformed", play: body(jsonType, "["+good+"]")},
		"two at once":              {Kind: "malformed", play: body(jsonType, good+good)},
		"unclosed nesting":         {Kind: "truncated", play: body(jsonType, strings.Repeat("[", 3000))},
		"broken event":             {Kind: "malformed", play: events("data: {oops}\n\n")},
		"stream without the reply": {Kind: "truncated", play: events(": nothing\n\n")},
		"stream ends in the event": {Kind: "truncated", play: events("data: " + good + "\n")},
		"too large":                {Kind: "too_large", play: body(jsonType, `{"jsonrpc":"2.0","id":ID,"result":{"a":"`+large+`"}}`)},
		"endless body":             {Kind: "too_large", play: endless(jsonType, `{"a":"`)},
		"endless event":            {Kind: "too_large", play: endless(streamType, "data: ")},
		"endless comment":          {Kind: "too_large", play: endless(streamType, ": ")},

		// What the server says.
		"JSON-RPC error":        {Kind: "rpc", play: body(jsonType, rpcError)},
		"tool error":            {Kind: "tool", play: body(jsonType, `{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":[]}}`)},
		"400":                   {Kind: "http", play: status(400, "text/plain", "bad")},
		"400 with JSON-RPC":     {Kind: "rpc", play: status(400, jsonType, rpcError)},
		"header mismatch":       {Kind: "header_mismatch", play: status(400, jsonType, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"no"}}`)},
		"unsupported version":   {Kind: "version", play: status(400, jsonType, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"no"}}`)},
		"401":                   {Kind: "unauthorized", play: status(401, "text/plain", "", `WWW-Authenticate: Bearer realm="x"`)},
		"403":                   {Kind: "unauthorized", play: status(403, "text/html", "<h1>no")},
		"404":                   {Kind: "session_lost", Lost: true, play: status(404, "text/plain", "gone")},
		"session lost":          {Kind: "session_lost", Lost: true, play: loseSession},
		"429":                   {Kind: "rate_limited", play: status(429, "text/plain", "later")},
		"429 with Retry-After":  {Kind: "rate_limited", play: status(429, "text/plain", "later", "Retry-After: 1")},
		"500":                   {Kind: "http", play: status(500, "text/html", "<p>oops")},
		"503":                   {Kind: "unavailable", play: status(503, "text/plain", "")},
		"503 with Retry-After":  {Kind: "unavailable", play: status(503, "text/plain", "", "Retry-After: 120")},
		"500 with a large body": {Kind: "http", play: status(500, "text/html", strings.Repeat(large, 10))},
		"redirect":              {Kind: "http", play: status(307, "", "", "Location: /mcp")},
		"redirect to nowhere":   {Kind: "http", play: status(302, "", "", "Location: http://127.0.0.1:1/")},

		// What the connection does.
		"reset before headers":  {Kind: "reset", play: (*exchange).reset},
		"closed before headers": {Kind: "reset", play: func(*exchange) bool { return false }},
		"reset in headers":      {Kind: "reset", play: cut("HTTP/1.1 200 OK\r\nContent-Ty", (*exchange).reset)},
		"closed in headers":     {Kind: "reset", play: cut("HTTP/1.1 200 OK\r\nContent-Ty", nil)},
		"reset in the body":     {Kind: "reset", play: cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{", (*exchange).reset)},
		"closed in the body":    {Kind: "truncated", play: cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{", nil)},
		"closed in a chunk":     {Kind: "truncated", play: cut("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndat", nil)},
		"not HTTP":              {Kind: "reset", play: cut("hello there\r\n\r\n", nil)},
		"bad chunk":             {Kind: "reset", play: cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", nil)},
		"endless header":        {Kind: "reset", play: endlessHeader},

		// What never ends.
		"silence":            {Kind: "timeout", Hangs: true, play: (*exchange).hang},
		"slow headers":       {Kind: "timeout", Hangs: true, play: slowHeaders},
		"silence in a body":  {Kind: "timeout", Hangs: true, play: func(x *exchange) bool { x.start(jsonType, "{"); return x.hang() }},
		"silent stream":      {Kind: "timeout", Hangs: true, play: func(x *exchange) bool { x.start(streamType, ""); return x.hang() }},
		"comments forever":   {Kind: "timeout", Hangs: true, play: commentsForever},
		"reply after cancel": {Kind: "timeout", Hangs: true, play: replyAfterCancel},
	}
}

// cut writes the start of a response and ends the connection; the pause lets the client read it.
func cut(start string, end func(*exchange) bool) func(*exchange) bool {
	return func(x *exchange) bool {
		x.write(start)
		time.Sleep(20 * time.Millisecond)
		if end != nil {
			return end(x)
		}
		return false
	}
}

func endless(contentType, start string) func(*exchange) bool {
	return func(x *exchange) bool {
		for ok := x.start(contentType, start); ok; {
			ok = x.chunk(strings.Repeat("x", 1000))
		}
		return false
	}
}

func endlessHeader(x *exchange) bool {
	for ok := x.write("HTTP/1.1 200 OK\r\n"); ok; {
		ok = x.write("X-Filler: " + strings.Repeat("x", 100_000) + "\r\n")
	}
	return false
}

func slowHeaders(x *exchange) bool {
	for ok := x.write("HTTP/1.1 200 OK\r\n"); ok; {
		ok = x.write("X-A: b\r\n")
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func commentsForever(x *exchange) bool {
	for ok := x.start(streamType, ""); ok; {
		ok = x.chunk(": still here\n\n")
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func jsonInPieces(x *exchange) bool {
	x.start(jsonType, "")
	for _, c := range x.fill(good) {
		x.chunk(string(c))
	}
	return x.finish()
}

// staysOpen keeps the stream open after the reply, for longer than a client can wait with the next call.
func staysOpen(x *exchange) bool {
	x.start(streamType, x.fill("data: "+good+"\n\n"))
	return x.hang()
}

// goesOn sends without end after the reply.
func goesOn(x *exchange) bool {
	for ok := x.start(streamType, x.fill("data: "+good+"\n\n")); ok; {
		ok = x.chunk(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n\n")
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func loseSession(x *exchange) bool {
	x.server.forget(x.session)
	return x.respond(http.StatusNotFound, "text/plain", "no such session")
}

// askFirst asks the client something, under the id of its own request, and answers when it has.
func askFirst(x *exchange) bool {
	answers := x.server.answersOf(x.session)
	x.start(streamType, x.fill(`data: {"jsonrpc":"2.0","id":ID,"method":"ping"}`+"\n\n"))
	for {
		select {
		case m := <-answers:
			if string(m.ID) == string(x.message.ID) && m.Result != nil {
				return x.chunk(x.fill("data: "+good+"\n\n")) && x.finish()
			}
		case <-time.After(10 * time.Second):
			return false
		}
	}
}

// replyAfterCancel waits for the cancellation of the request and answers it all the same.
func replyAfterCancel(x *exchange) bool {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = x.in.Peek(1)
	}()
	defer func() { <-gone }() // whoever reads next must find the reader free
	select {
	case <-x.server.cancellation(x.session, x.message.ID):
		x.respond(http.StatusOK, jsonType, x.fill(good))
		return true
	case <-gone:
		return false
	}
}
