package main

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/testsuite"
)

func TestWorkflowsDoWhatRunsOfTheBenchDo(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			calls.Add(1)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	o := order{ID: "order-1042", Amount: 1250, Customer: "Ada", URL: server.URL}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.ExecuteWorkflow(transforms, o)
	var notice string
	if err := env.GetWorkflowResult(&notice); err != nil || notice != "Order order-1042 of Ada is worth 1537.5" {
		t.Errorf("transforms gave %q: %v", notice, err)
	}
	env = suite.NewTestWorkflowEnvironment()
	env.RegisterActivity(post)
	env.ExecuteWorkflow(requests, o)
	if err := env.GetWorkflowError(); err != nil || calls.Load() != 3 {
		t.Errorf("%d requests arrived: %v", calls.Load(), err)
	}
}
