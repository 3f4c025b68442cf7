package node

import "github.com/sluicehq/sluice/domain"

// CalledMember is the member of the configuration of a [CallWorkflow] that says which workflow
// is called.
const CalledMember = "workflowId"

// checkCallTemplate keeps the workflow from being computed: publishing checks that it is there.
func checkCallTemplate(r *domain.Rules, config, path, _ string) {
	r.Check(path != domain.Member(config, CalledMember), path, domain.NotAllowed,
		"must be the id of a workflow itself: {{ expressions }} are not resolved here")
}
