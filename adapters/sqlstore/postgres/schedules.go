package postgres

import _ "embed"

//go:embed schedules_claim.sql
var schedulesClaim string
