package tenant

// unrecorded are the operations of which the audit log says nothing although they are asked for by other methods than GET,
// and why.
var unrecorded = map[Operation]string{
	Authenticate:        "it does nothing",
	ValidateVersion:     "it changes nothing",
	CompleteVersion:     "it changes nothing",
	PreviewSchedule:     "it changes nothing",
	SimulateVersion:     "it changes nothing",
	TestHook:            "it changes nothing",
	TestNode:            "it executes a node, which its answer shows",
	TestConnection:      "it makes a call, which its answer shows",
	TestWebhookEndpoint: "it makes a delivery, which stands among the deliveries",
	CheckCustomNode:     "it makes a call, and the registry shows what came of it",
	Redeliver:           "it makes a delivery, which stands among the deliveries",
	FireTrigger:         "it is a call, which stands among the runs",
	StartRun:            "it is a call, which stands among the runs",
	StartVersionRun:     "it is a call, which stands among the runs",
	RerunRun:            "it is a call, which stands among the runs with the run that it repeats",
	ReplayDelivery:      "it is a call, which stands among the deliveries to the hook",
	ResumeRun:           "it answers a run, whose history has it",
	AnswerPause:         "it answers a run, whose history has it and who gave it",
}

// Unrecorded says why the audit log says nothing of an operation that is asked for by another method than GET; ok is
// false for one that it records.
func (o Operation) Unrecorded() (reason string, ok bool) {
	reason, ok = unrecorded[o]
	return reason, ok
}
