package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/harnessbench/harnessbench/recorder/wire"
)

// A simulated model behind an endpoint answers whoever speaks one of the APIs.
func Example() {
	e, err := wire.Listen("127.0.0.1:0", wire.EndpointOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Stop(0)
	e.Serve(wire.NewSim(wire.SimOptions{Profile: "sim/oracle"}))

	resp, err := http.Post(e.URL()+"/v1/messages", "application/json",
		strings.NewReader(`{"model":"any","max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, strings.Contains(string(body), `"text":"This model has no script for the task and stops here."`), err)
	// Output: 200 true <nil>
}
